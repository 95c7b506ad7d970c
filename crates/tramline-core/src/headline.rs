//! An event in one line: what happened, where, and how the node stands since.
//!
//! For whoever watches a run: enough to light up its nodes, without what went in and came out.

use crate::authority::AnswerChannel;
use crate::ids::{NodeIx, Seq, StepNo};
use crate::journal::{Entry, Event, Stand};
use crate::sop::Sop;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::Str;

/// An event in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// Its place in the journal.
    pub seq: Seq,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What happened: `step_started`, `paused`, `moved` and so on.
    pub event: &'static str,
    /// Which step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNo>,
    /// At which node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Str>,
    /// The label that a step picked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Str>,
    /// How the node stands since, or the run where it is about the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// Which attempt, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Which item, if the step is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Str>,
    /// By which channel an answer came; `agent` and `http` are relayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<&'static str>,
    /// Why, or what was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Tells the events of one run, in order.
#[derive(Clone, Debug, Default)]
pub struct Teller {
    names: Vec<Str>,
    sops: Vec<Arc<Sop>>,
    /// The steps under way that are for single items, with their places.
    items: HashMap<StepNo, u32>,
    asked: HashMap<Seq, Option<NodeIx>>,
}

impl Teller {
    /// The ids of the run's nodes so far.
    pub fn names(&self) -> &[Str] {
        &self.names
    }

    fn name(&self, node: NodeIx) -> Option<Str> {
        self.names.get(node.at()).cloned()
    }

    fn stand(&self, at: Stand) -> Option<Str> {
        let sop = self.sops.get(at.sop as usize)?;
        sop.nodes.get(at.node.at()).map(|node| node.id.clone())
    }

    /// The next event in one line.
    pub fn tell(&mut self, entry: &Entry) -> Headline {
        let told = match &entry.event {
            Event::StepStarted { .. }
            | Event::Spread { .. }
            | Event::Gathered { .. }
            | Event::Waiting { .. }
            | Event::AttemptFailed { .. }
            | Event::StepFinished { .. }
            | Event::StepFailed { .. } => self.step(&entry.event),
            Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_) => self.guided(&entry.event),
            Event::Started(_)
            | Event::Resumed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Watched { .. }
            | Event::Amended { .. }
            | Event::Finished { .. } => self.whole(entry),
        };
        Headline {
            seq: entry.seq,
            at_ms: entry.at_ms,
            ..told
        }
    }

    /// What happened to a step.
    fn step(&mut self, event: &Event) -> Headline {
        let line = |event, step: &StepNo, node, status| Headline {
            event,
            step: Some(*step),
            node,
            status: Some(status),
            ..Headline::default()
        };
        match event {
            Event::StepStarted {
                step,
                node,
                attempt,
                of,
                ..
            } => {
                if let Some(item) = of {
                    self.items.insert(*step, item.index);
                }
                Headline {
                    attempt: Some(*attempt),
                    item: of.map(|item| item.index),
                    ..line("step_started", step, self.name(*node), "running")
                }
            }
            Event::Spread { step, node, .. } => line("spread", step, self.name(*node), "running"),
            Event::Gathered { step, node } => line("gathered", step, self.name(*node), "succeeded"),
            Event::Waiting { step, node, .. } => line("waiting", step, self.name(*node), "waiting"),
            Event::AttemptFailed { step, failure, .. } => Headline {
                item: self.items.get(step).copied(),
                message: Some(failure.message.clone()),
                ..line("attempt_failed", step, None, "retrying")
            },
            Event::StepFinished {
                step, node, label, ..
            } => Headline {
                item: self.items.remove(step),
                label: label.clone(),
                ..line("step_finished", step, self.name(*node), "succeeded")
            },
            Event::StepFailed {
                step,
                node,
                failure,
            } => Headline {
                item: self.items.remove(step),
                message: Some(failure.message.clone()),
                ..line("step_failed", step, self.name(*node), "failed")
            },
            _ => Headline::default(),
        }
    }

    /// What happened to the run as a whole.
    fn whole(&mut self, entry: &Entry) -> Headline {
        let line = |event, by: Option<&Str>| Headline {
            event,
            by: by.cloned(),
            ..Headline::default()
        };
        match &entry.event {
            Event::Started(started) => {
                let nodes = started.workflow.nodes.iter();
                self.names = nodes.map(|node| node.id.clone()).collect();
                line("started", Some(&started.by))
            }
            Event::Resumed { by } => line("resumed", Some(by)),
            Event::Paused { pause } => {
                self.asked.insert(entry.seq, pause.node());
                let node = pause.node().and_then(|node| self.name(node));
                Headline {
                    node,
                    status: Some("waiting"),
                    message: Some(pause.kind().to_owned()),
                    ..line("paused", None)
                }
            }
            Event::Answered {
                pause,
                by,
                why,
                via,
                ..
            } => Headline {
                via: via.map(AnswerChannel::word),
                node: self
                    .asked
                    .remove(pause)
                    .flatten()
                    .and_then(|at| self.name(at)),
                message: why.clone(),
                ..line("answered", Some(by))
            },
            Event::Watched { by, .. } => line("watched", Some(by)),
            Event::Amended { patch, by } => {
                self.names
                    .extend(patch.nodes.iter().map(|node| node.id.clone()));
                line("amended", Some(by))
            }
            Event::Finished { outcome } => Headline {
                status: Some(outcome.word()),
                ..line("finished", None)
            },
            _ => Headline::default(),
        }
    }

    /// What happened in a guided run.
    fn guided(&mut self, event: &Event) -> Headline {
        let line = |event| Headline {
            event,
            ..Headline::default()
        };
        match event {
            Event::Guided(begun) => {
                self.sops.clone_from(&begun.sops);
                Headline {
                    by: Some(begun.by.clone()),
                    ..line("guided")
                }
            }
            Event::Moved(moved) => Headline {
                node: self.stand(moved.to),
                message: moved.reason.as_deref().map(str::to_owned),
                ..line("moved")
            },
            Event::Noted(_) => line("noted"),
            Event::ToolCalled(called) => Headline {
                message: Some(called.tool.to_string()),
                ..line("tool_called")
            },
            Event::ToolAnswered(answered) => Headline {
                status: Some(match answered.failure {
                    Some(_) => "failed",
                    None => "succeeded",
                }),
                ..line("tool_answered")
            },
            Event::Refused(refused) => Headline {
                message: Some(refused.why.to_string()),
                ..line("refused")
            },
            _ => Headline::default(),
        }
    }
}
