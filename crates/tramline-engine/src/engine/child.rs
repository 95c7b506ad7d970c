//! Workflows that are called by others: a call is a run of its own, found again by its name.
//!
//! A child's id follows from the step that calls it, so a call that is repeated after a crash comes
//! back to the same child and nothing in it happens twice. A child that waits for an answer makes
//! its parent wait; whichever of the two is later to see that the other is ready wakes the parent.

use super::{Engine, Inner, Loaded, Respondent, Start};
use crate::drive::Ended;
use crate::engine::Handle;
use crate::fault::Fault;
use crate::seams::{Callable, Status};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId, Seq, StepNo};
use tramline_core::journal::{AgentRun, Answer, Budget, Event, Outcome, Parent, Pause};
use tramline_core::run::{Open, Run};
use tramline_core::text::nearest;
use tramline_core::upstream::Upstream;
use tramline_core::workflow::{Action, WORKFLOW_SERVER};
use tramline_core::{Str, Value, trace};

/// What a call came to.
pub(crate) enum Called {
    /// It ended.
    Answer(Result<Value, Failure>),
    /// It is a run that waits for an answer itself.
    Waits(RunId),
}

/// A call of a workflow.
pub(crate) struct ChildCall {
    pub(crate) name: Str,
    pub(crate) arguments: Value,
    pub(crate) parent: Parent,
    /// When the parent began, and what tells this call from all others of its run.
    pub(crate) born_ms: i64,
    pub(crate) key: Str,
    pub(crate) session: Option<Str>,
    pub(crate) owner: Option<Str>,
    /// What is left of the parent's budget.
    pub(crate) budget: Option<Budget>,
    /// What is left of the operator's budget for the parent.
    pub(crate) operator_budget: Option<Budget>,
    /// Where the parent's document is, for a workflow that has no place of its own.
    pub(crate) origin: Value,
    /// The span that it belongs to.
    pub(crate) upstream: Option<Upstream>,
    /// The parent's mark: what an agent began passes the gate at every depth.
    pub(crate) agent: Option<Box<AgentRun>>,
    pub(crate) cancel: CancellationToken,
}

impl Engine {
    /// Runs a workflow for a step of another run, or comes back to the run that was begun for it.
    pub(crate) async fn call_workflow(&self, call: ChildCall) -> Called {
        let id = RunId::new(call.born_ms, spread_bits(&call.key));
        let cancel = call.cancel.clone();
        let name = call.name.clone();
        let turn = match self.turn(&name, call.parent.depth, &cancel).await {
            Ok(turn) => turn,
            Err(failure) => return Called::Answer(Err(failure)),
        };
        match self.child(&id, call).await {
            Ok(Child::Over(graph, outcome)) => answered(&graph, &id, &outcome),
            Ok(Child::Driven(handle)) => {
                let called = self.see_through(&name, handle, &cancel).await;
                drop(turn);
                called
            }
            Ok(Child::Elsewhere) => {
                drop(turn);
                self.follow_child(&id, &cancel).await
            }
            Err(failure) => Called::Answer(Err(failure)),
        }
    }

    async fn child(&self, id: &RunId, call: ChildCall) -> Result<Child, Failure> {
        let failed = |fault: Fault| match fault {
            Fault::BadInput { .. } => Failure::new(FailureKind::BadArguments, fault.to_string()),
            Fault::Quota(_) => Failure::new(FailureKind::Limit, fault.to_string()),
            other => Failure::new(FailureKind::Unavailable, other.to_string()),
        };
        match self.load(id).await {
            Ok(loaded) => match loaded.run.outcome {
                Some(outcome) => Ok(Child::Over(loaded.run.graph, outcome)),
                None => match self.resume(id).await {
                    Ok(handle) => Ok(Child::Driven(handle)),
                    Err(Fault::Elsewhere { .. }) => Ok(Child::Elsewhere),
                    Err(fault) => Err(failed(fault)),
                },
            },
            Err(Fault::NotFound(_)) => {
                // What another process has saved meanwhile is found too; where that cannot be seen,
                // what is known here counts.
                let _ = self.0.library.refresh_for(&call.name).await;
                let Callable { graph, origin } = self.callable(&call)?;
                let mut start = Start::new(graph, call.arguments);
                start.origin = if origin.is_null() {
                    call.origin
                } else {
                    origin
                };
                start.session = call.session;
                start.owner = call.owner;
                start.budget = call.budget;
                start.operator_budget = call.operator_budget;
                start.upstream = call.upstream;
                start.agent = call.agent;
                if call.cancel.is_cancelled() {
                    let message = format!("workflow `{}` was cancelled before it began", call.name);
                    return Err(Failure::new(FailureKind::Cancelled, message));
                }
                self.join_family(&call.name, call.born_ms).await?;
                let _room = self.room().await.map_err(failed)?;
                let handle = self.begin(id.clone(), call.born_ms, start, Some(call.parent));
                handle.map(Child::Driven).map_err(failed)
            }
            Err(fault) => Err(failed(fault)),
        }
    }

    fn callable(&self, call: &ChildCall) -> Result<Callable, Failure> {
        self.0.workflows.find(&call.name).ok_or_else(|| {
            let names = self.0.workflows.names();
            let near = nearest(&call.name, names.iter().map(Str::as_str))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format!("there is no workflow `{}`{near}", call.name);
            Failure::new(FailureKind::UnknownTool, message)
        })
    }

    /// Waits for a child that is driven here.
    async fn see_through(&self, name: &str, handle: Handle, cancel: &CancellationToken) -> Called {
        let id = handle.run.clone();
        let ended = handle.ended();
        tokio::pin!(ended);
        let ended = tokio::select! {
            ended = &mut ended => ended,
            () = cancel.cancelled() => {
                self.give_up(&id).await;
                ended.await
            }
        };
        match ended {
            Ok(Ended::Finished(outcome)) => match self.load(&id).await {
                Ok(loaded) => answered(&loaded.run.graph, &id, &outcome),
                Err(fault) => unavailable(name, &fault),
            },
            Ok(Ended::Paused(_)) => Called::Waits(id),
            // We are stopping too: what this call came to is for the next process to see.
            Ok(Ended::Stopped) => std::future::pending().await,
            Err(fault) => unavailable(name, &fault),
        }
    }

    /// Waits for a child that somebody else drives, or another call of ours.
    async fn follow_child(&self, id: &RunId, cancel: &CancellationToken) -> Called {
        let mut follow = self.subscribe(id.clone(), 0);
        loop {
            let entry = tokio::select! {
                entry = follow.next() => entry,
                () = cancel.cancelled() => {
                    self.give_up(id).await;
                    follow.next().await
                }
            };
            match entry {
                Ok(Some(entry)) if matches!(entry.event, Event::Finished { .. }) => {
                    return match self.load(id).await {
                        Ok(loaded) => match &loaded.run.outcome {
                            Some(outcome) => answered(&loaded.run.graph, id, outcome),
                            None => Called::Waits(id.clone()),
                        },
                        Err(fault) => unavailable(id.as_str(), &fault),
                    };
                }
                Ok(Some(_)) => {}
                Ok(None) => return Called::Waits(id.clone()),
                Err(fault) => return unavailable(id.as_str(), &fault),
            }
        }
    }

    /// The runs that a run was waiting for when it ended at this event: those that wait
    /// themselves, and those that a driver had under way. Its driver ends the latter too, unless it
    /// is dead.
    pub(super) async fn children_before(&self, id: &RunId, last: Seq) -> Result<Vec<RunId>, Fault> {
        let Loaded { entries, .. } = self.load(id).await?;
        let before = self.fold(id, &entries[..last as usize - 1])?;
        let calls = |open: &Open| match &before.graph.node(open.node).action {
            Action::Call { tool, .. } => tool.server == WORKFLOW_SERVER,
            Action::Entry
            | Action::Compute { .. }
            | Action::Choose { .. }
            | Action::Wait(_)
            | Action::Exit => false,
        };
        let mut children = waited_for(&before);
        let open = before.open.iter().filter(|(_, open)| calls(open));
        let begun = open.map(|(step, open)| {
            let key = key(id, *step, open.failed);
            RunId::new(before.started_ms, spread_bits(&key))
        });
        children.extend(begun.filter(|_| self.0.runs_workflows()));
        children.sort_unstable();
        children.dedup();
        Ok(children)
    }

    /// Ends a child that nobody wants any more, unless it is only we who stop.
    async fn give_up(&self, id: &RunId) {
        if !self.0.stop.is_cancelled() {
            let (engine, id) = (self.clone(), id.clone());
            // In a task of its own: the caller is given little time to end, and may be dropped.
            let ending = self.0.tasks.spawn(async move {
                let why = Some("the run that called it does not want it any more".to_owned());
                // It may have ended by itself in this moment; then that stands.
                let _ = engine.abort(&id, "the calling run".into(), why).await;
            });
            let _ = ending.await;
        }
    }
}

enum Child {
    Over(Arc<Graph>, Outcome),
    Driven(Handle),
    Elsewhere,
}

fn unavailable(name: &str, fault: &Fault) -> Called {
    let message = format!("workflow `{name}`: {fault}");
    Called::Answer(Err(Failure::new(FailureKind::Unavailable, message)))
}

/// A child's end as its caller sees it.
fn answered(graph: &Graph, run: &RunId, outcome: &Outcome) -> Called {
    let kind = match outcome {
        Outcome::Completed { result } => return Called::Answer(Ok(result.clone())),
        Outcome::Failed { .. } => FailureKind::Tool,
        Outcome::Rejected { .. } => FailureKind::Rejected,
        Outcome::Aborted { .. } => FailureKind::Cancelled,
    };
    let told = trace::outcome(graph, outcome);
    let error = told.get("error").cloned().unwrap_or_default();
    let says = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let message = format!("workflow `{}`: {says}", graph.workflow.name);
    let data = Value::object([("run_id", run.as_str().into()), ("error", error.clone())]);
    Called::Answer(Err(Failure::new(kind, message).with_data(data)))
}

/// The paused runs that a run waits for.
pub(super) fn waited_for(run: &Run) -> Vec<RunId> {
    let child = |pause: &Pause| match pause {
        Pause::Child { run, .. } => Some(run.clone()),
        Pause::Layer { .. }
        | Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Budget { .. } => None,
    };
    run.pauses.values().filter_map(child).collect()
}

impl Inner {
    /// Wakes the run that waits for this one, if it has gone to sleep over it.
    pub(super) async fn wake_parent(self: &Arc<Self>, child: &RunId, parent: &RunId) {
        let engine = Engine(Arc::clone(self));
        let Ok(Some(row)) = self.store.row(parent).await else {
            return;
        };
        if row.head.status != Status::Paused {
            return;
        }
        let Ok(loaded) = self.load(parent).await else {
            return;
        };
        let pauses: Vec<_> = loaded.run.pauses.into_iter().collect();
        if self.look_again(parent, &pauses, |run| run == child).await {
            // Somebody else may be quicker to drive it on; then that is that.
            let _ = engine.resume(parent).await;
        }
    }

    /// Answers the questions that children have settled in the meantime. Whether there were any.
    pub(super) async fn settle_children(
        self: &Arc<Self>,
        parent: &RunId,
        pauses: &[(Seq, Pause)],
    ) -> Result<bool, Fault> {
        let mut over = Vec::new();
        for (_, pause) in pauses {
            if let Pause::Child { run, .. } = pause
                && let Some(row) = self.store.row(run).await?
                && row.head.status.is_over()
            {
                over.push(run.clone());
            }
        }
        Ok(!over.is_empty()
            && self
                .look_again(parent, pauses, |run| over.contains(run))
                .await)
    }

    async fn look_again(
        self: &Arc<Self>,
        parent: &RunId,
        pauses: &[(Seq, Pause)],
        is_over: impl Fn(&RunId) -> bool,
    ) -> bool {
        let engine = Engine(Arc::clone(self));
        let mut any = false;
        for (seq, pause) in pauses {
            let Pause::Child { run, .. } = pause else {
                continue;
            };
            if !is_over(run) {
                continue;
            }
            let asked = Checkpoint {
                run: parent.clone(),
                seq: *seq,
            };
            let by = Respondent::program(run.as_str());
            // Whoever answered first has done the same.
            any |= engine
                .put_answer(&asked, &Answer::Retry, &by, &None, |_| {})
                .await
                .is_ok();
        }
        any
    }
}

/// What tells a step's call of a workflow from all others. After a failure the next attempt is
/// another run; after a crash it is the same.
pub(crate) fn key(run: &RunId, step: StepNo, failed: u32) -> Str {
    format!("{run}/{step}/{failed}").into()
}

/// 128 bits that follow from a key alone, the same in every process (FNV-1a).
fn spread_bits(key: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    key.bytes().fold(BASIS, |bits, byte| {
        (bits ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}
