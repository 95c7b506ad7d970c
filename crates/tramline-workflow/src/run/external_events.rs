//! Applies events from outside: take-overs, pauses, answers, patches.

use super::tokens::{Clearance, TokenFlow};
use super::{Approval, GivenOutput, LayerState, Run, StepStage, Token};
use crate::authority::{AnswerChannel, PauseReason};
use crate::form::{CANCEL_LABEL, DECLINE_LABEL, TIMEOUT_LABEL, unanswered_output};
use crate::graph::Patch;
use crate::ids::{NodeIx, Seq};
use crate::journal::{
    Answer, Entry, Event, ForkOrigin, Outcome, Pause, ProposedCall, RunEvent, SchedulePolicy,
};
use std::sync::Arc;
use tramline_expr::Value;

impl Run {
    pub(super) fn apply_take_over(&mut self) {
        // No process was driving the run since the last event.
        if let Some(since) = self.active_time.since_ms.take() {
            self.active_time.before_ms += self.updated_ms.saturating_sub(since).max(0) as u64;
        }
        for open in self.open_steps.values_mut() {
            open.stage = match open.stage {
                StepStage::Calling | StepStage::Orphaned if open.repeatable => StepStage::RetryDue,
                StepStage::Calling | StepStage::Orphaned => StepStage::Orphaned,
                // The failed attempt is known to be over, so the next one may start.
                StepStage::Backoff | StepStage::RetryDue => StepStage::RetryDue,
                StepStage::AwaitingDecision => StepStage::AwaitingDecision,
                StepStage::Sleeping(until) => StepStage::Sleeping(until),
            };
        }
    }

    pub(super) fn apply_pause(&mut self, entry: &Entry, pause: &Pause) -> Result<(), String> {
        // The journal may be an imported file.
        if let Some(node) = pause.node().filter(|node| node.index() >= self.graph.len()) {
            return Err(format!(
                "the pause names node {}, which does not exist",
                node.0
            ));
        }
        match pause {
            Pause::Layer { .. } => self.records.passed_layers += 1,
            Pause::Budget { .. } => self.budget_pause = Some(entry.seq),
            Pause::Approval { node, .. } => {
                self.hold_token(entry.seq, *node, |leave| leave.approval != Approval::Full)?
            }
            Pause::Break { node, .. } => {
                self.hold_token(entry.seq, *node, |leave| !leave.passed_breakpoint)?
            }
            Pause::Effect { node, .. } => {
                self.hold_token(entry.seq, *node, |leave| !leave.effect_allowed)?
            }
            Pause::Form { node, .. } => {
                self.hold_token(entry.seq, *node, |leave| leave.given_at == 0)?
            }
            Pause::InDoubt { step, .. } | Pause::Child { step, .. } => {
                self.open_step(*step)?.stage = StepStage::AwaitingDecision;
            }
        }
        self.pauses.insert(entry.seq, pause.clone());
        Ok(())
    }

    /// Holds a token back until the pause is answered.
    fn hold_token(
        &mut self,
        seq: Seq,
        node: NodeIx,
        fits: impl Fn(&Clearance) -> bool,
    ) -> Result<(), String> {
        let token = self
            .flow
            .take_matching(node, fits)
            .ok_or_else(|| self.no_token_message(node))?;
        self.layer.left = self.layer.left.saturating_sub(1);
        self.drop_given_output(&token);
        self.held_tokens.insert(seq, token);
        Ok(())
    }

    pub(super) fn apply_answer(&mut self, entry: &Entry) -> Result<(), String> {
        let Event::Run(RunEvent::Answered {
            pause,
            answer,
            by,
            why,
            via,
        }) = &entry.event
        else {
            return Ok(());
        };
        let pause = *pause;
        let Some(mut asked) = self.pauses.remove(&pause) else {
            return Err(format!("there is no open pause at {pause}"));
        };
        let approval = self.granted_approval(entry.seq, &asked, *via);
        let edited = asked.node();
        match (&mut asked, answer) {
            (Pause::Form { node, .. }, Answer::Decline)
                if self.graph.has_label(*node, DECLINE_LABEL) =>
            {
                self.give_output(
                    pause,
                    Some(DECLINE_LABEL),
                    unanswered_output("decline", why.as_deref()),
                );
            }
            (_, Answer::Reject) | (Pause::Form { .. }, Answer::Decline) => {
                self.records.rejected_at = Some(pause);
                self.pending_outcome = Some(Outcome::Rejected {
                    node: asked.node(),
                    why: why.clone(),
                });
            }
            (Pause::Layer { index }, Answer::Proceed) => {
                self.layer = LayerState {
                    index: *index + 1,
                    left: self.flow.ready.len(),
                    failed: false,
                };
            }
            (Pause::Budget { what, source, .. }, Answer::Extend { budget })
                if budget.part(*what).is_some_and(|more| more > 0) =>
            {
                self.extend_budget(*source, budget);
                self.budget_pause = None;
            }
            (Pause::Approval { call, .. }, Answer::Proceed) => {
                self.release_approved(pause, call.take(), |leave| leave.approval = approval);
            }
            (
                Pause::Approval {
                    call: Some(call), ..
                },
                Answer::ProceedWith { arguments },
            ) if call.batch.is_none() => {
                let call = with_arguments(call, arguments);
                self.release_approved(pause, Some(call), |leave| leave.approval = approval);
            }
            (Pause::Break { .. }, Answer::Proceed) => {
                self.release_token(pause, |leave| leave.passed_breakpoint = true);
            }
            (Pause::Effect { call, .. }, Answer::Proceed) => {
                self.release_approved(pause, call.take(), |leave| leave.effect_allowed = true);
            }
            (
                Pause::Effect {
                    call: Some(call), ..
                },
                Answer::ProceedWith { arguments },
            ) if call.batch.is_none() => {
                let call = with_arguments(call, arguments);
                self.release_approved(pause, Some(call), |leave| leave.effect_allowed = true);
            }
            (Pause::Break { .. } | Pause::Effect { .. }, Answer::Skip { output }) => {
                self.give_output(pause, None, output.clone());
            }
            (Pause::Form { .. }, Answer::Submit { content }) => {
                self.give_output(pause, None, content.clone());
            }
            (Pause::Form { node, .. }, Answer::Cancel)
                if self.graph.has_label(*node, CANCEL_LABEL) =>
            {
                self.give_output(
                    pause,
                    Some(CANCEL_LABEL),
                    unanswered_output("cancel", why.as_deref()),
                );
            }
            (Pause::Form { .. }, Answer::TimeOut) => {
                self.give_output(
                    pause,
                    Some(TIMEOUT_LABEL),
                    unanswered_output("timeout", why.as_deref()),
                );
            }
            (Pause::InDoubt { step, .. } | Pause::Child { step, .. }, Answer::Retry) => {
                let open = self.open_step(*step)?;
                open.stage = StepStage::RetryDue;
                open.is_relayed_retry = via.is_some_and(AnswerChannel::is_relayed);
            }
            (
                Pause::InDoubt { step, node, .. } | Pause::Child { step, node, .. },
                Answer::Skip { output },
            ) => match self.take_step(*step, *node)? {
                Some(item) => self.finish_item(item, output.clone())?,
                None => self.step_ended(*node, None, output.clone()),
            },
            (
                Pause::Form { .. },
                Answer::Proceed
                | Answer::Retry
                | Answer::Skip { .. }
                | Answer::Extend { .. }
                | Answer::Cancel,
            )
            | (
                _,
                Answer::ProceedWith { .. }
                | Answer::Submit { .. }
                | Answer::Decline
                | Answer::Cancel
                | Answer::TimeOut,
            )
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
                let message = invalid_answer_message(&asked);
                self.pauses.insert(pause, asked);
                return Err(message);
            }
        }
        if let (Answer::ProceedWith { arguments }, Some(node)) = (answer, edited) {
            self.records.edit(node, arguments.clone(), by.clone());
        }
        Ok(())
    }

    /// What an approval covers. A relayed one covers what a document or an annotation requires, and
    /// the operator's policy then asks separately. Approvals from before a fork cover nothing here.
    fn granted_approval(&self, seq: Seq, asked: &Pause, via: Option<AnswerChannel>) -> Approval {
        let is_past = |fork: &ForkOrigin| seq <= fork.seq;
        if self.started.fork.as_ref().is_some_and(is_past) {
            return Approval::None;
        }
        // Journals of earlier versions do not record the channel; any answer counted as a person's.
        let by_person = via.is_none_or(|via| !via.is_relayed());
        match by_person || PauseReason::of(&self.graph, asked).is_operator_required() {
            true => Approval::Full,
            false => Approval::Relayed,
        }
    }

    /// Releases a held token whose output an answer gives.
    fn give_output(&mut self, pause: Seq, label: Option<&str>, output: Value) {
        let label = label.map(Into::into);
        self.given_outputs
            .insert(pause, GivenOutput { label, output });
        self.release_token(pause, |leave| {
            (leave.passed_breakpoint, leave.given_at) = (true, pause);
        });
    }

    /// Releases a held token, with the approved call.
    fn release_approved(
        &mut self,
        pause: Seq,
        call: Option<Box<ProposedCall>>,
        change: impl FnOnce(&mut Clearance),
    ) {
        let before = self
            .held_tokens
            .get(&pause)
            .map_or(0, |token| token.clearance.approved_pause);
        if call.is_some() {
            self.approved_calls.remove(&before);
        }
        let place = if call.is_some() { pause } else { before };
        self.approved_calls.extend(call.map(|call| (pause, call)));
        self.release_token(pause, |leave| {
            change(leave);
            leave.approved_pause = place;
        });
    }

    /// Releases a held token, with what the answer granted.
    fn release_token(&mut self, pause: Seq, change: impl FnOnce(&mut Clearance)) {
        if let Some(mut token) = self.held_tokens.remove(&pause) {
            change(&mut token.clearance);
            self.flow.ready.push_front(token);
            self.layer.left += 1;
        }
    }

    /// Whether the graph can be extended now.
    fn check_extensible(&self) -> Result<(), String> {
        if self.pending_outcome.is_some() {
            return Err("the run is about to end; start a new run".into());
        }
        let waits = self
            .pauses
            .values()
            .any(|pause| matches!(pause, Pause::Layer { .. }));
        match self.started.policy {
            SchedulePolicy::Layered if !waits => Err(
                "a layer is running; tasks can only be added while the run is paused between layers"
                    .into(),
            ),
            SchedulePolicy::Layered | SchedulePolicy::Eager => Ok(()),
        }
    }

    /// Applies the patch, and replays the visits so far through the larger graph.
    pub(super) fn apply_patch(&mut self, patch: &Patch) -> Result<(), String> {
        self.check_extensible()?;
        let graph = Arc::new(patch.apply(&self.graph).map_err(|problems| {
            problems
                .first()
                .map_or_else(String::new, |first| first.message.clone())
        })?);
        let mut flow = TokenFlow::start(&graph);
        for (node, label, visit) in &self.visit_trail {
            flow.take(*node).ok_or("the patch changes finished steps")?;
            flow.finish_visit(&graph, *node, label, *visit);
        }
        let called = self.open_steps.values().filter(|open| open.item.is_none());
        for node in called
            .map(|open| open.node)
            .chain(self.fan_outs.values().map(|spread| spread.node))
            .chain(self.held_tokens.values().map(|token| token.node))
        {
            flow.take(node).ok_or("the patch changes running steps")?;
        }
        // What answers granted for visits that are about to start still applies.
        let told = |token: &&Token| token.clearance != Clearance::default();
        for token in self.flow.ready.iter().filter(told) {
            let again = flow.ready.iter_mut();
            let mut again = again.filter(|again| again.clearance == Clearance::default());
            match again.find(|again| again.node == token.node) {
                Some(again) => again.clearance = token.clearance,
                None => return Err("the patch changes steps that are about to start".into()),
            }
        }
        self.history.grow(graph.len());
        self.flow = flow;
        self.graph = graph;
        Ok(())
    }
}

/// The call with other arguments.
fn with_arguments(call: &ProposedCall, arguments: &Value) -> Box<ProposedCall> {
    Box::new(ProposedCall {
        arguments: arguments.clone(),
        ..call.clone()
    })
}

/// Why an answer does not fit a pause.
fn invalid_answer_message(asked: &Pause) -> String {
    let fitting = asked.options().join(", ");
    match asked {
        Pause::Budget { what, .. } => format!(
            "this pause accepts {fitting}; extend `{}`, which is \
             exhausted",
            what.field()
        ),
        Pause::Layer { .. }
        | Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Form { .. }
        | Pause::Child { .. } => {
            format!("this pause accepts {fitting}")
        }
    }
}
