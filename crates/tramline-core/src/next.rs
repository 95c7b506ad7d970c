//! What comes next: the only decision in the product, and a pure one.

use crate::authority::ApprovalSource;
use crate::failure::{Failure, FailureKind};
use crate::ids::{NodeIx, StepNo};
use crate::journal::{Item, Outcome, Pause, Policy, ProposedCall, Spent};
use crate::run::{Approval, Open, Run, Stage, Token};
use crate::workflow::{Action, Limits};

mod budget;
mod ceilings;

use budget::Room;
pub use budget::bars;
pub use ceilings::{
    AGENT_ACTIVE_MS_MAX, AGENT_CALLS_MAX, AGENT_JOURNAL_BYTES_MAX, AGENT_STEPS_MAX, Ceilings,
};

/// What to do about a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Carry out these steps; at least one.
    Perform(Vec<Due>),
    /// Ask this: append the pause and decide again.
    Ask(Pause),
    /// Wait until a step ends or an answer comes.
    Wait,
    /// End the run so.
    Finish(Outcome),
}

/// A step to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A new visit.
    New(Token),
    /// Another attempt of a step that is open.
    Again(StepNo),
    /// The call for one item of a step that is spread.
    Item(Item),
    /// The end of a step whose items are done.
    Gather(StepNo),
}

/// What the one who carries steps out has to say before each decision.
#[derive(Clone, Copy, Debug)]
pub struct Allowance<'a> {
    /// How many steps may be under way at once.
    pub width: usize,
    /// How long the run has been at work.
    pub active_ms: u64,
    /// How many bytes its journal holds.
    pub bytes: u64,
    /// Nodes whose next visit is being prepared already; they are passed over.
    pub preparing: &'a [NodeIx],
    /// What the operator lets documents say of their own limits.
    pub ceilings: &'a Ceilings,
}

/// Decides. Looks only at what is ready or open, never at the whole graph or history.
pub fn next(run: &Run, allowance: &Allowance<'_>) -> Next {
    if let Some(outcome) = run.outcome.as_ref().or(run.verdict.as_ref()) {
        return Next::Finish(outcome.clone());
    }
    if let Some(failure) = exceeded(run, allowance) {
        return Next::Finish(Outcome::Failed {
            failure,
            node: None,
        });
    }
    let stalled = run.stalled.is_some();
    if let Some(pause) = budget::spent(run, allowance).filter(|_| !stalled) {
        return Next::Ask(pause);
    }
    let mut due = Vec::new();
    let free = allowance.width.saturating_sub(allowance.preparing.len());
    let mut room = Room::of(run, if stalled { 0 } else { free });
    for (&step, open) in &run.open {
        match open.stage {
            Stage::Adrift => {
                return Next::Ask(Pause::InDoubt {
                    step,
                    node: open.node,
                    call: in_doubt(run, open),
                });
            }
            Stage::Again if room.free > 0 && room.call() => {
                room.free -= 1;
                due.push(Due::Again(step));
            }
            Stage::Again | Stage::Doubted | Stage::Sleeping(_) => {}
            Stage::Calling | Stage::Resting => room.free = room.free.saturating_sub(1),
        }
    }
    spread(run, allowance, &mut room, &mut due);
    if let Some(pause) = enter(run, allowance, &mut room, &mut due) {
        return Next::Ask(pause);
    }
    if !due.is_empty() {
        return Next::Perform(due);
    }
    if room.wanting {
        return Next::Ask(budget::ask(run, Spent::Calls, run.calls));
    }
    // What has nothing left to do needs no more budget.
    let asked = run.pauses.len() > usize::from(stalled && run.flow.ready.is_empty());
    let busy =
        !run.open.is_empty() || asked || !run.spreads.is_empty() || !allowance.preparing.is_empty();
    match run.started.policy {
        _ if busy => Next::Wait,
        // After a failure even the last layer is looked at, so that it can be replanned.
        Policy::Layered if !run.flow.ready.is_empty() || run.layer.failed => {
            Next::Ask(Pause::Layer {
                index: run.layer.index,
            })
        }
        Policy::Eager | Policy::Layered => Next::Finish(quiet(run)),
    }
}

/// The call that nobody knows the end of.
fn in_doubt(run: &Run, open: &Open) -> Option<Box<ProposedCall>> {
    let Action::Call { tool, .. } = &run.graph.node(open.node).action else {
        return None;
    };
    let call = ProposedCall::new(tool.clone(), open.arguments.clone());
    Some(Box::new(call))
}

/// Adds what steps that are spread have to do.
fn spread(run: &Run, allowance: &Allowance<'_>, room: &mut Room, due: &mut Vec<Due>) {
    for (&step, spread) in &run.spreads {
        if spread.is_over() {
            due.push(Due::Gather(step));
            continue;
        }
        if allowance.preparing.contains(&spread.node) {
            continue;
        }
        let each = run.graph.node(spread.node).each.as_ref();
        let width = each.map_or(1, |each| each.width as usize);
        let most = width.saturating_sub(run.items_open(step)).min(room.free);
        let left = (spread.len() - spread.begun) as usize;
        for index in (spread.begun..).take(most.min(left)) {
            if !room.call() {
                break;
            }
            room.free -= 1;
            due.push(Due::Item(Item { step, index }));
        }
    }
}

/// Adds the visits that may begin, or gives the question that comes before one of them.
fn enter(
    run: &Run,
    allowance: &Allowance<'_>,
    room: &mut Room,
    due: &mut Vec<Due>,
) -> Option<Pause> {
    let limits = &run.graph.workflow.limits;
    let layer = match run.started.policy {
        Policy::Eager => usize::MAX,
        Policy::Layered => run.layer.left,
    };
    let taken = u64::from(run.steps - run.items);
    let left = usize::try_from(limits.steps_max.saturating_sub(taken)).unwrap_or(usize::MAX);
    let most = room.free.min(layer).min(left);
    let waiting = run.flow.ready.iter().take(layer);
    for token in waiting
        .filter(|token| !allowance.preparing.contains(&token.node))
        .take(most)
    {
        let node = run.graph.node(token.node);
        match &node.approval {
            Some(reason) if token.leave.approval == Approval::None => {
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
                && !room.call() => {}
            _ => due.push(Due::New(*token)),
        }
    }
    None
}

/// The limit that stands in the way of another step.
fn exceeded(run: &Run, allowance: &Allowance<'_>) -> Option<Failure> {
    let own = run.graph.workflow.limits;
    let ceiling = allowance.ceilings.over(run);
    let Limits {
        steps_max,
        active_ms_max,
        calls_max,
        bytes_max,
    } = ceiling.lower(&own);
    let by = |own: u64, held: u64, name: &str| match (held < own, run.graph.workflow.cautious) {
        (false, _) => String::new(),
        (true, true) => {
            format!("; for what agents bring the operator sets it (`limits.agents.{name}`)")
        }
        (true, false) => format!("; the operator sets it (`limits.documents.{name}`)"),
    };
    let wants_step = !run.flow.ready.is_empty();
    let wants_call = wants_step || run.spreads.values().any(|spread| !spread.is_over());
    let message = if allowance.active_ms >= active_ms_max {
        let by = by(own.active_ms_max, active_ms_max, "time");
        format!(
            "the run has been at work for {active_ms_max} ms, its limit (maxExecutionTimeMs){by}"
        )
    } else if wants_step && u64::from(run.steps - run.items) >= steps_max {
        let by = by(own.steps_max, steps_max, "steps");
        format!("the run has taken {steps_max} steps, its limit (maxNodeExecutions){by}")
    } else if wants_call && run.calls >= calls_max {
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

/// How a run ends that has nothing left to do.
fn quiet(run: &Run) -> Outcome {
    if !run.graph.has_exit() {
        return Outcome::Completed {
            result: run.outputs().clone(),
        };
    }
    let waiting: Vec<&str> = run
        .flow
        .waiting(&run.graph)
        .map(|at| run.graph.node(at).id.as_str())
        .collect();
    let message = if waiting.is_empty() {
        "the run came to its end without reaching an exit".to_owned()
    } else {
        format!(
            "the run can go no further: {} wait for what will not come",
            waiting.join(", ")
        )
    };
    Outcome::Failed {
        failure: Failure::new(FailureKind::Stalled, message),
        node: None,
    }
}
