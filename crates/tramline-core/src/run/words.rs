//! What words from outside change: take-overs, questions, answers, patches.

use super::flow::{Flow, Token};
use super::{Layer, Run, Stage};
use crate::graph::Patch;
use crate::ids::Seq;
use crate::journal::{Answer, Entry, Outcome, Pause};
use std::sync::Arc;

impl Run {
    pub(super) fn taken_over(&mut self, at_ms: i64) {
        self.rest(self.updated_ms);
        for open in self.open.values_mut() {
            open.stage = match open.stage {
                Stage::Calling | Stage::Adrift if open.repeatable => Stage::Again,
                Stage::Calling | Stage::Adrift => Stage::Adrift,
                // The failed attempt is known to be over, so the next one may just go.
                Stage::Resting | Stage::Again => Stage::Again,
                Stage::Doubted => Stage::Doubted,
            };
        }
        // Who takes over a run that waits for an answer only waits too.
        self.active.since_ms = (!self.is_paused()).then_some(at_ms);
    }

    /// Stops the clock of work.
    pub(super) fn rest(&mut self, at_ms: i64) {
        if let Some(since) = self.active.since_ms.take() {
            self.active.before_ms += at_ms.saturating_sub(since).max(0) as u64;
        }
    }

    pub(super) fn paused(&mut self, entry: &Entry, pause: &Pause) -> Result<(), String> {
        match pause {
            Pause::Layer { .. } => {}
            Pause::Approval { node, .. } => {
                let token = self
                    .flow
                    .take(*node)
                    .ok_or("nothing is about to enter that node")?;
                self.layer.left = self.layer.left.saturating_sub(1);
                self.asked.insert(entry.seq, token);
            }
            Pause::InDoubt { step, .. } => self.open_step(*step)?.stage = Stage::Doubted,
        }
        self.pauses.insert(entry.seq, pause.clone());
        if self.is_paused() {
            self.rest(entry.at_ms);
        }
        Ok(())
    }

    pub(super) fn answered(
        &mut self,
        pause: Seq,
        answer: &Answer,
        why: &Option<String>,
        at_ms: i64,
    ) -> Result<(), String> {
        let Some(asked) = self.pauses.remove(&pause) else {
            return Err(format!("no question stands at {pause}"));
        };
        self.active.since_ms.get_or_insert(at_ms);
        match (&asked, answer) {
            (Pause::Layer { index }, Answer::Proceed) => {
                self.layer = Layer {
                    index: index + 1,
                    left: self.flow.ready.len(),
                };
            }
            (Pause::Approval { .. }, Answer::Proceed) => {
                if let Some(token) = self.asked.remove(&pause) {
                    self.flow.ready.push_front(Token {
                        approved: true,
                        ..token
                    });
                    self.layer.left += 1;
                }
            }
            (Pause::InDoubt { step, .. }, Answer::Retry) => {
                self.open_step(*step)?.stage = Stage::Again;
            }
            (Pause::InDoubt { step, node }, Answer::Skip { output }) => {
                self.open.remove(step);
                self.step_ended(*node, None, output.clone());
            }
            (Pause::Layer { .. }, Answer::Reject) => {
                self.verdict = Some(Outcome::Rejected {
                    node: None,
                    why: why.clone(),
                });
            }
            (Pause::Approval { node, .. } | Pause::InDoubt { node, .. }, Answer::Reject) => {
                self.verdict = Some(Outcome::Rejected {
                    node: Some(*node),
                    why: why.clone(),
                });
            }
            (Pause::Layer { .. } | Pause::Approval { .. }, Answer::Retry | Answer::Skip { .. })
            | (Pause::InDoubt { .. }, Answer::Proceed) => {
                self.pauses.insert(pause, asked);
                return Err("that is no answer to this question".into());
            }
        }
        Ok(())
    }

    /// Puts the patch in and lets the trail so far flow through the larger graph.
    pub(super) fn amended(&mut self, patch: &Patch) -> Result<(), String> {
        if !self.graph.can_grow() {
            return Err("this graph has an entry and exits; only graphs of tasks grow".into());
        }
        let graph = Arc::new(patch.apply(&self.graph).map_err(|problems| {
            problems
                .first()
                .map_or_else(String::new, |first| first.message.clone())
        })?);
        let mut flow = Flow::begin(&graph);
        for (node, label, visit) in &self.trail {
            flow.take(*node).ok_or("the patch changes what was done")?;
            flow.leave(&graph, *node, label, *visit);
        }
        for node in self
            .open
            .values()
            .map(|open| open.node)
            .chain(self.asked.values().map(|t| t.node))
        {
            flow.take(node)
                .ok_or("the patch changes what is being done")?;
        }
        self.history.grow(graph.len());
        self.flow = flow;
        self.graph = graph;
        Ok(())
    }
}
