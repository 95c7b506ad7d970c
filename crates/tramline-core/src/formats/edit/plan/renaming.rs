//! Another id for a node: exchanged wherever the document names it.

use super::{Ops, Plan};
use crate::formats::Format;
use crate::formats::edit::op::{Op, Step, key};
use crate::formats::edit::{references, rename};
use tramline_expr::{Str, Value};

impl Plan<'_> {
    pub(super) fn rename(&self, id: &str, to: &str) -> Ops {
        let place = self.place(id)?;
        if to.is_empty() || self.place(to).is_ok() {
            return Err(format!("`{to}` cannot be the id: it is empty or taken"));
        }
        let mut ops = vec![Op::Set(self.at(place, [key("id")]), to.into())];
        ops.extend(self.rename_links(id, to));
        for (at, node) in self.nodes.iter().enumerate() {
            let mut found = Vec::new();
            match self.format {
                Format::Yaml => expressions(node, &mut Vec::new(), false, &mut found),
                Format::Dag | Format::Ir | Format::Markdown => {
                    texts(node, &mut Vec::new(), &mut found);
                }
            }
            for (path, source) in found {
                let made = self.named_anew(&path, source, id, to);
                if made != source {
                    ops.push(Op::Set(self.at(at, path), made.into()));
                }
            }
        }
        ops.extend(self.outputs_anew(id, to));
        Ok(ops)
    }

    /// A text of a node, which names another as its format does.
    fn named_anew(&self, path: &[Step], source: &str, id: &str, to: &str) -> String {
        let is_var = path.iter().rev().take(2).any(|step| *step == key("var"));
        let holds = [key("expr"), key("expression")];
        let is_expression = path.last().is_some_and(|last| holds.contains(last)) || is_var;
        match self.format {
            Format::Yaml => rename::renamed(source, id, to),
            Format::Dag | Format::Ir | Format::Markdown if is_expression => {
                rename::renamed(source, id, to)
            }
            Format::Dag => references::in_outputs(source, id, to),
            Format::Ir | Format::Markdown => references::in_templates(source, id, to),
        }
    }

    /// What an IR gives at its end, by what its nodes gave.
    fn outputs_anew(&self, id: &str, to: &str) -> Vec<Op> {
        let mut found = Vec::new();
        let outputs = self.root.get("outputs");
        if let (Format::Ir | Format::Markdown, Some(outputs)) = (self.format, outputs) {
            texts(outputs, &mut vec![key("outputs")], &mut found);
        }
        let made = found.into_iter().filter_map(|(path, source)| {
            let made = references::in_templates(source, id, to);
            (made != source).then(|| Op::Set(path, made.into()))
        });
        made.collect()
    }
}

/// Every text of a node but those that say what it is and where it leads.
fn texts<'v>(value: &'v Value, at: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, &'v str)>) {
    const OTHERS: [&str; 8] = [
        "id",
        "type",
        "tool",
        "next",
        "on-error",
        "action",
        "purpose",
        "depends_on",
    ];
    match value {
        Value::Object(map) => {
            for (name, value) in map
                .iter()
                .filter(|(name, _)| !OTHERS.contains(&name.as_str()))
            {
                at.push(Step::Key(Str::clone(name)));
                texts(value, at, found);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                at.push(Step::Place(place));
                texts(value, at, found);
                at.pop();
            }
        }
        Value::String(text) => found.push((at.clone(), text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where the expressions of a node stand: under the fields that may hold some.
fn expressions<'v>(
    value: &'v Value,
    at: &mut Vec<Step>,
    within: bool,
    found: &mut Vec<(Vec<Step>, &'v str)>,
) {
    const FIELDS: [&str; 9] = [
        "args",
        "arguments",
        "params",
        "transform",
        "rule",
        "conditions",
        "map",
        "for",
        "until",
    ];
    match value {
        Value::Object(map) => {
            for (name, value) in map.iter() {
                // What a condition leads to is an edge.
                if matches!(name.as_str(), "next" | "target") {
                    continue;
                }
                at.push(Step::Key(Str::clone(name)));
                expressions(value, at, within || FIELDS.contains(&name.as_str()), found);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                at.push(Step::Place(place));
                expressions(value, at, within, found);
                at.pop();
            }
        }
        Value::String(text) if within => {
            // A plain text that happens to be the id is no expression; a variable's name is.
            let is_var = at.iter().rev().take(2).any(|step| *step == key("var"));
            let is_expr = text.starts_with('$') || at.last() == Some(&key("expr"));
            if is_var || is_expr || text.contains("${") || text.contains("{{") {
                found.push((at.clone(), text));
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
