//! Secrets that people or agents bring: they are replaced before a journal or a note sees them.

use super::{Engine, Said};
use crate::audit::Note;
use crate::fault::Fault;
use crate::settings::SecretStrength;
use serde::Serialize;
use tramline_core::journal::Answer;
use tramline_core::workflow::Workflow;
use tramline_core::{Str, Value};

impl Engine {
    /// Refuses a workflow that would be written down with a secret in it. An agent's workflow is
    /// searched for secrets that cannot be guessed alone, and is not told which one it holds: else
    /// an agent could try values out.
    pub(super) fn is_discreet(&self, workflow: &Workflow) -> Result<(), Fault> {
        if workflow.cautious {
            return self.is_discreet_of_agent(workflow);
        }
        match self.secret_in(SecretStrength::Sure, workflow) {
            None => Ok(()),
            Some(key) => Err(Fault::Refused(format!(
                "the document holds the value of the secret `{key}`, and documents are written \
                 down; write ${{settings.{key}}} in its place"
            ))),
        }
    }

    /// The same for anything else that an agent brings.
    pub(super) fn is_discreet_of_agent(&self, what: &impl Serialize) -> Result<(), Fault> {
        match self.secret_in(SecretStrength::Strong, what) {
            None => Ok(()),
            Some(_) => Err(Fault::Refused(
                "the document holds the value of a secret, and documents are written down; write \
                 ${settings.KEY} in its place, with the key of that setting"
                    .to_owned(),
            )),
        }
    }

    fn secret_in(&self, which: SecretStrength, what: &impl Serialize) -> Option<Str> {
        let text = || serde_json::to_string(what).unwrap_or_default();
        self.settings()?.held(which, text)
    }

    /// A value without secrets.
    pub(super) async fn discreet(&self, value: Value) -> Value {
        let Some(settings) = self.settings() else {
            return value;
        };
        // Where they cannot be read now, calls fail and say so.
        let _ = settings.refresh().await;
        settings.redact(value)
    }

    /// An answer and its reason without secrets.
    pub(super) async fn discreet_answer(
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
            // Edited arguments were refused if they hold one.
            other @ (Answer::Proceed
            | Answer::ProceedWith { .. }
            | Answer::Reject
            | Answer::Retry
            | Answer::Extend { .. }) => other,
        };
        (answer, why)
    }

    /// Answers without secrets.
    pub(super) async fn discreet_said(&self, mut said: Vec<Said>) -> Vec<Said> {
        for one in &mut said {
            let (answer, why) = (one.answer.clone(), one.why.take());
            (one.answer, one.why) = self.discreet_answer(answer, why).await;
        }
        said
    }

    /// A note without secrets.
    pub(crate) fn discreet_note(&self, mut note: Note) -> Note {
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
