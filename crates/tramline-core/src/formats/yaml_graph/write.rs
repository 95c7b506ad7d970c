//! Workflows written as a YAML graph, with what such a file cannot say.

use super::nodes::Kind;
use super::{ServerInfo, limits};
use crate::formats::{Lost, Written, yaml_text};
use crate::settings;
use crate::workflow::{
    Action, Choice, DEFAULT_LABEL, ERROR_LABEL, Each, Edge, ItemFailures, Join, Limits, Node,
    Retry, Template, Time, WORKFLOW_SERVER, Workflow,
};
use std::collections::HashMap;
use tramline_expr::{Map, Str, Value};

mod ends;

/// Writes workflows as the tools of one document.
pub fn write(server: &ServerInfo, servers: &Value, workflows: &[&Workflow]) -> Written {
    let mut lost = Lost::default();
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
    let tools = workflows.iter().map(|workflow| tool(workflow, &mut lost));
    root.insert("tools", Value::array(tools.collect::<Vec<_>>()));
    Written {
        text: yaml_text::document(&root),
        lost: lost.told(),
    }
}

fn tool(workflow: &Workflow, lost: &mut Lost) -> Value {
    let whole = ends::supplied(workflow, lost);
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
    if let Some(bounds) = bounds(&workflow.limits, lost) {
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

/// The limits, where they are not those that hold anyhow.
pub(in crate::formats) fn bounds(limits: &Limits, lost: &mut Lost) -> Option<Value> {
    let usual = Limits::default();
    if limits.bytes_max != usual.bytes_max {
        lost.add("the limit on the bytes of the journal");
    }
    let given = [
        (limits.steps_max, usual.steps_max),
        (limits.active_ms_max, usual.active_ms_max),
        (limits.calls_max, usual.calls_max),
    ];
    let steps = given[0].0 != given[0].1;
    let named = limits::NAMES.into_iter().zip(given).enumerate();
    // The number of calls follows from that of steps unless it is written too.
    let written = named.filter(|(at, (_, (is, usual)))| is != usual || (*at == 2 && steps));
    let written: Vec<_> = written
        .map(|(_, (name, (is, _)))| (name, Value::from(is)))
        .collect();
    (!written.is_empty()).then(|| Value::object(written))
}

fn write_node(node: &Node, edges: &[&Edge], lost: &mut Lost) -> Value {
    let mut map = Map::new();
    map.insert("id", node.id.clone().into());
    let kind = match &node.action {
        Action::Entry => Kind::Entry,
        Action::Call { tool, .. } if tool.server == WORKFLOW_SERVER => Kind::Workflow,
        Action::Call { .. } => Kind::Mcp,
        Action::Wait(_) => Kind::Wait,
        Action::Compute { .. } => Kind::Transform,
        Action::Choose { .. } => Kind::Switch,
        Action::Exit => Kind::Exit,
    };
    map.insert("type", kind.name().into());
    if let Some(purpose) = &node.purpose {
        map.insert("description", purpose.clone().into());
    }
    if node.join == Join::All {
        map.insert("join", "all".into());
    }
    if kind == Kind::Workflow
        && let Action::Call { tool, .. } = &node.action
    {
        map.insert("workflow", tool.tool.clone().into());
    } else if let Action::Call { tool, .. } = &node.action {
        map.insert("server", tool.server.clone().into());
        map.insert("tool", tool.tool.clone().into());
    }
    match &node.approval {
        Some(reason) if kind.acts() => {
            map.insert("approval", reason.clone().into());
        }
        Some(_) => lost.add(format!("the approval of `{}`", node.id)),
        None => {}
    }
    act(node, edges, &mut map, lost);
    if kind.acts() {
        care(node, &mut map);
    }
    ways(node, edges, &mut map, lost);
    map.into()
}

fn act(node: &Node, edges: &[&Edge], map: &mut Map, lost: &mut Lost) {
    match &node.action {
        Action::Entry | Action::Exit => {}
        Action::Call { arguments, .. } => {
            if let Some(each) = &node.each {
                map.insert("map", spread(each));
            }
            let none = Template::Literal(Value::object::<Str>([]));
            if *arguments != none {
                map.insert("args", whole_arguments(arguments));
            }
        }
        Action::Wait(time) => {
            let (key, template) = match time {
                Time::For(template) => ("for", template),
                Time::Until(template) => ("until", template),
            };
            map.insert(key, arguments(template, false));
        }
        Action::Compute { expression } => {
            let expr = [("expr", expression.clone().into())];
            map.insert("transform", Value::object(expr));
        }
        Action::Choose { rules, otherwise } => {
            let target = |label: &Str, lost: &mut Lost| target(node, label, edges, lost);
            let mut conditions = Vec::new();
            for Choice { rule, label } in rules {
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

/// What a call is spread over.
fn spread(each: &Each) -> Value {
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

/// The node that a choice leads to by a label.
fn target(node: &Node, label: &Str, edges: &[&Edge], lost: &mut Lost) -> Str {
    let mut there = edges.iter().filter(|edge| edge.label == *label);
    let Some(first) = there.next() else {
        return label.clone();
    };
    if let Some(other) = there.find(|edge| edge.to != first.to) {
        lost.add(format!(
            "the second way of `{}` at {label}, to `{}`",
            node.id, other.to
        ));
    }
    if first.to != *label {
        lost.add(format!(
            "the output `{label}` of `{}`: here it is the id of the node it leads to, `{}`",
            node.id, first.to
        ));
    }
    first.to.clone()
}

/// Time-out, repetition and so on.
pub(in crate::formats) fn care(node: &Node, map: &mut Map) {
    if let Some(ms) = node.timeout_ms {
        map.insert("timeout", ms.into());
    }
    if let Some(Retry {
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

/// Where the node leads, beside what it chooses.
fn ways(node: &Node, edges: &[&Edge], map: &mut Map, lost: &mut Lost) {
    let chosen = |label: &Str| match &node.action {
        Action::Choose { rules, otherwise } => {
            rules.iter().any(|choice| choice.label == *label) || otherwise.as_ref() == Some(label)
        }
        Action::Entry
        | Action::Call { .. }
        | Action::Compute { .. }
        | Action::Wait(_)
        | Action::Exit => false,
    };
    let is_choice = matches!(node.action, Action::Choose { .. });
    let mut next = Vec::new();
    let mut on_error: Option<&Str> = None;
    for edge in edges.iter().filter(|edge| !chosen(&edge.label)) {
        if edge.label == ERROR_LABEL && on_error.is_none() {
            on_error = Some(&edge.to);
        } else if edge.label == DEFAULT_LABEL && !is_choice {
            next.push(Value::from(edge.to.clone()));
        } else {
            lost.add(format!(
                "the way from `{}` to `{}` at {}",
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
fn whole_arguments(template: &Template) -> Value {
    match template {
        Template::Literal(value) if value.as_object().is_none() => expression(&value.to_json()),
        Template::Array(_) | Template::Literal(_) | Template::Expr(_) | Template::Object(_) => {
            arguments(template, false)
        }
    }
}

fn expression(source: &str) -> Value {
    Value::object([("expr", source.into())])
}

/// A template as a file has it. `spelt` expressions are never written as bare text.
fn arguments(template: &Template, spelt: bool) -> Value {
    match template {
        Template::Literal(value) => literal(value),
        Template::Expr(source) if source.starts_with('$') && !spelt => source.clone().into(),
        Template::Expr(source) => expression(source),
        Template::Object(fields) => {
            // `{expr: text}` would be an expression itself.
            let alone = |key: &str| fields.len() == 1 && matches!(key, "expr" | "value");
            let fields = fields
                .iter()
                .map(|(key, field)| (key.clone(), arguments(field, alone(key))));
            Value::object(fields)
        }
        Template::Array(items) => Value::array(items.iter().map(|item| arguments(item, false))),
    }
}

/// A literal, with what would be read as an expression put so that it is not.
fn literal(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with('$') && !settings::begins(text) => {
            Value::object([("value", value.clone())])
        }
        Value::Array(items) => Value::array(items.iter().map(literal)),
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str);
            let special =
                text("expr").is_some() || text("value").is_some_and(|text| text.starts_with('$'));
            if map.len() == 1 && special {
                return expression(&value.to_json());
            }
            Value::object(map.iter().map(|(key, value)| (key.clone(), literal(value))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
