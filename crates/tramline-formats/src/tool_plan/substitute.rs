//! Continues one plan with another: substitutes the outputs of earlier steps into arguments and keeps
//! step ids unique.

use super::super::reference::{ReferenceStep, parse_steps};
use super::{PlannedStep, ToolPlan};
use std::collections::BTreeSet;
use tramline_expr::{Map, Str, Value};

/// The start of a reference.
const REFERENCE_START: &str = "$OUTPUT[";

impl ToolPlan {
    /// Renames steps whose ids are already used, and the references to them. If arguments may refer to a
    /// step in another form, the ids stay.
    #[must_use]
    pub fn with_unique_ids(mut self, taken: &BTreeSet<Str>) -> Self {
        if self
            .steps
            .iter()
            .any(|step| has_structured_references(&step.args))
        {
            return self;
        }
        for at in 0..self.steps.len() {
            let id = self.steps[at].id.clone();
            if !taken.contains(&id) {
                continue;
            }
            let used = |id: &Str| taken.contains(id) || self.steps.iter().any(|one| one.id == *id);
            let mut names = (2_u32..).map(|number| Str::from(format!("{id}_{number}")));
            let Some(fresh) = names.find(|name| !used(name)) else {
                return self;
            };
            let (old, new) = (
                format!("{REFERENCE_START}{id}]"),
                format!("{REFERENCE_START}{fresh}]"),
            );
            self.steps[at].id = fresh;
            for step in &mut self.steps[at + 1..] {
                step.args = map_strings(&step.args, &|text| text.replace(&old, &new).into());
            }
        }
        self
    }
}

impl PlannedStep {
    /// Substitutes outputs of earlier plans for the references to them. The error says what cannot be
    /// substituted.
    pub fn with_outputs(&self, outputs: &Map) -> Result<Self, String> {
        Ok(Self {
            args: substitute_value(&self.args, outputs)?,
            ..self.clone()
        })
    }
}

/// Whether arguments contain expressions or references that are not plain text.
fn has_structured_references(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_structured_references),
        Value::Object(map) => {
            let refers = map.get("type").and_then(Value::as_str) == Some("reference");
            refers || map.contains_key("expr") || map.values().any(has_structured_references)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Applies a change to every string of a value.
fn map_strings(value: &Value, change: &impl Fn(&str) -> Value) -> Value {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => Value::array(items.iter().map(|item| map_strings(item, change))),
        Value::Object(map) => {
            let fields = map.iter();
            Value::object(fields.map(|(key, field)| (key.clone(), map_strings(field, change))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn substitute_value(value: &Value, outputs: &Map) -> Result<Value, String> {
    match value {
        Value::String(text) if text.contains(REFERENCE_START) => substitute_string(text, outputs),
        Value::Array(items) => {
            let items = items.iter().map(|item| substitute_value(item, outputs));
            Ok(Value::array(items.collect::<Result<Vec<_>, _>>()?))
        }
        Value::Object(map) => {
            let mut fields = Map::new();
            for (key, field) in map.iter() {
                fields.insert(key.clone(), substitute_value(field, outputs)?);
            }
            Ok(fields.into())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
    }
}

/// Substitutes outputs of earlier steps into a string. A string that is only a reference becomes the
/// referenced value. Substituted values are marked as literals, because they may look like references.
fn substitute_string(text: &str, outputs: &Map) -> Result<Value, String> {
    let (mut whole, mut rest) = (String::new(), text);
    let (mut own, mut theirs) = (0, 0);
    while let Some(at) = rest.find(REFERENCE_START) {
        whole.push_str(&rest[..at]);
        let inside = &rest[at + REFERENCE_START.len()..];
        let Some((id, after)) = inside.split_once(']') else {
            break;
        };
        let (path, length) = parse_steps(after);
        let Some(output) = outputs.get(id) else {
            own += 1;
            whole.push_str(REFERENCE_START);
            rest = inside;
            continue;
        };
        theirs += 1;
        let found = value_at_path(output, &path)
            .ok_or_else(|| format!("the output of `{id}` has no `{}`", &after[..length]))?;
        if at == 0 && after.len() == length && whole.is_empty() {
            return Ok(literal(found));
        }
        match found.as_str() {
            Some(text) => whole.push_str(text),
            None => whole.push_str(&found.to_json()),
        }
        rest = &after[length..];
    }
    whole.push_str(rest);
    match (own, theirs) {
        (_, 0) => Ok(text.into()),
        (0, _) => Ok(literal(whole.into())),
        (_, _) => Err(
            "one string refers to steps of this plan and of an earlier one; write out the \
             earlier one's output"
                .to_owned(),
        ),
    }
}

fn literal(value: Value) -> Value {
    Value::object([("type", "literal".into()), ("value", value)])
}

fn value_at_path(value: &Value, path: &[ReferenceStep]) -> Option<Value> {
    let mut at = value.clone();
    for step in path {
        at = match step {
            ReferenceStep::Key(key) => at.get(key)?.clone(),
            ReferenceStep::Index(index) => {
                let items = at.as_array()?;
                let length = i64::try_from(items.len()).ok()?;
                let index = if *index < 0 { length + index } else { *index };
                items.get(usize::try_from(index).ok()?)?.clone()
            }
        };
    }
    Some(at)
}
