//! A guided run: nothing but the fold of its journal.

use super::history::History;
use super::{Procedure, merged};
use crate::ids::{NodeIx, RunId, Seq, ToolName};
use crate::journal::{
    Entry, Event, Guided, Moved, Note, Outcome, Stand, ToolAnswered, ToolCalled, Way,
};
use crate::run::Illegal;
use crate::sop::Sop;
use crate::todo::Todo;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

/// A path of more nodes than this forgets its beginning, so that a conversation that goes in circles
/// stays small; the journal has all of it.
const PATH_MAX: usize = 10_000;

/// One conversation along a procedure.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Its name.
    pub id: RunId,
    /// How it began.
    pub begun: Arc<Guided>,
    /// When it began.
    pub started_ms: i64,
    /// The last event applied.
    pub seq: Seq,
    /// When that happened.
    pub updated_ms: i64,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// What the agent has to do, in its own words.
    pub todos: Vec<Todo>,
    /// What was collected, an object.
    pub slots: Value,
    /// What tools gave last: by `server:tool`, and by the tool's name alone where that means this one.
    pub results: Value,
    /// Calls whose end nobody recorded.
    pub open: BTreeMap<u32, ToolCalled>,
    /// How many calls left.
    pub calls: u32,
    /// How often something was refused.
    pub refusals: u32,
    /// How many moves were made.
    pub moves: u32,
    pub(super) procedures: Arc<Vec<Arc<Procedure>>>,
    frames: Vec<Frame>,
    visits: HashMap<Stand, u32>,
    /// The tools that were called since the node was entered, and whether the name alone means them.
    called: Vec<(ToolName, bool)>,
    /// The nodes whose demands were met in this conversation.
    pub(super) met: HashSet<Stand>,
    /// What was known when each hub was first reached: the next wish begins with that.
    known: HashMap<Stand, (Value, Value)>,
    /// Every call of the conversation, for rules.
    history: History,
}

/// Where a walk stands in one procedure.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Which procedure.
    pub sop: u32,
    /// At which node, once it has begun.
    pub at: Option<NodeIx>,
    /// The nodes since the entry.
    pub path: Vec<NodeIx>,
}

impl Walk {
    /// A walk that has not taken a step.
    pub fn begin(
        id: RunId,
        procedures: Vec<Arc<Procedure>>,
        begun: Guided,
        at_ms: i64,
    ) -> Result<Self, Illegal> {
        let wanted = begun.files.len() + 1;
        if procedures.len() != wanted || begun.sops.len() != wanted {
            let message = "a guided run without its procedure".to_owned();
            return Err(Illegal { seq: 1, message });
        }
        let has_rules = procedures.iter().any(|it| !it.rules().is_empty());
        Ok(Self {
            id,
            begun: Arc::new(begun),
            started_ms: at_ms,
            seq: 1,
            updated_ms: at_ms,
            outcome: None,
            todos: Vec::new(),
            slots: Map::new().into(),
            results: Map::new().into(),
            open: BTreeMap::new(),
            calls: 0,
            refusals: 0,
            moves: 0,
            procedures: Arc::new(procedures),
            frames: vec![Frame::default()],
            visits: HashMap::new(),
            called: Vec::new(),
            met: HashSet::new(),
            known: HashMap::new(),
            history: History::new(has_rules),
        })
    }

    /// Folds a whole journal. `build` makes (or finds) the procedure of an SOP.
    pub fn fold(
        id: RunId,
        entries: impl IntoIterator<Item = Entry>,
        build: impl Fn(&Arc<Sop>) -> Result<Arc<Procedure>, String>,
    ) -> Result<Self, Illegal> {
        let mut entries = entries.into_iter();
        let illegal = |message: String| Illegal { seq: 1, message };
        let Some(Entry {
            at_ms,
            event: Event::Guided(begun),
            ..
        }) = entries.next()
        else {
            return Err(illegal("it does not begin as a guided run".to_owned()));
        };
        let procedures: Result<Vec<_>, String> = begun.sops.iter().map(build).collect();
        let mut walk = Self::begin(id, procedures.map_err(illegal)?, *begun, at_ms)?;
        for entry in entries {
            walk.apply(&entry)?;
        }
        Ok(walk)
    }

    /// Applies the next event.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Illegal> {
        let illegal = |message: &str| Illegal {
            seq: entry.seq,
            message: message.to_owned(),
        };
        if entry.seq != self.seq + 1 {
            return Err(illegal("it is not the next one"));
        }
        if self.outcome.is_some() {
            return Err(illegal("the run has ended"));
        }
        match &entry.event {
            Event::Moved(moved) => self.moved(moved).map_err(illegal)?,
            Event::Noted(note) => self.note(note),
            Event::ToolCalled(called) => self.tool_called(called),
            Event::ToolAnswered(answered) => self.answered(answered).map_err(illegal)?,
            Event::Refused(_) => self.refusals += 1,
            Event::Finished { outcome } => self.outcome = Some(outcome.clone()),
            Event::Resumed { .. } => {}
            Event::Guided(_)
            | Event::Started(_)
            | Event::StepStarted { .. }
            | Event::Spread { .. }
            | Event::Gathered { .. }
            | Event::Waiting { .. }
            | Event::AttemptFailed { .. }
            | Event::StepFinished { .. }
            | Event::StepFailed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Watched { .. }
            | Event::Amended { .. } => return Err(illegal("it belongs to no guided run")),
        }
        self.note_met();
        self.seq = entry.seq;
        self.updated_ms = entry.at_ms;
        Ok(())
    }

    fn moved(&mut self, moved: &Moved) -> Result<(), &'static str> {
        let to = moved.to;
        let procedure = self.procedure(to.sop).ok_or("it leads to no procedure")?;
        if to.node.at() >= procedure.sop.nodes.len() {
            return Err("it leads to no node");
        }
        match moved.way {
            Way::Into => self.frames.push(Frame {
                sop: to.sop,
                ..Frame::default()
            }),
            Way::Entry | Way::Edge | Way::Again | Way::Hub | Way::Back | Way::Off => {
                while self.frames.len() > 1 && self.frame().sop != to.sop {
                    self.frames.pop();
                }
            }
        }
        let is_hub = self.procedures[to.sop as usize].node(to.node).hub;
        self.begin_anew(moved.way, to, is_hub);
        self.moves += 1;
        let is_again = moved.way == Way::Again;
        if !is_again {
            *self.visits.entry(to).or_default() += 1;
            self.called.clear();
        }
        let Some(frame) = self.frames.last_mut() else {
            return Err("it leads to no procedure");
        };
        frame.sop = to.sop;
        frame.at = Some(to.node);
        if moved.way == Way::Entry {
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

    /// At the entry everything collected is forgotten, and at a hub what was collected since it was
    /// first reached: another wish must not be served with the last one's answers.
    fn begin_anew(&mut self, way: Way, to: Stand, is_hub: bool) {
        if way == Way::Entry && to.sop == 0 {
            (self.slots, self.results) = (Map::new().into(), Map::new().into());
            self.known.clear();
        } else if is_hub && way != Way::Again {
            let now = || (self.slots.clone(), self.results.clone());
            let known = self.known.get(&to).cloned().unwrap_or_else(now);
            (self.slots, self.results) = known.clone();
            self.known.insert(to, known);
        }
    }

    pub(super) fn note(&mut self, note: &Note) {
        match note {
            Note::Todos(todos) => self.todos.clone_from(todos),
            Note::Slots(slots) => self.slots = merged(&self.slots, slots),
        }
    }

    fn tool_called(&mut self, called: &ToolCalled) {
        self.calls = self.calls.max(called.call);
        self.history.called(called);
        self.open.insert(called.call, called.clone());
    }

    fn answered(&mut self, answered: &ToolAnswered) -> Result<(), &'static str> {
        let called = self.open.remove(&answered.call);
        let called = called.ok_or("it answers no call")?;
        let failure = answered.failure.as_ref();
        if failure.is_some_and(|failure| failure.may_have_happened) {
            // It stays open: nobody knows whether it happened, so the same call is asked about. The
            // question that a person was asked about it is over.
            let mut open = called.clone();
            open.run = None;
            self.open.insert(answered.call, open);
        }
        self.history.answered(&called, answered);
        if answered.failure.is_none() {
            let mut names = vec![Str::from(called.tool.to_string())];
            if !called.is_other {
                names.push(called.tool.tool.clone());
            }
            let result = names.into_iter().map(|it| (it, answered.output.clone()));
            self.results = merged(&self.results, &Value::object(result));
            self.called.push((called.tool, !called.is_other));
        }
        Ok(())
    }

    /// Counts the arguments that a person put in the place of a call's, for rules. The same call of the
    /// agent still comes back to its question: that is known by what the agent asked for.
    pub fn edited(&mut self, call: u32, arguments: &Value) {
        if self.open.contains_key(&call) {
            self.history.edited(call, arguments);
        }
    }

    /// The conversation as if a call that waits had not been wanted: for checking it again with other
    /// arguments, where it must not count beside itself.
    pub fn without_call(&self, call: u32) -> Self {
        let mut walk = self.clone();
        walk.open.remove(&call);
        walk.history.forget(call);
        walk
    }

    /// The calls about which a person is asked, with the runs in which that is done.
    pub fn asked(&self) -> impl Iterator<Item = (u32, &RunId)> {
        let open = self.open.iter();
        open.filter_map(|(call, called)| Some((*call, called.run.as_ref()?)))
    }

    /// Until when it waits for its agent's next word.
    pub fn expires_ms(&self) -> Option<i64> {
        let ttl_ms = self.begun.ttl_ms?;
        Some(self.updated_ms.saturating_add_unsigned(ttl_ms))
    }

    /// Where it stands in the innermost procedure.
    pub fn frame(&self) -> &Frame {
        // There is always one: `leave` keeps the last.
        &self.frames[self.frames.len() - 1]
    }

    /// The outermost procedure's frame first.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Leaves the innermost procedure, unless it is the only one; gives the one that was left.
    pub(super) fn leave(&mut self) -> Option<Arc<Procedure>> {
        if self.frames.len() < 2 {
            return None;
        }
        let left = Arc::clone(self.here());
        self.frames.pop();
        Some(left)
    }

    /// A procedure by its place.
    pub fn procedure(&self, sop: u32) -> Option<&Arc<Procedure>> {
        self.procedures.get(sop as usize)
    }

    /// The innermost procedure.
    pub fn here(&self) -> &Arc<Procedure> {
        &self.procedures[self.frame().sop as usize]
    }

    /// The outermost procedure, which says how strictly all are held.
    pub fn sop(&self) -> &Arc<Sop> {
        &self.procedures[0].sop
    }

    /// The procedure that the node at a place leads into.
    pub(super) fn inner(&self, at: Stand) -> Option<u32> {
        let path = self.procedure(at.sop)?.node(at.node).procedure.as_ref()?;
        let place = self.begun.files.iter().position(|it| it == path)?;
        Some(place as u32 + 1)
    }

    /// How often a node was visited.
    pub fn visits(&self, at: Stand) -> u32 {
        self.visits.get(&at).copied().unwrap_or(0)
    }

    /// Every node that was visited, with how often.
    pub fn visited(&self) -> impl Iterator<Item = (Stand, u32)> + '_ {
        self.visits.iter().map(|(at, count)| (*at, *count))
    }

    /// The node it stands at.
    pub(super) fn stand(&self) -> Option<Stand> {
        let frame = self.frame();
        let node = frame.at?;
        Some(Stand {
            sop: frame.sop,
            node,
        })
    }

    /// The id of the node it stands at.
    pub fn at_id(&self) -> Option<&Str> {
        self.frame().at.map(|at| &self.here().node(at).id)
    }

    /// The path since the entry, by ids.
    pub fn path(&self) -> impl ExactSizeIterator<Item = &Str> {
        let here = self.here();
        self.frame().path.iter().map(move |at| &here.node(*at).id)
    }

    /// Whether it stands at an end.
    pub fn is_terminal(&self) -> bool {
        self.frame()
            .at
            .is_some_and(|at| self.here().is_terminal(at))
    }

    /// Where ways lead from here; the entry, where it has not begun.
    pub fn next_ids(&self) -> Vec<Str> {
        let here = self.here();
        match self.frame().at {
            Some(at) => here.out(at).map(|it| here.node(it.to).id.clone()).collect(),
            None => vec![here.node(here.sop.entry).id.clone()],
        }
    }

    /// What guards see.
    pub fn scope(&self) -> Value {
        Value::object([
            ("slots", self.slots.clone()),
            ("results", self.results.clone()),
        ])
    }

    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// Whether a tool was called since the node was entered. A name without a server means the one
    /// tool that it resolved to when the call was made.
    pub(super) fn was_called(&self, tool: &str) -> bool {
        let mut called = self.called.iter();
        match tool.split_once(':') {
            // By hand and in transcripts tools have no servers.
            Some((server, short)) => called
                .any(|(it, _)| it.tool == short && (it.server == server || it.server.is_empty())),
            None => called.any(|(it, means_it)| *means_it && it.tool == tool),
        }
    }
}
