//! Walks on by itself: along single ways and settled decisions, up to where somebody is needed.

use super::guard::{self, Settled};
use super::{Ask, Open, Refusal, Turn, Walk, goto, into, moved};
use crate::ids::NodeIx;
use crate::journal::{Entry, Event, Stand, Way};
use std::collections::HashSet;
use tramline_expr::Value;

/// So many moves are made in one go: a circle that needs nobody must end.
const MOVES_MAX: usize = 100;

/// Takes what the agent brings, goes where it wants, and walks on while nobody is needed. A node that
/// cannot be gone to from here is tried again from where walking on leads.
pub fn advance(walk: &Walk, ask: &Ask) -> Turn {
    let mut turn = goto(walk, ask);
    if let (Some(refusal), Some(node)) = (&turn.refusal, &ask.node)
        && matches!(refusal, Refusal::NoWay { .. } | Refusal::Demands { .. })
    {
        let mut first = goto(
            walk,
            &Ask {
                node: None,
                ..ask.clone()
            },
        );
        let ahead = on(walk, &mut first);
        let wanted = Ask {
            node: Some(node.clone()),
            slots: Value::Null,
            ..ask.clone()
        };
        let then = goto(&ahead, &wanted);
        if then.refusal.is_none() && first.refusal.is_none() {
            first.events.extend(then.events);
            first.warning = then.warning;
            turn = first;
        }
    }
    if turn.refusal.is_some() {
        return turn;
    }
    on(walk, &mut turn);
    // Nothing was brought and nothing follows: the agent is told what the node waits for.
    if turn.events.is_empty()
        && let Some(at) = walk.frame().at
        && let Err(refusal) = walk.ready_to_leave(at)
    {
        turn.refusal = Some(refusal);
    }
    turn
}

/// Adds the moves that follow by themselves; gives the walk after them.
fn on(walk: &Walk, turn: &mut Turn) -> Walk {
    let mut ahead = walk.clone();
    let mut seen = HashSet::new();
    let mut applied = 0;
    for _ in 0..MOVES_MAX {
        while let Some(event) = turn.events.get(applied) {
            if !follow(&mut ahead, event) {
                return ahead;
            }
            applied += 1;
        }
        let Some(open) = onward(&ahead) else {
            break;
        };
        if !seen.insert(open.to) {
            break;
        }
        let to = open.to;
        turn.events.push(moved(open, true, None, Value::Null, None));
        turn.events.extend(into(&ahead, to, true));
    }
    ahead
}

fn follow(walk: &mut Walk, event: &Event) -> bool {
    let entry = Entry {
        seq: walk.seq + 1,
        at_ms: walk.updated_ms,
        event: event.clone(),
    };
    walk.apply(&entry).is_ok()
}

/// The one move that nobody needs to decide.
fn onward(walk: &Walk) -> Option<Open> {
    let here = walk.here();
    let Some(at) = walk.frame().at else {
        let to = Stand {
            sop: walk.frame().sop,
            node: here.sop.entry,
        };
        return Some(Open {
            to,
            way: Way::Entry,
            weighed: Vec::new(),
        });
    };
    if here.is_terminal(at) {
        return back(walk);
    }
    along(walk, at)
}

/// Whether somebody has something to do at a node before it is left.
fn holds(walk: &Walk, at: NodeIx) -> bool {
    let node = walk.here().node(at);
    let anywhere = &walk.sop().anywhere;
    let mut own = node
        .tools
        .iter()
        .filter(|it| !anywhere.contains(it))
        .peekable();
    let has_own = own.peek().is_some();
    let idle = match has_own {
        true => !own.any(|it| walk.was_called(it)),
        // One that only looks something up is done once it has looked.
        false => !node.tools.is_empty() && !node.tools.iter().any(|it| walk.was_called(it)),
    };
    idle || node
        .slots
        .iter()
        .any(|it| !it.required && walk.slots.get(&it.name).is_none())
}

fn along(walk: &Walk, at: NodeIx) -> Option<Open> {
    let here = walk.here();
    let settled = guard::settle(walk, at);
    let to = match settled.verdict {
        Settled::By(to) => to,
        Settled::Not => return None,
        Settled::Free => match settled.open.as_slice() {
            [only] if !holds(walk, at) => *only,
            _ => return None,
        },
    };
    let to = Stand {
        sop: walk.frame().sop,
        node: to,
    };
    let often = here.node(to.node).visits_max;
    let is_free = often.is_none_or(|most| walk.visits(to) < most);
    let is_ready: Result<(), Refusal> = walk.ready_to_leave(at);
    (is_free && is_ready.is_ok()).then_some(Open {
        to,
        way: Way::Edge,
        weighed: settled.weighed,
    })
}

/// Out of a procedure that is done, if the node that led into it has one way on.
fn back(walk: &Walk) -> Option<Open> {
    let mut outer = walk.clone();
    outer.leave()?;
    let at = outer.frame().at?;
    let mut open = along(&outer, at)?;
    open.way = Way::Back;
    Some(open)
}
