//! Text that looks like a reference in the syntax of another format or program, such as `{{list.path}}`.
//!
//! A text is reported only if every reference in it names a node, an input or a variable of the graph; whatever else
//! looks like a template is left to the tool that receives it.

use super::{Shape, StaticChecker};
use crate::flaw::FlawCode;
use crate::graph::problem::MeantPart;
use crate::graph::{NodePart, Problem, ProblemLocation};
use crate::setting_references;
use crate::text::display_name;
use crate::workflow::{Action, UnhandledFailure};
use tramline_expr::{RootName, Str, Value};

/// Longest text that is examined, in bytes: templates are short.
const TEXT_BYTES_MAX: usize = 4_096;
/// Most steps of a path.
const STEPS_MAX: usize = 16;

/// Words that stand for the input in other systems.
const INPUT_WORDS: [&str; 12] = [
    "input",
    "inputs",
    "arg",
    "args",
    "arguments",
    "param",
    "params",
    "parameters",
    "entry",
    "json",
    "trigger",
    "workflow",
];

/// Words before the name of a step in other systems: `steps.list`.
const CONTAINER_WORDS: [&str; 10] = [
    "step", "steps", "node", "nodes", "task", "tasks", "output", "outputs", "OUTPUT", "results",
];

/// Words between the name of a step and its output in other systems: `list.output.path`.
const OUTPUT_WORDS: [&str; 7] = [
    "output", "outputs", "result", "results", "json", "item", "data",
];

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(i64),
}

impl StaticChecker<'_> {
    /// Reports literal texts that look like references.
    pub(super) fn check_literal(
        &mut self,
        value: &Value,
        part: NodePart,
        pointer: &str,
        variables: &[(Str, Shape)],
    ) {
        match value {
            Value::String(text) => {
                if let Some(meant) = self.look_alike(text, variables) {
                    let message = format!(
                        "`{}` is passed on as plain text, but looks like a reference",
                        display_name(text)
                    );
                    self.report_meant(FlawCode::LooksLikeReference, part, pointer, message, meant);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.check_literal(item, part, &format!("{pointer}/{at}"), variables);
                }
            }
            Value::Object(map) => {
                for (key, value) in map.iter() {
                    self.check_literal(value, part, &super::child_pointer(pointer, key), variables);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn report_meant(
        &mut self,
        code: FlawCode,
        part: NodePart,
        pointer: &str,
        message: String,
        meant: Vec<MeantPart>,
    ) {
        self.problems.push(Problem {
            code,
            location: ProblemLocation::Inside {
                node: self.node,
                part,
                pointer: pointer.to_owned(),
                span: None,
                name: None,
            },
            message,
            suggestion: None,
            meant: Some(meant),
        });
    }

    /// What a text was probably meant to be; `None` if it is just text.
    pub(super) fn look_alike(
        &self,
        text: &str,
        variables: &[(Str, Shape)],
    ) -> Option<Vec<MeantPart>> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let whole = text.trim();
        if let Some(inner) = whole_reference(whole) {
            let path = self.resolve(parse_path(inner)?, variables)?;
            return Some(vec![path]);
        }
        if let Some(steps) = parse_path(whole).filter(|steps| steps.len() > 1)
            && whole.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        {
            return self.plain_path(&steps).map(|path| vec![path]);
        }
        let mut parts = Vec::new();
        let mut rest = text
            .strip_prefix('=')
            .filter(|rest| rest.starts_with("{{"))
            .unwrap_or(text);
        let mut is_found = false;
        while let Some((before, inner, after)) = next_reference(rest) {
            if !before.is_empty() {
                parts.push(MeantPart::Text(before.to_owned()));
            }
            parts.push(self.resolve(parse_path(inner)?, variables)?);
            is_found = true;
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(MeantPart::Text(rest.to_owned()));
        }
        is_found.then_some(parts)
    }

    /// A path without any sign, such as `list.path`: reported only if the output is known to have that field.
    fn plain_path(&self, steps: &[PathStep]) -> Option<MeantPart> {
        let (PathStep::Key(root), PathStep::Key(field)) = (&steps[0], &steps[1]) else {
            return None;
        };
        match self.root_name(root) {
            RootName::Known(shape) if has_field(&shape, field) => Some(MeantPart::Path {
                root: jsonata_name(root).into(),
                rest: rest_of(&steps[1..]),
            }),
            RootName::Known(_) | RootName::NotYet | RootName::Unknown => None,
        }
    }

    /// The path that the steps of a foreign reference stand for.
    fn resolve(&self, mut steps: Vec<PathStep>, variables: &[(Str, Shape)]) -> Option<MeantPart> {
        let key = |step: Option<&PathStep>| match step {
            Some(PathStep::Key(key)) => Some(key.clone()),
            Some(PathStep::Index(_)) | None => None,
        };
        let first = key(steps.first())?;
        if variables.iter().any(|(name, _)| *name == first) {
            return Some(MeantPart::Path {
                root: format!("${first}").into(),
                rest: rest_of(&steps[1..]),
            });
        }
        let graph = self.graph;
        if CONTAINER_WORDS.contains(&first.as_str())
            && graph.find(&first).is_none()
            && key(steps.get(1)).is_some_and(|next| graph.find(&next).is_some())
        {
            steps.remove(0);
        }
        let first = key(steps.first())?;
        if let Some(node) = graph.find(&first) {
            let shape = match self.root_name(&first) {
                RootName::Known(shape) => shape,
                // A reference makes a task wait for the other one.
                RootName::NotYet if node != self.node && self.is_of_tasks() => Shape::Any,
                RootName::NotYet | RootName::Unknown => return None,
            };
            while key(steps.get(1)).is_some_and(|next| {
                OUTPUT_WORDS.contains(&next.as_str())
                    && steps.len() > 2
                    && !has_field(&shape, &next)
            }) {
                steps.remove(1);
            }
            return Some(MeantPart::Path {
                root: jsonata_name(&first).into(),
                rest: rest_of(&steps[1..]),
            });
        }
        let nodes = graph.workflow.nodes.iter();
        let entry = nodes
            .filter(|node| node.action == Action::Entry)
            .map(|node| node.id.clone())
            .next()?;
        let inputs = graph.workflow.input_schema.as_ref();
        let inputs = inputs.and_then(|schema| schema.get("properties")?.as_object());
        let is_input = |name: &str| inputs.is_some_and(|map| map.contains_key(name));
        if !is_input(&first) {
            if !INPUT_WORDS.contains(&first.as_str())
                || !key(steps.get(1)).is_some_and(|name| is_input(&name))
            {
                return None;
            }
            steps.remove(0);
        }
        Some(MeantPart::Path {
            root: jsonata_name(&entry).into(),
            rest: rest_of(&steps),
        })
    }

    fn is_of_tasks(&self) -> bool {
        self.graph.workflow.unhandled == UnhandledFailure::SkipsDependents
    }
}

/// Whether a value is known to have a field.
fn has_field(shape: &Shape, field: &str) -> bool {
    match shape.item() {
        Shape::Object(object) => object.fields.iter().any(|(key, _)| key == field),
        Shape::Any
        | Shape::Text
        | Shape::Number
        | Shape::Bool
        | Shape::List(_)
        | Shape::Items(_) => false,
    }
}

/// The inside of a text that is one reference.
fn whole_reference(text: &str) -> Option<&str> {
    let text = text
        .strip_prefix('=')
        .filter(|rest| rest.starts_with("{{"))
        .unwrap_or(text);
    let between = |open: &str, close: &str| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        (!inner.contains(['{', '}'])).then_some(inner)
    };
    if setting_references::starts_with_reference(text) {
        return None;
    }
    between("{{", "}}")
        .or_else(|| between("${", "}"))
        .or_else(|| between("{", "}"))
        .or_else(|| text.strip_prefix('$').filter(|rest| !rest.starts_with('$')))
}

/// The next reference of a text: what is before it, its inside, and what is after it.
fn next_reference(text: &str) -> Option<(&str, &str, &str)> {
    const SIGNS: [(&str, &str); 3] = [("{{", "}}"), ("${", "}"), ("$OUTPUT", "")];
    let mut from = 0;
    loop {
        let found = SIGNS
            .iter()
            .filter_map(|sign| Some((from + text[from..].find(sign.0)?, sign)));
        let (at, (open, close)) = found.min_by_key(|(at, _)| *at)?;
        if setting_references::starts_with_reference(&text[at..]) {
            from = at + open.len();
            continue;
        }
        let inside = at + open.len();
        if close.is_empty() {
            let end = inside + path_length(&text[inside..]);
            return Some((&text[..at], &text[at + 1..end], &text[end..]));
        }
        let end = inside + text[inside..].find(close)?;
        return Some((&text[..at], &text[inside..end], &text[end + close.len()..]));
    }
}

/// The length of the steps at the start of a text: `[list].path`.
fn path_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &text[length..];
        let step = match rest.as_bytes().first() {
            Some(b'[') => rest.find(']').map_or(0, |end| end + 1),
            Some(b'.') => {
                let name =
                    rest[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
                match name.unwrap_or(rest.len() - 1) {
                    0 => 0,
                    name => name + 1,
                }
            }
            _ => 0,
        };
        if step == 0 {
            return length;
        }
        length += step;
    }
}

/// The steps of a path such as `$json.list[0]["name"]`; `None` for anything else.
fn parse_path(text: &str) -> Option<Vec<PathStep>> {
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text);
    let mut rest = text.strip_prefix('.').unwrap_or(text);
    let mut steps = Vec::new();
    let mut is_start = true;
    while !rest.is_empty() {
        if steps.len() >= STEPS_MAX {
            return None;
        }
        if let Some((step, after)) = bracketed(rest) {
            steps.push(step);
            rest = after;
        } else {
            let name = match rest.strip_prefix('.') {
                Some(name) if !is_start => name,
                None if is_start => rest,
                Some(_) | None => return None,
            };
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
            let end = end.unwrap_or(name.len());
            if end == 0 {
                return None;
            }
            steps.push(PathStep::Key(name[..end].to_owned()));
            rest = &name[end..];
        }
        is_start = false;
    }
    (!steps.is_empty()).then_some(steps)
}

/// A step in brackets, and what follows it: `[0]`, `["key"]`, `[key]`, `('key')`.
fn bracketed(text: &str) -> Option<(PathStep, &str)> {
    let close = match text.as_bytes().first()? {
        b'[' => ']',
        b'(' => ')',
        _ => return None,
    };
    let end = text.find(close)?;
    let inner = text[1..end].trim().trim_matches(['"', '\'']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if inner.is_empty() || !inner.chars().all(is_name) {
        return None;
    }
    let step = match inner.parse() {
        Ok(at) => PathStep::Index(at),
        Err(_) => PathStep::Key(inner.to_owned()),
    };
    Some((step, &text[end + 1..]))
}

fn rest_of(steps: &[PathStep]) -> String {
    let written = steps.iter().map(|step| match step {
        PathStep::Key(key) => format!(".{}", jsonata_name(key)),
        PathStep::Index(at) => format!("[{at}]"),
    });
    written.collect()
}

fn jsonata_name(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_plain && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => name.to_owned(),
        false => format!("`{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_in_the_syntax_of_several_systems() {
        let key = |key: &str| PathStep::Key(key.to_owned());
        let list = || vec![key("list"), PathStep::Index(0), key("name")];
        for text in [
            "list[0].name",
            "$.list[0].name",
            " list[0]['name'] ",
            "$list[0].name",
        ] {
            assert_eq!(parse_path(text), Some(list()), "{text}");
        }
        assert_eq!(
            parse_path("$('list').item"),
            Some(vec![key("list"), key("item")])
        );
        for text in [
            "", "a b", "a | json", "a..b", "a.", "f(x, y)", "a[", "1 + 2", "a['x y']",
        ] {
            assert_eq!(parse_path(text), None, "{text}");
        }
    }

    #[test]
    fn references_are_found_inside_text() {
        assert_eq!(next_reference("a {{ b }} c"), Some(("a ", " b ", " c")));
        assert_eq!(next_reference("a ${b}"), Some(("a ", "b", "")));
        assert_eq!(
            next_reference("$OUTPUT[a].b, c"),
            Some(("", "OUTPUT[a].b", ", c"))
        );
        assert_eq!(
            next_reference("${settings.KEY} {{a}}"),
            Some(("${settings.KEY} ", "a", ""))
        );
        for text in ["", "plain", "{a}", "$5", "{{open"] {
            assert_eq!(next_reference(text), None, "{text}");
        }
    }
}
