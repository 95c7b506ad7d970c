//! A tool called through the gate: announced before it leaves, recorded before it is used.

use super::super::Engine;
use super::asking::Question;
use crate::clock;
use crate::fault::Fault;
use crate::perform::{self, Attempt};
use crate::policy::Verdict;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{Event, ToolAnswered, ToolCalled};
use tramline_core::navigate::{self, Pass, Refusal, Turn, Walk};
use tramline_core::upstream::Upstream;
use tramline_core::{Str, Value};

/// A call that an agent wants to make from where its conversation stands.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The tool, with its server or, if only one has it, without.
    pub tool: Str,
    /// With what.
    pub arguments: Value,
    /// How the user agreed, in the agent's words, for the person who is asked.
    pub confirmed: Option<Str>,
    /// Whether it may be made although an earlier one may have happened.
    pub again: bool,
    /// Where servers are to be found again by whoever goes on with the call after an answer.
    pub origin: Value,
    /// The span of its caller's that it belongs to.
    pub upstream: Option<Upstream>,
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
    /// A person is asked about it in this run, which makes it once they agree.
    Asks(RunId),
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
            asked_in: Some(fresh()),
            asks: matches!(self.0.options.policy.verdict(&tool), Verdict::Ask(_)),
            is_other: false,
            upstream: call.upstream.clone(),
        };
        let same = |it: &ToolCalled| it.tool == pass.tool && it.arguments == pass.arguments;
        let asked = |walk: &Walk| Question::of(walk, |it| it.run.is_some() && same(it));
        // The same call comes back to its question, also if that was answered meanwhile.
        if let Some(question) = self.walk(id, asked).await?
            && !self.is_withdrawn(&question).await?
        {
            return Ok(Went::Asks(self.ask(id, question, call.origin).await?));
        }
        // Nobody knows whether the same call happened, if it left before without an end.
        let doubt = |walk: &Walk| {
            let is_open = || walk.open.values().any(|it| it.run.is_none() && same(it));
            !repeatable && !call.again && is_open()
        };
        let decide = |walk: &Walk| match asked(walk).is_some() || doubt(walk) {
            true => Turn::default(),
            false => navigate::call(walk, pass.clone()),
        };
        let tell = |walk: &Walk, turn: &Turn| {
            let observer = self.0.observer();
            let upstream = observer.and_then(|it| it.beneath_walk(walk, walk.calls));
            ((turn.clone(), walk.calls), asked(walk), upstream)
        };
        let ((turn, number), question, upstream) = self.navigate(id, decide, tell).await?;
        if let Some(refusal) = turn.refusal {
            return Ok(Went::Refused(refusal));
        }
        if let Some(question) = question {
            return match pass.arguments == call.arguments {
                true => Ok(Went::Asks(self.ask(id, question, call.origin).await?)),
                false => self.unaskable(id, number).await,
            };
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

    /// A call with a secret in it cannot wait: what waits is written down.
    async fn unaskable(&self, id: &RunId, number: u32) -> Result<Went, Fault> {
        let message = "a call that a person is asked about is written down, and this one holds a \
                       secret: leave it out";
        let answer = Err(Failure::new(FailureKind::Forbidden, message));
        self.returned(id, number, &answer).await?;
        Ok(Went::Through(answer, None))
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
            by: None,
            edited_arguments: None,
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

    /// What the operator says against a tool.
    fn barred(&self, tool: &ToolName) -> Option<Failure> {
        match self.0.options.policy.verdict(tool) {
            Verdict::Free | Verdict::Ask(_) => None,
            Verdict::Deny(pattern) => {
                let message = format!("policy denies {tool}: it fits `{pattern}`");
                Some(Failure::new(FailureKind::Forbidden, message))
            }
        }
    }

    /// The tool that a name means: with its server, or the only one that has it.
    async fn tool_of(&self, id: &RunId, name: &str) -> Result<Result<ToolName, Failure>, Fault> {
        if let Some((server, tool)) = name.split_once(':') {
            return Ok(Ok(ToolName::new(server, tool)));
        }
        let begun = self.guided(id).await?;
        let servers = begun.sops.first().map(|sop| servers(&sop.servers));
        let servers = servers.unwrap_or_default();
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

/// A name for the run in which a call may be asked about.
fn fresh() -> RunId {
    let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
    RunId::new(clock::now_ms(), chance)
}
