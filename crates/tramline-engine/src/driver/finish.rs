//! The end of a run: its outcome, if it fits the schema and the journal.

use super::Driver;
use crate::fault::Fault;
use crate::long_work::long_work;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::journal::{Event, Outcome, RunEvent};
use tramline_workflow::run::{OpenStep, StepStage};

impl Driver {
    pub(super) fn finish(&mut self, outcome: Outcome) -> Result<(), Fault> {
        let mut outcome = self.settle(outcome);
        // A call that is cut off by the end of the run may have happened.
        if let Outcome::Failed { failure, .. } = &mut outcome {
            let out = |open: &OpenStep| open.stage == StepStage::Calling && !open.repeatable;
            failure.may_have_happened |= self.run.open_steps.values().any(out);
        }
        match self
            .journal
            .record(&mut self.run, Event::Run(RunEvent::Finished { outcome }))
        {
            Err(Fault::TooLarge(how)) => {
                let message = format!("the result is too large: {how}");
                let failure = Failure::new(FailureKind::Limit, message);
                let outcome = Outcome::Failed {
                    failure,
                    node: None,
                };
                self.journal
                    .record(&mut self.run, Event::Run(RunEvent::Finished { outcome }))
                    .map(drop)
            }
            done => done.map(drop),
        }
    }

    /// A result that does not fit the workflow's output schema is a failure.
    fn settle(&self, outcome: Outcome) -> Outcome {
        let Outcome::Completed { result } = &outcome else {
            return outcome;
        };
        match self.run.graph.check_result(result, long_work) {
            Ok(()) => outcome,
            Err(flaws) => {
                let message = format!(
                    "the result does not fit the output schema: {}",
                    flaws.join("; ")
                );
                let failure = Failure::new(FailureKind::Schema, message).with_data(result.clone());
                Outcome::Failed {
                    failure,
                    node: None,
                }
            }
        }
    }
}
