//! Writes a workflow as an IR and lists what an IR cannot represent.

use super::node_types::{BUILTINS, IR_VERSION};
use super::nodes::{END, SWITCH, TRANSFORM};
use super::templates::{INDEX_NAME, REFERENCE_START};
use crate::ask_form;
use crate::reference::{
    OutputReference, ReferenceOperand, ReferencePath, ReferenceStep, TextPart, parse_steps,
    path_of, pieces_of, reference_of,
};
use crate::yaml_graph::write::{write_limits, write_options};
use crate::{ConvertedDocument, LossCollector};
use std::collections::HashSet;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;
use tramline_workflow::setting_references;
use tramline_workflow::workflow::{
    Action, DEFAULT_LABEL, Edge, FanOutSpec, ItemFailures, Join, Node, SwitchRule, Template,
    UnhandledFailure, WORKFLOW_SERVER as WORKFLOWS, Workflow,
};

/// Writes a workflow as an IR.
pub fn write(servers: &Value, workflow: &Workflow) -> ConvertedDocument {
    let mut lost = LossCollector::default();
    let root = ir_document(servers, workflow, &mut lost);
    lost.into_document(Value::from(root).to_json_pretty() + "\n")
}

/// The IR document of a workflow.
pub(crate) fn ir_document(servers: &Value, workflow: &Workflow, lost: &mut LossCollector) -> Map {
    let mut root = Map::new();
    root.insert("ir_version", IR_VERSION.into());
    root.insert("name", workflow.name.clone().into());
    for (key, text) in [
        ("title", &workflow.title),
        ("description", &workflow.description),
    ] {
        if let Some(text) = text {
            root.insert(key, text.clone().into());
        }
    }
    let mut inputs = workflow
        .input_schema
        .as_ref()
        .map_or_else(Map::new, |schema| inputs(schema, lost));
    if workflow.output_schema.is_some() {
        lost.add("the output schema");
    }
    lost.add_dag_defaults(workflow);
    match workflow.unhandled {
        UnhandledFailure::EndsRun => {}
        UnhandledFailure::SkipsDependents => {
            lost.add("that a failure skips only its dependents: here it ends the run");
        }
    }
    let is = |action: Action| move |node: &&Node| node.action == action;
    let entry = workflow
        .nodes
        .iter()
        .find(is(Action::Entry))
        .map(|node| &node.id);
    let limits = write_limits(&workflow.limits, lost);
    let exits = workflow.nodes.iter().filter(is(Action::Exit));
    let mut writer = IrWriter {
        workflow,
        entry,
        ids: workflow.nodes.iter().map(|node| node.id.as_str()).collect(),
        item: None,
        inputs: inputs.keys().cloned().collect(),
        used_inputs: Vec::new(),
        exits: exits.map(|node| node.id.as_str()).collect(),
        writes_exits: false,
        lost,
    };
    writer.writes_exits = writer.must_write_exits();
    let nodes: Vec<_> = workflow
        .nodes
        .iter()
        .filter_map(|node| writer.node(node))
        .collect();
    let (edges, start) = (writer.edges(), writer.start());
    for name in writer.used_inputs {
        // An input that the schema does not mention is optional.
        if !inputs.contains_key(&name) {
            inputs.insert(name, Value::object([("required", false.into())]));
        }
    }
    if !inputs.is_empty() {
        root.insert("inputs", inputs.into());
    }
    if let Some(limits) = limits {
        root.insert("executionLimits", limits);
    }
    if servers.as_object().is_some_and(|map| !map.is_empty()) {
        root.insert("mcpServers", servers.clone());
    }
    root.insert("nodes", nodes.into());
    root.insert("edges", edges.into());
    if let Some(start) = start {
        root.insert("start_node", start.into());
    }
    root
}

/// The inputs described by a schema.
fn inputs(schema: &Value, lost: &mut LossCollector) -> Map {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let mut inputs = Map::new();
    for (name, of) in properties.into_iter().flat_map(Map::iter) {
        let mut input = Map::new();
        for (key, value) in of.as_object().into_iter().flat_map(Map::iter) {
            match key.as_str() {
                "type" if value.as_str().is_some() => input.insert(key.clone(), value.clone()),
                "description" | "default" => input.insert(key.clone(), value.clone()),
                _ => {
                    lost.add(format!("`{key}` of the input `{name}`"));
                    None
                }
            };
        }
        if of.get("default").is_none() {
            let needed = required.iter().any(|key| key.as_str() == Some(name));
            input.insert("required", needed.into());
        }
        inputs.insert(name.clone(), input.into());
    }
    inputs
}

struct IrWriter<'a> {
    workflow: &'a Workflow,
    entry: Option<&'a Str>,
    ids: HashSet<&'a str>,
    /// The item name of the node that is being written.
    item: Option<Str>,
    /// The declared inputs.
    inputs: HashSet<Str>,
    used_inputs: Vec<Str>,
    exits: HashSet<&'a str>,
    /// Whether exit nodes are written; not needed if every exit is only a default successor.
    writes_exits: bool,
    lost: &'a mut LossCollector,
}

impl IrWriter<'_> {
    /// Whether an edge to an exit has a label of its own or exists beside another edge.
    fn must_write_exits(&self) -> bool {
        let is_exit = |id: &Str| self.exits.contains(id.as_str());
        let edges = || self.workflow.edges.iter();
        let plain = |edge: &&Edge| edge.label == DEFAULT_LABEL;
        let on: HashSet<&str> = edges()
            .filter(plain)
            .filter(|edge| !is_exit(&edge.to))
            .map(|edge| edge.from.as_str())
            .collect();
        edges().filter(|edge| is_exit(&edge.to)).any(|edge| {
            let from = edge.from.as_str();
            !plain(&edge) || on.contains(from) || Some(&edge.from) == self.entry
        })
    }

    /// Writes the `batch` of a node.
    fn batch(&mut self, node: &Node, each: &FanOutSpec) -> Option<Value> {
        let items = self.template(node, &each.items)?;
        let handling = match each.failures {
            ItemFailures::Stop => "fail_fast",
            ItemFailures::Keep => "continue",
        };
        Some(Value::object([
            ("items", items),
            ("as", each.name.clone().into()),
            ("parallel", (each.width > 1).into()),
            ("max_concurrent", each.width.into()),
            ("error_handling", handling.into()),
        ]))
    }

    fn node(&mut self, node: &Node) -> Option<Value> {
        let batch = node.each.as_ref().and_then(|each| self.batch(node, each));
        self.item = node.each.as_ref().map(|each| each.name.clone());
        let (kind, params) = match &node.action {
            Action::Exit if self.writes_exits => (END.to_owned(), Value::Null),
            Action::Entry | Action::Exit => return None,
            Action::Call { tool, arguments } => (type_of(tool), self.params(node, tool, arguments)),
            Action::Wait(_) => {
                self.lost.add_change(format!("the wait `{}`", node.id));
                let params = Value::object([("expr", "$previousNode()".into())]);
                (TRANSFORM.to_owned(), params)
            }
            Action::Ask(form) => {
                let mut params = Map::new();
                ask_form::write(form, &mut params, |part| self.template(node, part));
                (ask_form::ASK.to_owned(), params.into())
            }
            Action::Compute { expression } => {
                let params = Value::object([("expr", expression.clone().into())]);
                (TRANSFORM.to_owned(), params)
            }
            Action::Choose { rules, otherwise } => {
                let rule = |SwitchRule { rule, label }: &SwitchRule| {
                    Value::object([("rule", rule.clone()), ("action", label.clone().into())])
                };
                let mut params = vec![("rules", Value::array(rules.iter().map(rule)))];
                params.extend(otherwise.clone().map(|label| ("otherwise", label.into())));
                (SWITCH.to_owned(), Value::object(params))
            }
        };
        let mut map = Map::new();
        map.insert("id", node.id.clone().into());
        map.insert("type", kind.into());
        if let Some(purpose) = &node.purpose {
            map.insert("purpose", purpose.clone().into());
        }
        if params.as_object().is_some_and(|params| !params.is_empty()) {
            map.insert("params", params);
        }
        if let Some(batch) = batch {
            map.insert("batch", batch);
        }
        if node.join == Join::All {
            map.insert("join", "all".into());
        }
        if let Some(reason) = &node.approval {
            map.insert("approval", reason.clone().into());
        }
        write_options(node, &mut map);
        Some(map.into())
    }

    fn params(&mut self, node: &Node, tool: &ToolName, arguments: &Template) -> Value {
        let params = match arguments {
            Template::Expr(source) => {
                self.add_expression_loss(node, source);
                Value::object::<Str>([])
            }
            Template::Literal(_) | Template::Object(_) | Template::Array(_) => {
                self.template(node, arguments).unwrap_or_default()
            }
        };
        if tool.server == WORKFLOWS {
            let name = ("workflow_name", Value::from(tool.tool.clone()));
            return Value::object([name, ("inputs", params)]);
        }
        params
    }

    fn add_expression_loss(&mut self, node: &Node, source: &str) {
        let id = &node.id;
        self.lost.add_change(format!(
            "the expression `{source}` in the arguments of `{id}`"
        ));
    }

    fn template(&mut self, node: &Node, template: &Template) -> Option<Value> {
        match template {
            Template::Literal(value) => Some(escape_literal(value)),
            Template::Expr(source) => {
                let text = self.expression(source);
                if text.is_none() {
                    self.add_expression_loss(node, source);
                }
                text.map(Value::from)
            }
            Template::Object(fields) => {
                let mut map = Map::new();
                for (key, field) in fields {
                    if let Some(value) = self.template(node, field) {
                        map.insert(key.clone(), value);
                    }
                }
                Some(map.into())
            }
            Template::Array(items) => {
                let items = items.iter().filter_map(|item| self.template(node, item));
                Some(Value::array(items.collect::<Vec<_>>()))
            }
        }
    }

    /// An expression as a string with `${…}`, if it has such a form.
    fn expression(&mut self, source: &str) -> Option<String> {
        // A path may be written with or without the root.
        let plain = source.strip_prefix("$.").unwrap_or(source);
        if let Some(path) = path_of(plain) {
            return self
                .path(&path)
                .map(|path| format!("{REFERENCE_START}{path}}}"));
        }
        if let Some(reference) = reference_of(plain) {
            return self.reference(&reference);
        }
        let mut text = String::new();
        for piece in pieces_of(plain)? {
            match piece {
                TextPart::Text(part) => text.push_str(&escape_text(&part)),
                TextPart::Reference(reference) => {
                    // A preceding `$` would escape the reference.
                    if text.ends_with('$') {
                        return None;
                    }
                    text.push_str(&self.reference(&reference)?);
                }
            }
        }
        Some(text)
    }

    fn reference(&mut self, reference: &OutputReference) -> Option<String> {
        let mut parts = Vec::new();
        for operand in &reference.operands {
            parts.push(match operand {
                ReferenceOperand::Literal(value) => {
                    let json = value.to_json();
                    // A literal that would end the reference early cannot be written.
                    (!json.contains("??") && !json.contains('{')).then_some(json)?
                }
                ReferenceOperand::Path(path) => self.path(path)?,
                ReferenceOperand::Source(_) => return None,
            });
        }
        Some(format!("{REFERENCE_START}{}}}", parts.join(" ?? ")))
    }

    fn path(&mut self, path: &ReferencePath) -> Option<String> {
        let mut steps = path.steps.as_slice();
        let mut root = &path.root;
        let index = Str::from(INDEX_NAME);
        if path.is_variable {
            match &self.item {
                Some(_) if root == "index" => root = &index,
                Some(item) if root == item && !self.ids.contains(item.as_str()) => {}
                Some(_) | None => return None,
            }
        } else if Some(root) == self.entry {
            let Some((ReferenceStep::Key(name), rest)) = steps.split_first() else {
                return None;
            };
            (root, steps) = (name, rest);
            // A node takes precedence unless the input is declared.
            if self.ids.contains(root.as_str()) && !self.inputs.contains(root) {
                return None;
            }
            self.used_inputs.push(root.clone());
        } else if !self.ids.contains(root.as_str()) || self.inputs.contains(root) {
            // An input with that name would take precedence.
            return None;
        }
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if root.is_empty() || !root.chars().all(plain) {
            return None;
        }
        let mut text = root.to_string();
        for step in steps {
            match step {
                ReferenceStep::Index(at) => text.push_str(&format!("[{at}]")),
                ReferenceStep::Key(key) if is_plain_step(key) => text.push_str(&format!(".{key}")),
                ReferenceStep::Key(key) if !key.contains(['"', ']', '}', '?', '\\']) => {
                    text.push_str(&format!("[\"{key}\"]"));
                }
                ReferenceStep::Key(_) => return None,
            }
        }
        Some(text)
    }

    fn edges(&self) -> Vec<Value> {
        let mut edges = Vec::new();
        for edge in &self.workflow.edges {
            if Some(&edge.from) == self.entry {
                continue;
            }
            if !self.writes_exits && self.exits.contains(edge.to.as_str()) {
                continue;
            }
            let mut map = vec![
                ("from", Value::from(edge.from.clone())),
                ("to", edge.to.clone().into()),
            ];
            if edge.label != DEFAULT_LABEL {
                map.push(("action", edge.label.clone().into()));
            }
            edges.push(Value::object(map));
        }
        edges
    }

    /// The start node of the run.
    fn start(&mut self) -> Option<Str> {
        let led: HashSet<&str> = self
            .workflow
            .edges
            .iter()
            .map(|edge| edge.to.as_str())
            .collect();
        let starts: Vec<&Str> = match self.entry {
            Some(entry) => {
                let edges = self.workflow.edges.iter();
                edges
                    .filter(|edge| edge.from == *entry)
                    .map(|edge| &edge.to)
                    .collect()
            }
            None => {
                let nodes = self.workflow.nodes.iter();
                nodes
                    .map(|node| &node.id)
                    .filter(|id| !led.contains(id.as_str()))
                    .collect()
            }
        };
        for other in starts.iter().skip(1) {
            self.lost.add_change(format!(
                "that `{other}` also starts the run: an IR has one start node"
            ));
        }
        starts.first().map(|start| (*start).clone())
    }
}

fn is_plain_step(key: &str) -> bool {
    let dotted = format!(".{key}");
    let (steps, length) = parse_steps(&dotted);
    steps.len() == 1 && length == dotted.len()
}

/// The node type for a tool.
fn type_of(tool: &ToolName) -> String {
    if tool.server == WORKFLOWS {
        WORKFLOWS.to_owned()
    } else if tool.server == BUILTIN && BUILTINS.contains(&tool.tool.as_str()) {
        tool.tool.to_string()
    } else {
        tool.to_string()
    }
}

/// Escapes `${` in a text, except in references to settings, which IRs support too.
fn escape_text(text: &str) -> String {
    let mut written = String::new();
    let mut done = 0;
    for (at, _) in setting_references::references(text) {
        written.push_str(&text[done..at.start].replace(REFERENCE_START, "$${"));
        written.push_str(&text[at.clone()]);
        done = at.end;
    }
    written.push_str(&text[done..].replace(REFERENCE_START, "$${"));
    written
}

/// A literal with `${` escaped in all of its strings.
fn escape_literal(value: &Value) -> Value {
    match value {
        Value::String(text) => escape_text(text).into(),
        Value::Array(items) => Value::array(items.iter().map(escape_literal)),
        Value::Object(map) => Value::object(
            map.iter()
                .map(|(key, value)| (key.clone(), escape_literal(value))),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
