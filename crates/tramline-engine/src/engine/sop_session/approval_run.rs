//! A call that needs approval: it becomes a run, which pauses and is answered like any other.
//!
//! The session records the call with the id of that run before the run starts, so that after a
//! crash the same call finds the same pause. The result is recorded in the session before its next
//! command is decided. A session that moves on withdraws unanswered questions, because the node
//! that allowed the call is left.

use super::super::{Engine, LoadedRun, RunStart};
use crate::clock;
use crate::fault::Fault;
use crate::policy::PolicyVerdict;
use crate::ports::{AppendError, RunStatus};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};
use tramline_sop::{SopDecision, SopSession};
use tramline_workflow::authority::ApprovalSource;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{
    Answer, Event, EventRole, MoveKind, Outcome, ParentStep, RunEvent, SopEvent, ToolAnswered,
    ToolCalled,
};
use tramline_workflow::workflow::{Action, Edge, Node, Template, Workflow};

/// Characters of the arguments shown in the question; the run has all of them.
const SHOWN_ARGUMENT_CHARS_MAX: usize = 400;
/// The expression for the input of the question's run.
const INPUT: &str = "$previousNode()";
/// The name, in the journal, under which a question is withdrawn.
const WITHDRAWN_BY: &str = "the conversation";

/// A call that needs a person's approval.
pub(super) struct CallApproval {
    number: u32,
    called: ToolCalled,
    run: RunId,
    node: Str,
    procedure: Str,
    /// Whether the procedure requires the approval because it lists the tool. Otherwise the policy
    /// or the tool's annotations do.
    by_procedure: bool,
    /// Whether the same call was sent before and its result is unknown.
    is_repetition: bool,
    ttl_ms: Option<u64>,
    owner: Option<Str>,
}

impl CallApproval {
    /// The question about an open call, if there is one.
    pub(super) fn of(walk: &SopSession, is_it: impl Fn(&ToolCalled) -> bool) -> Option<Self> {
        let (number, called) = walk.open_calls.iter().find(|(_, called)| is_it(called))?;
        let same = |it: &&ToolCalled| {
            it.run.is_none() && tramline_sop::may_be_same_call(it, &called.tool, &called.arguments)
        };
        Some(Self {
            is_repetition: walk.open_calls.values().any(|it| same(&it)),
            number: *number,
            called: called.clone(),
            run: called.run.clone()?,
            node: walk
                .current_node_id()
                .cloned()
                .unwrap_or_else(|| "call".into()),
            procedure: walk.current_procedure().sop.name.clone(),
            by_procedure: tramline_sop::is_listed_here(walk, &called.tool, called.is_other),
            ttl_ms: walk.started.ttl_ms,
            owner: walk.started.owner.clone(),
        })
    }

    /// Why approval is needed, in a sentence.
    fn reason(&self, source: ApprovalSource) -> String {
        let arguments: String = self.called.arguments.to_json();
        let shown: String = arguments.chars().take(SHOWN_ARGUMENT_CHARS_MAX).collect();
        let cut = if shown.len() < arguments.len() {
            "…"
        } else {
            ""
        };
        let said = self.called.confirmed.as_deref().map(str::trim);
        let said = said.filter(|said| !said.is_empty());
        let said = said.map_or_else(String::new, |said| format!("; the agent says: {said}"));
        let broken = self
            .called
            .rules
            .iter()
            .filter(|it| it.holds == Some(false));
        let rules: String = broken.map(|it| format!("; {}", it.describe())).collect();
        let again = match self.is_repetition {
            true => "; the same call was sent before, and its result is unknown",
            false => "",
        };
        let required = match source {
            ApprovalSource::Policy => "the operator's policy requires approval",
            ApprovalSource::Confirm => "the procedure requires confirmation",
            ApprovalSource::Destructive => "its server annotates it as destructive",
            ApprovalSource::Document => "the document requires approval",
        };
        format!(
            "may {} be called with {shown}{cut}? {required}{again}{rules}{said}",
            self.called.tool
        )
    }

    /// The arguments of the call, which are the run's input: unlike those in a document, references
    /// to settings in them are just text.
    fn input(&self) -> Value {
        match &self.called.arguments {
            Value::Null => Map::new().into(),
            other => other.clone(),
        }
    }

    /// The call as a workflow: entry, the call with its approval, exit.
    fn graph(&self, source: ApprovalSource) -> Result<Graph, Fault> {
        let (first, last) = (
            format!("{} begins", self.node),
            format!("{} ends", self.node),
        );
        let mut call = Node::new(
            self.node.clone(),
            Action::Call {
                tool: self.called.tool.clone(),
                arguments: Template::Expr(INPUT.into()),
            },
        );
        call.approval = Some(self.reason(source).into());
        call.approval_source = Some(source);
        let workflow = Workflow {
            name: format!("{}/{}", self.procedure, self.called.tool.tool).into(),
            nodes: vec![
                Node::new(first.clone(), Action::Entry),
                call,
                Node::new(last.clone(), Action::Exit),
            ],
            edges: vec![
                Edge::new(first, self.node.clone()),
                Edge::new(self.node.clone(), last),
            ],
            ..Workflow::default()
        };
        let built = Graph::build(Arc::new(workflow));
        let (graph, _) = built.map_err(|problems| {
            let says: Vec<String> = problems.iter().map(|it| it.message.clone()).collect();
            Fault::Rejected(says.join("; "))
        })?;
        Ok(graph)
    }
}

impl Engine {
    /// Starts the question's run, unless it exists.
    pub(super) async fn start_approval_run(
        &self,
        id: &RunId,
        question: CallApproval,
        origin: Value,
        by: &Str,
    ) -> Result<RunId, Fault> {
        let run = question.run.clone();
        if self.0.store.row(&run).await?.is_some() {
            return Ok(run);
        }
        let verdict = self.0.options.policy.verdict(&question.called.tool);
        let source = match verdict {
            PolicyVerdict::Ask(_) => ApprovalSource::Policy,
            PolicyVerdict::Allow | PolicyVerdict::Deny(_) if !question.by_procedure => {
                ApprovalSource::Destructive
            }
            PolicyVerdict::Allow | PolicyVerdict::Deny(_) => ApprovalSource::Confirm,
        };
        let mut start = RunStart::new(Arc::new(question.graph(source)?), question.input());
        start.origin = origin;
        start.owner = question.owner.clone();
        start.by = Some(by.clone());
        start.ttl_ms = question.ttl_ms;
        start.agent = self.agent_mark(None).map(|mut agent| {
            agent.conversations = vec![id.clone()];
            agent.asks = true;
            agent
        });
        start.upstream = question.called.upstream.as_deref().cloned();
        let parent = ParentStep {
            run: id.clone(),
            step: question.number,
            depth: 1,
        };
        self.reject_secrets(&start.graph.workflow)?;
        self.reject_agent_secrets(&start.input)?;
        match self.begin_run(run.clone(), clock::now_ms(), start, Some(parent)) {
            Ok(begun) => begun.wait().await.map(|_| ())?,
            // The same call was made twice at the same time, and the other one starts the run.
            Err(Fault::Elsewhere { .. }) => self.wait_for_approval_run(&run).await?,
            Err(fault) => return Err(fault),
        }
        let is_wanted = self
            .read_sop_session(id, |walk| walk.open_calls.contains_key(&question.number))
            .await?;
        if !is_wanted {
            self.withdraw_approvals(std::slice::from_ref(&run)).await?;
        }
        Ok(run)
    }

    /// Whether a question was withdrawn: then the call is a new one.
    pub(super) async fn is_withdrawn(&self, question: &CallApproval) -> Result<bool, Fault> {
        let row = self.0.store.row(&question.run).await?;
        if !row.is_some_and(|row| row.index_row.status == RunStatus::Aborted) {
            return Ok(false);
        }
        let loaded = self.load(&question.run).await?;
        Ok(matches!(&loaded.run.outcome, Some(Outcome::Aborted { by, .. }) if by == WITHDRAWN_BY))
    }

    async fn wait_for_approval_run(&self, run: &RunId) -> Result<(), Fault> {
        let mut rows = self.watch_row(run);
        while rows.next().await?.is_none() {}
        Ok(())
    }

    /// Records the results of calls that people decided on.
    pub(in super::super) async fn record_decided_calls(
        &self,
        walk: &mut SopSession,
    ) -> Result<(), Fault> {
        let asked: Vec<(u32, RunId)> = walk
            .pending_approvals()
            .map(|(at, run)| (at, run.clone()))
            .collect();
        for (call, run) in asked {
            let row = self.0.store.row(&run).await?;
            if row.is_none_or(|row| row.index_row.status == RunStatus::Paused) {
                continue;
            }
            let loaded = self.load(&run).await?;
            let Some(mut answered) = call_result(&loaded, call) else {
                // It is in flight, perhaps with edited arguments.
                if let Some((edited, _)) = edit_of(&loaded) {
                    walk.record_edited_arguments(call, &edited);
                }
                continue;
            };
            answered.redacted = self.redacted_places(&answered.output);
            let event = [Event::Sop(SopEvent::ToolAnswered(Box::new(answered)))];
            // A call in doubt stays open, without its question.
            while walk
                .open_calls
                .get(&call)
                .is_some_and(|it| it.run.is_some())
            {
                match self.0.append_session_events(walk, &event).await {
                    Ok(()) => {}
                    Err(AppendError::Conflict { .. } | AppendError::Elsewhere { .. }) => {
                        self.0.catch_up_session(walk).await?;
                    }
                    Err(AppendError::Store(fault)) => return Err(fault.into()),
                }
            }
        }
        Ok(())
    }

    /// The result of a session's call that a person decided on in this run. It is recorded in the
    /// session before it is returned.
    pub async fn approved_call_result(
        &self,
        id: &RunId,
        run: &RunId,
    ) -> Result<ApprovedCallResult, Fault> {
        let seat = self.0.sop_session(id).await?;
        self.record_decided_calls(&mut *seat.lock().await).await?;
        let loaded = self.load(run).await?;
        let answer = match call_result(&loaded, 0) {
            Some(ToolAnswered {
                failure: Some(failure),
                ..
            }) => Err(failure),
            Some(answered) => Ok(answered.output),
            None => Err(Failure::new(
                FailureKind::Unavailable,
                "the call is still running; make it again to get its result",
            )),
        };
        let edit = edit_of(&loaded).map(|(arguments, by)| ArgumentEdit { arguments, by });
        Ok(ApprovedCallResult { answer, edit })
    }

    /// Withdraws unanswered questions, because the node that allowed their calls is left; answered
    /// ones continue.
    pub(in super::super) async fn withdraw_approvals(&self, runs: &[RunId]) -> Result<(), Fault> {
        self.withdraw_because(runs, "the session has moved on")
            .await
    }

    /// Withdraws a question whose call the agent corrects, so that the limits of the procedure do
    /// not count both. An answered one continues, and counts.
    pub(super) async fn withdraw_replaced(&self, run: &RunId) -> Result<(), Fault> {
        let why = "the agent asks for another call in its place";
        self.withdraw_because(std::slice::from_ref(run), why).await
    }

    async fn withdraw_because(&self, runs: &[RunId], why: &str) -> Result<(), Fault> {
        for run in runs {
            let row = self.0.store.row(run).await?;
            if !row.is_some_and(|row| row.index_row.status == RunStatus::Paused) {
                continue;
            }
            let aborted = self.abort_by(run, WITHDRAWN_BY.into(), Some(why.to_owned()));
            match Box::pin(aborted).await {
                Ok(()) | Err(Fault::Ended { .. } | Fault::Expired { .. } | Fault::NotFound(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}

/// The result of a call that a person decided on.
#[derive(Clone, Debug)]
pub struct ApprovedCallResult {
    /// The output, or why there is none.
    pub answer: Result<Value, Failure>,
    /// The person's edit of the arguments, if there was one.
    pub edit: Option<ArgumentEdit>,
}

/// Arguments that a person replaced.
#[derive(Clone, Debug)]
pub struct ArgumentEdit {
    /// All arguments, after the edit.
    pub arguments: Value,
    /// Who edited them.
    pub by: Str,
}

/// The arguments that a person replaced in a question's run, and who did.
fn edit_of(loaded: &LoadedRun) -> Option<(Value, Str)> {
    loaded.entries.iter().find_map(|entry| {
        let Event::Run(RunEvent::Answered {
            answer: Answer::ProceedWith { arguments },
            by,
            ..
        }) = &entry.event
        else {
            return None;
        };
        Some((arguments.clone(), by.clone()))
    })
}

/// Whether a call of a run was, or may have been, sent without a known result.
fn is_in_doubt(loaded: &LoadedRun) -> bool {
    let roles = loaded.entries.iter().rev();
    let mut roles = roles.filter_map(|entry| entry.event.role());
    let last = roles.find_map(|role| match role {
        EventRole::StepStart { is_call, .. } => is_call.then_some(true),
        EventRole::AttemptFailed { in_doubt, .. } => Some(in_doubt),
        EventRole::StepEnd { is_fan_in, .. } => (!is_fan_in).then_some(false),
        EventRole::Start | EventRole::TakeOver | EventRole::Pause { .. } | EventRole::Command => {
            None
        }
    });
    last.unwrap_or(false)
}

/// Whether a decision leaves the session's current node.
pub(super) fn leaves_node(turn: &SopDecision) -> bool {
    let away = |event: &Event| matches!(event, Event::Sop(SopEvent::Moved(moved)) if moved.way != MoveKind::Again);
    turn.events.iter().any(away)
}

/// The result of a question's run, if it has ended.
pub(super) fn call_result(loaded: &LoadedRun, call: u32) -> Option<ToolAnswered> {
    let mut decided = loaded.entries.iter().rev();
    let by = decided.find_map(|entry| {
        let Event::Run(RunEvent::Answered { by, .. }) = &entry.event else {
            return None;
        };
        Some(by.clone())
    });
    let edited_arguments = edit_of(loaded).map(|(arguments, _)| arguments);
    let who = by.as_deref().unwrap_or("somebody");
    let says = |why: &Option<String>| match why {
        Some(why) => format!(": {why}"),
        None => String::new(),
    };
    let (output, failure) = match loaded.run.outcome.as_ref()? {
        Outcome::Completed { result } => (result.clone(), None),
        Outcome::Failed { failure, .. } => (Value::Null, Some(failure.clone())),
        Outcome::Rejected { why, .. } => {
            let message = format!("{who} rejected the call{}", says(why));
            let failure = Failure::new(FailureKind::Rejected, message);
            (Value::Null, Some(failure))
        }
        Outcome::Aborted { by, why } if is_in_doubt(loaded) => {
            let message = format!(
                "the call had been sent when {by} ended its run{}; its result is unknown",
                says(why)
            );
            let failure = Failure::new(FailureKind::Cancelled, message).after_sending();
            (Value::Null, Some(failure))
        }
        outcome @ Outcome::Aborted { .. } if outcome.is_expired() => {
            let message = "the call was not approved in time; make it again to ask again";
            (
                Value::Null,
                Some(Failure::new(FailureKind::Cancelled, message)),
            )
        }
        Outcome::Aborted { by, why } => {
            let message = format!("the call was withdrawn by {by}{}", says(why));
            (
                Value::Null,
                Some(Failure::new(FailureKind::Cancelled, message)),
            )
        }
    };
    Some(ToolAnswered {
        call,
        output,
        redacted: Vec::new(),
        failure,
        by,
        edited_arguments,
    })
}
