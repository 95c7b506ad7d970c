//! Was this conversation a walk along the procedure? Asked of a transcript of any origin.
//!
//! A transcript is walked through as if nothing were refused, and everything that would have been
//! is written down: moves off the edges, calls off the node, required tools that were not called.

use super::{Procedure, Refusal, RuleReport, Walk, check_rules, find, gate, into, moved};
use crate::ids::{RunId, ToolName};
use crate::journal::{Entry, Event, Guided, Stand, ToolAnswered, ToolCalled, Way};
use crate::sop::{Gathering, Mode, Sop};
use std::sync::Arc;
use tramline_expr::{Str, Value};

mod transcript;

pub use transcript::{Act, Transcript, read};

/// What an audit found in one conversation.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// What the transcript is called.
    pub name: Str,
    /// How many moves it has.
    pub moves: usize,
    /// Moves that follow no edge and go to no hub, or to no node at all.
    pub off_edges: Vec<Off>,
    /// Moves along an edge whose conditions were not shown to hold.
    pub unproven: Vec<Off>,
    /// How many calls of tools it has.
    pub calls: usize,
    /// Calls of tools that the node does not list.
    pub off_node: Vec<Off>,
    /// How many of all calls change something.
    pub writes: usize,
    /// How many of those are off the node.
    pub writes_off_node: usize,
    /// Calls for which a rule does not hold.
    pub off_rules: Vec<Off>,
    /// Calls for which a rule could not be decided from what the transcript has.
    pub undecided: Vec<Off>,
    /// Tools that a node requires and that were not called before it was left.
    pub missed: Vec<Off>,
    /// Every move: from where, where to, and whether an edge was followed.
    pub taken: Vec<(Option<Stand>, Stand, bool)>,
    /// Where it ended.
    pub last: Option<Stand>,
    /// Whether that is an end of the procedure.
    pub ended: bool,
}

/// Something that was off the procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Off {
    /// The place in the transcript, from 1.
    pub event: usize,
    /// The node at which the conversation stood.
    pub at: Option<Str>,
    /// The node or tool that was wanted.
    pub what: Str,
    /// Why it is off.
    pub why: Str,
}

impl Audit {
    /// Whether the conversation kept to the procedure.
    pub fn is_legal(&self) -> bool {
        self.off_edges.is_empty()
            && self.off_node.is_empty()
            && self.off_rules.is_empty()
            && self.missed.is_empty()
    }
}

/// Holds transcripts against a procedure and those that it leads into.
pub struct Auditor {
    procedures: Vec<Arc<Procedure>>,
    files: Vec<Str>,
}

impl Auditor {
    /// An auditor for a procedure. Where its file lists no tools at nodes, those that were recorded
    /// in the transcripts' own replies are taken.
    pub fn new(read: &Gathering, transcripts: &[Transcript]) -> Result<Self, String> {
        let build = |sop: &Arc<Sop>| {
            let mut sop = Sop::clone(sop);
            sop.mode = Mode::Observe;
            sop.calls = None;
            sop.gated = true;
            if sop.nodes.iter().all(|node| node.tools.is_empty()) {
                learn(&mut sop, transcripts);
            }
            Procedure::build(Arc::new(sop)).map(Arc::new)
        };
        Ok(Self {
            procedures: read.sops.iter().map(build).collect::<Result<_, _>>()?,
            files: read.files.clone(),
        })
    }

    /// The procedures that are held against, the outermost first.
    pub fn procedures(&self) -> &[Arc<Procedure>] {
        &self.procedures
    }

    /// Holds one transcript against the procedure.
    pub fn audit(&self, transcript: &Transcript) -> Result<Audit, String> {
        let sops = self.procedures.iter().map(|it| Arc::clone(&it.sop));
        let begun = Guided {
            sops: sops.collect(),
            files: self.files.clone(),
            session: None,
            by: "audit".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
        };
        let walk = Walk::begin(RunId::new(0, 0), self.procedures.clone(), begun, 0);
        let mut held = Held {
            walk: walk.map_err(|illegal| illegal.message)?,
            audit: Audit {
                name: transcript.name.clone(),
                ..Audit::default()
            },
            event: 0,
        };
        for (at, act) in transcript.acts.iter().enumerate() {
            held.event = at + 1;
            match act {
                Act::Said => {}
                Act::Slots(slots) => held.walk.note(&crate::journal::Note::Slots(slots.clone())),
                Act::Move(node) => held.go(node)?,
                Act::Call {
                    tool,
                    arguments,
                    output,
                    failed,
                } => held.call(tool, arguments, output, *failed)?,
            }
        }
        held.audit.last = held.stands(held.walk.frame().sop);
        held.audit.ended = held.walk.is_terminal() && held.walk.depth() == 1;
        Ok(held.audit)
    }
}

/// The tools of nodes as replies in transcripts list them.
fn learn(sop: &mut Sop, transcripts: &[Transcript]) {
    for (node, tools) in transcripts.iter().flat_map(|it| &it.listed) {
        if let Some(at) = sop.find(node) {
            let known = &mut sop.nodes[at.at()].tools;
            let new = tools.iter().filter(|tool| !known.contains(tool));
            let new: Vec<Str> = new.cloned().collect();
            known.extend(new);
        }
    }
}

struct Held {
    walk: Walk,
    audit: Audit,
    event: usize,
}

impl Held {
    fn off(&self, what: &str, why: String) -> Off {
        Off {
            event: self.event,
            at: self.walk.at_id().cloned(),
            what: what.into(),
            why: why.into(),
        }
    }

    fn apply(&mut self, event: Event) -> Result<(), String> {
        let entry = Entry {
            seq: self.walk.seq + 1,
            at_ms: 0,
            event,
        };
        self.walk.apply(&entry).map_err(|illegal| illegal.message)
    }

    /// Where the walk stands in one of the procedures that it is in.
    fn stands(&self, sop: u32) -> Option<Stand> {
        let frames = self.walk.frames().iter().rev();
        let node = frames.filter(|it| it.sop == sop).find_map(|it| it.at)?;
        Some(Stand { sop, node })
    }

    fn go(&mut self, node: &str) -> Result<(), String> {
        self.audit.moves += 1;
        let (open, legal) = match find(&self.walk, node) {
            Ok(open) => (open, true),
            Err((refusal, to)) => {
                let off = self.off(node, refusal.says());
                let legal = self.file(refusal, off);
                let Some(to) = to else { return Ok(()) };
                let open = super::Open {
                    to,
                    way: Way::Off,
                    weighed: Vec::new(),
                };
                (open, legal)
            }
        };
        let to = open.to;
        // Out of a procedure inside another, the way begins at the node that led into it.
        let from = self.stands(to.sop);
        if from != Some(to) {
            self.audit.taken.push((from, to, legal));
        }
        self.apply(moved(open, false, None, Value::Null, None))?;
        let Some(event) = into(&self.walk, to, false) else {
            return Ok(());
        };
        self.apply(event)?;
        let inside = self.stands(self.walk.frame().sop);
        self.audit.taken.extend(inside.map(|at| (None, at, true)));
        Ok(())
    }

    /// Files a refusal under what it means; whether an edge was followed all the same.
    fn file(&mut self, refusal: Refusal, off: Off) -> bool {
        match refusal {
            Refusal::Missing { tools, .. } if !tools.is_empty() => {
                self.audit.missed.push(off);
                true
            }
            Refusal::Demands { unmet, .. } if unmet.iter().any(|it| !it.tools.is_empty()) => {
                self.audit.missed.push(off);
                true
            }
            // A transcript has no slots.
            Refusal::Missing { .. } | Refusal::Demands { .. } | Refusal::Guarded { .. } => {
                self.audit.unproven.push(off);
                true
            }
            Refusal::NoNode { .. }
            | Refusal::NoWay { .. }
            | Refusal::TooOften { .. }
            | Refusal::Unfinished { .. }
            | Refusal::NoSlots { .. }
            | Refusal::NoSlot { .. }
            | Refusal::BadSlot { .. }
            | Refusal::NoTool { .. }
            | Refusal::Rules { .. }
            | Refusal::Unconfirmed { .. } => {
                self.audit.off_edges.push(off);
                false
            }
        }
    }

    /// Files the rules that do not hold for a call, or cannot be decided.
    fn broken(&mut self, tool: &str, report: &RuleReport) {
        for checked in &report.checked {
            match checked.holds {
                Some(true) => {}
                Some(false) => {
                    let off = self.off(tool, checked.says());
                    self.audit.off_rules.push(off);
                }
                None => {
                    let off = self.off(tool, checked.missing.join("; "));
                    self.audit.undecided.push(off);
                }
            }
        }
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        output: &Value,
        failed: bool,
    ) -> Result<(), String> {
        self.audit.calls += 1;
        let writes = !is_read(self.walk.sop(), tool);
        self.audit.writes += usize::from(writes);
        let name = match tool.split_once(':') {
            Some((server, tool)) => ToolName::new(server, tool),
            None => ToolName::new("", tool),
        };
        let node = self.walk.frame().at.map(|at| self.walk.here().node(at));
        let listed = node.is_some_and(|it| gate::is_listed(&it.tools, &name));
        let anywhere = [self.walk.sop(), &self.walk.here().sop];
        if !listed
            && !anywhere
                .iter()
                .any(|it| gate::is_listed(&it.anywhere, &name))
        {
            let why = match node {
                Some(node) => format!("{} does not list it", node.id),
                None => "the conversation stands nowhere".to_owned(),
            };
            let off = self.off(tool, why);
            self.audit.off_node.push(off);
            self.audit.writes_off_node += usize::from(writes);
        }
        let report = check_rules(&self.walk, &name, arguments, None);
        self.broken(tool, &report);
        let call = self.walk.calls + 1;
        self.apply(Event::ToolCalled(Box::new(ToolCalled {
            call,
            tool: name,
            arguments: arguments.clone(),
            confirmed: None,
            against: None,
            run: None,
            step: None,
            is_other: false,
            upstream: None,
            rules: report.checked,
        })))?;
        let failure = failed
            .then(|| crate::failure::Failure::new(crate::failure::FailureKind::Tool, "it failed"));
        self.apply(Event::ToolAnswered(Box::new(ToolAnswered {
            call,
            output: output.clone(),
            failure,
            by: None,
            edited_arguments: None,
        })))
    }
}

/// Whether a tool only reads: the file says so, or where it says nothing, its name does.
pub fn is_read(sop: &Sop, tool: &str) -> bool {
    const VERBS: [&str; 12] = [
        "get",
        "find",
        "list",
        "search",
        "read",
        "look",
        "check",
        "calculate",
        "fetch",
        "query",
        "show",
        "describe",
    ];
    let short = tool.rsplit_once(':').map_or(tool, |(_, short)| short);
    match sop.anywhere.is_empty() {
        false => sop.anywhere.iter().any(|it| it == tool || it == short),
        true => {
            let verb = short.split(['_', '-', '.']).next().unwrap_or_default();
            VERBS.contains(&verb)
        }
    }
}

/// Whether a tool's name says that it changes something.
pub fn writes_by_name(tool: &str) -> bool {
    const VERBS: [&str; 38] = [
        "add", "book", "buy", "cancel", "change", "charge", "close", "create", "delete", "destroy",
        "disable", "drop", "edit", "enable", "exchange", "insert", "modify", "move", "pay",
        "place", "post", "publish", "purchase", "put", "refund", "register", "remove", "rename",
        "reset", "return", "save", "send", "set", "submit", "transfer", "update", "upload",
        "write",
    ];
    let short = tool.rsplit_once(':').map_or(tool, |(_, short)| short);
    let end = short.find(|c: char| !c.is_ascii_lowercase());
    let verb = &short[..end.unwrap_or(short.len())];
    VERBS.contains(&verb)
}
