//! Cassettes: recorded answers of a model, so that a run with a model can be repeated without it.
//!
//! An answer belongs to its whole prompt, including the schema. Repeated prompts get the answers in recorded order; the
//! last one is repeated from then on.

use crate::redact::Redact;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tramline_engine::ports::{Message, Model, ModelAnswer, Prompt, Role};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::text::io_reason;

/// Largest cassette, in bytes.
const CASSETTE_BYTES_MAX: u64 = 64 << 20;

/// One line of a cassette.
#[derive(Serialize, Deserialize)]
struct CassetteLine {
    prompt: RecordedPrompt,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<RecordedAnswer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

#[derive(Serialize, Deserialize)]
struct RecordedPrompt {
    messages: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<serde_json::Value>,
}

#[derive(Clone, Serialize, Deserialize)]
struct RecordedAnswer {
    text: String,
    tokens: u64,
}

impl RecordedPrompt {
    /// The recorded form of a prompt: redacted, and used as the lookup key.
    fn of(prompt: &Prompt, redact: &Redact) -> Self {
        let said = |one: &Message| {
            let role = match one.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            (role.to_owned(), redact.text(&one.text))
        };
        Self {
            messages: prompt.messages.iter().map(said).collect(),
            schema: prompt
                .schema
                .as_ref()
                .and_then(|schema| serde_json::to_value(schema).ok()),
        }
    }

    fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A model wrapper that records the answers.
pub struct Recorder {
    model: Arc<dyn Model>,
    path: PathBuf,
    file: Mutex<File>,
    redact: Redact,
}

impl Recorder {
    /// Records the answers of `model` at the end of a file, which is created if it is missing.
    pub fn new(model: Arc<dyn Model>, path: &Path, redact: Redact) -> Result<Self, String> {
        let opened = check_regular_file(path)
            .and_then(|()| OpenOptions::new().create(true).append(true).open(path));
        let file = opened.map_err(|error| {
            format!("cannot record to {}: {}", path.display(), io_reason(&error))
        })?;
        Ok(Self {
            model,
            path: path.to_owned(),
            file: Mutex::new(file),
            redact,
        })
    }

    fn write(&self, line: &CassetteLine) -> Result<(), Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("cannot record to {}: {error}", self.path.display());
            Failure::new(FailureKind::Unavailable, message)
        };
        let mut text = serde_json::to_string(line).map_err(|error| failed(&error))?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .map_err(|error| failed(&error))
    }
}

#[async_trait]
impl Model for Recorder {
    async fn complete(&self, prompt: Prompt) -> Result<ModelAnswer, Failure> {
        let asked = RecordedPrompt::of(&prompt, &self.redact);
        let answer = self.model.complete(prompt).await;
        let told = |answer: &ModelAnswer| RecordedAnswer {
            text: self.redact.text(&answer.text),
            tokens: answer.tokens,
        };
        let failed = |failure: &Failure| Failure {
            message: self.redact.text(&failure.message),
            ..failure.clone()
        };
        self.write(&CassetteLine {
            prompt: asked,
            answer: answer.as_ref().ok().map(told),
            failure: answer.as_ref().err().map(failed),
        })?;
        answer
    }
}

/// Rejects anything but a regular file: opening a pipe would wait for its other end.
fn check_regular_file(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() => {
            let says = "it is not a regular file";
            Err(std::io::Error::new(ErrorKind::InvalidInput, says))
        }
        _ => Ok(()),
    }
}

/// A model that answers from a cassette.
pub struct Replayer {
    path: PathBuf,
    answers: Mutex<HashMap<String, VecDeque<Result<RecordedAnswer, Failure>>>>,
    redact: Redact,
}

impl Replayer {
    /// Reads a cassette. Prompts are compared in redacted form.
    pub fn open(path: &Path, redact: Redact) -> Result<Self, String> {
        let wrong = |says: String| format!("{}: {says}", path.display());
        let opened = check_regular_file(path).and_then(|()| File::open(path));
        let opened = opened.and_then(|file| Ok((file.metadata()?, file)));
        let (about, file) = opened.map_err(|error| wrong(error.to_string()))?;
        if about.len() > CASSETTE_BYTES_MAX {
            return Err(wrong(format!(
                "a cassette may have at most {CASSETTE_BYTES_MAX} bytes"
            )));
        }
        let mut told: HashMap<_, VecDeque<_>> = HashMap::new();
        for (number, line) in (1..).zip(BufReader::new(file).lines()) {
            let line = line.map_err(|error| wrong(format!("line {number}: {error}")))?;
            if line.trim().is_empty() {
                continue;
            }
            let mut read: CassetteLine = serde_json::from_str(&line)
                .map_err(|error| wrong(format!("line {number}: {error}")))?;
            for (_, text) in &mut read.prompt.messages {
                *text = redact.text(text);
            }
            let said = match (read.answer, read.failure) {
                (Some(answer), _) => Ok(answer),
                (None, Some(failure)) => Err(failure),
                (None, None) => {
                    return Err(wrong(format!(
                        "line {number} has neither an answer nor a failure"
                    )));
                }
            };
            told.entry(read.prompt.key()).or_default().push_back(said);
        }
        Ok(Self {
            path: path.to_owned(),
            answers: Mutex::new(told),
            redact,
        })
    }
}

#[async_trait]
impl Model for Replayer {
    async fn complete(&self, prompt: Prompt) -> Result<ModelAnswer, Failure> {
        let mut told = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = told.get_mut(&RecordedPrompt::of(&prompt, &self.redact).key());
        let said = answers.and_then(|answers| match answers.len() {
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        });
        match said {
            Some(Ok(RecordedAnswer { text, tokens })) => Ok(ModelAnswer { text, tokens }),
            Some(Err(failure)) => Err(failure),
            None => {
                let message = format!(
                    "{} has no answer to this prompt; record it again",
                    self.path.display()
                );
                Err(Failure::new(FailureKind::NotRecorded, message))
            }
        }
    }
}
