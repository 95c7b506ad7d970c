//! A plan that goes on after another: what the other's steps gave is put into its arguments, and no
//! two steps are called the same.

use super::super::reference::{Step, steps};
use super::{Plan, Planned};
use std::collections::BTreeSet;
use tramline_expr::{Map, Str, Value};

/// What begins a reference.
const SIGN: &str = "$OUTPUT[";

impl Plan {
    /// The plan with steps renamed whose ids are taken, and references to them with them. Where
    /// something could refer to a step in another way, ids stay as they are.
    #[must_use]
    pub fn distinct(mut self, taken: &BTreeSet<Str>) -> Self {
        if self
            .steps
            .iter()
            .any(|step| is_written_otherwise(&step.args))
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
            let (old, new) = (format!("{SIGN}{id}]"), format!("{SIGN}{fresh}]"));
            self.steps[at].id = fresh;
            for step in &mut self.steps[at + 1..] {
                step.args = texts(&step.args, &|text| text.replace(&old, &new).into());
            }
        }
        self
    }
}

impl Planned {
    /// The step with what steps of earlier plans gave in the place of references to them; says what
    /// cannot be put in.
    pub fn settled(&self, outputs: &Map) -> Result<Self, String> {
        Ok(Self {
            args: put_in(&self.args, outputs)?,
            ..self.clone()
        })
    }
}

/// Whether arguments hold expressions or references that are no plain text.
fn is_written_otherwise(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_written_otherwise),
        Value::Object(map) => {
            let refers = map.get("type").and_then(Value::as_str) == Some("reference");
            refers || map.contains_key("expr") || map.values().any(is_written_otherwise)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A value with every text in it changed.
fn texts(value: &Value, change: &impl Fn(&str) -> Value) -> Value {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => Value::array(items.iter().map(|item| texts(item, change))),
        Value::Object(map) => {
            let fields = map.iter();
            Value::object(fields.map(|(key, field)| (key.clone(), texts(field, change))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn put_in(value: &Value, outputs: &Map) -> Result<Value, String> {
    match value {
        Value::String(text) if text.contains(SIGN) => into_text(text, outputs),
        Value::Array(items) => {
            let items = items.iter().map(|item| put_in(item, outputs));
            Ok(Value::array(items.collect::<Result<Vec<_>, _>>()?))
        }
        Value::Object(map) => {
            let mut fields = Map::new();
            for (key, field) in map.iter() {
                fields.insert(key.clone(), put_in(field, outputs)?);
            }
            Ok(fields.into())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
    }
}

/// A text with what earlier steps gave in it. A text that is nothing but a reference becomes what it
/// refers to. What is put in is data, and marked as such: it may look like a reference itself.
fn into_text(text: &str, outputs: &Map) -> Result<Value, String> {
    let (mut whole, mut rest) = (String::new(), text);
    let (mut own, mut theirs) = (0, 0);
    while let Some(at) = rest.find(SIGN) {
        whole.push_str(&rest[..at]);
        let inside = &rest[at + SIGN.len()..];
        let Some((id, after)) = inside.split_once(']') else {
            break;
        };
        let (path, length) = steps(after);
        let Some(output) = outputs.get(id) else {
            own += 1;
            whole.push_str(SIGN);
            rest = inside;
            continue;
        };
        theirs += 1;
        let found = follow(output, &path)
            .ok_or_else(|| format!("`{id}` gave nothing at `{}`", &after[..length]))?;
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
            "one text refers to steps of this plan and of an earlier one; write out what the \
             earlier one gave"
                .to_owned(),
        ),
    }
}

fn literal(value: Value) -> Value {
    Value::object([("type", "literal".into()), ("value", value)])
}

fn follow(value: &Value, path: &[Step]) -> Option<Value> {
    let mut at = value.clone();
    for step in path {
        at = match step {
            Step::Key(key) => at.get(key)?.clone(),
            Step::Index(index) => {
                let items = at.as_array()?;
                let length = i64::try_from(items.len()).ok()?;
                let index = if *index < 0 { length + index } else { *index };
                items.get(usize::try_from(index).ok()?)?.clone()
            }
        };
    }
    Some(at)
}
