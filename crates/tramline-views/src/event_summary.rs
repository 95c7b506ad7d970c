//! One-line summaries of events: what happened, at which node, and the status since then.
//!
//! They carry enough to highlight nodes while a run is watched, without inputs and outputs.

use crate::step_tracker::{Activity, NodeNames, StepEnd, StepTracker, TrackedStep, Update};
use serde::Serialize;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::{NodeIx, Seq, StepNo};
use tramline_workflow::journal::{Entry, Event, SopEvent, SopPosition};
use tramline_workflow::sop::Sop;

/// An event in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventSummary {
    /// The position in the journal.
    pub seq: Seq,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// What happened: `step_started`, `paused`, `moved` and so on.
    pub event: &'static str,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNo>,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Str>,
    /// The label that the step picked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Str>,
    /// The status of the node since then, or of the run if the event concerns the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// The attempt, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The fan-out item, if the step is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Str>,
    /// The channel an answer came through; `agent` and `http` are relayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<&'static str>,
    /// The reason or the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Summarizes the events of one run, in order.
#[derive(Clone, Debug, Default)]
pub struct EventSummarizer {
    tracker: StepTracker,
    names: NodeNames,
    sops: Vec<Arc<Sop>>,
}

impl EventSummarizer {
    fn name(&self, node: NodeIx) -> Option<Str> {
        self.names.get(node).cloned()
    }

    fn node_at(&self, at: SopPosition) -> Option<Str> {
        let sop = self.sops.get(at.sop as usize)?;
        sop.nodes.get(at.node.index()).map(|node| node.id.clone())
    }

    /// Summarizes the next event.
    pub fn summarize(&mut self, entry: &Entry) -> EventSummary {
        let update = self.tracker.follow(entry);
        let told = match (&entry.event, &update) {
            (Event::Sop(event), _) => self.summarize_sop_event(event),
            (Event::Run(_), Some(update)) => self.summarize_update(update),
            (Event::Run(_), None) => EventSummary::default(),
        };
        EventSummary {
            seq: entry.seq,
            at_ms: entry.at_ms,
            ..told
        }
    }

    /// Summarizes an event of a run.
    fn summarize_update(&mut self, update: &Update<'_>) -> EventSummary {
        self.names.follow(update);
        let line = |event| EventSummary {
            event,
            ..EventSummary::default()
        };
        let of_step = |event, step: &TrackedStep, status| EventSummary {
            step: Some(step.step),
            node: self.name(step.node),
            item: step.item.map(|item| item.index),
            status: Some(status),
            ..line(event)
        };
        match update {
            Update::Started(started) => EventSummary {
                by: Some(started.by.clone()),
                ..line("started")
            },
            Update::StepStarted { step, activity, .. } => match activity {
                Activity::Call { .. } => EventSummary {
                    attempt: Some(step.attempt),
                    ..of_step("step_started", step, "running")
                },
                Activity::FanOut(_) => of_step("spread", step, "running"),
                Activity::Wait(_) => of_step("waiting", step, "waiting"),
            },
            Update::AttemptFailed {
                number,
                step,
                failure,
                ..
            } => EventSummary {
                step: Some(*number),
                item: step.and_then(|step| step.item).map(|item| item.index),
                message: Some(failure.message.clone()),
                status: Some("retrying"),
                ..line("attempt_failed")
            },
            Update::StepEnded { step, end, .. } => match end {
                StepEnd::Finished { label, .. } => EventSummary {
                    label: label.cloned(),
                    ..of_step("step_finished", step, "succeeded")
                },
                StepEnd::FannedIn => of_step("gathered", step, "succeeded"),
                StepEnd::Failed(failure) => EventSummary {
                    message: Some(failure.message.clone()),
                    ..of_step("step_failed", step, "failed")
                },
            },
            Update::Paused(pause) => EventSummary {
                node: pause.node().and_then(|node| self.name(node)),
                status: Some("waiting"),
                message: Some(pause.kind().to_owned()),
                ..line("paused")
            },
            Update::Answered(answered) => EventSummary {
                via: answered.via.map(AnswerChannel::as_str),
                node: answered.pause.and_then(|pause| self.name(pause.node?)),
                message: answered.why.map(str::to_owned),
                by: Some(answered.by.clone()),
                ..line("answered")
            },
            Update::Changed(change) => EventSummary {
                by: Some(change.by.clone()),
                ..line(change.name())
            },
            Update::Finished { outcome, .. } => EventSummary {
                status: Some(outcome.status()),
                ..line("finished")
            },
        }
    }

    /// Summarizes an event of an SOP session.
    fn summarize_sop_event(&mut self, event: &SopEvent) -> EventSummary {
        let line = |event| EventSummary {
            event,
            ..EventSummary::default()
        };
        match event {
            SopEvent::SopStarted(begun) => {
                self.sops.clone_from(&begun.sops);
                EventSummary {
                    by: Some(begun.by.clone()),
                    ..line("guided")
                }
            }
            SopEvent::Moved(moved) => EventSummary {
                node: self.node_at(moved.to),
                message: moved.reason.as_deref().map(str::to_owned),
                ..line("moved")
            },
            SopEvent::Noted(_) => line("noted"),
            SopEvent::ToolCalled(called) => EventSummary {
                message: Some(called.tool.to_string()),
                ..line("tool_called")
            },
            SopEvent::ToolAnswered(answered) => EventSummary {
                status: Some(match answered.failure {
                    Some(_) => "failed",
                    None => "succeeded",
                }),
                ..line("tool_answered")
            },
            SopEvent::Refused(refused) => EventSummary {
                message: Some(refused.why.to_string()),
                ..line("refused")
            },
        }
    }
}
