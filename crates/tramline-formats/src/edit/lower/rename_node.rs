//! Renames a node and every reference to it in the document.

use super::{EditLowering, Ops};
use crate::Format;
use crate::edit::op::{ValueOp, ValueStep, key_step};
use crate::edit::{expression_references, template_references};
use tramline_expr::{Str, Value};

impl EditLowering<'_> {
    pub(super) fn rename(&self, id: &str, to: &str) -> Ops {
        let place = self.node_index(id)?;
        if to.is_empty() || self.node_index(to).is_ok() {
            return Err(format!("`{to}` cannot be the id: it is empty or taken"));
        }
        let mut ops = vec![ValueOp::Set(
            self.node_path(place, [key_step("id")]),
            to.into(),
        )];
        ops.extend(self.rename_references(id, to));
        for (at, node) in self.nodes.iter().enumerate() {
            let mut found = Vec::new();
            match self.format {
                Format::Yaml => collect_expressions(node, &mut Vec::new(), false, &mut found),
                Format::Dag | Format::Ir | Format::Markdown => {
                    collect_strings(node, &mut Vec::new(), &mut found);
                }
            }
            for (path, source) in found {
                let made = self.rename_in_text(&path, source, id, to);
                if made != source {
                    ops.push(ValueOp::Set(self.node_path(at, path), made.into()));
                }
            }
        }
        ops.extend(self.rename_in_outputs(id, to));
        Ok(ops)
    }

    /// A string of a node with the references renamed, in the syntax of its format.
    fn rename_in_text(&self, path: &[ValueStep], source: &str, id: &str, to: &str) -> String {
        let is_var = path
            .iter()
            .rev()
            .take(2)
            .any(|step| *step == key_step("var"));
        let holds = [key_step("expr"), key_step("expression")];
        let is_expression = path.last().is_some_and(|last| holds.contains(last)) || is_var;
        match self.format {
            Format::Yaml => expression_references::rename_in_expression(source, id, to),
            Format::Dag | Format::Ir | Format::Markdown if is_expression => {
                expression_references::rename_in_expression(source, id, to)
            }
            Format::Dag => template_references::rename_in_output_references(source, id, to),
            Format::Ir | Format::Markdown => {
                template_references::rename_in_templates(source, id, to)
            }
        }
    }

    /// The outputs of an IR with the references renamed.
    fn rename_in_outputs(&self, id: &str, to: &str) -> Vec<ValueOp> {
        let mut found = Vec::new();
        let outputs = self.root.get("outputs");
        if let (Format::Ir | Format::Markdown, Some(outputs)) = (self.format, outputs) {
            collect_strings(outputs, &mut vec![key_step("outputs")], &mut found);
        }
        let made = found.into_iter().filter_map(|(path, source)| {
            let made = template_references::rename_in_templates(source, id, to);
            (made != source).then(|| ValueOp::Set(path, made.into()))
        });
        made.collect()
    }
}

/// All strings of a node except those that define its identity and its edges.
fn collect_strings<'v>(
    value: &'v Value,
    at: &mut Vec<ValueStep>,
    found: &mut Vec<(Vec<ValueStep>, &'v str)>,
) {
    const SKIPPED_FIELDS: [&str; 11] = [
        "id",
        "type",
        "tool",
        "next",
        "on-error",
        "on-decline",
        "on-cancel",
        "on-timeout",
        "action",
        "purpose",
        "depends_on",
    ];
    match value {
        Value::Object(map) => {
            for (name, value) in map
                .iter()
                .filter(|(name, _)| !SKIPPED_FIELDS.contains(&name.as_str()))
            {
                at.push(ValueStep::Key(Str::clone(name)));
                collect_strings(value, at, found);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                at.push(ValueStep::Index(place));
                collect_strings(value, at, found);
                at.pop();
            }
        }
        Value::String(text) => found.push((at.clone(), text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The expressions of a node: strings below the fields that may contain them.
fn collect_expressions<'v>(
    value: &'v Value,
    at: &mut Vec<ValueStep>,
    within: bool,
    found: &mut Vec<(Vec<ValueStep>, &'v str)>,
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
                // The target of a condition is an edge, not an expression.
                if matches!(name.as_str(), "next" | "target") {
                    continue;
                }
                at.push(ValueStep::Key(Str::clone(name)));
                collect_expressions(value, at, within || FIELDS.contains(&name.as_str()), found);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                at.push(ValueStep::Index(place));
                collect_expressions(value, at, within, found);
                at.pop();
            }
        }
        Value::String(text) if within => {
            // A plain string equal to the id is not an expression; a variable name is.
            let is_var = at.iter().rev().take(2).any(|step| *step == key_step("var"));
            let is_expr = text.starts_with('$') || at.last() == Some(&key_step("expr"));
            if is_var || is_expr || text.contains("${") || text.contains("{{") {
                found.push((at.clone(), text));
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
