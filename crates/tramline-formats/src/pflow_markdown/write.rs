//! Writes a workflow as markdown and lists what it cannot represent.
//!
//! The content is that of the IR, with edges written in the steps.

use super::ir_assembler::STEP_FIELDS;
use crate::{ConvertedDocument, LossCollector, ask_form, pflow_ir};
use std::collections::HashSet;
use tramline_expr::{Map, Str, Value};
use tramline_syntax::document::is_unquoted_string;
use tramline_syntax::yaml_text;
use tramline_workflow::form::{CANCEL_LABEL, DECLINE_LABEL, TIMEOUT_LABEL};
use tramline_workflow::workflow::{DEFAULT_LABEL, ERROR_LABEL, Workflow};

/// Longest list or object written on one line, in characters.
const FLOW_CHARS_MAX: usize = 70;
/// The target that ends a run.
const END: &str = "end";

/// Writes a workflow as markdown.
pub fn write(servers: &Value, workflow: &Workflow) -> ConvertedDocument {
    let mut lost = LossCollector::default();
    let root = pflow_ir::written(servers, workflow, &mut lost);
    let text = MarkdownWriter::new(&root, &mut lost).document(workflow);
    lost.into_document(text)
}

/// A step in markdown, from its IR node.
pub(super) fn step_text(node: &Value) -> String {
    let (root, mut lost) = (Map::new(), LossCollector::default());
    let mut writer = MarkdownWriter::new(&root, &mut lost);
    writer.heading(3, text_of(node, "id"));
    writer.prose(text_of(node, "purpose"));
    writer.out.push('\n');
    let params = node.get("params").and_then(Value::as_object);
    let own = node.as_object().into_iter().flat_map(Map::iter);
    let own = own.filter(|(key, _)| !matches!(key.as_str(), "id" | "purpose" | "params"));
    let all = own.chain(params.into_iter().flat_map(Map::iter));
    let (short, long): (Vec<_>, Vec<_>) = all.partition(|(_, value)| is_short(value));
    short
        .into_iter()
        .for_each(|(key, value)| writer.parameter(key, value));
    long.into_iter()
        .for_each(|(key, value)| writer.block(key, value));
    writer.out
}

/// A parameter as a line.
pub(super) fn parameter_line(key: &str, value: &Value) -> String {
    let (root, mut lost) = (Map::new(), LossCollector::default());
    let mut writer = MarkdownWriter::new(&root, &mut lost);
    writer.parameter(key, value);
    writer.out
}

/// An edge between two steps.
struct StepEdge<'a> {
    from: &'a str,
    to: &'a str,
    label: &'a str,
}

struct MarkdownWriter<'a> {
    root: &'a Map,
    /// The steps in the order they are written; the first one is the start.
    steps: Vec<&'a Value>,
    edges: Vec<StepEdge<'a>>,
    /// The nodes that only end the run.
    exit_nodes: HashSet<&'a str>,
    /// The steps reached only through branches.
    branches: HashSet<&'a str>,
    lost: &'a mut LossCollector,
    out: String,
}

fn items<'a>(root: &'a Map, key: &str) -> &'a [Value] {
    root.get(key).and_then(Value::as_array).unwrap_or_default()
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl<'a> MarkdownWriter<'a> {
    fn new(root: &'a Map, lost: &'a mut LossCollector) -> Self {
        let way = |edge: &'a Value| StepEdge {
            from: text_of(edge, "from"),
            to: text_of(edge, "to"),
            label: edge
                .get("action")
                .and_then(Value::as_str)
                .unwrap_or(DEFAULT_LABEL),
        };
        let nodes = items(root, "nodes");
        let is_end = |node: &&Value| text_of(node, "type") == END;
        let exit_nodes: HashSet<_> = nodes
            .iter()
            .filter(is_end)
            .map(|node| text_of(node, "id"))
            .collect();
        let mut steps: Vec<_> = nodes.iter().filter(|node| !is_end(node)).collect();
        let start = root.get("start_node").and_then(Value::as_str);
        if let Some(at) = steps
            .iter()
            .position(|node| Some(text_of(node, "id")) == start)
        {
            let first = steps.remove(at);
            steps.insert(0, first);
        }
        let edges: Vec<_> = items(root, "edges").iter().map(way).collect();
        let named = |way: &&StepEdge<'a>| way.label != DEFAULT_LABEL;
        let branches = edges.iter().filter(named).map(|way| way.to).collect();
        Self {
            root,
            steps,
            edges,
            exit_nodes,
            branches,
            lost,
            out: String::new(),
        }
    }

    fn document(mut self, workflow: &Workflow) -> String {
        let front = ["name", "mcpServers", "executionLimits"].into_iter();
        let front = front.filter_map(|key| Some((key, self.root.get(key)?.clone())));
        let front: Map = front.collect();
        self.out = format!("---\n{}---\n", yaml_text::document(&front));
        let title = workflow.title.as_ref().unwrap_or(&workflow.name);
        let title: Vec<_> = title.split_whitespace().collect();
        self.out.push_str(&format!("\n# {}\n", title.join(" ")));
        if let Some(description) = &workflow.description {
            self.prose(description);
        }
        let inputs = self.root.get("inputs").and_then(Value::as_object);
        if let Some(inputs) = inputs {
            self.heading(2, "Inputs");
            for (name, input) in inputs.iter() {
                self.heading(3, name);
                self.prose(text_of(input, "description"));
                self.out.push('\n');
                for (key, value) in input.as_object().into_iter().flat_map(Map::iter) {
                    if key != "description" {
                        self.parameter(key, value);
                    }
                }
            }
        }
        self.heading(2, "Steps");
        for at in 0..self.steps.len() {
            self.step(at);
        }
        self.out
    }

    fn heading(&mut self, level: usize, name: &str) {
        if name.contains(char::is_whitespace) {
            self.lost.add(format!("the name `{name}`"));
        }
        let name: String = name.split_whitespace().collect::<Vec<_>>().join("-");
        self.out
            .push_str(&format!("\n{} {name}\n", "#".repeat(level)));
    }

    /// Writes prose and escapes lines that would be read as markup.
    fn prose(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.out.push('\n');
        for line in text.trim().lines() {
            let bare = line.trim_start();
            if let Some(rest) = bare.strip_prefix("- ") {
                self.out.push_str("* ");
                self.out.push_str(rest);
            } else if bare.starts_with(['#', '`', '~']) {
                self.out.push('\\');
                self.out.push_str(bare);
            } else {
                self.out.push_str(line.trim_end());
            }
            self.out.push('\n');
        }
    }

    fn step(&mut self, at: usize) {
        let node = self.steps[at];
        let id = text_of(node, "id");
        self.heading(3, id);
        self.prose(text_of(node, "purpose"));
        self.out.push('\n');
        let kind = text_of(node, "type");
        self.parameter("type", &kind.into());
        let params = node.get("params").and_then(Value::as_object);
        let mut later = Vec::new();
        for (key, value) in params.into_iter().flat_map(Map::iter) {
            match (kind, key.as_str()) {
                ("workflow", "workflow_name") => self.parameter("workflow", value),
                ("workflow", _) => later.push((key.as_str(), value.clone())),
                ("switch", "rules") => later.push(("rules", self.rules(id, value))),
                ("switch", "otherwise") => {}
                (_, key) if STEP_FIELDS.contains(&key) => {
                    self.lost
                        .add_change(format!("the argument `{key}` of `{id}`"));
                }
                (_, key) => later.push((key, value.clone())),
            }
        }
        for (key, value) in node.as_object().into_iter().flat_map(Map::iter) {
            match key.as_str() {
                "id" | "type" | "purpose" | "params" | "batch" => {}
                "timeout" => self.parameter(key, &format!("{value}ms").into()),
                _ => self.parameter(key, value),
            }
        }
        self.write_edges(at, id, kind == "switch");
        later.extend(node.get("batch").map(|batch| ("batch", batch.clone())));
        let (short, long): (Vec<_>, Vec<_>) =
            later.into_iter().partition(|(_, value)| is_short(value));
        for (key, value) in &short {
            self.parameter(key, value);
        }
        for (key, value) in &long {
            self.block(key, value);
        }
    }

    /// The rules of a switch, whose actions are step names.
    fn rules(&mut self, id: &str, rules: &Value) -> Value {
        let rules = rules.as_array().unwrap_or_default().iter().map(|rule| {
            let label = text_of(rule, "action");
            let to = self.target(id, label);
            if to != label {
                self.lost.add(format!(
                    "the output `{label}` of `{id}`: here it is the name of the target step, `{to}`"
                ));
            }
            let condition = rule.get("rule").cloned().unwrap_or_default();
            Value::object([("rule", condition), ("action", to.into())])
        });
        Value::array(rules.collect::<Vec<_>>())
    }

    /// The step that a label leads to.
    fn target(&self, id: &str, label: &str) -> Str {
        let mut ways = self
            .edges
            .iter()
            .filter(|way| way.from == id && way.label == label);
        match ways.next() {
            Some(way) if self.exit_nodes.contains(way.to) => END.into(),
            Some(way) => way.to.into(),
            None => END.into(),
        }
    }

    fn write_edges(&mut self, at: usize, id: &'a str, chooses: bool) {
        let after = self.steps.get(at + 1).map(|node| text_of(node, "id"));
        let label = match chooses {
            false => DEFAULT_LABEL.into(),
            true => match self.steps[at]
                .get("params")
                .and_then(|params| params.get("otherwise"))
            {
                Some(Value::String(label)) => label.clone(),
                _ => {
                    self.lost.add(format!(
                        "that `{id}` fails if no rule matches: here it ends the run"
                    ));
                    Str::default()
                }
            },
        };
        for label in [label.as_str(), ERROR_LABEL] {
            let same = |way: &&StepEdge<'a>| way.from == id && way.label == label;
            let others: Vec<_> = self
                .edges
                .iter()
                .filter(same)
                .skip(1)
                .map(|way| way.to)
                .collect();
            for other in others {
                self.lost
                    .add(format!("the additional edge from `{id}` to `{other}`"));
            }
        }
        let next = self.target(id, &label);
        let falls = Some(next.as_str()) == after || (next == END && after.is_none());
        let special =
            self.branches.contains(id) || after.is_some_and(|to| self.branches.contains(to));
        if !falls || special || chooses {
            self.parameter("next", &next.into());
        }
        if self
            .edges
            .iter()
            .any(|way| way.from == id && way.label == ERROR_LABEL)
        {
            let to = self.target(id, ERROR_LABEL);
            self.parameter("on-error", &to.into());
        }
        let kind = self.steps[at].get("type").and_then(Value::as_str);
        for label in [DECLINE_LABEL, CANCEL_LABEL, TIMEOUT_LABEL] {
            let has = self
                .edges
                .iter()
                .any(|way| way.from == id && way.label == label);
            if let Some(field) = ask_form::edge_field(label)
                && kind == Some(ask_form::ASK)
                && has
            {
                let to = self.target(id, label);
                self.parameter(field, &to.into());
            }
        }
    }

    fn parameter(&mut self, key: &str, value: &Value) {
        let value = match value {
            Value::String(text) if is_bare(text) => text.to_string(),
            other => other.to_json(),
        };
        let line = match is_name(key) {
            true => format!("- {key}: {value}\n"),
            // With the value below the key, it is read as YAML, which supports quoted keys.
            false => format!("- {}:\n    {value}\n", Value::from(key).to_json()),
        };
        self.out.push_str(&line);
    }

    /// Writes a value of several lines as a fenced block.
    fn block(&mut self, key: &str, value: &Value) {
        let Some(text) = value.as_str() else {
            if !is_name(key) {
                return self.parameter(key, value);
            }
            let content = match value {
                Value::Object(map) => yaml_text::document(map),
                other => other.to_json() + "\n",
            };
            return self.fenced(&format!("yaml {key}"), content.trim_end());
        };
        let tag = match key {
            "expr" => "jsonata expr".to_owned(),
            "command" => "shell command".to_owned(),
            "prompt" => key.to_owned(),
            other => format!("text {other}"),
        };
        match is_name(key) && !text.ends_with('\n') && !text.contains('\r') {
            true => self.fenced(&tag, text),
            false => self.parameter(key, value),
        }
    }

    fn fenced(&mut self, tag: &str, content: &str) {
        let mut fence = "```".to_owned();
        while content.contains(&fence) {
            fence.push('`');
        }
        self.out
            .push_str(&format!("\n{fence}{tag}\n{content}\n{fence}\n"));
    }
}

/// Whether a key needs no quotes.
fn is_name(key: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !key.is_empty() && key.chars().all(plain)
}

/// Whether a string needs no quotes after its key.
fn is_bare(text: &str) -> bool {
    let begins = ['"', '\'', '[', '{', '|', '>'];
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with(begins)
        && !text.contains(" #")
        && !text.contains(char::is_control)
        && is_unquoted_string(text)
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains('\n'),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::Array(_) | Value::Object(_) => value.to_json().chars().count() <= FLOW_CHARS_MAX,
    }
}
