//! A tool called through the gate: announced before it leaves, recorded before it is used.

use super::super::{Engine, Permit, Respondent};
use super::asking::Question;
use crate::clock;
use crate::fault::Fault;
use crate::perform::{self, Attempt};
use crate::policy::Verdict;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{Event, Guided, ToolAnswered, ToolCalled};
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
    /// Who says so. Where they may not decide about a call in doubt, a person is asked.
    pub by: Respondent,
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
        let begun = self.guided(id).await?;
        let tool = match self.tool_of(&begun, &call.tool).await {
            Ok(tool) => tool,
            Err(unclear) => return Ok(Went::Through(Err(unclear.failure()), None)),
        };
        if let Some(failure) = self.barred(&tool) {
            return Ok(Went::Through(Err(failure), None));
        }
        let hints = self.0.tools.find(&tool).await.map(|found| found.hints);
        let destroys = hints.as_ref().is_ok_and(|it| it.destructive == Some(true));
        let repeatable = hints.is_ok_and(|hints| hints.repeatable());
        let pass = Pass {
            tool: tool.clone(),
            arguments: self.redacted(call.arguments.clone()).await,
            confirmed: call.confirmed.clone(),
            asked_in: Some(fresh()),
            asks: matches!(self.0.options.policy.verdict(&tool), Verdict::Ask(_)),
            is_other: self.is_other(&begun, &tool).await,
            step: None,
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
        let doubt = |walk: &Walk| !repeatable && !call.again && is_left_open(walk, &same);
        let may_repeat = self.may_repeat_doubtful(&call.by);
        let decide = |walk: &Walk| match asked(walk).is_some() || doubt(walk) {
            true => Turn::default(),
            false => {
                let mut pass = pass.clone();
                pass.asks |= !may_repeat && !repeatable && is_left_open(walk, &same);
                // A procedure that lists the tool here has said what it thinks of it.
                let listed = navigate::is_listed_here(walk, &pass.tool, pass.is_other);
                pass.asks |= destroys && !listed;
                navigate::call(walk, pass)
            }
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
        let permit = Permit::Announced(id.clone(), number);
        let answer = perform::attempt(self.0.tools.clone(), attempt, &permit).await;
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
        self.record_answer(id, answered).await
    }

    /// Records what came of a call, unless somebody has.
    pub(in super::super) async fn record_answer(
        &self,
        id: &RunId,
        answered: ToolAnswered,
    ) -> Result<(), Fault> {
        let call = answered.call;
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
    async fn tool_of(&self, begun: &Guided, name: &str) -> Result<ToolName, Unclear> {
        if let Some((server, tool)) = name.split_once(':') {
            return Ok(ToolName::new(server, tool));
        }
        let servers = begun.sops.first().map(|sop| sop.server_names());
        for server in servers.unwrap_or_default() {
            let named = ToolName::new(server, name);
            if self.0.tools.known(&named).is_some() {
                return Ok(named);
            }
        }
        let all = self.all_tools().await;
        let fits: Vec<&ToolName> = all.iter().filter(|it| it.tool == name).collect();
        match fits.as_slice() {
            [only] => Ok((*only).clone()),
            [] => {
                let near =
                    tramline_core::text::nearest(name, all.iter().map(|it| it.tool.as_str()));
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                Err(Unclear::None(format!(
                    "no server has a tool `{name}`{near}"
                )))
            }
            several => {
                let names: Vec<String> = several.iter().map(|it| it.to_string()).collect();
                Err(Unclear::Several(format!(
                    "several servers have `{name}`: write one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Whether the name of a tool without its server means another tool, or could mean several.
    pub(in super::super) async fn is_other(&self, begun: &Guided, tool: &ToolName) -> bool {
        match self.tool_of(begun, &tool.tool).await {
            Ok(meant) => meant != *tool,
            Err(Unclear::Several(_)) => true,
            Err(Unclear::None(_)) => false,
        }
    }

    /// Every tool by name. Servers that were never asked are asked.
    async fn all_tools(&self) -> Vec<ToolName> {
        let sources = self.0.tools.sources();
        if !sources.is_empty() && sources.iter().all(|source| source.tools.is_some()) {
            let known = sources.iter().filter_map(|source| source.tools.as_deref());
            return known.flatten().map(|tool| tool.name.clone()).collect();
        }
        let listings = self.0.tools.list().await;
        let tools = listings
            .iter()
            .filter_map(|listing| listing.tools.as_ref().ok());
        tools.flatten().map(|tool| tool.name.clone()).collect()
    }
}

/// Whether a call left before without an end that anybody knows.
fn is_left_open(walk: &Walk, same: &impl Fn(&ToolCalled) -> bool) -> bool {
    walk.open.values().any(|it| it.run.is_none() && same(it))
}

/// Why a name means no one tool.
enum Unclear {
    /// No server has it.
    None(String),
    /// Several have it.
    Several(String),
}

impl Unclear {
    fn failure(self) -> Failure {
        let (Self::None(message) | Self::Several(message)) = self;
        Failure::new(FailureKind::UnknownTool, message)
    }
}

/// A name for the run in which a call may be asked about.
fn fresh() -> RunId {
    let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
    RunId::new(clock::now_ms(), chance)
}
