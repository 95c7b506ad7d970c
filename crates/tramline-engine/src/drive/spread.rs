//! Steps that are spread over items: a call for each, and one end for all.

use super::Driver;
use crate::fault::Fault;
use tramline_core::Value;
use tramline_core::ids::StepNo;
use tramline_core::journal::{Event, Item};
use tramline_core::step;
use tramline_core::workflow::Action;

impl Driver {
    /// Begins the call for one item.
    pub(super) fn item(&mut self, item: Item) -> Result<(), Fault> {
        let Some(node) = self.run.spread_node(item.step) else {
            return Ok(());
        };
        let Action::Call { tool, .. } = &self.run.graph.node(node).action else {
            return Ok(());
        };
        let tool = tool.clone();
        let Some(repeatable) = self.repeatable(node, &tool) else {
            return Ok(());
        };
        let (moment, limits) = self.surroundings();
        let step = self.run.steps + 1;
        let arguments = step::item(&self.run, item, moment, &limits);
        let (arguments, failure) = match arguments {
            Ok(arguments) => (arguments, None),
            Err(failure) => (Value::Null, Some(failure)),
        };
        let begins = |arguments| Event::StepStarted {
            step,
            node,
            attempt: 1,
            arguments,
            repeatable,
            of: Some(item),
        };
        let announced = match self.ledger.record(&mut self.run, begins(arguments)) {
            Ok(announced) => announced,
            Err(Fault::TooLarge(how)) => {
                self.ledger.record(&mut self.run, begins(Value::Null))?;
                return self.item_fails(step, node, super::too_large("what goes into", &how));
            }
            Err(fault) => return Err(fault),
        };
        match failure {
            None => self.call(step, announced),
            Some(failure) => self.item_fails(step, node, failure),
        }
    }

    fn item_fails(
        &mut self,
        step: StepNo,
        node: tramline_core::ids::NodeIx,
        failure: tramline_core::failure::Failure,
    ) -> Result<(), Fault> {
        let event = Event::StepFailed {
            step,
            node,
            failure,
        };
        self.ledger.record(&mut self.run, event)?;
        self.forget_closed();
        Ok(())
    }

    /// Ends a step whose items are done, or one of which has failed it.
    pub(super) fn gather(&mut self, step: StepNo) -> Result<(), Fault> {
        let Some(node) = self.run.spread_node(step) else {
            return Ok(());
        };
        let event = match self.run.spread_failure(step) {
            None => Event::Gathered { step, node },
            Some(failure) => Event::StepFailed {
                step,
                node,
                failure: failure.clone(),
            },
        };
        self.ledger.record(&mut self.run, event)?;
        self.forget_closed();
        Ok(())
    }
}
