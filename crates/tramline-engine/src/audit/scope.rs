//! Commands and their decisions, in one note.
//!
//! A front end (a tool, a route, a command) opens a scope around what it does. Decisions of the
//! engine inside are added to the front end's note. Decisions outside of any scope get a note of
//! their own, so that a front end that forgets to open one still leaves a trail.

use super::command_scope::{self, CommandScope, Recorded};
use super::{AuditNote, REFUSED};
use crate::engine::{Engine, Respondent};
use crate::fault::Fault;
use serde_json::{Map, Value as Json, json};
use tramline_expr::Value;
use tramline_workflow::authority::{AnswerChannel, PauseReason};
use tramline_workflow::ids::{Checkpoint, RunId, ToolName};
use tramline_workflow::journal::{Answer, Pause};
use tramline_workflow::run::Run;
use tramline_workflow::workflow::{Action, Template};

tokio::task_local! {
    /// Set if the front end writes the note of the command that this task executes.
    static COMMANDED: ();
}

/// Executes a command whose note the front end writes. Decisions inside are still recorded.
pub async fn audited_by_front_end<T>(work: impl Future<Output = T>) -> T {
    COMMANDED.scope((), work).await
}

/// A command to a run, for its note.
pub(crate) struct CommandNote<'c> {
    /// The command.
    pub(crate) command: &'static str,
    /// The run.
    pub(crate) run: &'c RunId,
    /// Who gave it.
    pub(crate) by: &'c str,
    /// The reason.
    pub(crate) why: Option<&'c str>,
    /// The arguments.
    pub(crate) arguments: Option<Value>,
}

/// An answer to a pause: the pause, the respondent, and whether it was accepted.
#[derive(Clone, Debug)]
pub(crate) struct AuditDecision {
    checkpoint: Checkpoint,
    /// Why the run pauses; `None` if it does not pause there.
    reason: Option<PauseReason>,
    answer: &'static str,
    channel: AnswerChannel,
    by: String,
    node: Option<String>,
    tool: Option<ToolName>,
    arguments: Option<Value>,
    /// The edited arguments of the person who answered.
    edited: Option<Value>,
    /// The rest of the answer: the output that replaces a call, or the extension of a budget.
    given: Option<(&'static str, Value)>,
    why: Option<String>,
    refused: Option<String>,
}

/// The name of an answer as users know it.
fn answer_name(answer: &Answer) -> &'static str {
    match answer {
        Answer::Proceed | Answer::ProceedWith { .. } => "proceed",
        Answer::Reject => "reject",
        Answer::Retry => "retry",
        Answer::Skip { .. } => "skip",
        Answer::Extend { .. } => "extend",
        Answer::Submit { .. } => "submit",
        Answer::Decline => "decline",
        Answer::Cancel => "cancel",
        Answer::TimeOut => "timeout",
    }
}

/// The arguments of the proposed call of a pause: a list of them for a batch.
fn proposed_arguments(pause: &Pause) -> Option<Value> {
    let call = pause.call()?;
    Some(match &call.batch {
        None => call.arguments.clone(),
        Some(batch) => batch.arguments.clone().into(),
    })
}

impl AuditDecision {
    /// The decision about a pause. Layers and breakpoints have none: the command that continues the
    /// run records them.
    pub(crate) fn about_pause(run: &Run, asked: &Checkpoint, answer: &Answer) -> Option<Self> {
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
            Pause::InDoubt { step, .. } | Pause::Child { step, .. } => run.open_steps.get(step),
            Pause::Approval { .. }
            | Pause::Layer { .. }
            | Pause::Break { .. }
            | Pause::Effect { .. }
            | Pause::Form { .. }
            | Pause::Budget { .. } => None,
        };
        let literal = match written {
            Some(Template::Literal(value)) => Some(value.clone()),
            _ => None,
        };
        Some(Self {
            reason: Some(PauseReason::of(&run.graph, pause)),
            node: node.map(|node| node.id.to_string()),
            tool,
            arguments: proposed_arguments(pause)
                .or_else(|| open.map(|open| open.arguments.clone()))
                .or(literal),
            ..Self::about_no_pause(asked, answer)
        })
    }

    /// The decision about a pause that does not exist, or no longer.
    pub(crate) fn about_no_pause(asked: &Checkpoint, answer: &Answer) -> Self {
        Self {
            checkpoint: asked.clone(),
            reason: None,
            answer: answer_name(answer),
            channel: AnswerChannel::Program,
            by: String::new(),
            node: None,
            tool: None,
            arguments: None,
            edited: match answer {
                Answer::ProceedWith { arguments } => Some(arguments.clone()),
                _ => None,
            },
            given: match answer {
                Answer::Skip { output } => Some(("output", output.clone())),
                Answer::Extend { budget } => {
                    let budget = serde_json::to_value(budget).unwrap_or_default();
                    Some(("extension", budget.into()))
                }
                Answer::Submit { content } => Some(("content", content.clone())),
                Answer::Proceed
                | Answer::ProceedWith { .. }
                | Answer::Reject
                | Answer::Retry
                | Answer::Decline
                | Answer::Cancel
                | Answer::TimeOut => None,
            },
            why: None,
            refused: None,
        }
    }

    /// Adds the respondent and the result.
    pub(crate) fn with_result(
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

    /// The checkpoint of the pause.
    pub(super) fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Whether this is the same answer to the same pause, whatever its result.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.checkpoint.clone(), one.answer, one.by.clone());
        key(self) == key(other)
    }

    /// Whether a person made it, and it was not rejected.
    pub(super) fn is_of_person(&self) -> bool {
        !self.channel.is_relayed() && self.refused.is_none()
    }

    pub(super) fn to_json(&self, engine: &Engine) -> Json {
        let mut told = Map::new();
        told.insert("checkpoint_id".into(), self.checkpoint.to_string().into());
        if let Some(reason) = self.reason {
            told.insert("reason".into(), reason.as_str().into());
        }
        told.insert("answer".into(), self.answer.into());
        told.insert("via".into(), self.channel.as_str().into());
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
                told.insert(key.into(), engine.audit_value(value));
            }
        }
        if let Some((key, value)) = &self.given {
            told.insert((*key).into(), engine.audit_value(value));
        }
        told.into()
    }
}

impl Engine {
    /// Executes a command and records it: `told` adds the result to the note. The note is stored
    /// before the first effect of the command, and complete and durable when this returns. A command
    /// that took effect is never recorded as rejected.
    pub async fn audited_command<T>(
        &self,
        note: AuditNote,
        work: impl Future<Output = T>,
        told: impl FnOnce(&mut AuditNote, &T),
    ) -> Result<T, Fault> {
        let scope = CommandScope::new(note, Recorded::Always);
        let came = COMMANDED.scope((), scope.run(work)).await;
        if let Some(mut note) = scope.note_without_result(self).await {
            told(&mut note, &came);
            scope.complete(self, note).await?;
        }
        Ok(came)
    }

    /// Executes an answer and records its decision: in the note of its command, or in its own.
    pub(crate) async fn audited_answer(
        &self,
        run: &RunId,
        (by, why): (&Respondent, Option<&str>),
        work: impl Future<Output = Result<(), Fault>>,
    ) -> Result<(), Fault> {
        if command_scope::current().is_some() {
            return work.await;
        }
        let mut note = AuditNote::new("answer", by.name.as_str());
        note.channel = Some(by.channel.as_str().to_owned());
        note.run = Some(run.to_string());
        note.why = why.map(str::to_owned);
        let scope = CommandScope::new(note, Recorded::IfDecided);
        let came = scope.run(work).await;
        if let Some(mut note) = scope.note_without_result(self).await {
            note.result = match &came {
                Ok(()) => "answered",
                Err(_) => REFUSED,
            }
            .to_owned();
            note.error = came.as_ref().err().map(ToString::to_string);
            scope.complete(self, note).await?;
        }
        came
    }

    /// Adds the plan that was made for the current command to its note: the arguments hold only the
    /// intent.
    pub async fn audit_plan(&self, plan: &Value) {
        if let Some(scope) = command_scope::current() {
            scope.add_plan(self.audit_value(plan)).await;
        }
    }

    /// Records a decision: in the note of its command, or in its own.
    pub(crate) async fn audit_decision(&self, decision: AuditDecision) -> Result<(), Fault> {
        if let Some(scope) = command_scope::current() {
            scope.decide(decision).await;
            return Ok(());
        }
        let mut note = AuditNote::new("answer", decision.by.as_str());
        note.channel = Some(decision.channel.as_str().to_owned());
        note.run = Some(decision.checkpoint.run.to_string());
        note.why = decision.why.clone();
        note.error = decision.refused.clone();
        note.result = match decision.refused {
            Some(_) => REFUSED,
            None => "answered",
        }
        .to_owned();
        note.decisions = vec![decision.to_json(self)];
        note.person = decision.is_of_person();
        self.write_audit_note(note).await
    }

    /// Records a command that no front end records: of an embedding program, or of a call whose
    /// caller is gone.
    pub(crate) async fn audit_command<T>(
        &self,
        said: CommandNote<'_>,
        came: &Result<T, Fault>,
    ) -> Result<(), Fault> {
        if COMMANDED.try_with(|()| ()).is_ok() {
            return Ok(());
        }
        let mut note = AuditNote::new(said.command, said.by);
        note.channel = Some(self.options().audit_channel.to_owned());
        note.run = Some(said.run.to_string());
        note.why = said.why.map(str::to_owned);
        note.arguments = said.arguments.map(|it| self.audit_value(&it));
        match came {
            Ok(_) => note.result = "done".to_owned(),
            Err(fault) => {
                note.result = REFUSED.to_owned();
                note.error = Some(fault.to_string());
            }
        }
        // A program acts for its owner, unless it serves agents.
        note.person = !self.serves_agents();
        self.write_audit_note(note).await
    }

    /// A value as the audit shows it: with secrets redacted, and cut if long.
    pub fn audit_value(&self, value: &Value) -> Json {
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
