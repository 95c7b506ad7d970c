//! Asks with a form: the question is recorded as a pause, its time-out is listed before.

use super::{Completion, Driver};
use crate::engine::Engine;
use crate::fault::Fault;
use std::sync::Arc;
use tramline_workflow::form::FormQuestion;
use tramline_workflow::journal::{Event, Pause, RunEvent};
use tramline_workflow::run::Token;

impl Driver {
    /// Asks the question of a visit.
    pub(super) fn ask_form(&mut self, token: &Token, form: Box<FormQuestion>) -> Result<(), Fault> {
        let node = token.node;
        let step = self.run.step_count + 1;
        let form = match (form.until_ms, self.listed_forms.remove(&node)) {
            (None, _) => form,
            (Some(_), Some((listed, form))) if listed == *token => form,
            (Some(until_ms), _) => {
                self.list_form(token, form, until_ms);
                return Ok(());
            }
        };
        let until_ms = form.until_ms;
        let pause = Pause::Form { node, form };
        let event = Event::Run(RunEvent::Paused { pause });
        let asked = self.record_step_event(step, node, event)?;
        if let (Some(_), Some(until_ms), false) = (asked, until_ms, self.inner.options.skip_waits) {
            let engine = Engine::from_inner(Arc::clone(&self.inner));
            engine.start_form_timer(self.run.id.clone(), until_ms);
        }
        Ok(())
    }

    /// Lists the time-out of a question; the visit starts again when that is done.
    fn list_form(&mut self, token: &Token, form: Box<FormQuestion>, until_ms: i64) {
        let engine = Engine::from_inner(Arc::clone(&self.inner));
        let (token, run) = (*token, self.run.id.clone());
        self.preparing.push(token.node);
        self.in_flight.push(Box::pin(async move {
            let listed = engine.record_form_timeout(&run, until_ms).await;
            Completion::FormListed(token, form, listed)
        }));
    }
}
