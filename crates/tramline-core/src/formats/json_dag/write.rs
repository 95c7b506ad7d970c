//! A workflow written as a DAG of tasks, with what such a document cannot say.

use super::arguments::SIGN;
use super::{ENTRY, schema_of};
use crate::cycles::closing;
use crate::formats::reference::{Operand, Path, Piece, Reference, Step, pieces_of, reference_of};
use crate::formats::yaml_graph::write::{bounds, care};
use crate::formats::{Lost, Written};
use crate::workflow::{Action, DEFAULT_LABEL, Join, Node, Template, Unhandled, Workflow};
use std::collections::{HashMap, HashSet};
use tramline_expr::{Map, Str, Value};

/// Writes a workflow as a DAG.
pub fn write(servers: &Value, workflow: &Workflow) -> Written {
    let mut lost = Lost::default();
    let mut root = Map::new();
    root.insert("name", workflow.name.clone().into());
    for (key, text) in [
        ("title", &workflow.title),
        ("description", &workflow.description),
    ] {
        if let Some(text) = text {
            root.insert(key, text.clone().into());
        }
    }
    let entry = workflow
        .nodes
        .iter()
        .find(|node| node.action == Action::Entry);
    let mut writer = Writer::new(workflow, entry, &mut lost);
    let tasks = writer.tasks();
    if let Some(entry) = entry {
        let taken: HashSet<&str> = workflow.nodes.iter().map(|node| node.id.as_str()).collect();
        let usual = ENTRY
            .iter()
            .find(|name| **name == entry.id || !taken.contains(**name));
        if usual.is_none_or(|name| entry.id != *name) {
            root.insert("entry", entry.id.clone().into());
        }
    }
    let schema = workflow.input_schema.clone();
    if let Some(schema) = schema.filter(|schema| entry.is_some() || *schema != schema_of(&[])) {
        root.insert("inputSchema", schema);
    } else if entry.is_some() {
        root.insert("inputSchema", schema_of(&[]));
    }
    if let Some(schema) = &workflow.output_schema {
        if workflow
            .nodes
            .iter()
            .any(|node| node.action == Action::Exit)
        {
            lost.add("the schema of the result, which is another one here");
        } else {
            root.insert("outputSchema", schema.clone());
        }
    }
    if let Some(limits) = bounds(&workflow.limits, &mut lost) {
        root.insert("executionLimits", limits);
    }
    if servers.as_object().is_some_and(|map| !map.is_empty()) {
        root.insert("mcpServers", servers.clone());
    }
    root.insert("tasks", tasks.into());
    match workflow.unhandled {
        Unhandled::EndsRun => {
            lost.add("that a failure ends the run: here it skips only what depends on it");
        }
        Unhandled::SkipsDependents => {}
    }
    Written {
        text: Value::from(root).to_json_pretty() + "\n",
        lost: lost.told(),
    }
}

struct Writer<'a> {
    workflow: &'a Workflow,
    entry: Option<&'a Str>,
    lost: &'a mut Lost,
    places: HashMap<&'a str, usize>,
    /// For each node, those that lead to it, in the order of the edges.
    before: Vec<Vec<usize>>,
}

impl<'a> Writer<'a> {
    fn new(workflow: &'a Workflow, entry: Option<&'a Node>, lost: &'a mut Lost) -> Self {
        let ids = workflow.nodes.iter().enumerate();
        let places: HashMap<_, _> = ids.map(|(at, node)| (node.id.as_str(), at)).collect();
        let ends = |edge: &crate::workflow::Edge| {
            Some((
                *places.get(edge.from.as_str())?,
                *places.get(edge.to.as_str())?,
            ))
        };
        let mut outs = vec![Vec::new(); workflow.nodes.len()];
        for (at, edge) in workflow.edges.iter().enumerate() {
            if let Some((from, to)) = ends(edge) {
                outs[from].push((to, at));
            }
        }
        let mut closes = HashSet::new();
        let first = entry
            .and_then(|entry| places.get(entry.id.as_str()))
            .copied();
        closing(&outs, first.into_iter(), |edge, _| {
            closes.insert(edge);
        });
        let mut before = vec![Vec::new(); workflow.nodes.len()];
        for (at, edge) in workflow.edges.iter().enumerate() {
            let Some((from, to)) = ends(edge) else {
                continue;
            };
            let (one, other) = (&edge.from, &edge.to);
            let is_choice = matches!(workflow.nodes[from].action, Action::Choose { .. });
            if closes.contains(&at) {
                lost.add(format!(
                    "the way back from `{one}` to `{other}`: a DAG has no loops"
                ));
            } else if edge.label != DEFAULT_LABEL && !is_choice {
                lost.add(format!(
                    "the way from `{one}` to `{other}` at {}",
                    edge.label
                ));
            } else {
                before[to].push(from);
            }
        }
        Self {
            workflow,
            entry: entry.map(|entry| &entry.id),
            lost,
            places,
            before,
        }
    }

    fn tasks(&mut self) -> Vec<Value> {
        let mut tasks = Vec::new();
        for (at, node) in self.workflow.nodes.iter().enumerate() {
            let mut task = Map::new();
            task.insert("id", node.id.clone().into());
            match &node.action {
                Action::Entry => continue,
                Action::Exit => {
                    self.lost
                        .add("which output is the result: here it is every task's, by its id");
                    continue;
                }
                Action::Choose { .. } => {
                    let id = &node.id;
                    self.lost
                        .add(format!("the choice `{id}`: all its ways are taken"));
                    continue;
                }
                Action::Wait(_) => {
                    self.lost.add(format!("the wait `{}`", node.id));
                    continue;
                }
                Action::Compute { expression } => {
                    task.insert("expr", expression.clone().into());
                }
                Action::Call { tool, arguments } => {
                    task.insert("tool", tool.to_string().into());
                    if *arguments != Template::Literal(Value::object::<Str>([])) {
                        task.insert("arguments", self.template(arguments));
                    }
                }
            }
            let depends = self.depends(at);
            if node.join == Join::Any && depends.len() > 1 {
                let id = &node.id;
                self.lost.add(format!(
                    "that each way enters `{id}`: here it waits for all"
                ));
            }
            if node.each.is_some() {
                let id = &node.id;
                self.lost
                    .add(format!("that `{id}` is called for each item"));
            }
            if !depends.is_empty() {
                task.insert("depends_on", Value::array(depends));
            }
            if let Some(purpose) = &node.purpose {
                task.insert("description", purpose.clone().into());
            }
            if let Some(reason) = &node.approval {
                task.insert("approval", reason.clone().into());
            }
            care(node, &mut task);
            tasks.push(task.into());
        }
        tasks
    }

    /// What a task depends on: what leads to it, by way of nodes that are no tasks.
    fn depends(&self, at: usize) -> Vec<Value> {
        let mut depends = Vec::new();
        let mut seen = HashSet::new();
        let mut work: Vec<usize> = self.before[at].iter().rev().copied().collect();
        while let Some(from) = work.pop() {
            if !seen.insert(from) {
                continue;
            }
            let node = &self.workflow.nodes[from];
            match &node.action {
                Action::Call { .. } | Action::Compute { .. } => {
                    depends.push(Value::from(node.id.clone()));
                }
                Action::Choose { .. } | Action::Wait(_) => {
                    work.extend(self.before[from].iter().rev());
                }
                Action::Entry | Action::Exit => {}
            }
        }
        depends
    }

    fn template(&self, template: &Template) -> Value {
        match template {
            Template::Literal(value) if is_special(value) => {
                Value::object([("type", "literal".into()), ("value", value.clone())])
            }
            Template::Literal(value) => value.clone(),
            Template::Expr(source) => self.expression(source),
            Template::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, field)| (key.clone(), self.template(field)));
                Value::object(fields)
            }
            Template::Array(items) => Value::array(items.iter().map(|item| self.template(item))),
        }
    }

    /// An expression as a reference, where it is one; only what reads back as the same.
    fn expression(&self, source: &Str) -> Value {
        let spelt = || Value::object([("expr", source.clone().into())]);
        if let Some(reference) = reference_of(source) {
            return self.reference(&reference, source).unwrap_or_else(spelt);
        }
        let Some(pieces) = pieces_of(source) else {
            return spelt();
        };
        let mut text = String::new();
        for piece in &pieces {
            match piece {
                Piece::Text(part) if part.contains(SIGN) => return spelt(),
                // The text would be taken for a part of the way before it.
                Piece::Text(part) if text.ends_with(']') || !text.is_empty() => {
                    let whole = format!("{text}{part}");
                    if !reads_apart(&text, part) {
                        return spelt();
                    }
                    text = whole;
                }
                Piece::Text(part) => text.push_str(part),
                Piece::Reference(reference) => match self.reference_text(reference) {
                    Some(way) => text.push_str(&way),
                    None => return spelt(),
                },
            }
        }
        text.into()
    }

    fn reference(&self, reference: &Reference, source: &str) -> Option<Value> {
        let [Operand::Path(path)] = reference.operands.as_slice() else {
            return None;
        };
        // The exact form that a reader makes is needed, or the reading would differ.
        let exact = Reference::sure(path.clone()).jsonata() == source;
        if exact
            && Some(&path.root) == self.entry
            && let [Step::Key(name)] = path.steps.as_slice()
        {
            let parameter = [("type", "parameter".into()), ("name", name.clone().into())];
            return Some(Value::object(parameter));
        }
        self.reference_text(reference)
            .filter(|_| exact)
            .map(Value::from)
    }

    fn reference_text(&self, reference: &Reference) -> Option<String> {
        let [Operand::Path(path)] = reference.operands.as_slice() else {
            return None;
        };
        let at = *self
            .places
            .get(path.root.as_str())
            .filter(|_| !path.variable)?;
        let is_task = match &self.workflow.nodes[at].action {
            Action::Call { .. } | Action::Compute { .. } => true,
            Action::Entry | Action::Choose { .. } | Action::Wait(_) | Action::Exit => false,
        };
        let plain = !path.root.contains([']', '"', '\'']) && path.root.trim() == path.root;
        let way = way(path)?;
        (is_task && plain).then(|| format!("{SIGN}{}]{way}", path.root))
    }
}

/// The steps of a path as a reference has them.
fn way(path: &Path) -> Option<String> {
    let mut way = String::new();
    for step in &path.steps {
        match step {
            Step::Index(at) => way.push_str(&format!("[{at}]")),
            Step::Key(key) => {
                let dotted = format!(".{key}");
                let (steps, length) = crate::formats::reference::steps(&dotted);
                if steps.len() == 1 && length == dotted.len() {
                    way.push_str(&dotted);
                } else if key.contains(['"', ']']) {
                    return None;
                } else {
                    way.push_str(&format!("[\"{key}\"]"));
                }
            }
        }
    }
    Some(way)
}

/// Whether a text after a reference is not taken for a part of it.
fn reads_apart(before: &str, part: &str) -> bool {
    let Some(at) = before.rfind(SIGN) else {
        return true;
    };
    let Some(end) = before[at..].find(']') else {
        return true;
    };
    let way = &before[at + end + 1..];
    let length = crate::formats::reference::steps(way).1;
    let joined = format!("{way}{part}");
    length < way.len() || crate::formats::reference::steps(&joined).1 == length
}

/// Whether a literal would be read as something else.
fn is_special(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(SIGN),
        Value::Array(items) => items.iter().any(is_special),
        Value::Object(map) => {
            let kind = map.get("type").and_then(Value::as_str);
            map.get("expr").is_some()
                || matches!(kind, Some("literal" | "parameter" | "reference"))
                || map.values().any(is_special)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
