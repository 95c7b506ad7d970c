//! The nodes that are not tools: what each does, its fields, and an example in every format that has it.
//!
//! Agents read this in the registry, beside the tools.

use super::Format;
use super::yaml_graph::editor_schema::node_fields;
use super::yaml_graph::nodes::NodeType;
use tramline_expr::Value;

/// A node that is not a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlNode {
    /// Its type, as documents write it.
    pub name: &'static str,
    /// What it does, and when to use it.
    pub description: &'static str,
    /// The JSON Schema of its fields in a YAML graph; null if it is only a field of other nodes.
    pub fields: Value,
    /// How each format writes it.
    pub examples: &'static [(Format, &'static str)],
}

/// All of them.
pub fn control_nodes() -> Vec<ControlNode> {
    let node = |kind, name, description, examples| ControlNode {
        name,
        description,
        fields: node_fields(kind),
        examples,
    };
    vec![
        node(
            NodeType::Entry,
            "entry",
            "Where a YAML graph starts. Its output is the input of the run, with the defaults of inputSchema filled in: \
             $.entry.directory. Other formats have no entry node: they refer to inputs by name.",
            &[(Format::Yaml, "{id: entry, type: entry, next: list}")],
        ),
        node(
            NodeType::Exit,
            "exit",
            "Where a YAML graph ends. The result is the output of the node before it. An IR ends where no edge leads on, or \
             at a node of type end.",
            &[(Format::Yaml, "{id: exit, type: exit}")],
        ),
        node(
            NodeType::Transform,
            "transform",
            "Computes a value with a JSONata expression over the outputs of earlier nodes, by their ids. Needs no server.",
            &[
                (
                    Format::Yaml,
                    "{id: count, type: transform, transform: {expr: \"$count(list.entries)\"}, next: exit}",
                ),
                (
                    Format::Ir,
                    r#"{"id": "count", "type": "transform", "params": {"expr": "$count(list.entries)"}}"#,
                ),
                (
                    Format::Dag,
                    r#"{"id": "count", "expr": "$count(list.entries)", "depends_on": ["list"]}"#,
                ),
            ],
        ),
        node(
            NodeType::Switch,
            "switch",
            "Picks the next node: the first condition whose rule holds, otherwise `next`. Rules are JSON Logic with var; text \
             is not a rule.",
            &[
                (
                    Format::Yaml,
                    "{id: few, type: switch, conditions: [{rule: {\"<\": [{var: count}, 3]}, next: exit}], next: save}",
                ),
                (
                    Format::Ir,
                    r#"{"id": "few", "type": "switch", "params": {"rules": [{"rule": {"<": [{"var": "count"}, 3]}, "action": "yes"}], "otherwise": "no"}}"#,
                ),
            ],
        ),
        ControlNode {
            name: "map",
            description: "One call per item of a list: a field of a node that calls a tool or a workflow (`map` in YAML \
                          graphs, `batch` in IRs and Markdown). The output is the list of results. The arguments refer to \
                          the item as $item, or under the name in `as`.",
            fields: Value::Null,
            examples: &[
                (
                    Format::Yaml,
                    "{id: read, type: mcp, server: builtin, tool: read-file, map: {over: $.list.entries, as: file}, args: {path: $file.name}, next: exit}",
                ),
                (
                    Format::Ir,
                    r#"{"id": "read", "type": "read-file", "batch": {"items": "${list.entries}", "as": "file"}, "params": {"path": "${file.name}"}}"#,
                ),
            ],
        },
        node(
            NodeType::Wait,
            "wait",
            "Waits for a time or until a time; the run survives restarts meanwhile.",
            &[(Format::Yaml, "{id: pause, type: wait, for: 5s, next: exit}")],
        ),
        node(
            NodeType::Workflow,
            "workflow",
            "Runs another workflow as a step: a tool of the same document, or a saved one.",
            &[
                (
                    Format::Yaml,
                    "{id: sizes, type: workflow, workflow: file-size, args: {path: $.entry.directory}, next: exit}",
                ),
                (
                    Format::Ir,
                    r#"{"id": "sizes", "type": "workflow", "params": {"workflow_name": "file-size", "inputs": {"path": "${directory}"}}}"#,
                ),
            ],
        ),
        ControlNode {
            name: "on-error",
            description: "The next node after a failure: a field of a node that can fail. The failed node's output is then \
                          {error: {code, message, data}}. In an IR also an edge with \"action\": \"error\".",
            fields: Value::Null,
            examples: &[
                (
                    Format::Yaml,
                    "{id: list, type: mcp, server: builtin, tool: list-directory, args: {path: $.entry.directory}, next: exit, on-error: failed}",
                ),
                (
                    Format::Ir,
                    r#"{"id": "list", "type": "list-directory", "params": {"path": "${directory}"}, "on-error": "failed"}"#,
                ),
            ],
        },
    ]
}

/// The node with a type.
pub fn find_control_node(name: &str) -> Option<ControlNode> {
    control_nodes().into_iter().find(|node| node.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KnownServers, ReadOptions, read};

    /// A document around an example, with the nodes that it refers to.
    fn document(format: Format, name: &str, example: &str) -> String {
        match format {
            Format::Yaml => {
                let own = |id: &str| example.contains(&format!("{{id: {id},"));
                let entry = "{id: entry, type: entry, next: list}";
                let next = if name == "exit" { "exit" } else { "X" };
                let id = example.split([' ', ',']).nth(1).unwrap_or_default();
                let next = if next == "X" { id } else { "exit" };
                let next = if name == "entry" || id == "list" {
                    "exit"
                } else {
                    next
                };
                let list = format!(
                    "{{id: list, type: mcp, server: builtin, tool: list-directory, args: {{path: $.entry.directory}}, next: {next}}}"
                );
                let list = match name {
                    "switch" => list.replace("next: few", "next: count"),
                    _ => list,
                };
                let mut nodes = vec![example.to_owned()];
                nodes.extend((!own("entry")).then(|| entry.to_owned()));
                nodes.extend((!own("list")).then_some(list));
                if name == "switch" {
                    nodes.push("{id: count, type: transform, transform: {expr: \"$count(list.entries)\"}, next: few}".to_owned());
                    nodes.push(
                        "{id: save, type: transform, transform: {expr: count}, next: exit}"
                            .to_owned(),
                    );
                }
                if name == "on-error" {
                    nodes.push("{id: failed, type: transform, transform: {expr: list.error.message}, next: exit}".to_owned());
                }
                nodes.extend((!own("exit")).then(|| "{id: exit, type: exit}".to_owned()));
                let nodes: Vec<_> = nodes
                    .iter()
                    .map(|node| format!("      - {node}\n"))
                    .collect();
                format!(
                    "server: {{name: x, version: \"1\"}}\ntools:\n  - name: x\n    description: x\n    inputSchema: {{type: object, properties: {{directory: {{type: string}}}}}}\n    nodes:\n{}",
                    nodes.concat()
                )
            }
            Format::Dag => format!(
                r#"{{"tasks": [{{"id": "list", "tool": "builtin:list-directory", "arguments": {{"path": "."}}}}, {example}]}}"#
            ),
            Format::Ir | Format::Markdown => {
                let list = r#"{"id": "list", "type": "list-directory", "params": {"path": "${directory}"}}, "#;
                let list = if example.contains("\"id\": \"list\"") {
                    ""
                } else {
                    list
                };
                let count = r#"{"id": "count", "type": "transform", "params": {"expr": "$count(list.entries)"}}, "#;
                let (before, after) = match name {
                    "switch" => (
                        count,
                        r#", {"id": "end", "type": "end"}], "edges": [{"from": "list", "to": "count"}, {"from": "count", "to": "few"}, {"from": "few", "to": "end", "action": "yes"}, {"from": "few", "to": "end", "action": "no"}]"#,
                    ),
                    "on-error" => (
                        "",
                        r#", {"id": "done", "type": "transform", "params": {"expr": "list.path"}, "next": "end"}, {"id": "failed", "type": "transform", "params": {"expr": "list.error.message"}, "next": "end"}]"#,
                    ),
                    _ => ("", "]"),
                };
                format!(
                    r#"{{"ir_version": "0.1.0", "inputs": {{"directory": {{"type": "string"}}}}, "nodes": [{list}{before}{example}{after}}}"#
                )
            }
        }
    }

    #[test]
    fn every_example_is_valid_in_its_format() {
        for node in control_nodes() {
            for (format, example) in node.examples {
                let text = document(*format, node.name, example);
                let options = ReadOptions {
                    format: Some(*format),
                    known_servers: KnownServers::Any,
                    ..ReadOptions::default()
                };
                let flaws = match read(text.as_bytes(), options) {
                    Ok(read) => read.document.warnings,
                    Err(flaws) => flaws,
                };
                assert!(
                    flaws.is_empty(),
                    "{} in {}: {flaws:?}\n{text}",
                    node.name,
                    format.name()
                );
            }
        }
    }

    #[test]
    fn the_fields_are_those_of_the_reader() {
        let switch = find_control_node("switch").unwrap();
        assert!(
            switch
                .fields
                .get("properties")
                .unwrap()
                .get("conditions")
                .is_some()
        );
        assert!(find_control_node("builtin:read-file").is_none());
    }
}
