//! A call that a person must agree to: a run of its own, asked about and answered like any other.
//!
//! The conversation announces the call with the run's name before the run begins, so that after a
//! crash the same call comes back to the same question. What the run came to is recorded in the
//! conversation before its next word is decided. A conversation that moves on withdraws what nobody
//! has answered: the node that allowed the call is left.

use super::super::{Engine, Loaded, Start};
use crate::clock;
use crate::fault::Fault;
use crate::policy::Verdict;
use crate::seams::{AppendError, Status};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::authority::ApprovalSource;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::graph::Graph;
use tramline_core::ids::RunId;
use tramline_core::journal::{Answer, Event, Outcome, Parent, ToolAnswered, ToolCalled, Way};
use tramline_core::navigate::{self, Turn, Walk};
use tramline_core::workflow::{Action, Edge, Node, Template, Workflow};
use tramline_core::{Map, Str, Value};

/// Arguments are shown so far to whoever is asked, in characters; the run has all of them.
const SHOWN_CHARS: usize = 400;
/// How often a run that another call has begun is looked for, beside when the store says so.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Who withdraws a question, in its journal.
const CONVERSATION: &str = "the conversation";

/// A call about which a person is to be asked.
pub(super) struct Question {
    number: u32,
    called: ToolCalled,
    run: RunId,
    node: Str,
    procedure: Str,
    /// Whether the procedure wants a person's agreement: it lists the tool. Otherwise it is the policy or
    /// the tool's hints.
    confirms: bool,
    /// Whether the same call left before, and its end is not known.
    is_repetition: bool,
    ttl_ms: Option<u64>,
    owner: Option<Str>,
}

impl Question {
    /// The question of an open call, if there is one about it.
    pub(super) fn of(walk: &Walk, is_it: impl Fn(&ToolCalled) -> bool) -> Option<Self> {
        let (number, called) = walk.open.iter().find(|(_, called)| is_it(called))?;
        let same = |it: &&ToolCalled| {
            it.run.is_none() && it.tool == called.tool && it.arguments == called.arguments
        };
        Some(Self {
            is_repetition: walk.open.values().any(|it| same(&it)),
            number: *number,
            called: called.clone(),
            run: called.run.clone()?,
            node: walk.at_id().cloned().unwrap_or_else(|| "call".into()),
            procedure: walk.here().sop.name.clone(),
            confirms: navigate::is_listed_here(walk, &called.tool, called.is_other),
            ttl_ms: walk.begun.ttl_ms,
            owner: walk.begun.owner.clone(),
        })
    }

    /// Why a person is asked, in a sentence.
    fn reason(&self) -> String {
        let arguments: String = self.called.arguments.to_json();
        let shown: String = arguments.chars().take(SHOWN_CHARS).collect();
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
        let rules: String = broken.map(|it| format!("; {}", it.says())).collect();
        let again = match self.is_repetition {
            true => "; the same call left before, and nobody knows whether it happened",
            false => "",
        };
        format!(
            "may {} be called with {shown}{cut}?{again}{rules}{said}",
            self.called.tool
        )
    }

    /// The one call as a workflow: entry, the call with its approval, exit.
    fn graph(&self, source: ApprovalSource) -> Result<Graph, Fault> {
        let (first, last) = (
            format!("{} begins", self.node),
            format!("{} ends", self.node),
        );
        let arguments = match &self.called.arguments {
            Value::Null => Map::new().into(),
            other => other.clone(),
        };
        let mut call = Node::new(
            self.node.clone(),
            Action::Call {
                tool: self.called.tool.clone(),
                arguments: Template::Literal(arguments),
            },
        );
        call.approval = Some(self.reason().into());
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
            Fault::Refused(says.join("; "))
        })?;
        Ok(graph)
    }
}

impl Engine {
    /// Sees to it that a person is asked: begins the question's run, unless it is there.
    pub(super) async fn ask(
        &self,
        id: &RunId,
        question: Question,
        origin: Value,
    ) -> Result<RunId, Fault> {
        let run = question.run.clone();
        if self.0.store.row(&run).await?.is_some() {
            return Ok(run);
        }
        let verdict = self.0.options.policy.verdict(&question.called.tool);
        let source = match verdict {
            Verdict::Ask(_) => ApprovalSource::Policy,
            Verdict::Free | Verdict::Deny(_) if !question.confirms => ApprovalSource::Destructive,
            Verdict::Free | Verdict::Deny(_) => ApprovalSource::Confirm,
        };
        let mut start = Start::new(Arc::new(question.graph(source)?), Map::new().into());
        start.origin = origin;
        start.owner = question.owner.clone();
        start.ttl_ms = question.ttl_ms;
        start.agent = self.mark(None).map(|mut agent| {
            agent.conversations = vec![id.clone()];
            agent.asks = true;
            agent
        });
        start.upstream = question.called.upstream.as_deref().cloned();
        let parent = Parent {
            run: id.clone(),
            step: question.number,
            depth: 1,
        };
        self.is_discreet(&start.graph.workflow)?;
        match self.begin(run.clone(), clock::now_ms(), start, Some(parent)) {
            Ok(begun) => begun.ended().await.map(|_| ())?,
            // The same call was made twice at once, and the other one begins it.
            Err(Fault::Elsewhere { .. }) => self.appears(&run).await?,
            Err(fault) => return Err(fault),
        }
        let is_wanted = self
            .walk(id, |walk| walk.open.contains_key(&question.number))
            .await?;
        if !is_wanted {
            self.withdraw(std::slice::from_ref(&run)).await?;
        }
        Ok(run)
    }

    /// Whether a question was taken back: then the call is a new one.
    pub(super) async fn is_withdrawn(&self, question: &Question) -> Result<bool, Fault> {
        let row = self.0.store.row(&question.run).await?;
        if !row.is_some_and(|row| row.head.status == Status::Aborted) {
            return Ok(false);
        }
        let loaded = self.load(&question.run).await?;
        Ok(matches!(&loaded.run.outcome, Some(Outcome::Aborted { by, .. }) if by == CONVERSATION))
    }

    async fn appears(&self, run: &RunId) -> Result<(), Fault> {
        let mut changes = self.0.store.changes();
        loop {
            changes.mark_unchanged();
            if self.0.store.row(run).await?.is_some() {
                return Ok(());
            }
            let _ = tokio::time::timeout(LOOK_EVERY, changes.changed()).await;
        }
    }

    /// Records what became of the calls that people were asked about.
    pub(super) async fn settle(&self, walk: &mut Walk) -> Result<(), Fault> {
        let asked: Vec<(u32, RunId)> = walk.asked().map(|(at, run)| (at, run.clone())).collect();
        for (call, run) in asked {
            let row = self.0.store.row(&run).await?;
            if row.is_none_or(|row| row.head.status == Status::Paused) {
                continue;
            }
            let loaded = self.load(&run).await?;
            let Some(answered) = outcome(&loaded, call) else {
                // It is under way, perhaps with other arguments than the agent's.
                if let Some((edited, _)) = edit_of(&loaded) {
                    walk.edited(call, &edited);
                }
                continue;
            };
            let event = [Event::ToolAnswered(Box::new(answered))];
            // One that may have happened stays open, without its question.
            while walk.open.get(&call).is_some_and(|it| it.run.is_some()) {
                match self.0.record(walk, &event).await {
                    Ok(()) => {}
                    Err(AppendError::Moved { .. } | AppendError::Elsewhere { .. }) => {
                        self.0.catch_up(walk).await?;
                    }
                    Err(AppendError::Store(fault)) => return Err(fault.into()),
                }
            }
        }
        Ok(())
    }

    /// What the call of a conversation came to about which a person was asked in this run. It is
    /// recorded in the conversation before it is told.
    pub async fn asked_answer(&self, id: &RunId, run: &RunId) -> Result<AskedAnswer, Fault> {
        let seat = self.0.walking(id).await?;
        self.settle(&mut *seat.lock().await).await?;
        let loaded = self.load(run).await?;
        let answer = match outcome(&loaded, 0) {
            Some(ToolAnswered {
                failure: Some(failure),
                ..
            }) => Err(failure),
            Some(answered) => Ok(answered.output),
            None => Err(Failure::new(
                FailureKind::Unavailable,
                "the call is still under way; make it again to come back to it",
            )),
        };
        let edit = edit_of(&loaded).map(|(arguments, by)| Edit { arguments, by });
        Ok(AskedAnswer { answer, edit })
    }

    /// Takes back questions that nobody has answered; what was answered goes on.
    pub(in super::super) async fn withdraw(&self, runs: &[RunId]) -> Result<(), Fault> {
        for run in runs {
            let row = self.0.store.row(run).await?;
            if !row.is_some_and(|row| row.head.status == Status::Paused) {
                continue;
            }
            let why = Some("the conversation has moved on".to_owned());
            match Box::pin(self.abort_by(run, CONVERSATION.into(), why)).await {
                Ok(()) | Err(Fault::Over { .. } | Fault::Expired { .. } | Fault::NotFound(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}

/// What a call came to about which a person was asked.
#[derive(Clone, Debug)]
pub struct AskedAnswer {
    /// Its answer, or why there is none.
    pub answer: Result<Value, Failure>,
    /// What the person changed before they agreed, if they did.
    pub edit: Option<Edit>,
}

/// Arguments that a person put in the place of the agent's.
#[derive(Clone, Debug)]
pub struct Edit {
    /// All of the arguments.
    pub arguments: Value,
    /// Who changed them.
    pub by: Str,
}

/// The arguments that a person put in the place of the agent's in a question's run, and who did.
fn edit_of(loaded: &Loaded) -> Option<(Value, Str)> {
    loaded.entries.iter().find_map(|entry| match &entry.event {
        Event::Answered {
            answer: Answer::ProceedWith { arguments },
            by,
            ..
        } => Some((arguments.clone(), by.clone())),
        _ => None,
    })
}

/// Whether a call of a run left, or may have, and no end of it is known.
fn is_unknown(loaded: &Loaded) -> bool {
    let steps = loaded.entries.iter().rev();
    let mut last = steps.filter_map(|entry| match &entry.event {
        Event::StepStarted { .. } => Some(true),
        Event::StepFinished { .. } | Event::StepFailed { .. } => Some(false),
        Event::AttemptFailed { in_doubt, .. } => Some(*in_doubt),
        Event::Started(_)
        | Event::Resumed { .. }
        | Event::Spread { .. }
        | Event::Gathered { .. }
        | Event::Waiting { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Watched { .. }
        | Event::Amended { .. }
        | Event::Guided(_)
        | Event::Moved(_)
        | Event::Noted(_)
        | Event::ToolCalled(_)
        | Event::ToolAnswered(_)
        | Event::Refused(_)
        | Event::Finished { .. } => None,
    });
    last.next().unwrap_or(false)
}

/// Whether a turn leaves the node where the conversation stands.
pub(super) fn leaves(turn: &Turn) -> bool {
    let away = |event: &Event| matches!(event, Event::Moved(moved) if moved.way != Way::Again);
    turn.events.iter().any(away)
}

/// What a question's run came to, if it is over.
fn outcome(loaded: &Loaded, call: u32) -> Option<ToolAnswered> {
    let decided = loaded.entries.iter().rev();
    let by = decided
        .filter_map(|entry| match &entry.event {
            Event::Answered { by, .. } => Some(by.clone()),
            _ => None,
        })
        .next();
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
        Outcome::Aborted { by, why } if is_unknown(loaded) => {
            let message = format!(
                "the call had left when its run was ended by {by}{}, and nobody knows whether it happened",
                says(why)
            );
            let failure = Failure::new(FailureKind::Cancelled, message).after_leaving();
            (Value::Null, Some(failure))
        }
        outcome @ Outcome::Aborted { .. } if outcome.is_expired() => {
            let message =
                "nobody agreed to the call in the time that was given; make it again to ask anew";
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
        failure,
        by,
        edited_arguments,
    })
}
