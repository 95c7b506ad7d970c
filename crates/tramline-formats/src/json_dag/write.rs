//! Writes a workflow as a DAG of tasks and lists what a DAG cannot represent.

use super::arguments::REFERENCE_START;
use super::{ENTRY_NAMES, input_schema_for};
use crate::reference::{
    OutputReference, ReferenceOperand, ReferencePath, ReferenceStep, TextPart, pieces_of,
    reference_of,
};
use crate::yaml_graph::write::{write_limits, write_options};
use crate::{ConvertedDocument, LossCollector, ask_form};
use std::collections::{HashMap, HashSet};
use tramline_expr::{Map, Str, Value};
use tramline_workflow::cycles::closing_edges;
use tramline_workflow::workflow::{
    Action, DEFAULT_LABEL, Join, Node, Template, UnhandledFailure, Workflow,
};

/// Writes a workflow as a DAG.
pub fn write(servers: &Value, workflow: &Workflow) -> ConvertedDocument {
    let mut lost = LossCollector::default();
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
    let mut writer = DagWriter::new(workflow, entry, &mut lost);
    let tasks = writer.tasks();
    if let Some(entry) = entry {
        let taken: HashSet<&str> = workflow.nodes.iter().map(|node| node.id.as_str()).collect();
        let usual = ENTRY_NAMES
            .iter()
            .find(|name| **name == entry.id || !taken.contains(**name));
        if usual.is_none_or(|name| entry.id != *name) {
            root.insert("entry", entry.id.clone().into());
        }
    }
    let schema = workflow.input_schema.clone();
    if let Some(schema) =
        schema.filter(|schema| entry.is_some() || *schema != input_schema_for(&[]))
    {
        root.insert("inputSchema", schema);
    } else if entry.is_some() {
        root.insert("inputSchema", input_schema_for(&[]));
    }
    if let Some(schema) = &workflow.output_schema {
        if workflow
            .nodes
            .iter()
            .any(|node| node.action == Action::Exit)
        {
            lost.add("the output schema: the result has a different shape here");
        } else {
            root.insert("outputSchema", schema.clone());
        }
    }
    if let Some(limits) = write_limits(&workflow.limits, &mut lost) {
        root.insert("executionLimits", limits);
    }
    if servers.as_object().is_some_and(|map| !map.is_empty()) {
        root.insert("mcpServers", servers.clone());
    }
    root.insert("tasks", tasks.into());
    match workflow.unhandled {
        UnhandledFailure::EndsRun => {
            lost.add("that a failure ends the run: here it skips only its dependents");
        }
        UnhandledFailure::SkipsDependents => {}
    }
    lost.into_document(Value::from(root).to_json_pretty() + "\n")
}

struct DagWriter<'a> {
    workflow: &'a Workflow,
    entry: Option<&'a Str>,
    lost: &'a mut LossCollector,
    node_indexes: HashMap<&'a str, usize>,
    /// The predecessors of each node, in edge order.
    predecessors: Vec<Vec<usize>>,
}

impl<'a> DagWriter<'a> {
    fn new(workflow: &'a Workflow, entry: Option<&'a Node>, lost: &'a mut LossCollector) -> Self {
        let ids = workflow.nodes.iter().enumerate();
        let node_indexes: HashMap<_, _> = ids.map(|(at, node)| (node.id.as_str(), at)).collect();
        let ends = |edge: &tramline_workflow::workflow::Edge| {
            Some((
                *node_indexes.get(edge.from.as_str())?,
                *node_indexes.get(edge.to.as_str())?,
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
            .and_then(|entry| node_indexes.get(entry.id.as_str()))
            .copied();
        closing_edges(&outs, first.into_iter(), |edge, _| {
            closes.insert(edge);
        });
        let mut predecessors = vec![Vec::new(); workflow.nodes.len()];
        for (at, edge) in workflow.edges.iter().enumerate() {
            let Some((from, to)) = ends(edge) else {
                continue;
            };
            let (one, other) = (&edge.from, &edge.to);
            let is_choice = matches!(workflow.nodes[from].action, Action::Choose { .. });
            if closes.contains(&at) {
                lost.add_change(format!(
                    "the edge back from `{one}` to `{other}`: a DAG has no loops"
                ));
            } else if edge.label != DEFAULT_LABEL && !is_choice {
                lost.add_change(format!(
                    "the edge from `{one}` to `{other}` with label {}",
                    edge.label
                ));
            } else {
                predecessors[to].push(from);
            }
        }
        Self {
            workflow,
            entry: entry.map(|entry| &entry.id),
            lost,
            node_indexes,
            predecessors,
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
                    self.lost.add_change(
                        "which output is the result: here it is all outputs, by task id",
                    );
                    continue;
                }
                Action::Choose { .. } => {
                    let id = &node.id;
                    self.lost
                        .add_change(format!("the switch `{id}`: here all of its branches run"));
                    continue;
                }
                Action::Wait(_) => {
                    self.lost.add_change(format!("the wait `{}`", node.id));
                    continue;
                }
                Action::Ask(form) => {
                    task.insert("tool", ask_form::tool().to_string().into());
                    let mut arguments = Map::new();
                    ask_form::write(form, &mut arguments, |part| Some(self.template(part)));
                    task.insert("arguments", arguments.into());
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
            let depends = self.dependencies(at);
            if node.join == Join::Any && depends.len() > 1 {
                let id = &node.id;
                self.lost.add_change(format!(
                    "that each edge enters `{id}` separately: here it waits for all"
                ));
            }
            if node.each.is_some() {
                let id = &node.id;
                self.lost
                    .add_change(format!("the fan-out of `{id}` over a list"));
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
            write_options(node, &mut task);
            tasks.push(task.into());
        }
        tasks
    }

    /// The dependencies of a task: its predecessors, looking through nodes that are not tasks.
    fn dependencies(&self, at: usize) -> Vec<Value> {
        let mut depends = Vec::new();
        let mut seen = HashSet::new();
        let mut work: Vec<usize> = self.predecessors[at].iter().rev().copied().collect();
        while let Some(from) = work.pop() {
            if !seen.insert(from) {
                continue;
            }
            let node = &self.workflow.nodes[from];
            let kind = node.action.kind();
            if kind.is_task {
                depends.push(Value::from(node.id.clone()));
            } else if !kind.is_end {
                work.extend(self.predecessors[from].iter().rev());
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
            // `{expr: …}` would itself be read as an expression.
            Template::Object(fields) if fields.iter().any(|(key, _)| key == "expr") => {
                let source = crate::pflow_ir::template_source(template);
                Value::object([("expr", source.into())])
            }
            Template::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, field)| (key.clone(), self.template(field)));
                Value::object(fields)
            }
            Template::Array(items) => Value::array(items.iter().map(|item| self.template(item))),
        }
    }

    /// Writes an expression as a reference if it then reads back unchanged.
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
                TextPart::Text(part) if part.contains(REFERENCE_START) => return spelt(),
                // The text must not be read as part of the preceding path.
                TextPart::Text(part) if text.ends_with(']') || !text.is_empty() => {
                    let whole = format!("{text}{part}");
                    if !stays_separate(&text, part) {
                        return spelt();
                    }
                    text = whole;
                }
                TextPart::Text(part) => text.push_str(part),
                TextPart::Reference(reference) => match self.reference_text(reference) {
                    Some(way) => text.push_str(&way),
                    None => return spelt(),
                },
            }
        }
        text.into()
    }

    fn reference(&self, reference: &OutputReference, source: &str) -> Option<Value> {
        let [ReferenceOperand::Path(path)] = reference.operands.as_slice() else {
            return None;
        };
        // Only the exact form produced by the reader reads back unchanged.
        let exact = OutputReference::certain(path.clone()).jsonata() == source;
        if exact
            && Some(&path.root) == self.entry
            && let [ReferenceStep::Key(name)] = path.steps.as_slice()
        {
            let parameter = [("type", "parameter".into()), ("name", name.clone().into())];
            return Some(Value::object(parameter));
        }
        self.reference_text(reference)
            .filter(|_| exact)
            .map(Value::from)
    }

    fn reference_text(&self, reference: &OutputReference) -> Option<String> {
        let [ReferenceOperand::Path(path)] = reference.operands.as_slice() else {
            return None;
        };
        let at = *self
            .node_indexes
            .get(path.root.as_str())
            .filter(|_| !path.is_variable)?;
        let is_task = self.workflow.nodes[at].action.kind().is_task;
        let plain = !path.root.contains([']', '"', '\'']) && path.root.trim() == path.root;
        let way = path_suffix(path)?;
        (is_task && plain).then(|| format!("{REFERENCE_START}{}]{way}", path.root))
    }
}

/// The steps of a path in reference syntax.
fn path_suffix(path: &ReferencePath) -> Option<String> {
    let mut way = String::new();
    for step in &path.steps {
        match step {
            ReferenceStep::Index(at) => way.push_str(&format!("[{at}]")),
            ReferenceStep::Key(key) => {
                let dotted = format!(".{key}");
                let (steps, length) = crate::reference::parse_steps(&dotted);
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

/// Whether text after a reference is not read as part of it.
fn stays_separate(before: &str, part: &str) -> bool {
    let Some(at) = before.rfind(REFERENCE_START) else {
        return true;
    };
    let Some(end) = before[at..].find(']') else {
        return true;
    };
    let way = &before[at + end + 1..];
    let length = crate::reference::parse_steps(way).1;
    let joined = format!("{way}{part}");
    length < way.len() || crate::reference::parse_steps(&joined).1 == length
}

/// Whether a literal would be read as something else.
fn is_special(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REFERENCE_START),
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
