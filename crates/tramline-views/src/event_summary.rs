//! One-line summaries of events: what happened, at which node, and the status since then.
//!
//! They carry enough to highlight nodes while a run is watched, without inputs and outputs.

use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::{NodeIx, Seq, StepNo};
use tramline_workflow::journal::{Entry, Event, RunEvent, SopEvent, SopPosition};
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
    names: Vec<Str>,
    sops: Vec<Arc<Sop>>,
    /// The running steps of single fan-out items, with the item indexes.
    items: HashMap<StepNo, u32>,
    paused_nodes: HashMap<Seq, Option<NodeIx>>,
}

impl EventSummarizer {
    /// The ids of the run's nodes so far.
    pub fn names(&self) -> &[Str] {
        &self.names
    }

    fn name(&self, node: NodeIx) -> Option<Str> {
        self.names.get(node.index()).cloned()
    }

    fn node_at(&self, at: SopPosition) -> Option<Str> {
        let sop = self.sops.get(at.sop as usize)?;
        sop.nodes.get(at.node.index()).map(|node| node.id.clone())
    }

    /// Summarizes the next event.
    pub fn summarize(&mut self, entry: &Entry) -> EventSummary {
        let told = match &entry.event {
            Event::Run(
                RunEvent::StepStarted { .. }
                | RunEvent::FannedOut { .. }
                | RunEvent::FannedIn { .. }
                | RunEvent::Waiting { .. }
                | RunEvent::AttemptFailed { .. }
                | RunEvent::StepFinished { .. }
                | RunEvent::StepFailed { .. },
            ) => self.summarize_step_event(&entry.event),
            Event::Sop(event) => self.summarize_sop_event(event),
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::Resumed { .. }
                | RunEvent::Paused { .. }
                | RunEvent::Answered { .. }
                | RunEvent::BreakpointsSet { .. }
                | RunEvent::GraphExtended { .. }
                | RunEvent::Finished { .. },
            ) => self.summarize_run_event(entry),
        };
        EventSummary {
            seq: entry.seq,
            at_ms: entry.at_ms,
            ..told
        }
    }

    /// Summarizes an event of a step.
    fn summarize_step_event(&mut self, event: &Event) -> EventSummary {
        let line = |event, step: &StepNo, node, status| EventSummary {
            event,
            step: Some(*step),
            node,
            status: Some(status),
            ..EventSummary::default()
        };
        match event {
            Event::Run(RunEvent::StepStarted {
                step,
                node,
                attempt,
                of,
                ..
            }) => {
                if let Some(item) = of {
                    self.items.insert(*step, item.index);
                }
                EventSummary {
                    attempt: Some(*attempt),
                    item: of.map(|item| item.index),
                    ..line("step_started", step, self.name(*node), "running")
                }
            }
            Event::Run(RunEvent::FannedOut { step, node, .. }) => {
                line("spread", step, self.name(*node), "running")
            }
            Event::Run(RunEvent::FannedIn { step, node }) => {
                line("gathered", step, self.name(*node), "succeeded")
            }
            Event::Run(RunEvent::Waiting { step, node, .. }) => {
                line("waiting", step, self.name(*node), "waiting")
            }
            Event::Run(RunEvent::AttemptFailed { step, failure, .. }) => EventSummary {
                item: self.items.get(step).copied(),
                message: Some(failure.message.clone()),
                ..line("attempt_failed", step, None, "retrying")
            },
            Event::Run(RunEvent::StepFinished {
                step, node, label, ..
            }) => EventSummary {
                item: self.items.remove(step),
                label: label.clone(),
                ..line("step_finished", step, self.name(*node), "succeeded")
            },
            Event::Run(RunEvent::StepFailed {
                step,
                node,
                failure,
            }) => EventSummary {
                item: self.items.remove(step),
                message: Some(failure.message.clone()),
                ..line("step_failed", step, self.name(*node), "failed")
            },
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::Resumed { .. }
                | RunEvent::Paused { .. }
                | RunEvent::Answered { .. }
                | RunEvent::BreakpointsSet { .. }
                | RunEvent::GraphExtended { .. }
                | RunEvent::Finished { .. },
            )
            | Event::Sop(_) => EventSummary::default(),
        }
    }

    /// Summarizes an event of the whole run.
    fn summarize_run_event(&mut self, entry: &Entry) -> EventSummary {
        let line = |event, by: Option<&Str>| EventSummary {
            event,
            by: by.cloned(),
            ..EventSummary::default()
        };
        match &entry.event {
            Event::Run(RunEvent::Started(started)) => {
                let nodes = started.workflow.nodes.iter();
                self.names = nodes.map(|node| node.id.clone()).collect();
                line("started", Some(&started.by))
            }
            Event::Run(RunEvent::Resumed { by }) => line("resumed", Some(by)),
            Event::Run(RunEvent::Paused { pause }) => {
                self.paused_nodes.insert(entry.seq, pause.node());
                let node = pause.node().and_then(|node| self.name(node));
                EventSummary {
                    node,
                    status: Some("waiting"),
                    message: Some(pause.kind().to_owned()),
                    ..line("paused", None)
                }
            }
            Event::Run(RunEvent::Answered {
                pause,
                by,
                why,
                via,
                ..
            }) => EventSummary {
                via: via.map(AnswerChannel::as_str),
                node: self
                    .paused_nodes
                    .remove(pause)
                    .flatten()
                    .and_then(|at| self.name(at)),
                message: why.clone(),
                ..line("answered", Some(by))
            },
            Event::Run(RunEvent::BreakpointsSet { by, .. }) => line("watched", Some(by)),
            Event::Run(RunEvent::GraphExtended { patch, by }) => {
                self.names
                    .extend(patch.nodes.iter().map(|node| node.id.clone()));
                line("amended", Some(by))
            }
            Event::Run(RunEvent::Finished { outcome }) => EventSummary {
                status: Some(outcome.status()),
                ..line("finished", None)
            },
            Event::Run(
                RunEvent::StepStarted { .. }
                | RunEvent::FannedOut { .. }
                | RunEvent::FannedIn { .. }
                | RunEvent::Waiting { .. }
                | RunEvent::AttemptFailed { .. }
                | RunEvent::StepFinished { .. }
                | RunEvent::StepFailed { .. },
            )
            | Event::Sop(_) => EventSummary::default(),
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
