//! Workflows called by other workflows: each call is a child run with a derived id.
//!
//! A child's id is derived from the step that calls it, so a call repeated after a crash finds the
//! same child and nothing in it happens twice. A child that pauses makes its parent pause;
//! whichever of the two sees last that the other is ready wakes the parent.

use super::{Engine, EngineInner, LoadedRun, Respondent, RunStart};
use crate::driver::DriveOutcome;
use crate::engine::RunHandle;
use crate::fault::Fault;
use crate::ports::{Callable, RunStatus};
use std::sync::Arc;
use tokio::sync::SemaphorePermit;
use tokio_util::sync::CancellationToken;
use tramline_expr::{Str, Value};
use tramline_views::trace;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, StepNo};
use tramline_workflow::journal::{AgentRun, Answer, Budget, Outcome, ParentStep, Pause};
use tramline_workflow::run::{OpenStep, Run};
use tramline_workflow::text::nearest;
use tramline_workflow::trace_context::TraceContext;

/// The result of a workflow call.
pub(crate) enum ChildOutcome {
    /// It ended.
    Answer(Result<Value, Failure>),
    /// The child run has paused.
    Paused(RunId),
}

/// A call of a workflow.
pub(crate) struct ChildCall {
    pub(crate) name: Str,
    pub(crate) arguments: Value,
    pub(crate) parent: ParentStep,
    /// When the parent started, and the key that distinguishes this call from all others of its
    /// run.
    pub(crate) created_ms: i64,
    pub(crate) key: Str,
    pub(crate) session: Option<Str>,
    pub(crate) owner: Option<Str>,
    /// Who asked for the parent.
    pub(crate) by: Str,
    /// The remaining budget of the parent.
    pub(crate) budget: Option<Budget>,
    /// The remaining operator budget of the parent.
    pub(crate) operator_budget: Option<Budget>,
    /// The parent's document, for a workflow that has no origin itself.
    pub(crate) origin: Value,
    /// The trace span of the call.
    pub(crate) upstream: Option<TraceContext>,
    /// The parent's mark: calls of an agent's run pass the gate at every depth.
    pub(crate) agent: Option<Box<AgentRun>>,
    pub(crate) cancel: CancellationToken,
}

impl Engine {
    /// Runs a workflow for a step of another run, or returns to the child that was started for it.
    pub(crate) async fn call_workflow(&self, call: Box<ChildCall>) -> ChildOutcome {
        let slot = self
            .child_slot(&call.name, call.parent.depth, &call.cancel)
            .await;
        match slot {
            // Allocated only now: of the many calls that a tree of workflows makes, most wait here.
            Ok(slot) => Box::pin(self.call_child(*call, slot)).await,
            Err(failure) => ChildOutcome::Answer(Err(failure)),
        }
    }

    async fn call_child(&self, call: ChildCall, slot: SemaphorePermit<'_>) -> ChildOutcome {
        let id = RunId::new(call.created_ms, hash_key(&call.key));
        let cancel = call.cancel.clone();
        let name = call.name.clone();
        match self.start_or_find_child(&id, call).await {
            Ok(ChildState::Over(graph, outcome)) => child_outcome(&graph, &id, &outcome),
            Ok(ChildState::Driven(handle)) => self.wait_for_child(&name, handle, &cancel).await,
            Ok(ChildState::Elsewhere) => {
                drop(slot);
                self.follow_child(&id, &cancel).await
            }
            Err(failure) => ChildOutcome::Answer(Err(failure)),
        }
    }

    async fn start_or_find_child(
        &self,
        id: &RunId,
        call: ChildCall,
    ) -> Result<ChildState, Failure> {
        let failed = |fault: Fault| match fault {
            Fault::InvalidInput { .. } => {
                Failure::new(FailureKind::BadArguments, fault.to_string())
            }
            Fault::Quota(_) => Failure::new(FailureKind::Limit, fault.to_string()),
            other => Failure::new(FailureKind::Unavailable, other.to_string()),
        };
        match self.load(id).await {
            Ok(loaded) => match loaded.run.outcome {
                Some(outcome) => Ok(ChildState::Over(loaded.run.graph, outcome)),
                None => match self.resume(id).await {
                    Ok(handle) => Ok(ChildState::Driven(handle)),
                    Err(Fault::Elsewhere { .. }) => Ok(ChildState::Elsewhere),
                    Err(fault) => Err(failed(fault)),
                },
            },
            Err(Fault::NotFound(_)) => {
                // Also find workflows that another process saved in the meantime.
                self.0.workflows.refresh(&call.name).await;
                let Callable { graph, origin } = self.callable(&call)?;
                let mut start = RunStart::new(graph, call.arguments);
                start.origin = if origin.is_null() {
                    call.origin
                } else {
                    origin
                };
                start.session = call.session;
                start.owner = call.owner;
                start.by = Some(call.by);
                start.budget = call.budget;
                start.operator_budget = call.operator_budget;
                start.upstream = call.upstream;
                start.agent = call.agent;
                if call.cancel.is_cancelled() {
                    let message = format!("workflow `{}` was cancelled before it began", call.name);
                    return Err(Failure::new(FailureKind::Cancelled, message));
                }
                self.count_descendant(&call.name, call.created_ms).await?;
                let _room = self.reserve_run().await.map_err(failed)?;
                let handle = self.begin_run(id.clone(), call.created_ms, start, Some(call.parent));
                handle.map(ChildState::Driven).map_err(failed)
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
    async fn wait_for_child(
        &self,
        name: &str,
        handle: RunHandle,
        cancel: &CancellationToken,
    ) -> ChildOutcome {
        let id = handle.run.clone();
        let ended = handle.wait();
        tokio::pin!(ended);
        let ended = tokio::select! {
            ended = &mut ended => ended,
            () = cancel.cancelled() => {
                self.abort_child(&id).await;
                ended.await
            }
        };
        match ended {
            // A result needs no journal, which may be large: it contains those of all its calls.
            Ok(DriveOutcome::Finished(Outcome::Completed { result })) => {
                ChildOutcome::Answer(Ok(result))
            }
            Ok(DriveOutcome::Finished(outcome)) => match self.load(&id).await {
                Ok(loaded) => child_outcome(&loaded.run.graph, &id, &outcome),
                Err(fault) => child_unavailable(name, &fault),
            },
            Ok(DriveOutcome::Paused(_)) => ChildOutcome::Paused(id),
            // This process is stopping; the next one sees the result of this call.
            Ok(DriveOutcome::Stopped) => std::future::pending().await,
            Err(fault) => child_unavailable(name, &fault),
        }
    }

    /// Waits for a child that is driven by another process or another call.
    async fn follow_child(&self, id: &RunId, cancel: &CancellationToken) -> ChildOutcome {
        let mut follow = self.subscribe(id.clone(), 0);
        loop {
            let entry = tokio::select! {
                entry = follow.next() => entry,
                () = cancel.cancelled() => {
                    self.abort_child(id).await;
                    follow.next().await
                }
            };
            match entry {
                Ok(Some(entry)) if entry.event.outcome().is_none() => {}
                Ok(Some(_)) => {
                    return match self.load(id).await {
                        Ok(loaded) => match &loaded.run.outcome {
                            Some(outcome) => child_outcome(&loaded.run.graph, id, outcome),
                            None => ChildOutcome::Paused(id.clone()),
                        },
                        Err(fault) => child_unavailable(id.as_str(), &fault),
                    };
                }
                Ok(None) => return ChildOutcome::Paused(id.clone()),
                Err(fault) => return child_unavailable(id.as_str(), &fault),
            }
        }
    }

    /// The runs that a run was waiting for when it ended at this event: paused children, and
    /// children that a driver had in flight. A live driver ends the latter itself.
    pub(super) async fn children_at_end(&self, id: &RunId, last: Seq) -> Result<Vec<RunId>, Fault> {
        let LoadedRun { entries, .. } = self.load(id).await?;
        let before = self.fold(id, &entries[..last as usize - 1])?;
        let calls = |open: &OpenStep| before.graph.node(open.node).action.is_workflow_call();
        let mut children = awaited_children(&before);
        let open = before.open_steps.iter().filter(|(_, open)| calls(open));
        let begun = open.map(|(step, open)| {
            let key = child_key(id, *step, open.failed_attempts);
            RunId::new(before.started_ms, hash_key(&key))
        });
        children.extend(begun.filter(|_| self.0.runs_workflows()));
        children.sort_unstable();
        children.dedup();
        Ok(children)
    }

    /// Ends a child that is no longer needed, unless this process is just stopping.
    async fn abort_child(&self, id: &RunId) {
        if !self.0.stop.is_cancelled() {
            let (engine, id) = (self.clone(), id.clone());
            // In its own task: the caller has little time to end and may be dropped.
            let ending = self.0.tasks.spawn(async move {
                let why = Some("the run that called it no longer needs it".to_owned());
                // It may just have ended by itself; that outcome counts.
                let _ = engine.abort(&id, "the calling run".into(), why).await;
            });
            let _ = ending.await;
        }
    }
}

enum ChildState {
    Over(Arc<Graph>, Outcome),
    Driven(RunHandle),
    Elsewhere,
}

fn child_unavailable(name: &str, fault: &Fault) -> ChildOutcome {
    let message = format!("workflow `{name}`: {fault}");
    ChildOutcome::Answer(Err(Failure::new(FailureKind::Unavailable, message)))
}

/// The outcome of a child as its caller sees it.
fn child_outcome(graph: &Graph, run: &RunId, outcome: &Outcome) -> ChildOutcome {
    let kind = match outcome {
        Outcome::Completed { result } => return ChildOutcome::Answer(Ok(result.clone())),
        Outcome::Failed { .. } => FailureKind::Tool,
        Outcome::Rejected { .. } => FailureKind::Rejected,
        Outcome::Aborted { .. } => FailureKind::Cancelled,
    };
    let told = trace::outcome_value(graph, outcome);
    let error = told.get("error").cloned().unwrap_or_default();
    let says = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let message = format!("workflow `{}`: {says}", graph.workflow.name);
    let data = Value::object([("run_id", run.as_str().into()), ("error", error.clone())]);
    ChildOutcome::Answer(Err(Failure::new(kind, message).with_data(data)))
}

/// The paused children that a run waits for.
pub(super) fn awaited_children(run: &Run) -> Vec<RunId> {
    let child = |pause: &Pause| match pause {
        Pause::Child { run, .. } => Some(run.clone()),
        Pause::Layer { .. }
        | Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Form { .. }
        | Pause::Budget { .. } => None,
    };
    run.pauses.values().filter_map(child).collect()
}

impl EngineInner {
    /// Resumes the run that waits for this one, if it is paused.
    pub(super) async fn wake_parent(self: &Arc<Self>, child: &RunId, parent: &RunId) {
        let engine = Engine(Arc::clone(self));
        let Ok(Some(row)) = self.store.row(parent).await else {
            return;
        };
        if row.index_row.status != RunStatus::Paused {
            return;
        }
        let Ok(loaded) = self.load(parent).await else {
            return;
        };
        let pauses: Vec<_> = loaded.run.pauses.into_iter().collect();
        if self
            .retry_ended_children(parent, &pauses, |run| run == child)
            .await
        {
            // Another process may have resumed it first.
            let _ = engine.resume(parent).await;
        }
    }

    /// Answers the pauses whose children have ended. Returns whether there were any.
    pub(super) async fn answer_ended_children(
        self: &Arc<Self>,
        parent: &RunId,
        pauses: &[(Seq, Pause)],
    ) -> Result<bool, Fault> {
        let mut over = Vec::new();
        for (_, pause) in pauses {
            if let Pause::Child { run, .. } = pause
                && let Some(row) = self.store.row(run).await?
                && row.index_row.status.is_over()
            {
                over.push(run.clone());
            }
        }
        Ok(!over.is_empty()
            && self
                .retry_ended_children(parent, pauses, |run| over.contains(run))
                .await)
    }

    async fn retry_ended_children(
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
            // If another answer came first, it was the same one.
            any |= engine
                .append_answer(&asked, &Answer::Retry, &by, &None, |_| {})
                .await
                .is_ok();
        }
        any
    }
}

/// The key of a step's workflow call. After a failure the next attempt is another run; after a
/// crash it is the same.
pub(crate) fn child_key(run: &RunId, step: StepNo, failed: u32) -> Str {
    format!("{run}/{step}/{failed}").into()
}

/// A 128-bit hash of a key, the same in every process (FNV-1a).
fn hash_key(key: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    key.bytes().fold(BASIS, |bits, byte| {
        (bits ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt_workflow;
    use crate::engine::EngineOptions;
    use crate::testing::{FakeTools, MemoryStore};

    /// A tree of workflows can have 1,000 runs that make 50 calls each at the same time.
    const CALL_BYTES_MAX: usize = 1 << 10;

    #[tokio::test]
    async fn a_call_that_waits_for_a_slot_is_small() {
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::new(store, Arc::new(FakeTools::new()), EngineOptions::default());
        let call = ChildCall {
            name: "child".into(),
            arguments: Value::Null,
            parent: ParentStep {
                run: RunId::new(0, 0),
                step: 1,
                depth: 1,
            },
            created_ms: 0,
            key: "key".into(),
            session: None,
            owner: None,
            by: "test".into(),
            budget: None,
            operator_budget: None,
            origin: Value::Null,
            upstream: None,
            agent: None,
            cancel: CancellationToken::new(),
        };
        let bytes = size_of_val(&attempt_workflow(&engine, call.into(), None));
        assert!(bytes <= CALL_BYTES_MAX, "{bytes} bytes");
    }
}
