//! Checks before an event is written that it belongs to exactly the step it was made for.
//!
//! Reading a journal is more lenient, so that journals of older versions stay readable. This check
//! stops a writer from recording an event of one step under the number of another.

use super::{OpenStep, Run, StepStage};
use crate::ids::{NodeIx, StepNo};
use crate::journal::{FanOutItem, Pause, RunEvent};

impl Run {
    /// Rejects an event that does not match its step: another node, another item, an attempt out of
    /// order, or a step that is not being performed.
    pub fn check_exact(&self, event: &RunEvent) -> Result<(), String> {
        match event {
            RunEvent::StepStarted {
                step,
                node,
                attempt,
                of,
                ..
            } => self.check_attempt(*step, *node, *attempt, *of),
            RunEvent::AttemptFailed { step, .. } => match self.open_steps.get(step) {
                Some(open) if open.stage == StepStage::Calling => Ok(()),
                Some(_) | None => Err(format!("step {step} is not waiting for a result")),
            },
            RunEvent::StepFinished { step, node, .. } | RunEvent::StepFailed { step, node, .. } => {
                self.check_end(*step, *node)
            }
            RunEvent::Paused {
                pause: Pause::InDoubt { step, node, .. } | Pause::Child { step, node, .. },
            } => match self.open_steps.get(step) {
                Some(open) => check_node(open.node, *step, *node),
                None => Err(format!("step {step} is not open")),
            },
            RunEvent::Started(_)
            | RunEvent::Resumed { .. }
            | RunEvent::FannedOut { .. }
            | RunEvent::FannedIn { .. }
            | RunEvent::Waiting { .. }
            | RunEvent::Paused { .. }
            | RunEvent::Answered { .. }
            | RunEvent::BreakpointsSet { .. }
            | RunEvent::GraphExtended { .. }
            | RunEvent::Finished { .. } => Ok(()),
        }
    }

    fn check_attempt(
        &self,
        step: StepNo,
        node: NodeIx,
        attempt: u32,
        of: Option<FanOutItem>,
    ) -> Result<(), String> {
        let Some(open) = self.open_steps.get(&step) else {
            return match attempt {
                1 => Ok(()),
                _ => Err(format!(
                    "step {step} is not open, so it has no attempt {attempt}"
                )),
            };
        };
        check_node(open.node, step, node)?;
        if open.item != of || attempt != open.attempt + 1 {
            return Err(format!(
                "step {step} is at attempt {}, so {attempt} is not its next attempt",
                open.attempt
            ));
        }
        match open.stage {
            StepStage::RetryDue | StepStage::Backoff => Ok(()),
            StepStage::Calling
            | StepStage::Orphaned
            | StepStage::AwaitingDecision
            | StepStage::Sleeping(_) => Err(format!("step {step} is not due for another attempt")),
        }
    }

    fn check_end(&self, step: StepNo, node: NodeIx) -> Result<(), String> {
        if let Some(spread) = self.fan_outs.get(&step) {
            return check_node(spread.node, step, node);
        }
        let Some(OpenStep {
            node: at, stage, ..
        }) = self.open_steps.get(&step)
        else {
            return Ok(());
        };
        check_node(*at, step, node)?;
        match stage {
            StepStage::Calling | StepStage::Sleeping(_) => Ok(()),
            StepStage::Backoff
            | StepStage::Orphaned
            | StepStage::AwaitingDecision
            | StepStage::RetryDue => Err(format!("step {step} is not waiting for a result")),
        }
    }
}

fn check_node(is: NodeIx, step: StepNo, said: NodeIx) -> Result<(), String> {
    match is == said {
        true => Ok(()),
        false => Err(format!(
            "step {step} is at node {}, not at node {}",
            is.0, said.0
        )),
    }
}
