//! What an event that is about to be written must agree with: the very step that it is about.
//!
//! Reading a journal is more lenient, so that what older versions wrote stays readable. A writer
//! that is about to record an event of one step under the number of another is stopped here.

use super::{Open, Run, Stage};
use crate::ids::{NodeIx, StepNo};
use crate::journal::{Event, Item, Pause};

impl Run {
    /// Refuses an event about a step that is not the one it was made for: another node, another
    /// item, an attempt that does not come next, or a step that nobody has in hand.
    pub fn is_exact(&self, event: &Event) -> Result<(), String> {
        match event {
            Event::StepStarted {
                step,
                node,
                attempt,
                of,
                ..
            } => self.begins_exactly(*step, *node, *attempt, *of),
            Event::AttemptFailed { step, .. } => match self.open.get(step) {
                Some(open) if open.stage == Stage::Calling => Ok(()),
                Some(_) | None => Err(format!("nobody waits for an answer to step {step}")),
            },
            Event::StepFinished { step, node, .. } | Event::StepFailed { step, node, .. } => {
                self.ends_exactly(*step, *node)
            }
            Event::Paused {
                pause: Pause::InDoubt { step, node, .. } | Pause::Child { step, node, .. },
            } => match self.open.get(step) {
                Some(open) => at_node(open.node, *step, *node),
                None => Err(format!("step {step} is not open")),
            },
            Event::Started(_)
            | Event::Resumed { .. }
            | Event::Spread { .. }
            | Event::Gathered { .. }
            | Event::Waiting { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Watched { .. }
            | Event::Amended { .. }
            | Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_)
            | Event::Finished { .. } => Ok(()),
        }
    }

    fn begins_exactly(
        &self,
        step: StepNo,
        node: NodeIx,
        attempt: u32,
        of: Option<Item>,
    ) -> Result<(), String> {
        let Some(open) = self.open.get(&step) else {
            return match attempt {
                1 => Ok(()),
                _ => Err(format!(
                    "step {step} is not open, so it has no attempt {attempt}"
                )),
            };
        };
        at_node(open.node, step, node)?;
        if open.of != of || attempt != open.attempt + 1 {
            return Err(format!(
                "step {step} has made attempt {}, so {attempt} is not the next of the same call",
                open.attempt
            ));
        }
        match open.stage {
            Stage::Again | Stage::Resting => Ok(()),
            Stage::Calling | Stage::Adrift | Stage::Doubted | Stage::Sleeping(_) => {
                Err(format!("step {step} is not to be called again"))
            }
        }
    }

    fn ends_exactly(&self, step: StepNo, node: NodeIx) -> Result<(), String> {
        if let Some(spread) = self.spreads.get(&step) {
            return at_node(spread.node, step, node);
        }
        let Some(Open {
            node: at, stage, ..
        }) = self.open.get(&step)
        else {
            return Ok(());
        };
        at_node(*at, step, node)?;
        match stage {
            Stage::Calling | Stage::Sleeping(_) => Ok(()),
            Stage::Resting | Stage::Adrift | Stage::Doubted | Stage::Again => {
                Err(format!("nobody waits for an answer to step {step}"))
            }
        }
    }
}

fn at_node(is: NodeIx, step: StepNo, said: NodeIx) -> Result<(), String> {
    match is == said {
        true => Ok(()),
        false => Err(format!(
            "step {step} is at node {}, not at node {}",
            is.0, said.0
        )),
    }
}
