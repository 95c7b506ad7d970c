//! Fan-out: a step that makes one call per item and has one result.

use super::Driver;
use crate::fault::Fault;
use tramline_expr::Value;
use tramline_workflow::ids::StepNo;
use tramline_workflow::journal::{Event, FanOutItem, RunEvent};
use tramline_workflow::step;
use tramline_workflow::workflow::Action;

impl Driver {
    /// Starts the call for one item.
    pub(super) fn begin_item(&mut self, item: FanOutItem) -> Result<(), Fault> {
        let Some(node) = self.run.fan_out_node(item.step) else {
            return Ok(());
        };
        let Action::Call { tool, .. } = &self.run.graph.node(node).action else {
            return Ok(());
        };
        let tool = tool.clone();
        let Some(repeatable) = self.repeatable(node, &tool) else {
            return Ok(());
        };
        let (moment, limits) = self.evaluation_context();
        let step = self.run.step_count + 1;
        let arguments = step::item_arguments(&self.run, item, moment, &limits);
        let (arguments, failure) = match arguments {
            Ok(arguments) => (arguments, None),
            Err(failure) => (Value::Null, Some(failure)),
        };
        let begins = |arguments| {
            Event::Run(RunEvent::StepStarted {
                step,
                node,
                attempt: 1,
                arguments,
                repeatable,
                of: Some(item),
            })
        };
        let announced = match self.journal.record(&mut self.run, begins(arguments)) {
            Ok(announced) => announced,
            Err(Fault::TooLarge(how)) => {
                self.journal.record(&mut self.run, begins(Value::Null))?;
                return self.fail_item(step, node, super::too_large("the input", &how));
            }
            Err(fault) => return Err(fault),
        };
        match failure {
            None => self.send_or_hold(step, announced),
            Some(failure) => self.fail_item(step, node, failure),
        }
    }

    fn fail_item(
        &mut self,
        step: StepNo,
        node: tramline_workflow::ids::NodeIx,
        failure: tramline_workflow::failure::Failure,
    ) -> Result<(), Fault> {
        let event = Event::Run(RunEvent::StepFailed {
            step,
            node,
            failure,
        });
        self.journal.record(&mut self.run, event)?;
        self.cancel_closed_calls();
        Ok(())
    }

    /// Ends a step whose items are done, or that a failed item has failed.
    pub(super) fn gather(&mut self, step: StepNo) -> Result<(), Fault> {
        let Some(node) = self.run.fan_out_node(step) else {
            return Ok(());
        };
        let event = match self.run.fan_out_failure(step) {
            None => Event::Run(RunEvent::FannedIn { step, node }),
            Some(failure) => Event::Run(RunEvent::StepFailed {
                step,
                node,
                failure: failure.clone(),
            }),
        };
        self.journal.record(&mut self.run, event)?;
        self.cancel_closed_calls();
        Ok(())
    }
}
