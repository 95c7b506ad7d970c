//! Secrets that people or agents bring: they are replaced before a journal or a note sees them.

use super::{Engine, Said};
use crate::audit::Note;
use crate::fault::Fault;
use serde::Serialize;
use tramline_core::Value;
use tramline_core::journal::Answer;

impl Engine {
    /// Refuses what would be written down with a secret in it.
    pub(super) fn is_discreet(&self, what: &impl Serialize) -> Result<(), Fault> {
        let text = || serde_json::to_string(what).unwrap_or_default();
        match self.settings().and_then(|settings| settings.held(text)) {
            None => Ok(()),
            Some(mark) => {
                let key = mark.trim_start_matches("[redacted:").trim_end_matches(']');
                Err(Fault::Refused(format!(
                    "the document holds the value of the secret `{key}`, and documents are written \
                     down; write ${{settings.{key}}} in its place"
                )))
            }
        }
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
