//! Writes workflows as a YAML graph and lists what it cannot represent.

use super::nodes::NodeType;
use super::{ServerInfo, limits};
use crate::ask_form;
use crate::{ConvertedDocument, LossCollector};
use std::collections::HashMap;
use tramline_expr::{Map, Str, Value};
use tramline_syntax::yaml_text;
use tramline_workflow::setting_references;
use tramline_workflow::workflow::{
    Action, DEFAULT_LABEL, ERROR_LABEL, Edge, FanOutSpec, ItemFailures, Join, Node, RetryPolicy,
    SwitchRule, Template, WORKFLOW_SERVER, WaitTime, Workflow, WorkflowLimits,
};

mod entry_exit;

/// Writes workflows as the tools of one document.
pub fn write(server: &ServerInfo, servers: &Value, workflows: &[&Workflow]) -> ConvertedDocument {
    let mut lost = LossCollector::default();
    let mut root = Map::new();
    root.insert("version", "1.0".into());
    let mut about = vec![
        ("name", Value::from(server.name.clone())),
        ("version", server.version.clone().into()),
    ];
    if server.title != server.name && !server.title.is_empty() {
        about.push(("title", server.title.clone().into()));
    }
    if let Some(instructions) = &server.instructions {
        about.push(("instructions", instructions.clone().into()));
    }
    root.insert("server", Value::object(about));
    if servers.as_object().is_some_and(|map| !map.is_empty()) {
        root.insert("mcpServers", servers.clone());
    }
    let tools = workflows
        .iter()
        .map(|workflow| write_tool(workflow, &mut lost));
    root.insert("tools", Value::array(tools.collect::<Vec<_>>()));
    lost.into_document(yaml_text::document(&root))
}

fn write_tool(workflow: &Workflow, lost: &mut LossCollector) -> Value {
    let whole = entry_exit::with_entry_and_exit(workflow, lost);
    let workflow = whole.as_ref().unwrap_or(workflow);
    let mut tool = Map::new();
    tool.insert("name", workflow.name.clone().into());
    if let Some(title) = &workflow.title {
        tool.insert("title", title.clone().into());
    }
    let description = workflow.description.clone();
    let description = description.filter(|text| !text.trim().is_empty());
    let description = description.unwrap_or_else(|| format!("Runs {}.", workflow.name).into());
    tool.insert("description", description.into());
    let any = || Value::object([("type", "object".into())]);
    tool.insert(
        "inputSchema",
        workflow.input_schema.clone().unwrap_or_else(any),
    );
    if let Some(schema) = &workflow.output_schema {
        tool.insert("outputSchema", schema.clone());
    }
    if let Some(bounds) = write_limits(&workflow.limits, lost) {
        tool.insert("executionLimits", bounds);
    }
    let mut outs: HashMap<&str, Vec<&Edge>> = HashMap::new();
    for edge in &workflow.edges {
        outs.entry(&edge.from).or_default().push(edge);
    }
    let nodes = workflow.nodes.iter().map(|node| {
        let edges = outs.remove(node.id.as_str()).unwrap_or_default();
        write_node(node, &edges, lost)
    });
    tool.insert("nodes", Value::array(nodes.collect::<Vec<_>>()));
    tool.into()
}

/// The limits that differ from the defaults.
pub(crate) fn write_limits(limits: &WorkflowLimits, lost: &mut LossCollector) -> Option<Value> {
    let usual = WorkflowLimits::default();
    if limits.bytes_max != usual.bytes_max {
        lost.add("the size limit of the journal");
    }
    let given = [
        (limits.steps_max, usual.steps_max),
        (limits.active_ms_max, usual.active_ms_max),
        (limits.calls_max, usual.calls_max),
    ];
    let steps = given[0].0 != given[0].1;
    let named = limits::LIMIT_FIELDS.into_iter().zip(given).enumerate();
    // The default limit on calls depends on the steps, so it is written with them.
    let written = named.filter(|(at, (_, (is, usual)))| is != usual || (*at == 2 && steps));
    let written: Vec<_> = written
        .map(|(_, (name, (is, _)))| (name, Value::from(is)))
        .collect();
    (!written.is_empty()).then(|| Value::object(written))
}

fn write_node(node: &Node, edges: &[&Edge], lost: &mut LossCollector) -> Value {
    let mut map = Map::new();
    map.insert("id", node.id.clone().into());
    let kind = match &node.action {
        Action::Entry => NodeType::Entry,
        Action::Call { tool, .. } if tool.server == WORKFLOW_SERVER => NodeType::Workflow,
        Action::Call { .. } => NodeType::Mcp,
        Action::Wait(_) => NodeType::Wait,
        Action::Ask(_) => NodeType::Ask,
        Action::Compute { .. } => NodeType::Transform,
        Action::Choose { .. } => NodeType::Switch,
        Action::Exit => NodeType::Exit,
    };
    map.insert("type", kind.name().into());
    if let Some(purpose) = &node.purpose {
        map.insert("description", purpose.clone().into());
    }
    if node.join == Join::All {
        map.insert("join", "all".into());
    }
    if kind == NodeType::Workflow
        && let Action::Call { tool, .. } = &node.action
    {
        map.insert("workflow", tool.tool.clone().into());
    } else if let Action::Call { tool, .. } = &node.action {
        map.insert("server", tool.server.clone().into());
        map.insert("tool", tool.tool.clone().into());
    }
    match &node.approval {
        Some(reason) if kind.has_attempts() => {
            map.insert("approval", reason.clone().into());
        }
        Some(_) => lost.add(format!("the approval of `{}`", node.id)),
        None => {}
    }
    write_action(node, edges, &mut map, lost);
    if kind.has_attempts() {
        write_options(node, &mut map);
    }
    write_edges(node, edges, &mut map, lost);
    map.into()
}

fn write_action(node: &Node, edges: &[&Edge], map: &mut Map, lost: &mut LossCollector) {
    match &node.action {
        Action::Entry | Action::Exit => {}
        Action::Call { arguments, .. } => {
            if let Some(each) = &node.each {
                map.insert("map", write_fan_out(each));
            }
            let none = Template::Literal(Value::object::<Str>([]));
            if *arguments != none {
                map.insert("args", call_arguments(arguments));
            }
        }
        Action::Wait(time) => {
            let (key, template) = match time {
                WaitTime::For(template) => ("for", template),
                WaitTime::Until(template) => ("until", template),
            };
            map.insert(key, arguments(template, false));
        }
        Action::Ask(form) => ask_form::write(form, map, |part| Some(arguments(part, false))),
        Action::Compute { expression } => {
            let expr = [("expr", expression.clone().into())];
            map.insert("transform", Value::object(expr));
        }
        Action::Choose { rules, otherwise } => {
            let target =
                |label: &Str, lost: &mut LossCollector| switch_target(node, label, edges, lost);
            let mut conditions = Vec::new();
            for SwitchRule { rule, label } in rules {
                let to = target(label, lost);
                let pair = [("rule", rule.clone()), ("next", to.into())];
                conditions.push(Value::object(pair));
            }
            map.insert("conditions", conditions.into());
            if let Some(label) = otherwise {
                map.insert("next", target(label, lost).into());
            }
        }
    }
}

/// Writes the fan-out of a call.
fn write_fan_out(each: &FanOutSpec) -> Value {
    let failures = match each.failures {
        ItemFailures::Stop => "stop",
        ItemFailures::Keep => "keep",
    };
    Value::object([
        ("over", arguments(&each.items, false)),
        ("as", each.name.clone().into()),
        ("width", each.width.into()),
        ("on-failure", failures.into()),
    ])
}

/// The node that a switch reaches by a label.
fn switch_target(node: &Node, label: &Str, edges: &[&Edge], lost: &mut LossCollector) -> Str {
    let mut there = edges.iter().filter(|edge| edge.label == *label);
    let Some(first) = there.next() else {
        return label.clone();
    };
    if let Some(other) = there.find(|edge| edge.to != first.to) {
        lost.add_change(format!(
            "the additional edge from `{}` with label {label}, to `{}`",
            node.id, other.to
        ));
    }
    if first.to != *label {
        lost.add(format!(
            "the output `{label}` of `{}`: here it is the id of the target node, `{}`",
            node.id, first.to
        ));
    }
    first.to.clone()
}

/// Writes the execution options: timeout, retry, idempotency.
pub(crate) fn write_options(node: &Node, map: &mut Map) {
    if let Some(ms) = node.timeout_ms {
        map.insert("timeout", ms.into());
    }
    if let Some(RetryPolicy {
        max,
        wait_ms,
        backoff,
    }) = node.retry
    {
        let backoff = if backoff.fract() == 0.0 && backoff.abs() < 1e9 {
            Value::from(backoff as i64)
        } else {
            backoff.into()
        };
        let retry = [
            ("max", max.into()),
            ("wait_ms", wait_ms.into()),
            ("backoff", backoff),
        ];
        map.insert("retry", Value::object(retry));
    }
    if let (Some(repeatable), Action::Call { tool, .. }) = (node.repeatable, &node.action)
        && tool.server != WORKFLOW_SERVER
    {
        map.insert("idempotent", repeatable.into());
    }
}

/// Writes the edges of a node, except the branches of a switch.
fn write_edges(node: &Node, edges: &[&Edge], map: &mut Map, lost: &mut LossCollector) {
    let chosen = |label: &Str| {
        let labels = node.action.choice_labels();
        labels.is_some_and(|mut labels| labels.any(|picked| picked == label))
    };
    let is_choice = matches!(node.action, Action::Choose { .. });
    let mut next = Vec::new();
    let mut on_error: Option<&Str> = None;
    let is_ask = matches!(node.action, Action::Ask(_));
    for edge in edges.iter().filter(|edge| !chosen(&edge.label)) {
        if let Some(field) = ask_form::edge_field(&edge.label).filter(|_| is_ask)
            && !map.contains_key(field)
        {
            map.insert(field, edge.to.clone().into());
            continue;
        }
        if edge.label == ERROR_LABEL && on_error.is_none() {
            on_error = Some(&edge.to);
        } else if edge.label == DEFAULT_LABEL && !is_choice {
            next.push(Value::from(edge.to.clone()));
        } else {
            lost.add_change(format!(
                "the edge from `{}` to `{}` with label {}",
                edge.from, edge.to, edge.label
            ));
        }
    }
    if let Some(to) = on_error {
        map.insert("on-error", to.clone().into());
    }
    match next.len() {
        0 => {}
        1 => {
            map.insert("next", next.remove(0));
        }
        _ => {
            map.insert("next", next.into());
        }
    }
}

/// The arguments of a call, which must be an object or an expression.
fn call_arguments(template: &Template) -> Value {
    match template {
        Template::Literal(value) if value.as_object().is_none() => {
            expression_value(&value.to_json())
        }
        Template::Array(_) | Template::Literal(_) | Template::Expr(_) | Template::Object(_) => {
            arguments(template, false)
        }
    }
}

fn expression_value(source: &str) -> Value {
    Value::object([("expr", source.into())])
}

/// Writes a template. With `spelt`, an expression is never written as a bare string.
fn arguments(template: &Template, spelt: bool) -> Value {
    match template {
        Template::Literal(value) => literal_value(value),
        Template::Expr(source) if source.starts_with('$') && !spelt => source.clone().into(),
        Template::Expr(source) => expression_value(source),
        // `{expr: …}` would itself be read as an expression.
        Template::Object(fields) if fields.iter().any(|(key, _)| key == "expr") => {
            expression_value(&crate::pflow_ir::template_source(template))
        }
        Template::Object(fields) => {
            let alone = |key: &str| fields.len() == 1 && matches!(key, "expr" | "value");
            let fields = fields
                .iter()
                .map(|(key, field)| (key.clone(), arguments(field, alone(key))));
            Value::object(fields)
        }
        Template::Array(items) => Value::array(items.iter().map(|item| arguments(item, false))),
    }
}

/// Writes a literal and escapes what would be read as an expression.
fn literal_value(value: &Value) -> Value {
    match value {
        Value::String(text)
            if text.starts_with('$') && !setting_references::starts_with_reference(text) =>
        {
            Value::object([("value", value.clone())])
        }
        Value::Array(items) => Value::array(items.iter().map(literal_value)),
        Value::Object(map) => {
            if map.contains_key("expr") {
                return Value::object([("value", value.clone())]);
            }
            if super::arguments::escaped(value).is_some() {
                return expression_value(&value.to_json());
            }
            Value::object(
                map.iter()
                    .map(|(key, value)| (key.clone(), literal_value(value))),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
