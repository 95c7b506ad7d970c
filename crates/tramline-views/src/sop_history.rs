//! The history of an SOP session for display over its diagram: the path, calls and refusals.

use crate::event_summary::EventSummarizer;
use serde::Serialize;
use std::collections::HashMap;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::Seq;
use tramline_workflow::journal::{
    CheckedRule, Entry, Event, MoveKind, RequestKind, SessionNote, SopEvent, SopMove,
    operands_value,
};

/// Entries of each kind that are returned, the latest ones; bounds the reply.
const ENTRIES_MAX: usize = 10_000;

/// The history of an SOP session.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SopHistory {
    /// The current node.
    pub here: Option<Str>,
    /// Every move, in order.
    pub path: Vec<MoveEntry>,
    /// Refused moves and calls.
    pub refused: Vec<RefusalEntry>,
    /// The calls.
    pub calls: Vec<CallEntry>,
}

/// A move to a node.
#[derive(Clone, Debug, Serialize)]
pub struct MoveEntry {
    /// The target node.
    pub node: Str,
    /// The position in the journal.
    pub seq: Seq,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The procedure, if it is a nested one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure: Option<Str>,
    /// Why it was allowed.
    pub way: MoveKind,
    /// Whether it followed automatically, without a request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
    /// The reason, in the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Str>,
    /// The evidence.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub evidence: Value,
    /// Why it was not allowed, if the mode let it through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Str>,
    /// The guards that were evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<Value>,
    /// The slots set at the node.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub slots: Value,
}

/// A request that was refused.
#[derive(Clone, Debug, Serialize)]
pub struct RefusalEntry {
    /// The position in the journal.
    pub seq: Seq,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// Whether a move or a call was requested.
    pub what: RequestKind,
    /// The requested node or tool.
    pub target: Str,
    /// The current node at that time.
    pub node: Option<Str>,
    /// Why it was refused.
    pub message: Str,
    /// The rules that were evaluated, for a call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
}

/// A tool call.
#[derive(Clone, Debug, Serialize)]
pub struct CallEntry {
    /// The position in the journal.
    pub seq: Seq,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The tool.
    pub tool: String,
    /// The current node at that time.
    pub node: Option<Str>,
    /// Whether it succeeded; `None` while that is unknown.
    pub ok: Option<bool>,
    /// The rules that were evaluated before the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
}

impl SopHistory {
    /// Builds the history from a journal.
    pub fn of(entries: &[Entry]) -> Self {
        let mut walked = Self::default();
        let mut teller = EventSummarizer::default();
        let mut names: Vec<Str> = Vec::new();
        let mut open: HashMap<u32, usize> = HashMap::new();
        for entry in entries {
            let line = teller.summarize(entry);
            let Event::Sop(event) = &entry.event else {
                continue;
            };
            match event {
                SopEvent::SopStarted(begun) => {
                    names = begun.sops.iter().map(|sop| sop.name.clone()).collect();
                }
                SopEvent::Moved(moved) => {
                    let node = line.node.unwrap_or_default();
                    walked.here = Some(node.clone());
                    let inner = names.get(moved.to.sop as usize);
                    let inner = inner.filter(|_| moved.to.sop > 0).cloned();
                    walked.path.push(move_entry(entry, moved, node, inner));
                }
                SopEvent::Noted(note) => walked.add_note(note),
                SopEvent::ToolCalled(called) => {
                    open.insert(called.call, walked.calls.len());
                    walked.calls.push(CallEntry {
                        seq: entry.seq,
                        at_ms: entry.at_ms,
                        tool: called.tool.to_string(),
                        node: walked.here.clone(),
                        ok: None,
                        rules: called.rules.iter().map(CheckedRule::to_value).collect(),
                    });
                }
                SopEvent::ToolAnswered(answered) => {
                    let at = open.remove(&answered.call);
                    if let Some(call) = at.and_then(|at| walked.calls.get_mut(at)) {
                        call.ok = Some(answered.failure.is_none());
                    }
                }
                SopEvent::Refused(refused) => walked.refused.push(RefusalEntry {
                    seq: entry.seq,
                    at_ms: entry.at_ms,
                    what: refused.what,
                    target: refused.target.clone(),
                    node: walked.here.clone(),
                    message: refused.why.clone(),
                    rules: refused.rules.iter().map(CheckedRule::to_value).collect(),
                }),
            }
        }
        keep_latest(&mut walked.path);
        keep_latest(&mut walked.refused);
        keep_latest(&mut walked.calls);
        walked
    }

    /// Slots belong to the node where they were set.
    fn add_note(&mut self, note: &SessionNote) {
        if let (SessionNote::Slots(slots), Some(last)) = (note, self.path.last_mut()) {
            let mut all = last.slots.as_object().cloned().unwrap_or_default();
            for (name, value) in slots.as_object().into_iter().flat_map(|map| map.iter()) {
                all.insert(name.clone(), value.clone());
            }
            last.slots = all.into();
        }
    }
}

fn move_entry(entry: &Entry, moved: &SopMove, node: Str, procedure: Option<Str>) -> MoveEntry {
    let weighed = moved.weighed.iter().map(|weighed| {
        Value::object([
            ("to", weighed.to.clone().into()),
            ("holds", weighed.holds.map_or(Value::Null, Value::Bool)),
            ("operands", operands_value(&weighed.operands)),
        ])
    });
    MoveEntry {
        node,
        seq: entry.seq,
        at_ms: entry.at_ms,
        procedure,
        way: moved.way,
        by_itself: moved.by_itself,
        reason: moved.reason.clone(),
        evidence: moved.evidence.clone(),
        against: moved.against.clone(),
        weighed: weighed.collect(),
        slots: Value::Null,
    }
}

fn keep_latest<T>(all: &mut Vec<T>) {
    let early = all.len().saturating_sub(ENTRIES_MAX);
    all.drain(..early);
}
