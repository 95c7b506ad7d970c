//! Redacts secrets in what people and agents submit, before it reaches a journal or the audit.

use super::{Engine, PauseAnswer};
use crate::audit::AuditNote;
use crate::fault::Fault;
use crate::settings::SecretStrength;
use serde::Serialize;
use tramline_expr::{Str, Value};
use tramline_workflow::journal::{Answer, BreakpointSet};
use tramline_workflow::workflow::Workflow;

impl Engine {
    /// Rejects a workflow that contains a secret, because workflows are stored. For an agent's
    /// workflow, only secrets that cannot be guessed are searched for, and the message does not say
    /// which one was found: otherwise an agent could test values.
    pub(super) fn reject_secrets(&self, workflow: &Workflow) -> Result<(), Fault> {
        if workflow.cautious {
            return self.reject_agent_secrets(workflow);
        }
        match self.secret_in(SecretStrength::Long, workflow) {
            None => Ok(()),
            Some(key) => Err(Fault::Rejected(format!(
                "the document contains the value of the secret `{key}`, and documents are stored; \
                 write ${{settings.{key}}} in its place"
            ))),
        }
    }

    /// The same check for anything else that an agent submits.
    pub(super) fn reject_agent_secrets(&self, what: &impl Serialize) -> Result<(), Fault> {
        match self.secret_in(SecretStrength::Strong, what) {
            None => Ok(()),
            Some(_) => Err(Fault::Rejected(
                "the document contains the value of a secret, and documents are stored; write \
                 ${settings.KEY} in its place, with the key of that setting"
                    .to_owned(),
            )),
        }
    }

    fn secret_in(&self, which: SecretStrength, what: &impl Serialize) -> Option<Str> {
        let text = || serde_json::to_string(what).unwrap_or_default();
        self.settings()?.find_secret(which, text)
    }

    /// A value with its secrets redacted.
    pub(super) async fn redact_value(&self, value: Value) -> Value {
        let Some(settings) = self.settings() else {
            return value;
        };
        // If the settings cannot be read now, the calls that need them fail with a message.
        let _ = settings.refresh().await;
        settings.redact(value)
    }

    /// The places in a value where a secret was redacted: rules that read them are not decided.
    pub(super) fn redacted_places(&self, value: &Value) -> Vec<Str> {
        let settings = self.settings();
        settings.map_or_else(Vec::new, |settings| settings.redacted_places(value))
    }

    /// An answer and its reason with secrets redacted.
    pub(super) async fn redact_answer(
        &self,
        answer: Answer,
        why: Option<String>,
    ) -> (Answer, Option<String>) {
        let Some(settings) = self.settings() else {
            return (answer, why);
        };
        let _ = settings.refresh().await;
        let why = why.map(|why| settings.redact_text(&why).into_owned());
        let answer = match answer {
            Answer::Skip { output } => Answer::Skip {
                output: settings.redact(output),
            },
            Answer::Submit { content } => Answer::Submit {
                content: settings.redact(content),
            },
            // Edited arguments that contain a secret were rejected before.
            other @ (Answer::Proceed
            | Answer::ProceedWith { .. }
            | Answer::Reject
            | Answer::Retry
            | Answer::Decline
            | Answer::Cancel
            | Answer::TimeOut
            | Answer::Extend { .. }) => other,
        };
        (answer, why)
    }

    /// Breakpoints with the secrets in their pinned outputs redacted.
    pub(super) async fn redact_breakpoints(&self, mut watch: BreakpointSet) -> BreakpointSet {
        for spot in &mut watch.breaks {
            if let Some(output) = spot.output.take() {
                spot.output = Some(self.redact_value(output).await);
            }
        }
        watch
    }

    /// The same for the breakpoints that a run starts with.
    pub(super) async fn redact_pins(&self, watch: Option<BreakpointSet>) -> Option<BreakpointSet> {
        match watch {
            Some(watch) => Some(self.redact_breakpoints(watch).await),
            None => None,
        }
    }

    /// Answers with secrets redacted.
    pub(super) async fn redact_answers(&self, mut said: Vec<PauseAnswer>) -> Vec<PauseAnswer> {
        for one in &mut said {
            let (answer, why) = (one.answer.clone(), one.why.take());
            (one.answer, one.why) = self.redact_answer(answer, why).await;
        }
        said
    }

    /// An audit note with secrets redacted.
    pub(crate) fn redact_note(&self, mut note: AuditNote) -> AuditNote {
        if let Some(settings) = self.settings() {
            for text in [
                &mut note.why,
                &mut note.error,
                &mut note.run,
                &mut note.session,
            ] {
                *text = text
                    .take()
                    .map(|text| settings.redact_text(&text).into_owned());
            }
        }
        note
    }
}
