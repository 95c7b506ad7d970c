//! What the log says of a run's events: each line names its run.

use tramline_core::ids::NodeIx;
use tramline_core::journal::{Entry, Event, Outcome};
use tramline_core::run::Run;

/// Says what happened, at the level that it deserves.
pub(super) fn say(run: &Run, entry: &Entry) {
    // Most programs log nothing, and most events are told at this level.
    if !tracing::enabled!(target: "tramline::run", tracing::Level::WARN) {
        return;
    }
    let id = run.id.as_str();
    let node = |node: &NodeIx| run.graph.node(*node).id.as_str();
    macro_rules! line {
        ($level:ident, $($rest:tt)*) => {
            tracing::$level!(target: "tramline::run", run = id, $($rest)*)
        };
    }
    match &entry.event {
        Event::Started(started) => line!(
            info,
            workflow = run.graph.workflow.name.as_str(),
            parent = started.parent.as_ref().map(|parent| parent.run.as_str()),
            "begins"
        ),
        Event::Resumed { by } => line!(info, by = by.as_str(), "is taken up"),
        Event::StepStarted {
            step,
            node: at,
            attempt,
            ..
        } => line!(debug, step, node = node(at), attempt, "a call leaves"),
        Event::Spread { step, node: at, .. } => {
            line!(debug, step, node = node(at), "is spread over items");
        }
        Event::Gathered { step, node: at } | Event::StepFinished { step, node: at, .. } => {
            line!(debug, step, node = node(at), "a step is done");
        }
        Event::Waiting { step, node: at, .. } => {
            line!(debug, step, node = node(at), "lets time pass");
        }
        Event::AttemptFailed {
            step,
            failure,
            wait_ms,
            ..
        } => line!(
            warn,
            step,
            code = failure.kind.code(),
            says = failure.message,
            wait_ms,
            "an attempt failed"
        ),
        Event::StepFailed {
            step,
            node: at,
            failure,
        } => line!(
            warn,
            step,
            node = node(at),
            code = failure.kind.code(),
            says = failure.message,
            "a step failed"
        ),
        Event::Paused { pause } => line!(info, kind = pause.kind(), "asks and waits"),
        Event::Answered { by, .. } => line!(info, by = by.as_str(), "is answered"),
        Event::Watched { .. } => line!(debug, "is watched"),
        Event::Amended { by, .. } => line!(info, by = by.as_str(), "is amended"),
        Event::Finished { outcome } => {
            let ms = entry.at_ms - run.started_ms;
            match outcome {
                Outcome::Completed { .. } => line!(info, ms, "completed"),
                Outcome::Failed { failure, .. } => line!(
                    warn,
                    ms,
                    code = failure.kind.code(),
                    says = failure.message,
                    "failed"
                ),
                Outcome::Rejected { .. } => line!(info, ms, "rejected"),
                Outcome::Aborted { .. } if outcome.is_expired() => line!(info, ms, "expired"),
                Outcome::Aborted { by, .. } => line!(info, ms, by = by.as_str(), "aborted"),
            }
        }
        Event::Guided(_)
        | Event::Moved(_)
        | Event::Noted(_)
        | Event::ToolCalled(_)
        | Event::ToolAnswered(_)
        | Event::Refused(_) => {}
    }
}
