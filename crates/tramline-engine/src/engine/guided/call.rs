//! A tool called through the gate: announced before it leaves, recorded before it is used.

use super::super::Engine;
use crate::fault::Fault;
use crate::perform::{self, Attempt};
use crate::policy::Verdict;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{Event, ToolAnswered, ToolCalled};
use tramline_core::navigate::{self, Pass, Refusal, Turn, Walk};
use tramline_core::{Str, Value};

/// A call that an agent wants to make from where its conversation stands.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The tool, with its server or, if only one has it, without.
    pub tool: Str,
    /// With what.
    pub arguments: Value,
    /// How the user agreed, where that is asked for.
    pub confirmed: Option<Str>,
    /// Whether it may be made although an earlier one may have happened.
    pub again: bool,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub enum Went {
    /// It was made, and this is its answer; with a warning where it was let pass.
    Through(Result<Value, Failure>, Option<Str>),
    /// The procedure does not allow it here.
    Refused(Refusal),
    /// The same call left before and nobody knows whether it arrived.
    InDoubt(ToolName),
}

impl Engine {
    /// Calls a tool, if the procedure allows it where the conversation stands.
    pub async fn call_guided(
        &self,
        id: &RunId,
        call: ToolCall,
        cancel: CancellationToken,
    ) -> Result<Went, Fault> {
        let tool = match self.tool_of(id, &call.tool).await? {
            Ok(tool) => tool,
            Err(failure) => return Ok(Went::Through(Err(failure), None)),
        };
        if let Some(failure) = self.barred(&tool) {
            return Ok(Went::Through(Err(failure), None));
        }
        let hints = self.0.tools.find(&tool).await.map(|found| found.hints);
        let repeatable = hints.is_ok_and(|hints| hints.repeatable());
        let pass = Pass {
            tool: tool.clone(),
            arguments: self.redacted(call.arguments.clone()).await,
            confirmed: call.confirmed.clone(),
        };
        let doubt = |walk: &Walk| !repeatable && !call.again && in_doubt(walk, &pass);
        let decide = |walk: &Walk| match doubt(walk) {
            true => Turn::default(),
            false => navigate::call(walk, pass.clone()),
        };
        let (turn, number, upstream) = self
            .navigate(id, decide, |walk, turn| {
                let observer = self.0.observer();
                let upstream = observer.and_then(|it| it.beneath_walk(walk, walk.calls));
                (turn.clone(), walk.calls, upstream)
            })
            .await?;
        if let Some(refusal) = turn.refusal {
            return Ok(Went::Refused(refusal));
        }
        if turn.events.is_empty() {
            return Ok(Went::InDoubt(tool));
        }
        let attempt = Attempt {
            tool,
            arguments: match call.arguments {
                Value::Null => tramline_core::Map::new().into(),
                other => other,
            },
            key: perform::key(id, number),
            timeout: self.0.options.call_timeout,
            most: None,
            cancel,
            upstream,
        };
        let answer = perform::attempt(self.0.tools.clone(), attempt).await;
        let answer = match answer {
            Ok(output) => Ok(self.redacted(output).await),
            Err(failure) => Err(failure),
        };
        self.returned(id, number, &answer).await?;
        Ok(Went::Through(answer, turn.warning))
    }

    async fn returned(
        &self,
        id: &RunId,
        call: u32,
        answer: &Result<Value, Failure>,
    ) -> Result<(), Fault> {
        let answered = ToolAnswered {
            call,
            output: answer.as_ref().cloned().unwrap_or_default(),
            failure: answer.as_ref().err().cloned(),
        };
        let event = Event::ToolAnswered(Box::new(answered));
        let decide = |walk: &Walk| Turn {
            events: match walk.open.contains_key(&call) {
                true => vec![event.clone()],
                false => Vec::new(),
            },
            ..Turn::default()
        };
        self.navigate(id, decide, |_, _| ()).await
    }

    /// What the operator says against a tool. Nobody can be asked in the middle of a conversation.
    fn barred(&self, tool: &ToolName) -> Option<Failure> {
        let message = match self.0.options.policy.verdict(tool) {
            Verdict::Free => return None,
            Verdict::Deny(pattern) => format!("policy denies {tool}: it fits `{pattern}`"),
            Verdict::Ask(pattern) => format!(
                "policy asks a person before {tool}, which fits `{pattern}`: call it from a workflow, where that can be asked"
            ),
        };
        Some(Failure::new(FailureKind::Forbidden, message))
    }

    /// The tool that a name means: with its server, or the only one that has it.
    async fn tool_of(&self, id: &RunId, name: &str) -> Result<Result<ToolName, Failure>, Fault> {
        if let Some((server, tool)) = name.split_once(':') {
            return Ok(Ok(ToolName::new(server, tool)));
        }
        let servers = self.walk(id, |walk| servers(&walk.sop().servers)).await?;
        for server in &servers {
            let named = ToolName::new(server.clone(), name);
            if self.0.tools.known(&named).is_some() {
                return Ok(Ok(named));
            }
        }
        let listings = self.0.tools.list().await;
        let tools = listings
            .iter()
            .filter_map(|listing| listing.tools.as_ref().ok());
        let all: Vec<&ToolName> = tools.flatten().map(|tool| &tool.name).collect();
        let fits: Vec<&&ToolName> = all.iter().filter(|it| it.tool == name).collect();
        Ok(match fits.as_slice() {
            [only] => Ok((**only).clone()),
            [] => {
                let near =
                    tramline_core::text::nearest(name, all.iter().map(|it| it.tool.as_str()));
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let message = format!("no server has a tool `{name}`{near}");
                Err(Failure::new(FailureKind::UnknownTool, message))
            }
            several => {
                let names: Vec<String> = several.iter().map(|it| it.to_string()).collect();
                let message = format!(
                    "several servers have `{name}`: write one of {}",
                    names.join(", ")
                );
                Err(Failure::new(FailureKind::UnknownTool, message))
            }
        })
    }
}

/// The names of the servers that a file lists.
fn servers(value: &Value) -> Vec<Str> {
    if let Some(map) = value.as_object() {
        return map.iter().map(|(name, _)| name.clone()).collect();
    }
    let items = value.as_array().unwrap_or_default().iter();
    let named = items.filter_map(|it| it.get("name").unwrap_or(it).as_str());
    named.map(Into::into).collect()
}

/// Whether the same call left before and no end of it is known.
fn in_doubt(walk: &Walk, pass: &Pass) -> bool {
    let same = |it: &ToolCalled| it.tool == pass.tool && it.arguments == pass.arguments;
    walk.open.values().any(same)
}
