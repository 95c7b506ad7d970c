//! A conversation along a procedure as it can be shown over its drawing: the path, calls, refusals.

use crate::headline::Teller;
use crate::ids::Seq;
use crate::journal::{Asked, Entry, Event, Moved, Note, RuleChecked, Way, operands_value};
use serde::Serialize;
use std::collections::HashMap;
use tramline_expr::{Str, Value};

/// So many entries of each kind are told, the latest.
const TOLD_MAX: usize = 10_000;

/// What happened in a conversation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Walked {
    /// Where it stands.
    pub here: Option<Str>,
    /// Every move, in order.
    pub path: Vec<Move>,
    /// What was asked for and not done.
    pub refused: Vec<No>,
    /// The calls that left.
    pub calls: Vec<Called>,
}

/// A move to a node.
#[derive(Clone, Debug, Serialize)]
pub struct Move {
    /// Where to.
    pub node: Str,
    /// Its place in the journal.
    pub seq: Seq,
    /// When.
    pub at_ms: i64,
    /// In which of its procedures, if not in the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure: Option<Str>,
    /// By which right.
    pub way: Way,
    /// Whether nobody asked for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
    /// Why, in the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Str>,
    /// On what grounds.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub evidence: Value,
    /// Why it was not allowed, where it was let pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Str>,
    /// The guards that were weighed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<Value>,
    /// What was collected at the node.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub slots: Value,
}

/// Something that was asked for and not done.
#[derive(Clone, Debug, Serialize)]
pub struct No {
    /// Its place in the journal.
    pub seq: Seq,
    /// When.
    pub at_ms: i64,
    /// A move or a call.
    pub what: Asked,
    /// Which node or tool was asked for.
    pub target: Str,
    /// Where the conversation stood.
    pub node: Option<Str>,
    /// Why not.
    pub message: Str,
    /// The rules that were evaluated, for a call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
}

/// A call that left.
#[derive(Clone, Debug, Serialize)]
pub struct Called {
    /// Its place in the journal.
    pub seq: Seq,
    /// When.
    pub at_ms: i64,
    /// Which tool.
    pub tool: String,
    /// Where the conversation stood.
    pub node: Option<Str>,
    /// Whether it succeeded; nothing while that is not known.
    pub ok: Option<bool>,
    /// The rules that were evaluated before it left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
}

impl Walked {
    /// What a journal tells.
    pub fn of(entries: &[Entry]) -> Self {
        let mut walked = Self::default();
        let mut teller = Teller::default();
        let mut names: Vec<Str> = Vec::new();
        let mut open: HashMap<u32, usize> = HashMap::new();
        for entry in entries {
            let line = teller.tell(entry);
            match &entry.event {
                Event::Guided(begun) => {
                    names = begun.sops.iter().map(|sop| sop.name.clone()).collect();
                }
                Event::Moved(moved) => {
                    let node = line.node.unwrap_or_default();
                    walked.here = Some(node.clone());
                    let inner = names.get(moved.to.sop as usize);
                    let inner = inner.filter(|_| moved.to.sop > 0).cloned();
                    walked.path.push(went(entry, moved, node, inner));
                }
                Event::Noted(note) => walked.noted(note),
                Event::ToolCalled(called) => {
                    open.insert(called.call, walked.calls.len());
                    walked.calls.push(Called {
                        seq: entry.seq,
                        at_ms: entry.at_ms,
                        tool: called.tool.to_string(),
                        node: walked.here.clone(),
                        ok: None,
                        rules: called.rules.iter().map(RuleChecked::to_value).collect(),
                    });
                }
                Event::ToolAnswered(answered) => {
                    let at = open.remove(&answered.call);
                    if let Some(call) = at.and_then(|at| walked.calls.get_mut(at)) {
                        call.ok = Some(answered.failure.is_none());
                    }
                }
                Event::Refused(refused) => walked.refused.push(No {
                    seq: entry.seq,
                    at_ms: entry.at_ms,
                    what: refused.what,
                    target: refused.target.clone(),
                    node: walked.here.clone(),
                    message: refused.why.clone(),
                    rules: refused.rules.iter().map(RuleChecked::to_value).collect(),
                }),
                _ => {}
            }
        }
        latest(&mut walked.path);
        latest(&mut walked.refused);
        latest(&mut walked.calls);
        walked
    }

    /// Slots belong to the node where they were set.
    fn noted(&mut self, note: &Note) {
        if let (Note::Slots(slots), Some(last)) = (note, self.path.last_mut()) {
            let mut all = last.slots.as_object().cloned().unwrap_or_default();
            for (name, value) in slots.as_object().into_iter().flat_map(|map| map.iter()) {
                all.insert(name.clone(), value.clone());
            }
            last.slots = all.into();
        }
    }
}

fn went(entry: &Entry, moved: &Moved, node: Str, procedure: Option<Str>) -> Move {
    let weighed = moved.weighed.iter().map(|weighed| {
        Value::object([
            ("to", weighed.to.clone().into()),
            ("holds", weighed.holds.map_or(Value::Null, Value::Bool)),
            ("operands", operands_value(&weighed.operands)),
        ])
    });
    Move {
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

fn latest<T>(all: &mut Vec<T>) {
    let early = all.len().saturating_sub(TOLD_MAX);
    all.drain(..early);
}
