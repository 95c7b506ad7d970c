//! The names that `${…}` can refer to: nodes, inputs, and a node's own inputs.

use super::io::DeclaredInput;
use super::loops::{self, LoopNodeIds};
use super::node_types::OUTPUT_ALIASES;
use super::nodes::is_remote;
use crate::reference::{
    ReferenceOperand, ReferencePath, ReferenceStep, append_steps, jsonata_string, reference_of,
};
use std::collections::HashMap;
use tramline_expr::{Str, Value};
use tramline_syntax::document::Spanned;
use tramline_workflow::workflow::Template;

/// The names that `${…}` can refer to.
pub(super) struct ReferenceScope<'t> {
    /// The type of each node by id, and whether it has a `batch`.
    nodes: HashMap<&'t str, (&'t str, bool)>,
    order: Vec<&'t str>,
    /// The nodes with a `loop`.
    loops: HashMap<&'t str, LoopNodeIds>,
    pub(super) inputs: Vec<DeclaredInput>,
    /// The ids of the nodes that the reader adds.
    pub(super) entry: Str,
    pub(super) exit: Str,
    pub(super) outputs: Str,
}

impl<'t> ReferenceScope<'t> {
    pub(super) fn of(list: Spanned<'t>, inputs: Vec<DeclaredInput>) -> Self {
        let text = |node: &'t Value, key: &str| node.get(key).and_then(Value::as_str);
        let mut nodes = HashMap::new();
        let mut order = Vec::new();
        for node in list.value.as_array().unwrap_or_default() {
            if let Some(id) = text(node, "id") {
                let spread = node.get("batch").is_some_and(|batch| !batch.is_null());
                nodes.insert(id, (text(node, "type").unwrap_or_default(), spread));
                order.push(id);
            }
        }
        let free = |name: &str| {
            let mut id = name.to_owned();
            while nodes.contains_key(id.as_str()) {
                id.push('_');
            }
            Str::from(id)
        };
        let has_loop = |node: &&Value| node.get("loop").is_some_and(|at| !at.is_null());
        let listed = list.value.as_array().unwrap_or_default().iter();
        let loops = listed
            .filter(has_loop)
            .filter_map(|node| text(node, "id"))
            .map(|id| (id, LoopNodeIds::of(id, |name| nodes.contains_key(name))))
            .collect();
        Self {
            entry: free("entry"),
            exit: free("exit"),
            outputs: free("outputs"),
            nodes,
            order,
            loops,
            inputs,
        }
    }

    pub(super) fn is_node(&self, id: &str) -> bool {
        self.nodes.contains_key(id)
    }

    /// The type of a node.
    pub(super) fn kind(&self, id: &str) -> Option<&'t str> {
        self.nodes.get(id).map(|(kind, _)| *kind)
    }

    /// The nodes added for the loop of a node.
    pub(super) fn loop_of(&self, id: &str) -> Option<&LoopNodeIds> {
        self.loops.get(id)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &'t str> {
        self.order.iter().copied()
    }

    /// The operands for a name and the steps after it, in the order they are tried.
    pub(super) fn operands(
        &self,
        name: &str,
        steps: Vec<ReferenceStep>,
    ) -> Option<Vec<ReferenceOperand>> {
        match self.inputs.iter().find(|input| input.name == name) {
            // An input takes precedence over a node with the same name.
            Some(input) => Some(self.input_reference(input, steps)),
            None => self.node_reference(name, steps),
        }
    }

    fn node_reference(
        &self,
        name: &str,
        steps: Vec<ReferenceStep>,
    ) -> Option<Vec<ReferenceOperand>> {
        if let Some(ids) = self.loops.get(name)
            && steps.first() == Some(&ReferenceStep::Key(loops::STOPPED_FIELD.into()))
        {
            return Some(vec![ReferenceOperand::Path(ReferencePath::new(
                ids.end.clone(),
                steps,
            ))]);
        }
        let &(kind, spread) = self.nodes.get(name)?;
        Some(of_node(name, kind, spread, steps))
    }

    fn input_reference(
        &self,
        input: &DeclaredInput,
        steps: Vec<ReferenceStep>,
    ) -> Vec<ReferenceOperand> {
        let whole = steps.is_empty();
        let mut path = vec![ReferenceStep::Key(input.name.clone())];
        path.extend(steps);
        let mut operands = vec![ReferenceOperand::Path(ReferencePath::new(
            self.entry.clone(),
            path,
        ))];
        let default = input.default.clone().filter(|_| whole);
        operands.extend(default.map(ReferenceOperand::Literal));
        operands
    }
}

/// Operands for a part of a node's output. A server's tool may return any shape; references that expect
/// everything under `result` are supported too.
fn of_node(
    name: &str,
    kind: &str,
    spread: bool,
    mut steps: Vec<ReferenceStep>,
) -> Vec<ReferenceOperand> {
    let at = usize::from(spread);
    if spread && let Some(ReferenceStep::Key(key)) = steps.first() {
        if let Some(source) = batch_aggregate(name, key).filter(|_| steps.len() == 1) {
            return vec![ReferenceOperand::Source(source.into())];
        }
        if key == "results" {
            // The list of results is the output itself here.
            steps.remove(0);
        }
    }
    let more = steps.len() > at + 1;
    if let Some(ReferenceStep::Key(key)) = steps.get_mut(at) {
        let ours = OUTPUT_ALIASES
            .iter()
            .find(|(of, theirs, _)| *of == kind && key == theirs);
        if let Some((_, _, ours)) = ours {
            *key = (*ours).into();
        } else if kind == "shell" && key == "stdout" && more {
            // A path into a command's output parses it as JSON.
            *key = "json".into();
        }
    }
    let path =
        |steps: &[ReferenceStep]| ReferenceOperand::Path(ReferencePath::new(name, steps.to_vec()));
    let mut operands = vec![path(&steps)];
    if is_remote(kind) && steps.first() == Some(&ReferenceStep::Key("result".into())) {
        operands.push(path(&steps[1..]));
    }
    operands
}

/// Aggregates over all results of a batch.
fn batch_aggregate(name: &str, key: &str) -> Option<String> {
    let all = ReferencePath::new(name, Vec::new()).jsonata();
    let failed = format!("{all}[$exists(error.code)]");
    Some(match key {
        "count" => format!("$count({all})"),
        "success_count" => format!("($count({all}) - $count({failed}))"),
        "error_count" => format!("$count({failed})"),
        "errors" => format!("[{failed}]"),
        _ => return None,
    })
}

/// A node's own inputs by name.
pub(super) type LocalInputs = HashMap<Str, Vec<ReferenceOperand>>;

/// The operands for a name whose value is this template.
pub(super) fn operands_of(template: &Template) -> Vec<ReferenceOperand> {
    match template {
        Template::Literal(value) => vec![ReferenceOperand::Literal(value.clone())],
        Template::Expr(source) => match reference_of(source) {
            Some(reference) => reference.operands,
            None => vec![ReferenceOperand::Source(format!("({source})").into())],
        },
        Template::Object(_) | Template::Array(_) => {
            vec![ReferenceOperand::Source(template_source(template).into())]
        }
    }
}

/// A template as one expression.
pub(crate) fn template_source(template: &Template) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match template {
        Template::Literal(value) => value.to_json(),
        Template::Expr(source) => format!("({source})"),
        Template::Object(fields) => {
            let field = |(key, value): &(Str, Template)| {
                format!("{}: {}", jsonata_string(key), template_source(value))
            };
            format!("{{{}}}", joined(fields.iter().map(field).collect()))
        }
        Template::Array(items) => {
            format!("[{}]", joined(items.iter().map(template_source).collect()))
        }
    }
}

/// A part of an operand.
pub(super) fn operand_part(
    operand: &ReferenceOperand,
    steps: &[ReferenceStep],
) -> Option<ReferenceOperand> {
    Some(match operand {
        ReferenceOperand::Path(path) => {
            let mut path = path.clone();
            path.steps.extend_from_slice(steps);
            ReferenceOperand::Path(path)
        }
        ReferenceOperand::Literal(value) => {
            let part = steps.iter().try_fold(value, |value, step| match step {
                ReferenceStep::Key(key) => value.get(key),
                ReferenceStep::Index(at) => usize::try_from(*at)
                    .ok()
                    .and_then(|at| value.as_array()?.get(at)),
            });
            ReferenceOperand::Literal(part?.clone())
        }
        ReferenceOperand::Source(source) => {
            ReferenceOperand::Source(append_steps(source, steps).into())
        }
    })
}
