//! Explains which paths of an expression have no value, for the message of a failure.
//!
//! Only plain paths from the top of the data are followed: names, indices and variables. Whatever
//! else an expression does is skipped, because what it saw is not known afterwards.

use crate::syntax::ast::{Ast, AstKind, BinaryOp};
use crate::syntax::parser::parse;
use crate::value::{Map, Value};

/// Keys of a value that an explanation lists; more are counted.
const KEYS_SHOWN_MAX: usize = 12;
/// Paths that are explained; the first ones are the cause.
const PATHS_MAX: usize = 2;
/// Levels of an expression that are searched for paths.
const DEPTH_MAX: u32 = 50;

/// Names the paths of an expression that have no value, each with the last part that exists and what it has.
pub fn missing_paths(source: &str, data: &Value, variables: Option<&Map>) -> Option<String> {
    let (ast, _) = parse(source).ok()?;
    let mut search = Search {
        source,
        data,
        variables,
        found: Vec::new(),
    };
    search.expression(&ast, 0);
    (!search.found.is_empty()).then(|| search.found.join("; "))
}

struct Search<'a> {
    source: &'a str,
    data: &'a Value,
    variables: Option<&'a Map>,
    found: Vec<String>,
}

impl Search<'_> {
    fn expression(&mut self, ast: &Ast, depth: u32) {
        if depth > DEPTH_MAX || self.found.len() >= PATHS_MAX {
            return;
        }
        let depth = depth + 1;
        match &ast.kind {
            // The left side may be missing, unless the right side only reports that.
            AstKind::Binary(BinaryOp::Coalesce | BinaryOp::Elvis, left, right) => {
                if ends_in_error(right, depth) {
                    self.alternatives(left, depth);
                }
                self.expression(right, depth);
            }
            AstKind::Binary(_, left, right) => {
                self.expression(left, depth);
                self.expression(right, depth);
            }
            AstKind::Negate(inner) | AstKind::Bind(_, inner) => self.expression(inner, depth),
            AstKind::Array(items) => items.iter().for_each(|item| self.expression(item, depth)),
            AstKind::Object(pairs) => {
                for (_, value) in &pairs.pairs {
                    self.expression(value, depth);
                }
            }
            AstKind::Block(items) => items.iter().for_each(|item| self.expression(item, depth)),
            AstKind::Call(function, arguments) if !handles_nothing(function) => {
                arguments.iter().for_each(|one| self.expression(one, depth));
            }
            // Which branch was taken is not known.
            AstKind::Conditional(condition, ..) => self.expression(condition, depth),
            AstKind::Name(_)
            | AstKind::Variable(_)
            | AstKind::Dot(..)
            | AstKind::Filter(..)
            | AstKind::Keep(_) => {
                self.path(ast);
            }
            _ => {}
        }
    }

    /// Every operand of `a ?? b`: none of them had a value.
    fn alternatives(&mut self, ast: &Ast, depth: u32) {
        match &ast.kind {
            AstKind::Binary(BinaryOp::Coalesce, left, right) if depth <= DEPTH_MAX => {
                self.alternatives(left, depth + 1);
                self.alternatives(right, depth + 1);
            }
            _ => self.expression(ast, depth),
        }
    }

    /// Follows a path, and explains its first step that has no value.
    fn path(&mut self, ast: &Ast) {
        let mut steps = Vec::new();
        if flatten(ast, &mut steps, 0).is_none() {
            return;
        }
        let mut steps = steps.into_iter().peekable();
        let mut value = self.data.clone();
        let mut before = ast.extent.start;
        if let Some((Step::Variable(name), end)) = steps.peek() {
            match *name {
                "" | "$" => {}
                name => match self.variables.and_then(|known| known.get(name)) {
                    Some(known) => value = known.clone(),
                    None => return,
                },
            }
            before = *end;
            steps.next();
        }
        for (step, end) in steps {
            let next = match &step {
                Step::Key(key) => field(&value, key),
                Step::Index(at) => item(&value, *at),
                Step::Variable(_) => return,
            };
            let Some(next) = next else {
                self.explain(ast.extent.start, before, end, &value, &step);
                return;
            };
            value = next;
            before = end;
        }
    }

    fn explain(&mut self, start: u32, before: u32, end: u32, from: &Value, step: &Step<'_>) {
        let label = self.text(start, before);
        let has = match label.is_empty() {
            true => describe_top(from),
            false => describe(&label, from, step),
        };
        let says = format!("there is no `{}`{has}", self.text(start, end));
        if !self.found.contains(&says) {
            self.found.push(says);
        }
    }

    /// A part of the source as it is shown: from the top of the data, without quotes.
    fn text(&self, start: u32, end: u32) -> String {
        let part = self.source.get(start as usize..end as usize);
        let part = part.unwrap_or_default().replace('`', "");
        let part = part.trim().trim_start_matches("$$");
        let part = part.strip_prefix("$.").unwrap_or(part);
        let part = part.strip_prefix('.').unwrap_or(part);
        if part == "$" { "" } else { part }.to_owned()
    }
}

enum Step<'a> {
    /// Where the path begins, if not at a name of the data.
    Variable(&'a str),
    Key(&'a str),
    Index(i64),
}

/// The steps of a plain path, each with its end in the source. `None` if it is not plain.
fn flatten<'a>(ast: &'a Ast, steps: &mut Vec<(Step<'a>, u32)>, depth: u32) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let step = match &ast.kind {
        AstKind::Name(name) | AstKind::Literal(Value::String(name)) => Step::Key(name),
        AstKind::Variable(name) if steps.is_empty() => Step::Variable(name),
        AstKind::Dot(left, right) => {
            flatten(left, steps, depth + 1)?;
            return flatten(right, steps, depth + 1);
        }
        AstKind::Filter(left, predicate) => {
            flatten(left, steps, depth + 1)?;
            Step::Index(index_of(predicate)?)
        }
        AstKind::Keep(left) => return flatten(left, steps, depth + 1),
        _ => return None,
    };
    steps.push((step, ast.extent.end));
    Some(())
}

/// The value of a key; of a list, the values of its items.
fn field(value: &Value, key: &str) -> Option<Value> {
    match value {
        Value::Array(items) => {
            let found: Vec<_> = items.iter().filter_map(|item| field(item, key)).collect();
            match found.as_slice() {
                [] => None,
                [only] => Some(only.clone()),
                _ => Some(Value::array(found)),
            }
        }
        other => other.get(key).cloned(),
    }
}

fn item(value: &Value, at: i64) -> Option<Value> {
    let Some(items) = value.as_array() else {
        // A single value is a list of one item.
        return matches!(at, 0 | -1).then(|| value.clone());
    };
    let at = match at {
        0.. => usize::try_from(at).ok()?,
        _ => items.len().checked_sub(usize::try_from(-at).ok()?)?,
    };
    items.get(at).cloned()
}

fn index_of(predicate: &Ast) -> Option<i64> {
    let whole = |value: &Value| {
        value
            .as_f64()
            .filter(|n| n.fract() == 0.0)
            .map(|n| n as i64)
    };
    match &predicate.kind {
        AstKind::Literal(value @ Value::Number(_)) => whole(value),
        AstKind::Negate(inner) => match &inner.kind {
            AstKind::Literal(value @ Value::Number(_)) => whole(value).map(|at| -at),
            _ => None,
        },
        _ => None,
    }
}

/// Functions for which a missing argument is nothing unusual.
fn handles_nothing(function: &Ast) -> bool {
    matches!(&function.kind, AstKind::Variable(name)
        if matches!(name.as_str(), "error" | "exists" | "boolean" | "not" | "assert" | "count" | "type"))
}

/// Whether an expression reports an error once its other alternatives have no value.
fn ends_in_error(ast: &Ast, depth: u32) -> bool {
    if let AstKind::Binary(BinaryOp::Coalesce, _, right) = &ast.kind {
        return depth <= DEPTH_MAX && ends_in_error(right, depth + 1);
    }
    matches!(&ast.kind, AstKind::Call(function, _)
        if matches!(&function.kind, AstKind::Variable(name) if name == "error"))
}

/// What the last part that exists has.
fn describe(label: &str, value: &Value, step: &Step<'_>) -> String {
    match (value, step) {
        (Value::Array(items), _) if items.is_empty() => format!("; `{label}` is an empty list"),
        (Value::Array(items), Step::Index(_)) => match items.len() {
            1 => format!("; `{label}` has 1 item"),
            count => format!("; `{label}` has {count} items"),
        },
        (Value::Array(items), Step::Key(_) | Step::Variable(_)) => {
            match items.iter().find_map(Value::as_object) {
                Some(first) if !first.is_empty() => {
                    format!("; the items of `{label}` have {}", keys(first))
                }
                _ => format!("; the items of `{label}` have no fields"),
            }
        }
        (Value::Object(map), _) if map.is_empty() => format!("; `{label}` is an empty object"),
        (Value::Object(map), _) => format!("; `{label}` has {}", keys(map)),
        (Value::String(_), _) => format!("; `{label}` is a string"),
        (Value::Number(_), _) => format!("; `{label}` is a number"),
        (Value::Bool(_), _) => format!("; `{label}` is a boolean"),
        (Value::Null, _) => format!("; `{label}` is null"),
    }
}

/// What there is at the top of the data.
fn describe_top(data: &Value) -> String {
    match data.as_object() {
        Some(map) if !map.is_empty() => format!("; there is {}", keys(map)),
        _ => String::new(),
    }
}

fn keys(map: &Map) -> String {
    let names: Vec<_> = map
        .keys()
        .take(KEYS_SHOWN_MAX)
        .map(|key| key.as_str())
        .collect();
    let names = names.join(", ");
    match map.len().saturating_sub(KEYS_SHOWN_MAX) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_last_part_that_exists_and_what_it_has() {
        let data = r#"{"list": {"path": ".", "entries": [{"name": "a"}, {"name": "b"}]},
            "none": [], "text": "x", "nil": null, "a-b": {"c": 1}, "empty": {}}"#;
        let data = Value::from_json(data).unwrap();
        let cases = [
            (
                "list.entires",
                Some("there is no `list.entires`; `list` has path, entries"),
            ),
            (
                "list.entires[0].name.x",
                Some("there is no `list.entires`; `list` has path, entries"),
            ),
            (
                "$.list.x.y",
                Some("there is no `list.x`; `list` has path, entries"),
            ),
            (
                "$$.list.x",
                Some("there is no `list.x`; `list` has path, entries"),
            ),
            (
                "list.entries[9].name",
                Some("there is no `list.entries[9]`; `list.entries` has 2 items"),
            ),
            (
                "list.entries[-3]",
                Some("there is no `list.entries[-3]`; `list.entries` has 2 items"),
            ),
            (
                "list.entries.nme",
                Some("there is no `list.entries.nme`; the items of `list.entries` have name"),
            ),
            (
                "list.entries[1].nme",
                Some("there is no `list.entries[1].nme`; `list.entries[1]` has name"),
            ),
            (
                "none[0].x",
                Some("there is no `none[0]`; `none` is an empty list"),
            ),
            ("text.x", Some("there is no `text.x`; `text` is a string")),
            ("nil.x", Some("there is no `nil.x`; `nil` is null")),
            (
                "empty.x",
                Some("there is no `empty.x`; `empty` is an empty object"),
            ),
            ("`a-b`.d", Some("there is no `a-b.d`; `a-b` has c")),
            (
                "lst.x",
                Some("there is no `lst`; there is list, none, text, nil, a-b, empty"),
            ),
            (
                "\"x \" & $string(list.b ?? $error(\"no\"))",
                Some("there is no `list.b`; `list` has path, entries"),
            ),
            (
                "list.b ?? text.c ?? $error(\"no\")",
                Some(
                    "there is no `list.b`; `list` has path, entries; there is no `text.c`; `text` is a string",
                ),
            ),
            ("list.b ?? 5", None),
            ("list.entries[name = 'c'].x", None),
            ("list.entries.name", None),
            ("$exists(list.b)", None),
            ("$x.y", None),
            ("list.entries.(nme)", None),
        ];
        for (source, expected) in cases {
            let found = missing_paths(source, &data, None);
            assert_eq!(found.as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn variables_are_followed_if_they_are_known() {
        let variables = Value::from_json(r#"{"item": {"a": 1}}"#).unwrap();
        let found = missing_paths("$item.b", &Value::Null, variables.as_object());
        assert_eq!(
            found.as_deref(),
            Some("there is no `$item.b`; `$item` has a")
        );
    }
}
