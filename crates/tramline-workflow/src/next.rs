//! Decides what a run does next: the only decision in the product, and a pure function.

use crate::authority::ApprovalSource;
use crate::failure::{Failure, FailureKind};
use crate::ids::{NodeIx, StepNo};
use crate::journal::{BudgetPart, FanOutItem, Outcome, Pause, ProposedCall, SchedulePolicy};
use crate::run::{Approval, OpenStep, Run, StepStage, Token};
use crate::workflow::{Action, WorkflowLimits};

mod budget;
mod ceilings;

use budget::StartCapacity;
pub use budget::retry_block;
pub use ceilings::{
    AGENT_ACTIVE_MS_MAX, AGENT_CALLS_MAX, AGENT_JOURNAL_BYTES_MAX, AGENT_STEPS_MAX, Ceilings,
};

/// What to do next in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Perform these steps; at least one.
    Perform(Vec<PendingStep>),
    /// Append this pause and decide again.
    Ask(Pause),
    /// Wait until a step ends or an answer arrives.
    Wait,
    /// End the run with this outcome.
    Finish(Outcome),
}

/// A step to perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingStep {
    /// A new visit to a node.
    New(Token),
    /// Another attempt of an open step.
    Retry(StepNo),
    /// The call for one item of a fan-out step.
    Item(FanOutItem),
    /// The end of a fan-out step whose items are finished.
    FanIn(StepNo),
}

/// What the driver reports before each decision.
#[derive(Clone, Copy, Debug)]
pub struct DecisionInput<'a> {
    /// How many steps may run at once.
    pub width: usize,
    /// How long the run has been active, in milliseconds.
    pub active_ms: u64,
    /// The size of its journal in bytes.
    pub bytes: u64,
    /// Nodes whose next visit is already being prepared; they are skipped.
    pub preparing: &'a [NodeIx],
    /// The operator's ceilings for the limits that documents set.
    pub ceilings: &'a Ceilings,
}

/// Decides what to do next. Only looks at what is ready or open, never at the whole graph or
/// history.
pub fn next(run: &Run, allowance: &DecisionInput<'_>) -> Next {
    if let Some(outcome) = run.outcome.as_ref().or(run.pending_outcome.as_ref()) {
        return Next::Finish(outcome.clone());
    }
    if let Some(failure) = exceeded_limit(run, allowance) {
        return Next::Finish(Outcome::Failed {
            failure,
            node: None,
        });
    }
    let stalled = run.budget_pause.is_some();
    if let Some(pause) = budget::exhausted_budget(run, allowance).filter(|_| !stalled) {
        return Next::Ask(pause);
    }
    let mut due = Vec::new();
    let free = allowance.width.saturating_sub(allowance.preparing.len());
    let mut room = StartCapacity::of(run, if stalled { 0 } else { free });
    for (&step, open) in &run.open_steps {
        match open.stage {
            StepStage::Orphaned => {
                return Next::Ask(Pause::InDoubt {
                    step,
                    node: open.node,
                    call: call_in_doubt(run, open),
                });
            }
            StepStage::RetryDue if room.steps > 0 && room.take_call() => {
                room.steps -= 1;
                due.push(PendingStep::Retry(step));
            }
            StepStage::RetryDue | StepStage::AwaitingDecision | StepStage::Sleeping(_) => {}
            StepStage::Calling | StepStage::Backoff => room.steps = room.steps.saturating_sub(1),
        }
    }
    add_fan_out_items(run, allowance, &mut room, &mut due);
    if let Some(pause) = add_visits(run, allowance, &mut room, &mut due) {
        return Next::Ask(pause);
    }
    if !due.is_empty() {
        return Next::Perform(due);
    }
    if room.call_was_blocked {
        return Next::Ask(budget::budget_pause(run, BudgetPart::Calls, run.call_count));
    }
    // A run with nothing left to do needs no more budget.
    let asked = run.pauses.len() > usize::from(stalled && run.flow.ready.is_empty());
    let busy = !run.open_steps.is_empty()
        || asked
        || !run.fan_outs.is_empty()
        || !allowance.preparing.is_empty();
    match run.started.policy {
        _ if busy => Next::Wait,
        // After a failure a run also pauses after its last layer, so that it can be replanned.
        SchedulePolicy::Layered if !run.flow.ready.is_empty() || run.layer.failed => {
            Next::Ask(Pause::Layer {
                index: run.layer.index,
            })
        }
        SchedulePolicy::Eager | SchedulePolicy::Layered => Next::Finish(idle_outcome(run)),
    }
}

/// The call whose result is unknown.
fn call_in_doubt(run: &Run, open: &OpenStep) -> Option<Box<ProposedCall>> {
    let Action::Call { tool, .. } = &run.graph.node(open.node).action else {
        return None;
    };
    let call = ProposedCall::new(tool.clone(), open.arguments.clone());
    Some(Box::new(call))
}

/// Adds the work of fan-out steps.
fn add_fan_out_items(
    run: &Run,
    allowance: &DecisionInput<'_>,
    room: &mut StartCapacity,
    due: &mut Vec<PendingStep>,
) {
    for (&step, spread) in &run.fan_outs {
        if spread.is_over() {
            due.push(PendingStep::FanIn(step));
            continue;
        }
        if allowance.preparing.contains(&spread.node) {
            continue;
        }
        let each = run.graph.node(spread.node).each.as_ref();
        let width = each.map_or(1, |each| each.width as usize);
        let most = width
            .saturating_sub(run.running_items(step))
            .min(room.steps);
        let left = (spread.len() - spread.started) as usize;
        for index in (spread.started..).take(most.min(left)) {
            if !room.take_call() {
                break;
            }
            room.steps -= 1;
            due.push(PendingStep::Item(FanOutItem { step, index }));
        }
    }
}

/// Adds the visits that may start, or returns the pause that must come before one of them.
fn add_visits(
    run: &Run,
    allowance: &DecisionInput<'_>,
    room: &mut StartCapacity,
    due: &mut Vec<PendingStep>,
) -> Option<Pause> {
    let limits = &run.graph.workflow.limits;
    let layer = match run.started.policy {
        SchedulePolicy::Eager => usize::MAX,
        SchedulePolicy::Layered => run.layer.left,
    };
    let taken = u64::from(run.step_count - run.item_count);
    let left = usize::try_from(limits.steps_max.saturating_sub(taken)).unwrap_or(usize::MAX);
    let most = room.steps.min(layer).min(left);
    let waiting = run.flow.ready.iter().take(layer);
    for token in waiting
        .filter(|token| !allowance.preparing.contains(&token.node))
        .take(most)
    {
        let node = run.graph.node(token.node);
        match &node.approval {
            Some(reason) if token.clearance.approval == Approval::None => {
                return Some(Pause::Approval {
                    node: token.node,
                    reason: reason.clone(),
                    source: Some(node.approval_source.unwrap_or(ApprovalSource::Document)),
                    call: None,
                });
            }
            // Items are counted one by one.
            _ if node.each.is_none()
                && matches!(node.action, Action::Call { .. })
                && !room.take_call() => {}
            _ => due.push(PendingStep::New(*token)),
        }
    }
    None
}

/// The limit that prevents another step, if any.
fn exceeded_limit(run: &Run, allowance: &DecisionInput<'_>) -> Option<Failure> {
    let own = run.graph.workflow.limits;
    let ceiling = allowance.ceilings.for_run(run);
    let WorkflowLimits {
        steps_max,
        active_ms_max,
        calls_max,
        bytes_max,
    } = ceiling.min(&own);
    let by = |own: u64, held: u64, name: &str| match (held < own, run.graph.workflow.cautious) {
        (false, _) => String::new(),
        (true, true) => {
            format!("; the operator sets it for agents' documents (`limits.agents.{name}`)")
        }
        (true, false) => format!("; the operator sets it (`limits.documents.{name}`)"),
    };
    let wants_step = !run.flow.ready.is_empty();
    let wants_call = wants_step || run.fan_outs.values().any(|spread| !spread.is_over());
    let message = if allowance.active_ms >= active_ms_max {
        let by = by(own.active_ms_max, active_ms_max, "time");
        format!(
            "the run has been active for {active_ms_max} ms, its limit (maxExecutionTimeMs){by}"
        )
    } else if wants_step && u64::from(run.step_count - run.item_count) >= steps_max {
        let by = by(own.steps_max, steps_max, "steps");
        format!("the run has taken {steps_max} steps, its limit (maxNodeExecutions){by}")
    } else if wants_call && run.call_count >= calls_max {
        let by = by(own.calls_max, calls_max, "calls");
        format!("the run has made {calls_max} calls, its limit (maxCalls){by}")
    } else if wants_call && allowance.bytes >= bytes_max {
        let by = by(own.bytes_max, bytes_max, "journal_bytes");
        format!(
            "the run's journal holds {} bytes, its limit is {bytes_max}{by}",
            allowance.bytes
        )
    } else {
        return None;
    };
    Some(Failure::new(FailureKind::Limit, message))
}

/// The outcome of a run that has nothing left to do.
fn idle_outcome(run: &Run) -> Outcome {
    if !run.graph.has_exit() {
        return Outcome::Completed {
            result: run.outputs().clone(),
        };
    }
    let waiting: Vec<&str> = run
        .flow
        .starved_joins(&run.graph)
        .map(|at| run.graph.node(at).id.as_str())
        .collect();
    let message = if waiting.is_empty() {
        "the run ended without reaching an exit".to_owned()
    } else {
        format!(
            "deadlock: {} wait for inputs that can never arrive",
            waiting.join(", ")
        )
    };
    Outcome::Failed {
        failure: Failure::new(FailureKind::Stalled, message),
        node: None,
    }
}
