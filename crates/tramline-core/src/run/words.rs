//! What words from outside change: take-overs, questions, answers, patches.

use super::flow::{Flow, Leave};
use super::{Approval, Layer, Run, Stage, Token};
use crate::authority::{AnswerChannel, Reason};
use crate::graph::Patch;
use crate::ids::{NodeIx, Seq};
use crate::journal::{Answer, Entry, Event, Fork, Outcome, Pause, Policy, ProposedCall};
use crate::question;
use std::sync::Arc;
use tramline_expr::Value;

impl Run {
    pub(super) fn taken_over(&mut self) {
        // Nobody was at work since the last event.
        if let Some(since) = self.active.since_ms.take() {
            self.active.before_ms += self.updated_ms.saturating_sub(since).max(0) as u64;
        }
        for open in self.open.values_mut() {
            open.stage = match open.stage {
                Stage::Calling | Stage::Adrift if open.repeatable => Stage::Again,
                Stage::Calling | Stage::Adrift => Stage::Adrift,
                // The failed attempt is known to be over, so the next one may just go.
                Stage::Resting | Stage::Again => Stage::Again,
                Stage::Doubted => Stage::Doubted,
                Stage::Sleeping(until) => Stage::Sleeping(until),
            };
        }
    }

    pub(super) fn paused(&mut self, entry: &Entry, pause: &Pause) -> Result<(), String> {
        match pause {
            Pause::Layer { .. } => {}
            Pause::Budget { .. } => self.stalled = Some(entry.seq),
            Pause::Approval { node, .. } => {
                self.held(entry.seq, *node, |leave| leave.approval != Approval::Full)?
            }
            Pause::Break { node, .. } => self.held(entry.seq, *node, |leave| !leave.passed)?,
            Pause::Effect { node, .. } => self.held(entry.seq, *node, |leave| !leave.effect)?,
            Pause::InDoubt { step, .. } | Pause::Child { step, .. } => {
                self.open_step(*step)?.stage = Stage::Doubted;
            }
        }
        self.pauses.insert(entry.seq, pause.clone());
        Ok(())
    }

    /// Holds a token back until somebody answers.
    fn held(
        &mut self,
        seq: Seq,
        node: NodeIx,
        fits: impl Fn(&Leave) -> bool,
    ) -> Result<(), String> {
        let token = self
            .flow
            .take_fitting(node, fits)
            .ok_or_else(|| self.nothing_enters(node))?;
        self.layer.left = self.layer.left.saturating_sub(1);
        self.forget_given(&token);
        self.asked.insert(seq, token);
        Ok(())
    }

    pub(super) fn answered(&mut self, entry: &Entry) -> Result<(), String> {
        let Event::Answered {
            pause,
            answer,
            why,
            via,
            ..
        } = &entry.event
        else {
            return Ok(());
        };
        let pause = *pause;
        let Some(mut asked) = self.pauses.remove(&pause) else {
            return Err(format!("no question stands at {pause}"));
        };
        let approval = self.approval_by(entry.seq, &asked, *via);
        match (&mut asked, answer) {
            (_, Answer::Reject) => {
                self.verdict = Some(Outcome::Rejected {
                    node: asked.node(),
                    why: why.clone(),
                });
            }
            (Pause::Layer { index }, Answer::Proceed) => {
                self.layer = Layer {
                    index: *index + 1,
                    left: self.flow.ready.len(),
                    failed: false,
                };
            }
            (Pause::Budget { what, source, .. }, Answer::Extend { budget })
                if budget.part(*what).is_some_and(|more| more > 0) =>
            {
                self.extend(*source, budget);
                self.stalled = None;
            }
            (Pause::Approval { call, .. }, Answer::Proceed) => {
                self.agree(pause, call.take(), |leave| leave.approval = approval);
            }
            (
                Pause::Approval {
                    call: Some(call), ..
                },
                Answer::ProceedWith { arguments },
            ) if call.batch.is_none() => {
                let call = edited(call, arguments);
                self.agree(pause, Some(call), |leave| leave.approval = approval);
            }
            (Pause::Break { .. }, Answer::Proceed) => {
                self.let_go(pause, |leave| leave.passed = true);
            }
            (Pause::Effect { call, .. }, Answer::Proceed) => {
                self.agree(pause, call.take(), |leave| leave.effect = true);
            }
            (
                Pause::Effect {
                    call: Some(call), ..
                },
                Answer::ProceedWith { arguments },
            ) if call.batch.is_none() => {
                let call = edited(call, arguments);
                self.agree(pause, Some(call), |leave| leave.effect = true);
            }
            (Pause::Break { node, .. } | Pause::Effect { node, .. }, Answer::Skip { output }) => {
                self.given.push((*node, output.clone()));
                self.let_go(pause, |leave| (leave.passed, leave.given) = (true, true));
            }
            (Pause::InDoubt { step, .. } | Pause::Child { step, .. }, Answer::Retry) => {
                self.open_step(*step)?.stage = Stage::Again;
            }
            (
                Pause::InDoubt { step, node, .. } | Pause::Child { step, node, .. },
                Answer::Skip { output },
            ) => match self.enter(*step, *node)? {
                Some(item) => self.item_done(item, output.clone())?,
                None => self.step_ended(*node, None, output.clone()),
            },
            (_, Answer::ProceedWith { .. })
            | (
                Pause::Layer { .. } | Pause::Approval { .. },
                Answer::Retry | Answer::Skip { .. } | Answer::Extend { .. },
            )
            | (Pause::Break { .. } | Pause::Effect { .. }, Answer::Retry | Answer::Extend { .. })
            | (
                Pause::InDoubt { .. } | Pause::Child { .. },
                Answer::Proceed | Answer::Extend { .. },
            )
            | (
                Pause::Budget { .. },
                Answer::Proceed | Answer::Retry | Answer::Skip { .. } | Answer::Extend { .. },
            ) => {
                let message = unfitting(&asked);
                self.pauses.insert(pause, asked);
                return Err(message);
            }
        }
        Ok(())
    }

    /// What a yes to an approval is good for. Relayed, it covers what a document or an annotation
    /// asks for; the operator's policy then asks for itself. What another run was allowed before
    /// this one branched off from it covers nothing here.
    fn approval_by(&self, seq: Seq, asked: &Pause, via: Option<AnswerChannel>) -> Approval {
        let is_past = |fork: &Fork| seq <= fork.seq;
        if self.started.fork.as_ref().is_some_and(is_past) {
            return Approval::None;
        }
        // Journals of earlier versions do not say by which channel; an answer was an answer.
        let by_person = via.is_none_or(|via| !via.is_relayed());
        match by_person || Reason::of(&self.graph, asked).is_operators() {
            true => Approval::Full,
            false => Approval::Relayed,
        }
    }

    /// Gives a token back that waited for an answer, with the call that was agreed to.
    fn agree(
        &mut self,
        pause: Seq,
        call: Option<Box<ProposedCall>>,
        change: impl FnOnce(&mut Leave),
    ) {
        let before = self.asked.get(&pause).map_or(0, |token| token.leave.agreed);
        if call.is_some() {
            self.agreed.remove(&before);
        }
        let place = if call.is_some() { pause } else { before };
        self.agreed.extend(call.map(|call| (pause, call)));
        self.let_go(pause, |leave| {
            change(leave);
            leave.agreed = place;
        });
    }

    /// Gives a token that waited for an answer back, with what was said about it.
    fn let_go(&mut self, pause: Seq, change: impl FnOnce(&mut Leave)) {
        if let Some(mut token) = self.asked.remove(&pause) {
            change(&mut token.leave);
            self.flow.ready.push_front(token);
            self.layer.left += 1;
        }
    }

    /// Whether this is a moment at which the graph can grow.
    fn may_grow(&self) -> Result<(), String> {
        if self.verdict.is_some() {
            return Err("the run is about to end; start another one".into());
        }
        let waits = self
            .pauses
            .values()
            .any(|pause| matches!(pause, Pause::Layer { .. }));
        match self.started.policy {
            Policy::Layered if !waits => Err(
                "a layer is under way; tasks are added while the run waits between two layers"
                    .into(),
            ),
            Policy::Layered | Policy::Eager => Ok(()),
        }
    }

    /// Puts the patch in and lets the trail so far flow through the larger graph.
    pub(super) fn amended(&mut self, patch: &Patch) -> Result<(), String> {
        self.may_grow()?;
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
        let called = self.open.values().filter(|open| open.of.is_none());
        for node in called
            .map(|open| open.node)
            .chain(self.spreads.values().map(|spread| spread.node))
            .chain(self.asked.values().map(|token| token.node))
        {
            flow.take(node)
                .ok_or("the patch changes what is being done")?;
        }
        // What somebody said about visits that are about to begin still holds.
        let told = |token: &&Token| token.leave != Leave::default();
        for token in self.flow.ready.iter().filter(told) {
            let again = flow.ready.iter_mut();
            let mut again = again.filter(|again| again.leave == Leave::default());
            match again.find(|again| again.node == token.node) {
                Some(again) => again.leave = token.leave,
                None => return Err("the patch changes what is about to be done".into()),
            }
        }
        self.history.grow(graph.len());
        self.flow = flow;
        self.graph = graph;
        Ok(())
    }
}

/// A call with other arguments.
fn edited(call: &ProposedCall, arguments: &Value) -> Box<ProposedCall> {
    Box::new(ProposedCall {
        arguments: arguments.clone(),
        ..call.clone()
    })
}

/// Why an answer is none to what was asked.
fn unfitting(asked: &Pause) -> String {
    let fitting = question::options(asked).join(", ");
    match asked {
        Pause::Budget { what, .. } => format!(
            "that is no answer to this question, which takes {fitting}; extend `{}`, since that is \
             spent",
            what.field()
        ),
        Pause::Layer { .. }
        | Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Child { .. } => {
            format!("that is no answer to this question, which takes {fitting}")
        }
    }
}
