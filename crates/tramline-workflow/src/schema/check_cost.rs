//! Estimates the work of checking a value before the validator starts.

use super::cost_graph::{SCHEMA_DEPTH_MAX, SchemaCostGraph, SubschemaCost};
use serde_json::Value as Json;

/// Work units per check, about one per application of a subschema; takes about a second.
pub const SCHEMA_WORK_MAX: u64 = 5_000_000;
/// Work units of a check that runs inline, a few milliseconds. Larger checks are passed to the
/// caller's function for long work.
pub const SCHEMA_WORK_INLINE_MAX: u64 = 20_000;

/// Bytes of text per work unit.
const TEXT_BYTES_PER_UNIT: u64 = 64;

/// How much work a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckEffort {
    Small,
    Large,
}

impl SchemaCostGraph {
    /// Estimates the work of checking a value, cheaply.
    pub(super) fn effort(&self, value: &Json) -> CheckEffort {
        let each = self.applications.saturating_mul(self.heaviest);
        let quick = each.saturating_mul(value_size(value, 0));
        if !self.is_recursive && quick <= SCHEMA_WORK_INLINE_MAX {
            return CheckEffort::Small;
        }
        match self.is_within(value, SCHEMA_WORK_INLINE_MAX) {
            true => CheckEffort::Small,
            false => CheckEffort::Large,
        }
    }

    /// Whether checking a value takes at most this many work units.
    pub(super) fn is_within(&self, value: &Json, units: u64) -> bool {
        let mut count = WorkCounter {
            plan: self,
            left: units,
        };
        count.apply(0, value, 0).is_some()
    }
}

/// The number of values inside a value, including itself, plus its text in units.
fn value_size(value: &Json, depth: usize) -> u64 {
    if depth > SCHEMA_DEPTH_MAX {
        return u64::MAX;
    }
    let inner = |value: &Json| value_size(value, depth + 1);
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => 1,
        Json::String(text) => units(text.len()),
        Json::Array(items) => items.iter().map(inner).fold(1, u64::saturating_add),
        Json::Object(fields) => fields
            .iter()
            .map(|(key, field)| units(key.len()).saturating_add(inner(field)))
            .fold(1, u64::saturating_add),
    }
}

fn units(bytes: usize) -> u64 {
    1 + bytes as u64 / TEXT_BYTES_PER_UNIT
}

struct WorkCounter<'a> {
    plan: &'a SchemaCostGraph,
    left: u64,
}

impl WorkCounter<'_> {
    fn charge(&mut self, units: u64) -> Option<()> {
        self.left = self.left.checked_sub(units)?;
        Some(())
    }

    /// Counts the work of the validator if every applicable subschema is applied.
    fn apply(&mut self, at: usize, value: &Json, depth: usize) -> Option<()> {
        if depth > SCHEMA_DEPTH_MAX {
            return None;
        }
        let plan = self.plan;
        let part = plan.parts.get(at)?;
        self.charge(part.weight)?;
        if part.per_node > 0 {
            self.charge(part.per_node.saturating_mul(value_size(value, 0)))?;
        }
        for _ in 0..=usize::from(part.is_double) {
            for next in &part.same {
                self.apply(*next, value, depth + 1)?;
            }
            self.inside(part, value, depth + 1)?;
        }
        Some(())
    }

    fn inside(&mut self, part: &SubschemaCost, value: &Json, depth: usize) -> Option<()> {
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
            Json::String(text) => {
                if part.reads_text {
                    self.charge(units(text.len()))?;
                }
                self.charge(part.per_byte.saturating_mul(text.len() as u64))?;
            }
            Json::Array(items) => {
                if part.compares {
                    self.charge(value_size(value, 0).saturating_mul(2))?;
                }
                for (at, item) in items.iter().enumerate() {
                    let first = part.first_items.get(at);
                    for next in first.into_iter().chain(&part.each_item) {
                        self.apply(*next, item, depth)?;
                    }
                }
            }
            Json::Object(fields) => {
                for (key, field) in fields {
                    self.charge(part.per_byte.saturating_mul(key.len() as u64))?;
                    let named = part.named.get(key);
                    for next in named.into_iter().chain(&part.each_field) {
                        self.apply(*next, field, depth)?;
                    }
                    if !part.names.is_empty() {
                        let name = Json::String(key.clone());
                        for next in &part.names {
                            self.apply(*next, &name, depth)?;
                        }
                    }
                }
            }
        }
        Some(())
    }
}
