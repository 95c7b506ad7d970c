//! Log lines for a run's events. Each line names its run.

use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::{Entry, Event, Outcome, RunEvent};
use tramline_workflow::run::Run;

/// Logs an event at its level.
pub(super) fn log_event(run: &Run, entry: &Entry) {
    // Most programs log nothing, and `WARN` is enabled in all that do.
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
        Event::Run(RunEvent::Started(started)) => line!(
            info,
            workflow = run.graph.workflow.name.as_str(),
            parent = started.parent.as_ref().map(|parent| parent.run.as_str()),
            "run started"
        ),
        Event::Run(RunEvent::Resumed { by }) => line!(info, by = by.as_str(), "run resumed"),
        Event::Run(RunEvent::StepStarted {
            step,
            node: at,
            attempt,
            ..
        }) => line!(debug, step, node = node(at), attempt, "call sent"),
        Event::Run(RunEvent::FannedOut { step, node: at, .. }) => {
            line!(debug, step, node = node(at), "fan-out started");
        }
        Event::Run(RunEvent::FannedIn { step, node: at })
        | Event::Run(RunEvent::StepFinished { step, node: at, .. }) => {
            line!(debug, step, node = node(at), "step finished");
        }
        Event::Run(RunEvent::Waiting { step, node: at, .. }) => {
            line!(debug, step, node = node(at), "step waits");
        }
        Event::Run(RunEvent::AttemptFailed {
            step,
            failure,
            wait_ms,
            ..
        }) => line!(
            warn,
            step,
            code = failure.kind.code(),
            says = failure.message,
            wait_ms,
            "attempt failed"
        ),
        Event::Run(RunEvent::StepFailed {
            step,
            node: at,
            failure,
        }) => line!(
            warn,
            step,
            node = node(at),
            code = failure.kind.code(),
            says = failure.message,
            "step failed"
        ),
        Event::Run(RunEvent::Paused { pause }) => line!(info, kind = pause.kind(), "run paused"),
        Event::Run(RunEvent::Answered { by, .. }) => {
            line!(info, by = by.as_str(), "pause answered")
        }
        Event::Run(RunEvent::BreakpointsSet { .. }) => line!(debug, "breakpoints changed"),
        Event::Run(RunEvent::GraphExtended { by, .. }) => {
            line!(info, by = by.as_str(), "run replanned")
        }
        Event::Run(RunEvent::Finished { outcome }) => {
            let ms = entry.at_ms - run.started_ms;
            match outcome {
                Outcome::Completed { .. } => line!(info, ms, "run completed"),
                Outcome::Failed { failure, .. } => line!(
                    warn,
                    ms,
                    code = failure.kind.code(),
                    says = failure.message,
                    "run failed"
                ),
                Outcome::Rejected { .. } => line!(info, ms, "run rejected"),
                Outcome::Aborted { .. } if outcome.is_expired() => line!(info, ms, "run expired"),
                Outcome::Aborted { by, .. } => line!(info, ms, by = by.as_str(), "run aborted"),
            }
        }
        Event::Sop(_) => {}
    }
}
