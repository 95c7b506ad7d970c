//! Advances a session automatically, along single edges and decided guards, until input is needed.

use super::guard::{self, GuardResult};
use super::{
    AllowedMove, MoveRequest, SopDecision, SopRefusal, SopSession, move_event, move_to, nested_move,
};
use std::collections::HashSet;
use tramline_expr::Value;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::{Entry, Event, MoveKind, SopPosition};

/// Automatic moves per request; a cycle that needs no input must end.
const MOVES_MAX: usize = 100;

/// Records the agent's slots, moves to the requested node, and advances while no input is needed.
/// If the node cannot be reached from the current one, it is tried again after advancing.
pub fn advance(walk: &SopSession, ask: &MoveRequest) -> SopDecision {
    let mut turn = move_to(walk, ask);
    if let (Some(refusal), Some(node)) = (&turn.refusal, &ask.node)
        && matches!(
            refusal,
            SopRefusal::NoEdge { .. } | SopRefusal::UnmetDemands { .. }
        )
    {
        let mut first = move_to(
            walk,
            &MoveRequest {
                node: None,
                ..ask.clone()
            },
        );
        let ahead = advance_automatically(walk, &mut first);
        let wanted = MoveRequest {
            node: Some(node.clone()),
            slots: Value::Null,
            ..ask.clone()
        };
        let then = move_to(&ahead, &wanted);
        if then.refusal.is_none() && first.refusal.is_none() {
            first.events.extend(then.events);
            first.warning = then.warning;
            turn = first;
        }
    }
    if turn.refusal.is_some() {
        return turn;
    }
    advance_automatically(walk, &mut turn);
    // Nothing was given and no move follows: report what the node requires.
    if turn.events.is_empty()
        && let Some(at) = walk.frame().node
        && let Err(refusal) = walk.check_requirements(at)
    {
        turn.refusal = Some(refusal);
    }
    turn
}

/// Appends the moves that follow automatically, and returns the session after them.
fn advance_automatically(walk: &SopSession, turn: &mut SopDecision) -> SopSession {
    let mut ahead = walk.clone();
    let mut seen = HashSet::new();
    let mut applied = 0;
    for _ in 0..MOVES_MAX {
        while let Some(event) = turn.events.get(applied) {
            if !apply_event(&mut ahead, event) {
                return ahead;
            }
            applied += 1;
        }
        let Some(open) = automatic_move(&ahead) else {
            break;
        };
        if !seen.insert(open.to) {
            break;
        }
        let to = open.to;
        turn.events
            .push(move_event(open, true, None, Value::Null, None));
        turn.events.extend(nested_move(&ahead, to, true));
    }
    ahead
}

fn apply_event(walk: &mut SopSession, event: &Event) -> bool {
    let entry = Entry {
        seq: walk.seq + 1,
        at_ms: walk.updated_ms,
        event: event.clone(),
    };
    walk.apply(&entry).is_ok()
}

/// The move that needs no decision, if there is exactly one.
fn automatic_move(walk: &SopSession) -> Option<AllowedMove> {
    let here = walk.current_procedure();
    let Some(at) = walk.frame().node else {
        let to = SopPosition {
            sop: walk.frame().sop,
            node: here.sop.entry,
        };
        return Some(AllowedMove {
            to,
            way: MoveKind::Entry,
            weighed: Vec::new(),
        });
    };
    if here.is_terminal(at) {
        return leave_nested(walk);
    }
    automatic_edge(walk, at)
}

/// Whether a node still has something to do before it is left.
fn has_pending_work(walk: &SopSession, at: NodeIx) -> bool {
    let node = walk.current_procedure().node(at);
    let anywhere = &walk.sop().anywhere;
    let mut own = node
        .tools
        .iter()
        .filter(|it| !anywhere.contains(it))
        .peekable();
    let has_own = own.peek().is_some();
    let idle = match has_own {
        true => !own.any(|it| walk.was_called(it)),
        // A node with only read-only tools is done once one of them was called.
        false => !node.tools.is_empty() && !node.tools.iter().any(|it| walk.was_called(it)),
    };
    idle || node
        .slots
        .iter()
        .any(|it| !it.required && walk.slots.get(&it.name).is_none())
}

fn automatic_edge(walk: &SopSession, at: NodeIx) -> Option<AllowedMove> {
    let here = walk.current_procedure();
    let settled = guard::evaluate_guards(walk, at);
    let to = match settled.result {
        GuardResult::Selected(to) => to,
        GuardResult::Undecided => return None,
        GuardResult::Unguarded => match settled.allowed.as_slice() {
            [only] if !has_pending_work(walk, at) => *only,
            _ => return None,
        },
    };
    let to = SopPosition {
        sop: walk.frame().sop,
        node: to,
    };
    let often = here.node(to.node).visits_max;
    let is_free = often.is_none_or(|most| walk.visits(to) < most);
    let is_ready =
        walk.check_requirements(at).is_ok() && walk.demands_skipped_by_edge(at, to.node).is_empty();
    (is_free && is_ready).then_some(AllowedMove {
        to,
        way: MoveKind::Edge,
        weighed: settled.evaluated,
    })
}

/// Leaves a finished procedure if the node that entered it has a single edge to take.
fn leave_nested(walk: &SopSession) -> Option<AllowedMove> {
    let mut outer = walk.clone();
    outer.leave_procedure()?;
    let at = outer.frame().node?;
    let mut open = automatic_edge(&outer, at)?;
    open.way = MoveKind::Back;
    Some(open)
}
