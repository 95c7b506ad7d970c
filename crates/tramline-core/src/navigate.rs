//! Walks an agent through a procedure: where it may go, what it may call, what comes by itself.
//!
//! Pure, like [`next`](mod@crate::next): each question is answered with the events that are to be
//! recorded, and a guided run ([`Walk`]) is the fold of them. Nothing here calls anything.

use crate::ids::NodeIx;
use crate::journal::{Asked, Event, Moved, Note, Refused, Stand, Way, Weighed};
use tramline_expr::{Limits, Map, Str, Value};

mod advance;
pub mod audit;
pub mod coverage;
mod demands;
mod gate;
mod guard;
mod history;
mod operands;
mod procedure;
mod refusal;
mod route;
mod rules;
mod slots;
mod walk;

pub use advance::advance;
pub use demands::Unmet;
pub use gate::{Pass, against, call, is_listed_here};
pub(crate) use guard::Guard;
pub use guard::Settled;
pub use history::{CALL_BYTES_KEPT_MAX, CALLS_KEPT_MAX};
pub use procedure::Procedure;
pub use refusal::Refusal;
pub use rules::{NeededCall, RuleReport, check_rules};
pub use walk::{Frame, Walk};

use crate::sop::Mode;
use crate::text::shown;

/// What the entry can always be called in a move, whatever its id is.
const ENTRY: &str = "START";

/// What one rule of a procedure may use: rules look at a few arguments and earlier calls, while the
/// agent and everybody beside it waits.
const LIMITS: Limits = Limits {
    fuel: 1_000_000,
    depth: 600,
    bytes: 4 << 20,
    items: 100_000,
    deadline: None,
    long: None,
};

/// What an agent brings to a move.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Where to. Without it, only the rest is taken.
    pub node: Option<Str>,
    /// What it has collected, an object or nothing.
    pub slots: Value,
    /// Why, in its words.
    pub reason: Option<Str>,
    /// On what grounds.
    pub evidence: Value,
}

/// The answer to a question: what is to be recorded, and what is to be said.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// What is to be recorded, in order.
    pub events: Vec<Event>,
    /// Why it was not done, if it was not.
    pub refusal: Option<Refusal>,
    /// What was let pass although it is not allowed.
    pub warning: Option<Str>,
}

impl Turn {
    /// A refusal of a move, which is recorded too.
    fn refused(target: &str, refusal: Refusal) -> Self {
        let event = Event::Refused(Box::new(Refused {
            what: Asked::Move,
            target: shown(target).into(),
            why: refusal.brief().into(),
            rules: Vec::new(),
        }));
        Self {
            events: vec![event],
            refusal: Some(refusal),
            warning: None,
        }
    }
}

impl Walk {
    /// The nodes that edges lead to and that can be gone to now; the entry, where it has not begun.
    pub fn valid_next(&self) -> Vec<Str> {
        let (here, sop) = (self.here(), self.frame().sop);
        let Some(at) = self.frame().at else {
            return self.next_ids();
        };
        let to = here.out(at).map(|edge| edge.to);
        let open = to.filter(|node| legal(self, Stand { sop, node: *node }).is_ok());
        open.map(|node| here.node(node).id.clone()).collect()
    }

    /// The nodes that edges lead to and that no guard and no limit of visits excludes, whatever the
    /// node where it stands still waits for.
    pub fn open_next(&self) -> Vec<Str> {
        let (here, sop) = (self.here(), self.frame().sop);
        let Some(at) = self.frame().at else {
            return self.next_ids();
        };
        let settled = guard::settle(self, at);
        let is_closed = |node: NodeIx| {
            let decided = !settled.weighed.is_empty() && !settled.open.is_empty();
            decided && !settled.open.contains(&node)
        };
        let to = here.out(at).map(|edge| edge.to);
        let open = to.filter(|node| {
            not_too_often(self, Stand { sop, node: *node }).is_ok() && !is_closed(*node)
        });
        open.map(|node| here.node(node).id.clone()).collect()
    }
}

/// A node that could be gone to, and by which right.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) to: Stand,
    pub(crate) way: Way,
    pub(crate) weighed: Vec<Weighed>,
}

/// Moves to a node, if that is allowed from where the conversation stands.
pub fn goto(walk: &Walk, ask: &Ask) -> Turn {
    let mut walk = std::borrow::Cow::Borrowed(walk);
    let mut turn = Turn::default();
    if let Err(refusal) = take_slots(&mut walk, &ask.slots, &mut turn) {
        return Turn::refused(ask.node.as_deref().unwrap_or_default(), refusal);
    }
    let Some(node) = &ask.node else {
        return turn;
    };
    let (open, against) = match find(&walk, node) {
        Ok(open) => (open, None),
        Err((refusal, to)) => match (walk.sop().mode, to) {
            (Mode::Warn | Mode::Observe, Some(to)) => {
                let weighed = Vec::new();
                let way = Way::Off;
                (Open { to, way, weighed }, Some(refusal))
            }
            (Mode::Strict | Mode::Warn | Mode::Observe, _) => {
                let refused = Turn::refused(node, refusal);
                turn.events.extend(refused.events);
                turn.refusal = refused.refusal;
                return turn;
            }
        },
    };
    let says: Option<Str> = against.as_ref().map(|it| it.says().into());
    if walk.sop().mode == Mode::Warn {
        turn.warning.clone_from(&says);
    }
    let (reason, evidence) = (ask.reason.clone(), ask.evidence.clone());
    turn.events
        .push(moved(open.clone(), false, reason, evidence, says));
    turn.events.extend(into(&walk, open.to, false));
    turn
}

fn moved(
    open: Open,
    by_itself: bool,
    reason: Option<Str>,
    evidence: Value,
    against: Option<Str>,
) -> Event {
    Event::Moved(Box::new(Moved {
        to: open.to,
        way: open.way,
        by_itself,
        weighed: open.weighed,
        reason,
        evidence,
        against,
    }))
}

/// The step into the procedure of a node, if it has one.
fn into(walk: &Walk, at: Stand, by_itself: bool) -> Option<Event> {
    let sop = walk.inner(at)?;
    let to = Stand {
        sop,
        node: walk.procedure(sop)?.sop.entry,
    };
    let open = Open {
        to,
        way: Way::Into,
        weighed: Vec::new(),
    };
    Some(moved(open, by_itself, None, Value::Null, None))
}

/// Checks the slots that were brought and notes them.
fn take_slots(
    walk: &mut std::borrow::Cow<'_, Walk>,
    slots: &Value,
    turn: &mut Turn,
) -> Result<(), Refusal> {
    let map = match slots {
        Value::Null => return Ok(()),
        Value::Object(map) => map,
        other => return Err(Refusal::NoSlots { kind: other.kind() }),
    };
    if map.is_empty() {
        return Ok(());
    }
    for (name, value) in map.iter() {
        walk.check_slot(name, value)?;
    }
    let note = Note::Slots(slots.clone());
    walk.to_mut().note(&note);
    turn.events.push(Event::Noted(Box::new(note)));
    Ok(())
}

type NotFound = (Refusal, Option<Stand>);

/// Where a name leads from where the walk stands; otherwise why not, and where it would have.
fn find(walk: &Walk, name: &str) -> Result<Open, NotFound> {
    if let Some(begin) = begin_again(walk, name) {
        return begin;
    }
    let frame = walk.frame();
    let here = walk.here();
    let found = here.find(name).map(|node| Stand {
        sop: frame.sop,
        node,
    });
    if let Some(to) = found {
        match legal(walk, to) {
            Ok(open) => return Ok(open),
            Err(refusal) if walk.depth() == 1 => return Err((refusal, Some(to))),
            Err(_) => {}
        }
    }
    // Out of a procedure inside another: along the outer node's ways, or to what is legal anywhere.
    if let Some(open) = outer(walk, name)? {
        return Ok(open);
    }
    match found {
        Some(to) => Err((
            legal(walk, to).err().unwrap_or_else(|| no_way(walk, to)),
            Some(to),
        )),
        None => {
            let near = crate::text::nearest(name, here.ids()).map(Into::into);
            let refusal = Refusal::NoNode {
                asked: shown(name).into(),
                near,
                nodes: here.ids().map(Into::into).collect(),
            };
            Err((refusal, None))
        }
    }
}

/// The entry of the outermost procedure by the name that always means it, unless a node is called so.
fn begin_again(walk: &Walk, name: &str) -> Option<Result<Open, NotFound>> {
    let is_taken = |frame: &Frame| {
        let procedure = walk.procedure(frame.sop);
        procedure.is_some_and(|it| it.find(name).is_some())
    };
    if name != ENTRY || walk.frames().iter().any(is_taken) {
        return None;
    }
    let mut outermost = walk.clone();
    while outermost.leave().is_some() {}
    let frame = outermost.frame();
    let to = Stand {
        sop: frame.sop,
        node: outermost.here().sop.entry,
    };
    Some(legal(&outermost, to).map_err(|refusal| (refusal, Some(to))))
}

fn outer(walk: &Walk, name: &str) -> Result<Option<Open>, NotFound> {
    let mut outer = walk.clone();
    let mut done = walk.is_terminal();
    while let Some(inside) = outer.leave() {
        let Some(node) = outer.here().find(name) else {
            done = false;
            continue;
        };
        let to = Stand {
            sop: outer.frame().sop,
            node,
        };
        let anywhere = outer.here().is_anywhere(node);
        if !anywhere && !done {
            let refusal = Refusal::Unfinished {
                procedure: inside.sop.name.clone(),
            };
            return Err((refusal, Some(to)));
        }
        // An edge of the outer node is open only once the procedure inside it is done.
        let judged = match done {
            true => legal(&outer, to),
            false => not_too_often(&outer, to).and_then(|()| jump(&outer, to)),
        };
        return match judged {
            Ok(mut open) => {
                if open.way == Way::Edge {
                    open.way = Way::Back;
                }
                Ok(Some(open))
            }
            Err(refusal) => Err((refusal, Some(to))),
        };
    }
    Ok(None)
}

/// Whether a node of the innermost procedure may be gone to.
fn legal(walk: &Walk, to: Stand) -> Result<Open, Refusal> {
    let here = walk.here();
    let open = |way, weighed| Open { to, way, weighed };
    let at = walk.frame().at;
    if at == Some(to.node) {
        return Ok(open(Way::Again, Vec::new()));
    }
    not_too_often(walk, to)?;
    if let Some(at) = at
        && here.way(at, to.node).is_some()
    {
        return match along(walk, at, to) {
            Err(refusal) if here.is_anywhere(to.node) => {
                jump(walk, to).map_err(|other| match &other {
                    // What this node still wants is the nearer reason.
                    Refusal::Demands { unmet, .. }
                        if unmet.len() == 1 && unmet[0].node == here.node(at).id =>
                    {
                        refusal
                    }
                    _ => other,
                })
            }
            other => other,
        };
    }
    match here.is_anywhere(to.node) {
        true => jump(walk, to),
        false => Err(no_way(walk, to)),
    }
}

fn not_too_often(walk: &Walk, to: Stand) -> Result<(), Refusal> {
    let target = walk.here().node(to.node);
    match target.visits_max {
        Some(most) if walk.visits(to) >= most => Err(Refusal::TooOften {
            node: target.id.clone(),
            most,
        }),
        Some(_) | None => Ok(()),
    }
}

/// A move to the entry or to a hub, which needs what every path to it needs.
fn jump(walk: &Walk, to: Stand) -> Result<Open, Refusal> {
    let here = walk.here();
    let weighed = Vec::new();
    if here.sop.entry == to.node {
        let way = Way::Entry;
        return Ok(Open { to, way, weighed });
    }
    let unmet = walk.unmet_before(to);
    let Some(first) = unmet.first() else {
        let way = Way::Hub;
        return Ok(Open { to, way, weighed });
    };
    let first = first.node.clone();
    let route = walk.route(|procedure| procedure.find(&first).into_iter().collect());
    Err(Refusal::Demands {
        to: here.node(to.node).id.clone(),
        unmet,
        path: route.path,
    })
}

/// Whether an edge may be taken: what its node wants is there, and its guard holds.
fn along(walk: &Walk, at: crate::ids::NodeIx, to: Stand) -> Result<Open, Refusal> {
    walk.ready_to_leave(at)?;
    let settled = guard::settle(walk, at);
    if !settled.weighed.is_empty() && !settled.open.contains(&to.node) {
        let here = walk.here();
        return Err(Refusal::Guarded {
            from: here.node(at).id.clone(),
            to: here.node(to.node).id.clone(),
            weighed: settled.weighed,
            open: settled
                .open
                .iter()
                .map(|it| here.node(*it).id.clone())
                .collect(),
        });
    }
    Ok(Open {
        to,
        way: Way::Edge,
        weighed: settled.weighed,
    })
}

fn no_way(walk: &Walk, to: Stand) -> Refusal {
    let here = walk.here();
    let from = walk.frame().at.map(|at| here.node(at).id.clone());
    Refusal::NoWay {
        from,
        to: here.node(to.node).id.clone(),
        next: walk.next_ids(),
        path: walk.path_to(to.node),
    }
}

/// Writes the list of tasks.
pub fn todo(todos: Vec<crate::todo::Todo>) -> Turn {
    Turn {
        events: vec![Event::Noted(Box::new(Note::Todos(todos)))],
        ..Turn::default()
    }
}

/// Slots as a map to be added to.
pub(crate) fn merged(into: &Value, more: &Value) -> Value {
    let mut map: Map = into.as_object().cloned().unwrap_or_default();
    for (key, value) in more.as_object().into_iter().flat_map(Map::iter) {
        map.insert(key.clone(), value.clone());
    }
    map.into()
}
