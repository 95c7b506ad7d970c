//! Audits a recorded session from any source against a procedure.
//!
//! The transcript is replayed as if nothing were refused, and everything that would have been
//! refused is recorded: moves off the edges, calls off the node, required tools that were not
//! called.

use super::{
    Procedure, RuleReport, SopRefusal, SopSession, check_rules, move_event, nested_move,
    resolve_target, tool_gate,
};
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{
    Entry, Event, MoveKind, SopEvent, SopPosition, SopStarted, ToolAnswered, ToolCalled,
};
use tramline_workflow::sop::{Sop, SopFiles, SopMode};

mod transcript;

pub use transcript::{Transcript, TranscriptEntry, read};

/// The findings of the audit of one transcript.
#[derive(Clone, Debug, Default)]
pub struct SopAudit {
    /// The name of the transcript.
    pub name: Str,
    /// The number of moves.
    pub moves: usize,
    /// Moves that follow no edge and go to no hub, or to an unknown node.
    pub edge_violations: Vec<SopViolation>,
    /// Moves along an edge whose conditions were not shown to hold.
    pub unproven_moves: Vec<SopViolation>,
    /// The number of tool calls.
    pub calls: usize,
    /// Calls of tools that the node does not list.
    pub tool_violations: Vec<SopViolation>,
    /// The number of calls that change something.
    pub writes: usize,
    /// The number of those that the node does not list.
    pub write_violations: usize,
    /// Calls that violate a rule.
    pub rule_violations: Vec<SopViolation>,
    /// Calls with a rule that could not be decided from the transcript.
    pub undecided_calls: Vec<SopViolation>,
    /// Required tools that were not called before the node was left.
    pub missed_tools: Vec<SopViolation>,
    /// Every move: source, target, and whether it kept to the flowchart.
    pub moves_taken: Vec<(Option<SopPosition>, SopPosition, bool)>,
    /// The last node.
    pub last_position: Option<SopPosition>,
    /// Whether that is an end of the procedure.
    pub reached_end: bool,
}

/// A violation of the procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SopViolation {
    /// The position in the transcript, from 1.
    pub event: usize,
    /// The current node.
    pub at: Option<Str>,
    /// The requested node or tool.
    pub what: Str,
    /// Why it is a violation.
    pub why: Str,
}

impl SopAudit {
    /// Whether the session followed the procedure.
    pub fn is_legal(&self) -> bool {
        self.edge_violations.is_empty()
            && self.tool_violations.is_empty()
            && self.rule_violations.is_empty()
            && self.missed_tools.is_empty()
    }
}

/// Audits transcripts against a procedure and its nested procedures.
pub struct Auditor {
    procedures: Vec<Arc<Procedure>>,
    files: Vec<Str>,
}

impl Auditor {
    /// An auditor for a procedure. If its file lists no tools at nodes, the tools recorded in the
    /// transcripts' replies are used.
    pub fn new(read: &SopFiles, transcripts: &[Transcript]) -> Result<Self, String> {
        let build = |sop: &Arc<Sop>| {
            let mut sop = Sop::clone(sop);
            sop.mode = SopMode::Observe;
            sop.calls = None;
            sop.gated = true;
            if sop.nodes.iter().all(|node| node.tools.is_empty()) {
                infer_node_tools(&mut sop, transcripts);
            }
            Procedure::build(Arc::new(sop)).map(Arc::new)
        };
        Ok(Self {
            procedures: read.sops.iter().map(build).collect::<Result<_, _>>()?,
            files: read.files.clone(),
        })
    }

    /// The audited procedures, the outermost first.
    pub fn procedures(&self) -> &[Arc<Procedure>] {
        &self.procedures
    }

    /// Audits one transcript.
    pub fn audit(&self, transcript: &Transcript) -> Result<SopAudit, String> {
        let sops = self.procedures.iter().map(|it| Arc::clone(&it.sop));
        let begun = SopStarted {
            sops: sops.collect(),
            files: self.files.clone(),
            session: None,
            by: "audit".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
            carried: Vec::new(),
        };
        let walk = SopSession::start(RunId::new(0, 0), self.procedures.clone(), begun, 0);
        let mut held = AuditState {
            walk: walk.map_err(|illegal| illegal.message)?,
            audit: SopAudit {
                name: transcript.name.clone(),
                ..SopAudit::default()
            },
            event: 0,
        };
        for (at, act) in transcript.entries.iter().enumerate() {
            held.event = at + 1;
            match act {
                TranscriptEntry::Message => {}
                TranscriptEntry::Slots(slots) => {
                    held.walk
                        .apply_note(&tramline_workflow::journal::SessionNote::Slots(
                            slots.clone(),
                        ))
                }
                TranscriptEntry::Move(node) => held.apply_move(node)?,
                TranscriptEntry::Call {
                    tool,
                    arguments,
                    output,
                    failed,
                } => held.apply_call(tool, arguments, output, *failed)?,
            }
        }
        held.audit.last_position = held.position_in(held.walk.frame().sop);
        held.audit.reached_end = held.walk.is_terminal() && held.walk.depth() == 1;
        Ok(held.audit)
    }
}

/// Adds the tools of nodes that the transcripts' replies list.
fn infer_node_tools(sop: &mut Sop, transcripts: &[Transcript]) {
    for (node, tools) in transcripts.iter().flat_map(|it| &it.listed_tools) {
        if let Some(at) = sop.find(node) {
            let known = &mut sop.nodes[at.index()].tools;
            let new = tools.iter().filter(|tool| !known.contains(tool));
            let new: Vec<Str> = new.cloned().collect();
            known.extend(new);
        }
    }
}

struct AuditState {
    walk: SopSession,
    audit: SopAudit,
    event: usize,
}

impl AuditState {
    fn violation(&self, what: &str, why: String) -> SopViolation {
        SopViolation {
            event: self.event,
            at: self.walk.current_node_id().cloned(),
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

    /// The current node in one of the procedures that the session is in.
    fn position_in(&self, sop: u32) -> Option<SopPosition> {
        let frames = self.walk.frames().iter().rev();
        let node = frames.filter(|it| it.sop == sop).find_map(|it| it.node)?;
        Some(SopPosition { sop, node })
    }

    fn apply_move(&mut self, node: &str) -> Result<(), String> {
        self.audit.moves += 1;
        let (open, legal) = match resolve_target(&self.walk, node) {
            Ok(open) => (open, true),
            Err((refusal, to)) => {
                let off = self.violation(node, refusal.message());
                let legal = self.record_refusal(refusal, off);
                let Some(to) = to else { return Ok(()) };
                let open = super::AllowedMove {
                    to,
                    way: MoveKind::Off,
                    weighed: Vec::new(),
                };
                (open, legal)
            }
        };
        let to = open.to;
        // A move out of a nested procedure starts at the node that entered it.
        let from = self.position_in(to.sop);
        if from != Some(to) {
            self.audit.moves_taken.push((from, to, legal));
        }
        self.apply(move_event(open, false, None, Value::Null, None))?;
        let Some(event) = nested_move(&self.walk, to, false) else {
            return Ok(());
        };
        self.apply(event)?;
        let inside = self.position_in(self.walk.frame().sop);
        self.audit
            .moves_taken
            .extend(inside.map(|at| (None, at, true)));
        Ok(())
    }

    /// Records a violation under its category, and returns whether an edge was followed anyway.
    fn record_refusal(&mut self, refusal: SopRefusal, off: SopViolation) -> bool {
        match refusal {
            SopRefusal::UnmetRequirements { tools, .. } if !tools.is_empty() => {
                self.audit.missed_tools.push(off);
                true
            }
            SopRefusal::UnmetDemands { unmet, .. }
                if unmet.iter().any(|it| !it.tools.is_empty()) =>
            {
                self.audit.missed_tools.push(off);
                true
            }
            // A transcript has no slots.
            SopRefusal::UnmetRequirements { .. }
            | SopRefusal::UnmetDemands { .. }
            | SopRefusal::GuardBlocked { .. } => {
                self.audit.unproven_moves.push(off);
                true
            }
            SopRefusal::UnknownNode { .. }
            | SopRefusal::NoEdge { .. }
            | SopRefusal::VisitLimitReached { .. }
            | SopRefusal::NestedUnfinished { .. }
            | SopRefusal::SlotsNotObject { .. }
            | SopRefusal::UnknownSlot { .. }
            | SopRefusal::InvalidSlot { .. }
            | SopRefusal::ToolNotAllowed { .. }
            | SopRefusal::RulesViolated { .. }
            | SopRefusal::ApprovalMissing { .. } => {
                self.audit.edge_violations.push(off);
                false
            }
        }
    }

    /// Records the rules that a call violates or that cannot be decided.
    fn record_rules(&mut self, tool: &str, report: &RuleReport) {
        for checked in &report.checked {
            match checked.holds {
                Some(true) => {}
                Some(false) => {
                    let off = self.violation(tool, checked.describe());
                    self.audit.rule_violations.push(off);
                }
                None => {
                    let off = self.violation(tool, checked.missing.join("; "));
                    self.audit.undecided_calls.push(off);
                }
            }
        }
    }

    fn apply_call(
        &mut self,
        tool: &str,
        arguments: &Value,
        output: &Value,
        failed: bool,
    ) -> Result<(), String> {
        self.audit.calls += 1;
        let writes = !is_read_only(self.walk.sop(), tool);
        self.audit.writes += usize::from(writes);
        let name = match tool.split_once(':') {
            Some((server, tool)) => ToolName::new(server, tool),
            None => ToolName::new("", tool),
        };
        let node = self
            .walk
            .frame()
            .node
            .map(|at| self.walk.current_procedure().node(at));
        let listed = node.is_some_and(|it| tool_gate::is_listed(&it.tools, &name));
        let anywhere = [self.walk.sop(), &self.walk.current_procedure().sop];
        if !listed
            && !anywhere
                .iter()
                .any(|it| tool_gate::is_listed(&it.anywhere, &name))
        {
            let why = match node {
                Some(node) => format!("{} does not list it", node.id),
                None => "the session has not started".to_owned(),
            };
            let off = self.violation(tool, why);
            self.audit.tool_violations.push(off);
            self.audit.write_violations += usize::from(writes);
        }
        let report = check_rules(&self.walk, &name, arguments, None);
        self.record_rules(tool, &report);
        let call = self.walk.call_count + 1;
        self.apply(Event::Sop(SopEvent::ToolCalled(Box::new(ToolCalled {
            redacted: Vec::new(),
            repeats: None,
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
        }))))?;
        let failure = failed.then(|| {
            tramline_workflow::failure::Failure::new(
                tramline_workflow::failure::FailureKind::Tool,
                "it failed",
            )
        });
        self.apply(Event::Sop(SopEvent::ToolAnswered(Box::new(ToolAnswered {
            redacted: Vec::new(),
            call,
            output: output.clone(),
            failure,
            by: None,
            edited_arguments: None,
        }))))
    }
}

/// Whether a tool only reads: according to the file, or, if it lists nothing, to the tool's name.
pub fn is_read_only(sop: &Sop, tool: &str) -> bool {
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

/// Whether a tool's name suggests that it changes something.
pub fn is_write_by_name(tool: &str) -> bool {
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
