//! What `${…}` may name: nodes, inputs, and what a node calls its own inputs.

use super::declared::Input;
use super::loops::{self, Ids};
use super::nodes::is_remote;
use super::types::OUTPUTS;
use crate::formats::document::At;
use crate::formats::reference::{Operand, Path, Step, into, reference_of, text};
use crate::workflow::Template;
use std::collections::HashMap;
use tramline_expr::{Str, Value};

/// What `${…}` may name.
pub(super) struct Names<'t> {
    /// The type of each node by its id, and whether it runs once for each of many items.
    nodes: HashMap<&'t str, (&'t str, bool)>,
    order: Vec<&'t str>,
    /// The nodes that are done again while a condition holds.
    loops: HashMap<&'t str, Ids>,
    pub(super) inputs: Vec<Input>,
    /// The ids of the nodes that this reader adds.
    pub(super) entry: Str,
    pub(super) exit: Str,
    pub(super) outputs: Str,
}

impl<'t> Names<'t> {
    pub(super) fn of(list: At<'t>, inputs: Vec<Input>) -> Self {
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
            .map(|id| (id, Ids::of(id, |name| nodes.contains_key(name))))
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

    /// The nodes that the loop of a node adds.
    pub(super) fn loop_of(&self, id: &str) -> Option<&Ids> {
        self.loops.get(id)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &'t str> {
        self.order.iter().copied()
    }

    /// What a name and the steps after it stand for, in the order in which they are tried.
    pub(super) fn operands(&self, name: &str, steps: Vec<Step>) -> Option<Vec<Operand>> {
        match self.inputs.iter().find(|input| input.name == name) {
            // An input is meant before a node of the same name.
            Some(input) => Some(self.of_input(input, steps)),
            None => self.of_node(name, steps),
        }
    }

    fn of_node(&self, name: &str, steps: Vec<Step>) -> Option<Vec<Operand>> {
        if let Some(ids) = self.loops.get(name)
            && steps.first() == Some(&Step::Key(loops::STOPPED.into()))
        {
            return Some(vec![Operand::Path(Path::new(ids.end.clone(), steps))]);
        }
        let &(kind, spread) = self.nodes.get(name)?;
        Some(of_node(name, kind, spread, steps))
    }

    fn of_input(&self, input: &Input, steps: Vec<Step>) -> Vec<Operand> {
        let whole = steps.is_empty();
        let mut path = vec![Step::Key(input.name.clone())];
        path.extend(steps);
        let mut operands = vec![Operand::Path(Path::new(self.entry.clone(), path))];
        let default = input.default.clone().filter(|_| whole);
        operands.extend(default.map(Operand::Literal));
        operands
    }
}

/// The parts of a node's output. Servers' tools give what they give; files that put it all under
/// `result` are understood too.
fn of_node(name: &str, kind: &str, spread: bool, mut steps: Vec<Step>) -> Vec<Operand> {
    let at = usize::from(spread);
    if spread && let Some(Step::Key(key)) = steps.first() {
        if let Some(source) = of_all(name, key).filter(|_| steps.len() == 1) {
            return vec![Operand::Source(source.into())];
        }
        if key == "results" {
            // With us the list of results is the output itself.
            steps.remove(0);
        }
    }
    let more = steps.len() > at + 1;
    if let Some(Step::Key(key)) = steps.get_mut(at) {
        let ours = OUTPUTS
            .iter()
            .find(|(of, theirs, _)| *of == kind && key == theirs);
        if let Some((_, _, ours)) = ours {
            *key = (*ours).into();
        } else if kind == "shell" && key == "stdout" && more {
            // A way into what a command printed: it is JSON.
            *key = "json".into();
        }
    }
    let path = |steps: &[Step]| Operand::Path(Path::new(name, steps.to_vec()));
    let mut operands = vec![path(&steps)];
    if is_remote(kind) && steps.first() == Some(&Step::Key("result".into())) {
        operands.push(path(&steps[1..]));
    }
    operands
}

/// What can be said of all results of a node that is called for each of many items.
fn of_all(name: &str, key: &str) -> Option<String> {
    let all = Path::new(name, Vec::new()).jsonata();
    let failed = format!("{all}[$exists(error.code)]");
    Some(match key {
        "count" => format!("$count({all})"),
        "success_count" => format!("($count({all}) - $count({failed}))"),
        "error_count" => format!("$count({failed})"),
        "errors" => format!("[{failed}]"),
        _ => return None,
    })
}

/// What a node's own inputs are called, and what each stands for.
pub(super) type Locals = HashMap<Str, Vec<Operand>>;

/// What a name stands for whose value is this template.
pub(super) fn operands_of(template: &Template) -> Vec<Operand> {
    match template {
        Template::Literal(value) => vec![Operand::Literal(value.clone())],
        Template::Expr(source) => match reference_of(source) {
            Some(reference) => reference.operands,
            None => vec![Operand::Source(format!("({source})").into())],
        },
        Template::Object(_) | Template::Array(_) => vec![Operand::Source(source(template).into())],
    }
}

/// A template as one expression.
pub(super) fn source(template: &Template) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match template {
        Template::Literal(value) => value.to_json(),
        Template::Expr(source) => format!("({source})"),
        Template::Object(fields) => {
            let field =
                |(key, value): &(Str, Template)| format!("{}: {}", text(key), source(value));
            format!("{{{}}}", joined(fields.iter().map(field).collect()))
        }
        Template::Array(items) => format!("[{}]", joined(items.iter().map(source).collect())),
    }
}

/// A part of what a name stands for.
pub(super) fn below(operand: &Operand, steps: &[Step]) -> Option<Operand> {
    Some(match operand {
        Operand::Path(path) => {
            let mut path = path.clone();
            path.steps.extend_from_slice(steps);
            Operand::Path(path)
        }
        Operand::Literal(value) => {
            let part = steps.iter().try_fold(value, |value, step| match step {
                Step::Key(key) => value.get(key),
                Step::Index(at) => usize::try_from(*at)
                    .ok()
                    .and_then(|at| value.as_array()?.get(at)),
            });
            Operand::Literal(part?.clone())
        }
        Operand::Source(source) => Operand::Source(into(source, steps).into()),
    })
}
