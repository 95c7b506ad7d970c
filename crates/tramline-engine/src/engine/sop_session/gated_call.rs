//! Tool calls through the gate: recorded before they are sent, and their results before they are
//! used.

use super::super::{CallPermit, Engine, Respondent};
use super::approval_run::CallApproval;
use crate::attempt::{self, Attempt};
use crate::clock;
use crate::fault::Fault;
use crate::policy::PolicyVerdict;
use tokio_util::sync::CancellationToken;
use tramline_expr::{Str, Value};
use tramline_sop::{CallRequest, SopDecision, SopRefusal, SopSession};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{Event, SopEvent, SopStarted, ToolAnswered, ToolCalled};
use tramline_workflow::trace_context::TraceContext;

/// A tool call that an agent requests in its session.
#[derive(Clone, Debug)]
pub struct GatedCall {
    /// The tool, with its server, or without if only one server has it.
    pub tool: Str,
    /// The arguments.
    pub arguments: Value,
    /// How the user agreed, in the agent's words, shown to the person who approves.
    pub confirmed: Option<Str>,
    /// Whether to make the call although an earlier one is in doubt.
    pub again: bool,
    /// Who requests it. If this respondent may not decide about a call in doubt, a person is asked.
    pub by: Respondent,
    /// How the process that resumes the call after an answer finds its servers.
    pub origin: Value,
    /// The caller's trace span that it belongs to.
    pub upstream: Option<TraceContext>,
}

/// The outcome of a requested call.
#[derive(Clone, Debug)]
pub enum GatedCallOutcome {
    /// It was made: its result, with a warning if the gate only warned.
    Called(Result<Value, Failure>, Option<Str>),
    /// The procedure does not allow it here.
    Refused(SopRefusal),
    /// The same call was sent before, and its result is unknown.
    InDoubt(ToolName),
    /// This process is still making the same call.
    StillRunning(ToolName),
    /// It needs approval: this run waits for a person and then makes the call.
    AwaitsApproval(RunId),
}

impl Engine {
    /// Calls a tool, if the procedure allows it at the session's current node.
    pub async fn call_in_session(
        &self,
        id: &RunId,
        call: GatedCall,
        cancel: CancellationToken,
    ) -> Result<GatedCallOutcome, Fault> {
        let begun = self.sop_session_start(id).await?;
        let tool = match self.resolve_tool(&begun, &call.tool).await {
            Ok(tool) => tool,
            Err(unclear) => return Ok(GatedCallOutcome::Called(Err(unclear.failure()), None)),
        };
        if let Some(failure) = self.policy_denial(&tool) {
            return Ok(GatedCallOutcome::Called(Err(failure), None));
        }
        if let Some(message) = self.reserved_tool_denial(&begun, &tool) {
            let failure = Failure::new(FailureKind::Forbidden, message);
            return Ok(GatedCallOutcome::Called(Err(failure), None));
        }
        let hints = self.0.tools.find(&tool).await.map(|found| found.hints);
        let destroys = hints.as_ref().is_ok_and(|it| it.destructive == Some(true));
        let repeatable = hints.is_ok_and(|hints| hints.repeatable());
        let written = self.redact_submitted(call.arguments.clone()).await;
        let has_secret = written != call.arguments;
        let pass = CallRequest {
            tool: tool.clone(),
            arguments: call.arguments.clone(),
            written: Some(written),
            repeats: None,
            confirmed: call.confirmed.clone(),
            approval_run: Some(new_run_id()),
            requires_approval: matches!(
                self.0.options.policy.verdict(&tool),
                PolicyVerdict::Ask(_)
            ),
            bare_name_differs: self.is_ambiguous_tool(&begun, &tool).await,
            step: None,
            upstream: call.upstream.clone(),
        };
        let same =
            |it: &ToolCalled| tramline_sop::may_be_same_call(it, &pass.tool, &pass.arguments);
        let asked = |walk: &SopSession| CallApproval::of(walk, |it| it.run.is_some() && same(it));
        // The same call finds its question again, even if it has been answered by now.
        if let Some(question) = self.read_sop_session(id, asked).await?
            && !self.is_withdrawn(&question).await?
        {
            return Ok(GatedCallOutcome::AwaitsApproval(
                self.start_approval_run(id, question, call.origin, &call.by.name)
                    .await?,
            ));
        }
        // A call that nobody approved was not made: another one that its limits allow only once
        // replaces it.
        let in_the_way = |walk: &SopSession| tramline_sop::question_to_replace(walk, &pass);
        if let Some(replaced) = self.read_sop_session(id, in_the_way).await? {
            self.withdraw_replaced(&replaced).await?;
        }
        // The same call may have happened if it was sent before without a result.
        let doubt = |walk: &SopSession| !repeatable && !call.again && is_in_doubt(walk, &same);
        // Whether it happens is not in doubt while it is in flight: its result will be recorded.
        let in_flight = &self.0.sop_sessions.in_flight;
        let running = |walk: &SopSession| !repeatable && in_flight.contains(walk, same);
        let may_repeat = self.may_repeat_in_doubt(&call.by);
        let is_exempt = self.pins().is_some() && self.is_exempt_tool(&tool);
        let decide = |walk: &SopSession| match asked(walk).is_some() || running(walk) || doubt(walk)
        {
            true => SopDecision::default(),
            false => {
                let mut pass = pass.clone();
                pass.repeats = call_in_doubt(walk, &same);
                pass.requires_approval |= !may_repeat && !repeatable && is_in_doubt(walk, &same);
                // A procedure that lists the tool here has already decided about it.
                let listed = tramline_sop::is_listed_here(walk, &pass.tool, pass.bare_name_differs);
                pass.requires_approval |= destroys && !listed;
                let turn = tramline_sop::check_call(walk, pass.clone());
                match turn.refusal {
                    Some(SopRefusal::ToolNotAllowed { .. }) if is_exempt => {
                        tramline_sop::announce_exempt_call(walk, pass)
                    }
                    _ => turn,
                }
            }
        };
        let tell = |walk: &SopSession, turn: &SopDecision| {
            let observer = self.0.observer();
            let upstream = observer.and_then(|it| it.sop_trace_context(walk, walk.call_count));
            let number = walk.call_count;
            let is_sent = turn.refusal.is_none() && !turn.events.is_empty();
            // Marked before the next command of the session is decided.
            let marked = match is_sent {
                true => in_flight.begin(walk, number).ok_or(false),
                false => Err(running(walk)),
            };
            ((turn.clone(), number), asked(walk), upstream, marked)
        };
        let ((turn, number), question, upstream, marked) =
            self.update_sop_session(id, decide, tell).await?;
        if let Some(refusal) = turn.refusal {
            return Ok(GatedCallOutcome::Refused(refusal));
        }
        if let Some(question) = question {
            return match has_secret {
                false => Ok(GatedCallOutcome::AwaitsApproval(
                    self.start_approval_run(id, question, call.origin, &call.by.name)
                        .await?,
                )),
                true => self.reject_secret_call(id, number).await,
            };
        }
        let in_flight = match marked {
            Ok(in_flight) => in_flight,
            Err(true) => return Ok(GatedCallOutcome::StillRunning(tool)),
            Err(false) => return Ok(GatedCallOutcome::InDoubt(tool)),
        };
        let attempt = Attempt {
            tool,
            arguments: match call.arguments {
                Value::Null => tramline_expr::Map::new().into(),
                other => other,
            },
            key: attempt::idempotency_key(id, number),
            timeout: self.0.options.call_timeout,
            total_timeout: None,
            cancel,
            upstream,
        };
        let permit = CallPermit::Recorded(id.clone(), number, in_flight);
        let answer = attempt::attempt(self.0.tools.clone(), attempt, &permit).await;
        let answer = match answer {
            Ok(output) => Ok(self.redact_submitted(output).await),
            Err(failure) => Err(failure),
        };
        self.record_result(id, number, &answer).await?;
        Ok(GatedCallOutcome::Called(answer, turn.warning))
    }

    /// Rejects a call with a secret that would have to wait: pending calls are stored.
    async fn reject_secret_call(&self, id: &RunId, number: u32) -> Result<GatedCallOutcome, Fault> {
        let message = "a call that needs approval is stored, and this one contains a \
                       secret: leave it out";
        let answer = Err(Failure::new(FailureKind::Forbidden, message));
        self.record_result(id, number, &answer).await?;
        Ok(GatedCallOutcome::Called(answer, None))
    }

    async fn record_result(
        &self,
        id: &RunId,
        call: u32,
        answer: &Result<Value, Failure>,
    ) -> Result<(), Fault> {
        let answered = ToolAnswered {
            call,
            redacted: answer
                .as_ref()
                .map_or_else(|_| Vec::new(), |output| self.redacted_places(output)),
            output: answer.as_ref().cloned().unwrap_or_default(),
            failure: answer.as_ref().err().cloned(),
            by: None,
            edited_arguments: None,
        };
        self.record_answer(id, answered).await
    }

    /// Records the result of a call, unless it is already recorded.
    pub(in super::super) async fn record_answer(
        &self,
        id: &RunId,
        answered: ToolAnswered,
    ) -> Result<(), Fault> {
        let call = answered.call;
        let event = Event::Sop(SopEvent::ToolAnswered(Box::new(answered)));
        let decide = |walk: &SopSession| SopDecision {
            events: match walk.open_calls.contains_key(&call) {
                true => vec![event.clone()],
                false => Vec::new(),
            },
            ..SopDecision::default()
        };
        self.update_sop_session(id, decide, |_, _| ()).await
    }

    /// Why the operator's policy denies a tool.
    fn policy_denial(&self, tool: &ToolName) -> Option<Failure> {
        match self.0.options.policy.verdict(tool) {
            PolicyVerdict::Allow | PolicyVerdict::Ask(_) => None,
            PolicyVerdict::Deny(pattern) => {
                let message = format!("policy denies {tool}: it fits `{pattern}`");
                Some(Failure::new(FailureKind::Forbidden, message))
            }
        }
    }

    /// The tool that a name refers to: with its server, or else that of the first listed server that
    /// has it. If the procedure lists no servers, the only one that has it.
    async fn resolve_tool(
        &self,
        begun: &SopStarted,
        name: &str,
    ) -> Result<ToolName, ToolNameError> {
        if let Some((server, tool)) = name.split_once(':') {
            return Ok(ToolName::new(server, tool));
        }
        let servers = listed_servers(begun);
        let of = |server: &Str| ToolName::new(server.clone(), name);
        let mut known = servers.iter().map(of);
        if let Some(meant) = known.find(|it| self.0.tools.known(it).is_some()) {
            return Ok(meant);
        }
        let all = self.all_tools().await;
        if !servers.is_empty() {
            // A server that is down is not replaced by another one that has a tool of that name.
            let meant = servers.iter().map(of).find(|it| all.contains(it));
            return meant.ok_or_else(|| {
                ToolNameError::None(format!(
                    "none of the servers that the procedure lists ({}) has a tool `{name}`, or it cannot be reached",
                    servers.join(", ")
                ))
            });
        }
        let fits: Vec<&ToolName> = all.iter().filter(|it| it.tool == name).collect();
        match fits.as_slice() {
            [only] => Ok((*only).clone()),
            [] => {
                let near =
                    tramline_workflow::text::nearest(name, all.iter().map(|it| it.tool.as_str()));
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                Err(ToolNameError::None(format!(
                    "no server has a tool `{name}`{near}"
                )))
            }
            several => {
                let names: Vec<String> = several.iter().map(|it| it.to_string()).collect();
                Err(ToolNameError::Several(format!(
                    "several servers have `{name}`: use one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Whether the name of a tool without its server refers to another tool, or is ambiguous.
    pub(in super::super) async fn is_ambiguous_tool(
        &self,
        begun: &SopStarted,
        tool: &ToolName,
    ) -> bool {
        let servers = listed_servers(begun);
        if !servers.is_empty() && !servers.contains(&tool.server) {
            return true;
        }
        match self.resolve_tool(begun, &tool.tool).await {
            Ok(meant) => meant != *tool,
            Err(ToolNameError::Several(_)) => true,
            Err(ToolNameError::None(_)) => false,
        }
    }

    /// All tools by name. Servers that have not been listed yet are asked.
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

/// The servers whose tools a procedure means by names without a server; empty if it lists none.
fn listed_servers(begun: &SopStarted) -> Vec<Str> {
    let main = begun.sops.first();
    main.map(|sop| sop.server_names()).unwrap_or_default()
}

/// Whether a call was sent before without a known result.
fn is_in_doubt(walk: &SopSession, same: &impl Fn(&ToolCalled) -> bool) -> bool {
    call_in_doubt(walk, same).is_some()
}

/// The latest call that was sent before without a known result.
fn call_in_doubt(walk: &SopSession, same: &impl Fn(&ToolCalled) -> bool) -> Option<u32> {
    let mut open = walk.open_calls.iter().rev();
    let found = open.find(|(_, it)| it.run.is_none() && same(it));
    found.map(|(call, _)| *call)
}

/// Why a name does not refer to exactly one tool.
enum ToolNameError {
    /// No server has it.
    None(String),
    /// Several have it.
    Several(String),
}

impl ToolNameError {
    fn failure(self) -> Failure {
        let (Self::None(message) | Self::Several(message)) = self;
        Failure::new(FailureKind::UnknownTool, message)
    }
}

/// An id for the run in which a call may need approval.
fn new_run_id() -> RunId {
    let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
    RunId::new(clock::now_ms(), chance)
}
