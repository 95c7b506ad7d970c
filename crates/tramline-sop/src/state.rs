//! The state of an SOP session: a fold over its journal.

use super::call_history::CallHistory;
use super::redacted::masked;
use super::{Procedure, merge_slots};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::ids::{NodeIx, RunId, Seq, ToolName};
use tramline_workflow::journal::InvalidEvent;
use tramline_workflow::journal::{
    CarriedCall, CarriedState, Entry, Event, MoveKind, Outcome, SessionNote, SopEvent, SopMove,
    SopPosition, SopStarted, ToolAnswered, ToolCalled,
};
use tramline_workflow::sop::Sop;
use tramline_workflow::todo::Todo;

/// Nodes kept of a path. A longer path drops its beginning, so that a session that cycles stays
/// small; the journal has all of it.
const PATH_MAX: usize = 10_000;

/// One SOP session.
#[derive(Clone, Debug)]
pub struct SopSession {
    /// The id.
    pub id: RunId,
    /// How it started.
    pub started: Arc<SopStarted>,
    /// When it started.
    pub started_ms: i64,
    /// The position of the last event applied.
    pub seq: Seq,
    /// When that event happened.
    pub updated_ms: i64,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// The agent's task list.
    pub todos: Vec<Todo>,
    /// The collected slots, an object.
    pub slots: Value,
    /// The last result of each tool: by `server:tool`, and by the bare tool name where that is
    /// unambiguous.
    pub results: Value,
    /// Calls without a recorded result.
    pub open_calls: BTreeMap<u32, ToolCalled>,
    /// The number of calls sent.
    pub call_count: u32,
    /// The number of refusals.
    pub refusal_count: u32,
    /// The number of moves.
    pub move_count: u32,
    pub(super) procedures: Arc<Vec<Arc<Procedure>>>,
    frames: Vec<ProcedureFrame>,
    visits: HashMap<SopPosition, u32>,
    /// The tools called since the node was entered, and whether their bare name refers to them.
    called_tools: Vec<(ToolName, bool)>,
    /// The nodes whose demands were met in this session.
    pub(super) met_demands: HashSet<SopPosition>,
    /// The data known when each hub was first entered: the next request starts with it.
    hub_baselines: HashMap<SopPosition, (Value, Value)>,
    /// Every call of the session, for rules.
    history: CallHistory,
}

/// The position in one procedure.
#[derive(Clone, Debug, Default)]
pub struct ProcedureFrame {
    /// The procedure, by index.
    pub sop: u32,
    /// The node, once the session has started.
    pub node: Option<NodeIx>,
    /// The nodes since the entry.
    pub path: Vec<NodeIx>,
}

impl SopSession {
    /// A session that has not moved yet.
    pub fn start(
        id: RunId,
        procedures: Vec<Arc<Procedure>>,
        begun: SopStarted,
        at_ms: i64,
    ) -> Result<Self, InvalidEvent> {
        let wanted = begun.files.len() + 1;
        if procedures.len() != wanted || begun.sops.len() != wanted {
            let message = "an SOP session without its procedures".to_owned();
            return Err(InvalidEvent { seq: 1, message });
        }
        let has_rules = procedures.iter().any(|it| !it.rules().is_empty());
        let mut history = CallHistory::new(has_rules);
        let mut open_calls = BTreeMap::new();
        for carried in &begun.carried {
            history.record_carried(carried);
            if carried.state == CarriedState::InDoubt {
                open_calls.insert(carried.called.call, carried.called.clone());
            }
        }
        let call_count = begun.carried.iter().map(|it| it.called.call).max();
        Ok(Self {
            id,
            started: Arc::new(begun),
            started_ms: at_ms,
            seq: 1,
            updated_ms: at_ms,
            outcome: None,
            todos: Vec::new(),
            slots: Map::new().into(),
            results: Map::new().into(),
            open_calls,
            call_count: call_count.unwrap_or(0),
            refusal_count: 0,
            move_count: 0,
            procedures: Arc::new(procedures),
            frames: vec![ProcedureFrame::default()],
            visits: HashMap::new(),
            called_tools: Vec::new(),
            met_demands: HashSet::new(),
            hub_baselines: HashMap::new(),
            history,
        })
    }

    /// Folds a whole journal. `build` compiles or finds the procedure of an SOP.
    pub fn fold(
        id: RunId,
        entries: impl IntoIterator<Item = Entry>,
        build: impl Fn(&Arc<Sop>) -> Result<Arc<Procedure>, String>,
    ) -> Result<Self, InvalidEvent> {
        let mut entries = entries.into_iter();
        let illegal = |message: String| InvalidEvent { seq: 1, message };
        let Some(Entry {
            at_ms,
            event: Event::Sop(SopEvent::SopStarted(begun)),
            ..
        }) = entries.next()
        else {
            return Err(illegal(
                "the journal does not start as an SOP session".to_owned(),
            ));
        };
        let procedures: Result<Vec<_>, String> = begun.sops.iter().map(build).collect();
        let mut walk = Self::start(id, procedures.map_err(illegal)?, *begun, at_ms)?;
        for entry in entries {
            walk.apply(&entry)?;
        }
        Ok(walk)
    }

    /// Applies the next event.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), InvalidEvent> {
        let illegal = |message: &str| InvalidEvent {
            seq: entry.seq,
            message: message.to_owned(),
        };
        if entry.seq != self.seq + 1 {
            return Err(illegal("its sequence number is not the next one"));
        }
        if self.outcome.is_some() {
            return Err(illegal("the session has ended"));
        }
        match (&entry.event, entry.event.outcome()) {
            (Event::Sop(event), _) => self.apply_event(event).map_err(illegal)?,
            (Event::Run(_), Some(outcome)) => self.outcome = Some(outcome.clone()),
            (Event::Run(event), None) if event.is_take_over() => {}
            (Event::Run(_), None) => return Err(illegal("it does not belong to an SOP session")),
        }
        self.record_met_demands();
        self.seq = entry.seq;
        self.updated_ms = entry.at_ms;
        Ok(())
    }

    fn apply_event(&mut self, event: &SopEvent) -> Result<(), &'static str> {
        match event {
            SopEvent::SopStarted(_) => return Err("it does not belong to an SOP session"),
            SopEvent::Moved(moved) => self.apply_move(moved)?,
            SopEvent::Noted(note) => self.apply_note(note),
            SopEvent::ToolCalled(called) => self.tool_called(called),
            SopEvent::ToolAnswered(answered) => self.apply_result(answered)?,
            SopEvent::Refused(_) => self.refusal_count += 1,
        }
        Ok(())
    }

    fn apply_move(&mut self, moved: &SopMove) -> Result<(), &'static str> {
        let to = moved.to;
        let procedure = self
            .procedure(to.sop)
            .ok_or("it refers to an unknown procedure")?;
        if to.node.index() >= procedure.sop.nodes.len() {
            return Err("it refers to an unknown node");
        }
        match moved.way {
            MoveKind::Into => self.frames.push(ProcedureFrame {
                sop: to.sop,
                ..ProcedureFrame::default()
            }),
            MoveKind::Entry
            | MoveKind::Edge
            | MoveKind::Again
            | MoveKind::Hub
            | MoveKind::Back
            | MoveKind::Off => {
                while self.frames.len() > 1 && self.frame().sop != to.sop {
                    self.frames.pop();
                }
            }
        }
        let is_hub = self.procedures[to.sop as usize].node(to.node).hub;
        self.reset_collected(moved.way, to, is_hub);
        self.move_count += 1;
        let is_again = moved.way == MoveKind::Again;
        if !is_again {
            *self.visits.entry(to).or_default() += 1;
            self.called_tools.clear();
        }
        let Some(frame) = self.frames.last_mut() else {
            return Err("it refers to an unknown procedure");
        };
        frame.sop = to.sop;
        frame.node = Some(to.node);
        if moved.way == MoveKind::Entry {
            frame.path.clear();
        }
        if !is_again {
            if frame.path.len() >= PATH_MAX {
                frame.path.remove(0);
            }
            frame.path.push(to.node);
        }
        Ok(())
    }

    /// The entry clears everything collected, and a hub resets it to what was known when the hub
    /// was first entered: the next request must not be answered with data of the last one.
    fn reset_collected(&mut self, way: MoveKind, to: SopPosition, is_hub: bool) {
        if way == MoveKind::Entry && to.sop == 0 {
            (self.slots, self.results) = (Map::new().into(), Map::new().into());
            self.hub_baselines.clear();
        } else if is_hub && way != MoveKind::Again {
            let now = || (self.slots.clone(), self.results.clone());
            let known = self.hub_baselines.get(&to).cloned().unwrap_or_else(now);
            (self.slots, self.results) = known.clone();
            self.hub_baselines.insert(to, known);
        }
    }

    pub(super) fn apply_note(&mut self, note: &SessionNote) {
        match note {
            SessionNote::Todos(todos) => self.todos.clone_from(todos),
            SessionNote::Slots(slots) => self.slots = merge_slots(&self.slots, slots),
        }
    }

    fn tool_called(&mut self, called: &ToolCalled) {
        self.call_count = self.call_count.max(called.call);
        self.history.record_call(called);
        self.open_calls.insert(called.call, called.clone());
    }

    fn apply_result(&mut self, answered: &ToolAnswered) -> Result<(), &'static str> {
        let called = self.open_calls.remove(&answered.call);
        let called = called.ok_or("it answers an unknown call")?;
        let failure = answered.failure.as_ref();
        if failure.is_some_and(|failure| failure.may_have_happened) {
            // It stays open because it is unknown whether the call happened: the same call asks
            // again. The approval request for it is over.
            let mut open = called.clone();
            open.run = None;
            self.open_calls.insert(answered.call, open);
        }
        self.history.record_result(&called, answered);
        if answered.failure.is_none() {
            let mut names = vec![Str::from(called.tool.to_string())];
            if !called.is_other {
                names.push(called.tool.tool.clone());
            }
            let output = masked(&answered.output, &answered.redacted);
            let result = names.into_iter().map(|it| (it, output.clone()));
            self.results = merge_slots(&self.results, &Value::object(result));
            self.called_tools.push((called.tool, !called.is_other));
        }
        Ok(())
    }

    /// Records the arguments with which a person replaced those of a call, for rules. The agent's
    /// repeated call is still matched by its original arguments.
    pub fn record_edited_arguments(&mut self, call: u32, arguments: &Value) {
        if self.open_calls.contains_key(&call) {
            self.history.replace_arguments(call, arguments);
        }
    }

    /// The session without a waiting call: for checking the call again with other arguments, where
    /// it must not count as its own predecessor.
    pub fn without_call(&self, call: u32) -> Self {
        let mut walk = self.clone();
        walk.open_calls.remove(&call);
        walk.history.remove(call);
        walk
    }

    /// The calls that still count in a session that replaces this one: those in doubt and, with
    /// `counted`, those that rules count. `unsent` are calls that were never sent.
    pub fn calls_to_carry(&self, counted: bool, unsent: &[u32]) -> Vec<CarriedCall> {
        let open = self.open_calls.iter();
        let open = open.filter(|(number, _)| !unsent.contains(number));
        let in_doubt = open.map(|(_, called)| {
            let called = ToolCalled {
                run: None,
                step: None,
                ..called.clone()
            };
            (called, CarriedState::InDoubt)
        });
        let is_counted = |tool: &ToolName| {
            let mut procedures = self.procedures.iter();
            counted && procedures.any(|it| it.rules().counts(tool))
        };
        let made = self.history.carried_calls(is_counted).filter(|(it, _)| {
            !unsent.contains(&it.call) && !self.open_calls.contains_key(&it.call)
        });
        let numbered = in_doubt.chain(made).zip(1..);
        let carried = numbered.map(|((called, state), call)| CarriedCall {
            session: self.id.clone(),
            called: ToolCalled { call, ..called },
            state,
        });
        carried.collect()
    }

    /// The calls that wait for approval, with their approval runs.
    pub fn pending_approvals(&self) -> impl Iterator<Item = (u32, &RunId)> {
        let open = self.open_calls.iter();
        open.filter_map(|(call, called)| Some((*call, called.run.as_ref()?)))
    }

    /// When it expires without another request.
    pub fn expires_ms(&self) -> Option<i64> {
        let ttl_ms = self.started.ttl_ms?;
        Some(self.updated_ms.saturating_add_unsigned(ttl_ms))
    }

    /// The position in the innermost procedure.
    pub fn frame(&self) -> &ProcedureFrame {
        // Never empty: `leave` keeps the last frame.
        &self.frames[self.frames.len() - 1]
    }

    /// The positions, the outermost procedure first.
    pub fn frames(&self) -> &[ProcedureFrame] {
        &self.frames
    }

    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Leaves the innermost procedure, unless it is the only one, and returns it.
    pub(super) fn leave_procedure(&mut self) -> Option<Arc<Procedure>> {
        if self.frames.len() < 2 {
            return None;
        }
        let left = Arc::clone(self.current_procedure());
        self.frames.pop();
        Some(left)
    }

    /// A procedure by index.
    pub fn procedure(&self, sop: u32) -> Option<&Arc<Procedure>> {
        self.procedures.get(sop as usize)
    }

    /// The innermost procedure.
    pub fn current_procedure(&self) -> &Arc<Procedure> {
        &self.procedures[self.frame().sop as usize]
    }

    /// The outermost procedure, whose mode applies to all.
    pub fn sop(&self) -> &Arc<Sop> {
        &self.procedures[0].sop
    }

    /// The procedure that a node enters.
    pub(super) fn nested_procedure(&self, at: SopPosition) -> Option<u32> {
        let path = self.procedure(at.sop)?.node(at.node).procedure.as_ref()?;
        let place = self.started.files.iter().position(|it| it == path)?;
        Some(place as u32 + 1)
    }

    /// How often a node was visited.
    pub fn visits(&self, at: SopPosition) -> u32 {
        self.visits.get(&at).copied().unwrap_or(0)
    }

    /// Every visited node, with its count.
    pub fn visited(&self) -> impl Iterator<Item = (SopPosition, u32)> + '_ {
        self.visits.iter().map(|(at, count)| (*at, *count))
    }

    /// The current node.
    pub(super) fn position(&self) -> Option<SopPosition> {
        let frame = self.frame();
        let node = frame.node?;
        Some(SopPosition {
            sop: frame.sop,
            node,
        })
    }

    /// The id of the current node.
    pub fn current_node_id(&self) -> Option<&Str> {
        self.frame()
            .node
            .map(|at| &self.current_procedure().node(at).id)
    }

    /// The path since the entry, by ids.
    pub fn path(&self) -> impl ExactSizeIterator<Item = &Str> {
        let here = self.current_procedure();
        self.frame().path.iter().map(move |at| &here.node(*at).id)
    }

    /// Whether the current node is an end.
    pub fn is_terminal(&self) -> bool {
        self.frame()
            .node
            .is_some_and(|at| self.current_procedure().is_terminal(at))
    }

    /// The targets of the current node's edges; the entry if the session has not started.
    pub fn next_ids(&self) -> Vec<Str> {
        let here = self.current_procedure();
        match self.frame().node {
            Some(_) => self.next_edges().into_iter().map(|(to, _)| to).collect(),
            None => vec![here.node(here.sop.entry).id.clone()],
        }
    }

    /// The targets of the current node's edges, with their labels. At the end of a nested procedure
    /// these are the edges of the node that entered it.
    pub fn next_edges(&self) -> Vec<(Str, Option<Str>)> {
        let here = self.current_procedure();
        let edges = self.frame().node.map(|at| here.out_edges(at));
        let edges = edges.into_iter().flatten();
        let edges = edges.map(|it| (here.node(it.to).id.clone(), it.condition.clone()));
        let mut found: Vec<(Str, Option<Str>)> = edges.collect();
        if let Some(outer) = self.after_nested() {
            found.extend(outer.next_edges());
        }
        found
    }

    /// The session as it continues after a nested procedure, if that is finished.
    pub(super) fn after_nested(&self) -> Option<Self> {
        if !self.is_terminal() || self.depth() < 2 {
            return None;
        }
        let mut outer = self.clone();
        outer.leave_procedure()?;
        // Only one procedure is left at a time.
        (!outer.is_terminal() || outer.depth() < 2).then_some(outer)
    }

    /// The data that guards see.
    pub fn scope(&self) -> Value {
        Value::object([
            ("slots", self.slots.clone()),
            ("results", self.results.clone()),
        ])
    }

    pub(super) fn history(&self) -> &CallHistory {
        &self.history
    }

    /// Whether a tool was called since the node was entered. A name without a server means the tool
    /// it resolved to when the call was made.
    pub(super) fn was_called(&self, tool: &str) -> bool {
        let mut called = self.called_tools.iter();
        match tool.split_once(':') {
            // Calls made by hand and in transcripts have no server.
            Some((server, short)) => called
                .any(|(it, _)| it.tool == short && (it.server == server || it.server.is_empty())),
            None => called.any(|(it, means_it)| *means_it && it.tool == tool),
        }
    }
}
