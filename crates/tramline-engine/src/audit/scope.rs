//! Commands and what they decide, as one note.
//!
//! A door (a tool, a route, a command) opens a scope around what it does. Whatever the engine decides
//! inside is added to the door's note. What is decided outside of any scope gets a note of its own,
//! so that a door that forgets to open one still leaves a trail.

use super::Note;
use crate::engine::Engine;
use crate::fault::Fault;
use serde_json::{Map, Value as Json, json};
use std::sync::{Arc, Mutex, PoisonError};
use tramline_core::Value;
use tramline_core::authority::{AnswerChannel, Reason};
use tramline_core::ids::{Checkpoint, RunId, ToolName};
use tramline_core::journal::{Answer, Pause};
use tramline_core::run::Run;
use tramline_core::workflow::{Action, Template};

/// So many decisions of one command are told; a command answers few.
const DECISIONS_MAX: usize = 64;

tokio::task_local! {
    /// What was decided in the command that this task carries out.
    static DECIDED: Arc<Mutex<Vec<Decision>>>;
    /// That the command which this task carries out is noted by its door.
    static COMMANDED: ();
}

/// Carries a command out that its door notes itself. What is decided inside is still noted.
pub async fn noted_by_door<T>(work: impl Future<Output = T>) -> T {
    COMMANDED.scope((), work).await
}

/// A command about a run, for its note.
pub(crate) struct CommandNote<'c> {
    /// What was commanded.
    pub(crate) command: &'static str,
    /// About which run.
    pub(crate) run: &'c RunId,
    /// By whom.
    pub(crate) by: &'c str,
    /// Why.
    pub(crate) why: Option<&'c str>,
    /// With what.
    pub(crate) arguments: Option<Value>,
}

/// An answer to a question of a run: what about, by whom, and whether it was taken.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    asked: Checkpoint,
    reason: Reason,
    answer: &'static str,
    channel: AnswerChannel,
    by: String,
    node: Option<String>,
    tool: Option<ToolName>,
    arguments: Option<Value>,
    /// What the person who answered put in place of the arguments.
    edited: Option<Value>,
    why: Option<String>,
    refused: Option<String>,
}

/// An answer as users say it.
fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Proceed | Answer::ProceedWith { .. } => "proceed",
        Answer::Reject => "reject",
        Answer::Retry => "retry",
        Answer::Skip { .. } => "skip",
        Answer::Extend { .. } => "extend",
    }
}

/// The arguments of the call that a question is about: a list of them for a batch.
fn proposed(pause: &Pause) -> Option<Value> {
    let call = pause.call()?;
    Some(match &call.batch {
        None => call.arguments.clone(),
        Some(batch) => batch.arguments.clone().into(),
    })
}

impl Decision {
    /// The decision about a question that a run asks. Layers and breakpoints are no decisions of
    /// their own: the command that goes on tells of them.
    pub(crate) fn about(run: &Run, asked: &Checkpoint, answer: &Answer) -> Option<Self> {
        let pause = run.pauses.get(&asked.seq)?;
        if let Pause::Layer { .. } | Pause::Break { .. } = pause {
            return None;
        }
        let node = pause.node().map(|node| run.graph.node(node));
        let (tool, written) = match node.map(|node| &node.action) {
            Some(Action::Call { tool, arguments }) => (Some(tool.clone()), Some(arguments)),
            _ => (None, None),
        };
        let open = match pause {
            Pause::InDoubt { step, .. } | Pause::Child { step, .. } => run.open.get(step),
            Pause::Approval { .. }
            | Pause::Layer { .. }
            | Pause::Break { .. }
            | Pause::Effect { .. }
            | Pause::Budget { .. } => None,
        };
        let literal = match written {
            Some(Template::Literal(value)) => Some(value.clone()),
            _ => None,
        };
        Some(Self {
            asked: asked.clone(),
            reason: Reason::of(&run.graph, pause),
            answer: word(answer),
            channel: AnswerChannel::Program,
            by: String::new(),
            node: node.map(|node| node.id.to_string()),
            tool,
            arguments: proposed(pause)
                .or_else(|| open.map(|open| open.arguments.clone()))
                .or(literal),
            edited: match answer {
                Answer::ProceedWith { arguments } => Some(arguments.clone()),
                _ => None,
            },
            why: None,
            refused: None,
        })
    }

    /// The same with who said it, and what came of it.
    pub(crate) fn said(
        mut self,
        (by, channel): (&str, AnswerChannel),
        why: Option<&str>,
        came: Option<&Fault>,
    ) -> Self {
        self.by = by.to_owned();
        self.channel = channel;
        self.why = why.map(str::to_owned);
        self.refused = came.map(ToString::to_string);
        self
    }

    /// Whether a person took it, and it was not refused.
    fn is_of_person(&self) -> bool {
        !self.channel.is_relayed() && self.refused.is_none()
    }

    fn to_json(&self, engine: &Engine) -> Json {
        let mut told = Map::new();
        told.insert("checkpoint_id".into(), self.asked.to_string().into());
        told.insert("reason".into(), self.reason.word().into());
        told.insert("answer".into(), self.answer.into());
        told.insert("via".into(), self.channel.word().into());
        told.insert("relayed".into(), self.channel.is_relayed().into());
        let mut text = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                told.insert(key.into(), value.into());
            }
        };
        text("by", Some(self.by.clone()));
        text("node", self.node.clone());
        text("tool", self.tool.as_ref().map(ToString::to_string));
        text("refused", self.refused.clone());
        for (key, value) in [
            ("arguments", &self.arguments),
            ("edited_arguments", &self.edited),
        ] {
            if let Some(value) = value {
                told.insert(key.into(), engine.audited(value));
            }
        }
        told.into()
    }
}

impl Engine {
    /// Does what a command asks for and notes it: `told` completes the note with what came of it. The
    /// note is durable when this returns.
    pub async fn noting<T>(
        &self,
        mut note: Note,
        work: impl Future<Output = T>,
        told: impl FnOnce(&mut Note, &T),
    ) -> Result<T, Fault> {
        let decided: Arc<Mutex<Vec<Decision>>> = Arc::default();
        let work = DECIDED.scope(Arc::clone(&decided), work);
        let came = COMMANDED.scope((), work).await;
        told(&mut note, &came);
        self.add(&mut note, &decided);
        self.note(note).await?;
        Ok(came)
    }

    fn add(&self, note: &mut Note, decided: &Mutex<Vec<Decision>>) {
        let decided = decided.lock().unwrap_or_else(PoisonError::into_inner);
        let all = decided.iter().take(DECISIONS_MAX);
        note.decisions = all.map(|one| one.to_json(self)).collect();
        note.person |= decided.iter().any(Decision::is_of_person);
        if note.run.is_none() {
            note.run = decided.first().map(|one| one.asked.run.to_string());
        }
    }

    /// Keeps what was decided: in the note of the command that decided it, or in one of its own.
    pub(crate) async fn decided(&self, decision: Decision) -> Result<(), Fault> {
        let kept = DECIDED.try_with(|all| {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(decision.clone());
        });
        if kept.is_ok() {
            return Ok(());
        }
        let mut note = Note::new("answer", decision.by.as_str());
        note.door = Some(decision.channel.word().to_owned());
        note.run = Some(decision.asked.run.to_string());
        note.why = decision.why.clone();
        note.error = decision.refused.clone();
        note.result = match decision.refused {
            Some(_) => "refused",
            None => "answered",
        }
        .to_owned();
        note.decisions = vec![decision.to_json(self)];
        note.person = decision.is_of_person();
        self.note(note).await
    }

    /// Keeps a command that no door notes: of a program that the engine is a part of, or of a call
    /// whose caller has gone.
    pub(crate) async fn commanded<T>(
        &self,
        said: CommandNote<'_>,
        came: &Result<T, Fault>,
    ) -> Result<(), Fault> {
        if COMMANDED.try_with(|()| ()).is_ok() {
            return Ok(());
        }
        let mut note = Note::new(said.command, said.by);
        note.door = Some(self.options().door.to_owned());
        note.run = Some(said.run.to_string());
        note.why = said.why.map(str::to_owned);
        note.arguments = said.arguments.map(|it| self.audited(&it));
        match came {
            Ok(_) => note.result = "done".to_owned(),
            Err(fault) => {
                note.result = "refused".to_owned();
                note.error = Some(fault.to_string());
            }
        }
        // What a program does is its owner's doing, unless it serves agents.
        note.person = !self.serves_agents();
        self.note(note).await
    }

    /// A value as the audit shows it: without secrets, and cut where it is long.
    pub fn audited(&self, value: &Value) -> Json {
        let value = match self.settings() {
            Some(settings) => settings.redact(value.clone()),
            None => value.clone(),
        };
        let text = value.to_json();
        match text.len() > super::ARGUMENTS_BYTES_MAX {
            false => Json::from(&value),
            true => {
                let cut: String = text.chars().take(super::ARGUMENTS_BYTES_MAX).collect();
                json!({ "cut": cut, "bytes": text.len() })
            }
        }
    }
}
