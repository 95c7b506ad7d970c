//! Guides an agent through a procedure: which moves and calls are allowed, and which moves follow
//! automatically.
//!
//! Everything is pure, like `next` of a run: each request returns the events to append,
//! and an SOP session ([`SopSession`]) is the fold over them. Nothing here makes a call
//! or knows the run of a workflow.

use tramline_expr::{Limits, Map, Str, Value};
use tramline_workflow::ids::{NodeIx, ToolName};
use tramline_workflow::journal::{
    Event, GuardEvaluation, MoveKind, RefusedRequest, RequestKind, SessionNote, SopEvent, SopMove,
    SopPosition, ToolCalled,
};

mod advance;
pub mod audit;
mod call_history;
mod compiled;
pub mod coverage;
mod demands;
mod direct_start;
mod guard;
mod operands;
mod redacted;
mod refusal;
mod requirements;
mod route;
mod rules;
mod state;
mod tool_gate;

pub use advance::advance;
pub use call_history::{CALL_BYTES_KEPT_MAX, CALLS_KEPT_MAX};
pub use compiled::Procedure;
pub use demands::UnmetDemand;
pub use direct_start::SkippedCondition;
pub use guard::Guard;
pub use guard::GuardResult;
pub use refusal::SopRefusal;
pub use rules::{NeededCall, RuleReport, check_rules};
pub use state::{ProcedureFrame, SopSession};
pub use tool_gate::{
    CallRequest, announce_exempt_call, announced_call_refusal, check_call, is_listed_here,
    question_to_replace,
};

use tramline_workflow::sop::SopMode;
use tramline_workflow::text::display_name;

/// Whether a call may be the recorded one, whatever its redacted arguments were.
pub fn may_be_same_call(called: &ToolCalled, tool: &ToolName, arguments: &Value) -> bool {
    called.tool == *tool && may_equal_redacted(called, arguments)
}

/// Whether a call with these arguments may be a recorded one, whatever its redacted arguments were.
fn may_equal_redacted(called: &ToolCalled, arguments: &Value) -> bool {
    redacted::may_equal(
        &redacted::masked(&called.arguments, &called.redacted),
        arguments,
    )
}

/// A name that always refers to the entry in a move, whatever its id is.
const ENTRY_NAME: &str = "START";

/// What evaluating one rule of a procedure may use. Rules look at a few arguments and earlier
/// calls, and block the agent and other requests while they run.
const RULE_LIMITS: Limits = Limits {
    fuel: 1_000_000,
    depth: 600,
    bytes: 4 << 20,
    items: 100_000,
    deadline: None,
    offload: None,
};

/// An agent's request to move.
#[derive(Clone, Debug, Default)]
pub struct MoveRequest {
    /// The target. Without it, only the slots are recorded.
    pub node: Option<Str>,
    /// The slots it has collected, an object or null.
    pub slots: Value,
    /// The reason, in its words.
    pub reason: Option<Str>,
    /// The evidence.
    pub evidence: Value,
}

/// The decision about a request: the events to append, and the reply.
#[derive(Clone, Debug, Default)]
pub struct SopDecision {
    /// The events to append, in order.
    pub events: Vec<Event>,
    /// Why the request was refused, if it was.
    pub refusal: Option<SopRefusal>,
    /// What was let through although it is not allowed.
    pub warning: Option<Str>,
}

impl SopDecision {
    /// The refusal of a move, which is recorded too.
    fn refused(target: &str, refusal: SopRefusal) -> Self {
        let event = Event::Sop(SopEvent::Refused(Box::new(RefusedRequest {
            what: RequestKind::Move,
            target: display_name(target).into(),
            why: refusal.journal_message().into(),
            rules: Vec::new(),
        })));
        Self {
            events: vec![event],
            refusal: Some(refusal),
            warning: None,
        }
    }
}

impl SopSession {
    /// The nodes that can be reached along an edge now; the entry if the session has not started.
    pub fn valid_next(&self) -> Vec<Str> {
        let (here, sop) = (self.current_procedure(), self.frame().sop);
        let Some(at) = self.frame().node else {
            return self.next_ids();
        };
        let to = here.out_edges(at).map(|edge| edge.to);
        let open = to.filter(|node| check_move(self, SopPosition { sop, node: *node }).is_ok());
        let mut found: Vec<Str> = open.map(|node| here.node(node).id.clone()).collect();
        if let Some(outer) = self.after_nested() {
            found.extend(outer.valid_next());
        }
        found
    }

    /// The nodes that edges lead to and that no guard or visit limit excludes, whatever the current
    /// node still requires.
    pub fn open_next(&self) -> Vec<Str> {
        let (here, sop) = (self.current_procedure(), self.frame().sop);
        let Some(at) = self.frame().node else {
            return self.next_ids();
        };
        let settled = guard::evaluate_guards(self, at);
        let is_closed = |node: NodeIx| {
            let decided = !settled.evaluated.is_empty() && !settled.allowed.is_empty();
            decided && !settled.allowed.contains(&node)
        };
        let to = here.out_edges(at).map(|edge| edge.to);
        let open = to.filter(|node| {
            check_visit_limit(self, SopPosition { sop, node: *node }).is_ok() && !is_closed(*node)
        });
        let mut found: Vec<Str> = open.map(|node| here.node(node).id.clone()).collect();
        if let Some(outer) = self.after_nested() {
            found.extend(outer.open_next());
        }
        found
    }
}

/// An allowed move and why it is allowed.
#[derive(Clone, Debug)]
pub(crate) struct AllowedMove {
    pub(crate) to: SopPosition,
    pub(crate) way: MoveKind,
    pub(crate) weighed: Vec<GuardEvaluation>,
}

/// Moves to a node, if that is allowed from the current node.
pub fn move_to(walk: &SopSession, ask: &MoveRequest) -> SopDecision {
    let mut walk = std::borrow::Cow::Borrowed(walk);
    let mut turn = SopDecision::default();
    if let Err(refusal) = record_slots(&mut walk, &ask.slots, &mut turn) {
        return SopDecision::refused(ask.node.as_deref().unwrap_or_default(), refusal);
    }
    let Some(node) = &ask.node else {
        return turn;
    };
    let (open, against) = match resolve_target(&walk, node) {
        Ok(open) => (open, None),
        Err((refusal, to)) => match (walk.sop().mode, to) {
            (SopMode::Warn | SopMode::Observe, Some(to)) => {
                let weighed = Vec::new();
                let way = MoveKind::Off;
                (AllowedMove { to, way, weighed }, Some(refusal))
            }
            (SopMode::Strict | SopMode::Warn | SopMode::Observe, _) => {
                let refused = SopDecision::refused(node, refusal);
                turn.events.extend(refused.events);
                turn.refusal = refused.refusal;
                return turn;
            }
        },
    };
    let says: Option<Str> = against.as_ref().map(|it| it.message().into());
    if walk.sop().mode == SopMode::Warn {
        turn.warning.clone_from(&says);
    }
    let (reason, evidence) = (ask.reason.clone(), ask.evidence.clone());
    turn.events
        .push(move_event(open.clone(), false, reason, evidence, says));
    turn.events.extend(nested_move(&walk, open.to, false));
    turn
}

fn move_event(
    open: AllowedMove,
    by_itself: bool,
    reason: Option<Str>,
    evidence: Value,
    against: Option<Str>,
) -> Event {
    Event::Sop(SopEvent::Moved(Box::new(SopMove {
        to: open.to,
        way: open.way,
        by_itself,
        weighed: open.weighed,
        reason,
        evidence,
        against,
    })))
}

/// The move into the procedure of a node, if it has one.
fn nested_move(walk: &SopSession, at: SopPosition, by_itself: bool) -> Option<Event> {
    let sop = walk.nested_procedure(at)?;
    let to = SopPosition {
        sop,
        node: walk.procedure(sop)?.sop.entry,
    };
    let open = AllowedMove {
        to,
        way: MoveKind::Into,
        weighed: Vec::new(),
    };
    Some(move_event(open, by_itself, None, Value::Null, None))
}

/// Checks and records the given slots.
fn record_slots(
    walk: &mut std::borrow::Cow<'_, SopSession>,
    slots: &Value,
    turn: &mut SopDecision,
) -> Result<(), SopRefusal> {
    let map = match slots {
        Value::Null => return Ok(()),
        Value::Object(map) => map,
        other => return Err(SopRefusal::SlotsNotObject { kind: other.kind() }),
    };
    if map.is_empty() {
        return Ok(());
    }
    for (name, value) in map.iter() {
        walk.check_slot(name, value)?;
    }
    let note = SessionNote::Slots(slots.clone());
    walk.to_mut().apply_note(&note);
    turn.events
        .push(Event::Sop(SopEvent::Noted(Box::new(note))));
    Ok(())
}

type DeniedMove = (SopRefusal, Option<SopPosition>);

/// Resolves the name of a target from the current position; otherwise the reason, and the node that
/// was meant.
fn resolve_target(walk: &SopSession, name: &str) -> Result<AllowedMove, DeniedMove> {
    if let Some(begin) = resolve_restart(walk, name) {
        return begin;
    }
    let frame = walk.frame();
    let here = walk.current_procedure();
    let found = here.find(name).map(|node| SopPosition {
        sop: frame.sop,
        node,
    });
    if let Some(to) = found {
        match check_move(walk, to) {
            Ok(open) => return Ok(open),
            Err(refusal) if walk.depth() == 1 => return Err((refusal, Some(to))),
            Err(_) => {}
        }
    }
    // Leaving a nested procedure: along the edges of the outer node, or to a node that is reachable
    // from anywhere.
    if let Some(open) = resolve_outer(walk, name)? {
        return Ok(open);
    }
    match found {
        Some(to) => Err((
            check_move(walk, to)
                .err()
                .unwrap_or_else(|| no_edge(walk, to)),
            Some(to),
        )),
        None => {
            let near = tramline_workflow::text::nearest(name, here.ids()).map(Into::into);
            let refusal = SopRefusal::UnknownNode {
                asked: display_name(name).into(),
                near,
                nodes: here.ids().map(Into::into).collect(),
            };
            Err((refusal, None))
        }
    }
}

/// The entry of the outermost procedure by its reserved name, unless a node has that id.
fn resolve_restart(walk: &SopSession, name: &str) -> Option<Result<AllowedMove, DeniedMove>> {
    let is_taken = |frame: &ProcedureFrame| {
        let procedure = walk.procedure(frame.sop);
        procedure.is_some_and(|it| it.find(name).is_some())
    };
    if name != ENTRY_NAME || walk.frames().iter().any(is_taken) {
        return None;
    }
    let mut outermost = walk.clone();
    while outermost.leave_procedure().is_some() {}
    let frame = outermost.frame();
    let to = SopPosition {
        sop: frame.sop,
        node: outermost.current_procedure().sop.entry,
    };
    Some(check_move(&outermost, to).map_err(|refusal| (refusal, Some(to))))
}

fn resolve_outer(walk: &SopSession, name: &str) -> Result<Option<AllowedMove>, DeniedMove> {
    let mut outer = walk.clone();
    let mut done = walk.is_terminal();
    while let Some(inside) = outer.leave_procedure() {
        let Some(node) = outer.current_procedure().find(name) else {
            done = false;
            continue;
        };
        let to = SopPosition {
            sop: outer.frame().sop,
            node,
        };
        let anywhere = outer.current_procedure().is_enterable_from_anywhere(node);
        if !anywhere && !done {
            let refusal = SopRefusal::NestedUnfinished {
                procedure: inside.sop.name.clone(),
            };
            return Err((refusal, Some(to)));
        }
        // The edges of the outer node open only once the nested procedure is finished.
        let judged = match done {
            true => check_move(&outer, to),
            false => check_visit_limit(&outer, to).and_then(|()| check_jump(&outer, to)),
        };
        return match judged {
            Ok(mut open) => {
                if open.way == MoveKind::Edge {
                    open.way = MoveKind::Back;
                }
                Ok(Some(open))
            }
            Err(refusal) => Err((refusal, Some(to))),
        };
    }
    Ok(None)
}

/// Whether a node of the innermost procedure may be entered.
fn check_move(walk: &SopSession, to: SopPosition) -> Result<AllowedMove, SopRefusal> {
    let here = walk.current_procedure();
    let open = |way, weighed| AllowedMove { to, way, weighed };
    let at = walk.frame().node;
    if at == Some(to.node) {
        return Ok(open(MoveKind::Again, Vec::new()));
    }
    check_visit_limit(walk, to)?;
    if let Some(at) = at
        && here.edge(at, to.node).is_some()
    {
        return match check_edge(walk, at, to) {
            Err(refusal) if here.is_enterable_from_anywhere(to.node) => {
                check_jump(walk, to).map_err(|other| match &other {
                    // The unmet requirements of the current node are the more specific reason.
                    SopRefusal::UnmetDemands { unmet, .. }
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
    match here.is_enterable_from_anywhere(to.node) {
        true => check_jump(walk, to),
        false => Err(no_edge(walk, to)),
    }
}

fn check_visit_limit(walk: &SopSession, to: SopPosition) -> Result<(), SopRefusal> {
    let target = walk.current_procedure().node(to.node);
    match target.visits_max {
        Some(most) if walk.visits(to) >= most => Err(SopRefusal::VisitLimitReached {
            node: target.id.clone(),
            most,
        }),
        Some(_) | None => Ok(()),
    }
}

/// A move to the entry or to a hub, which requires what every path to it requires.
fn check_jump(walk: &SopSession, to: SopPosition) -> Result<AllowedMove, SopRefusal> {
    let here = walk.current_procedure();
    let weighed = Vec::new();
    if here.sop.entry == to.node {
        let way = MoveKind::Entry;
        return Ok(AllowedMove { to, way, weighed });
    }
    check_demands(walk, to, walk.unmet_demands_before(to))?;
    let way = MoveKind::Hub;
    Ok(AllowedMove { to, way, weighed })
}

/// Refuses a move while demands before its target are unmet.
fn check_demands(
    walk: &SopSession,
    to: SopPosition,
    unmet: Vec<UnmetDemand>,
) -> Result<(), SopRefusal> {
    let Some(first) = unmet.first() else {
        return Ok(());
    };
    let first = first.node.clone();
    let route = walk.route(|procedure| procedure.find(&first).into_iter().collect());
    Err(SopRefusal::UnmetDemands {
        to: walk.current_procedure().node(to.node).id.clone(),
        unmet,
        path: route.path,
    })
}

/// Whether an edge may be taken: the requirements of its node are met, and its guard holds.
fn check_edge(
    walk: &SopSession,
    at: tramline_workflow::ids::NodeIx,
    to: SopPosition,
) -> Result<AllowedMove, SopRefusal> {
    walk.check_requirements(at)?;
    check_demands(walk, to, walk.demands_skipped_by_edge(at, to.node))?;
    let settled = guard::evaluate_guards(walk, at);
    if !settled.evaluated.is_empty() && !settled.allowed.contains(&to.node) {
        let here = walk.current_procedure();
        return Err(SopRefusal::GuardBlocked {
            from: here.node(at).id.clone(),
            to: here.node(to.node).id.clone(),
            weighed: settled.evaluated,
            open: settled
                .allowed
                .iter()
                .map(|it| here.node(*it).id.clone())
                .collect(),
        });
    }
    Ok(AllowedMove {
        to,
        way: MoveKind::Edge,
        weighed: settled.evaluated,
    })
}

fn no_edge(walk: &SopSession, to: SopPosition) -> SopRefusal {
    let here = walk.current_procedure();
    let from = walk.frame().node.map(|at| here.node(at).id.clone());
    SopRefusal::NoEdge {
        from,
        to: here.node(to.node).id.clone(),
        next: walk.next_ids(),
        path: walk.path_to(to.node),
    }
}

/// Replaces the task list.
pub fn replace_todos(todos: Vec<tramline_workflow::todo::Todo>) -> SopDecision {
    SopDecision {
        events: vec![Event::Sop(SopEvent::Noted(Box::new(SessionNote::Todos(
            todos,
        ))))],
        ..SopDecision::default()
    }
}

/// Merges slots into existing ones.
pub(crate) fn merge_slots(into: &Value, more: &Value) -> Value {
    let mut map: Map = into.as_object().cloned().unwrap_or_default();
    for (key, value) in more.as_object().into_iter().flat_map(Map::iter) {
        map.insert(key.clone(), value.clone());
    }
    map.into()
}
