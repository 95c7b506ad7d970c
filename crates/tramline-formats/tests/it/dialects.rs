//! Every dialect in use results in the same workflow.

use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::{self, GraphDocument, ServerListing};
use tramline_workflow::workflow::{
    Action, Edge, Join, Node, RetryPolicy, Template, Workflow, WorkflowLimits,
};

fn read(text: &str) -> GraphDocument {
    let document = yaml_graph::read(text.as_bytes());
    document.unwrap_or_else(|flaws| panic!("{text}\n{flaws:#?}"))
}

/// The document in current syntax, which legacy variants must equal.
pub(crate) const TODAY: &str = r#"
version: "1.0"
server: {name: demo, version: "1.0.0"}
mcpServers:
  files: {command: npx}
tools:
  - name: sort
    description: Sorts
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: start, type: entry, next: list}
      - id: list
        type: mcp
        server: files
        tool: list_directory
        args: {path: {expr: "$.start.path"}}
        next: way
      - id: way
        type: switch
        conditions:
          - {rule: {">": [{var: "list.count"}, 10]}, next: many}
        next: done
      - id: many
        type: transform
        transform: {expr: "{ 'many': true }"}
        next: done
      - {id: done, type: exit}
"#;

/// Changes to the current document, each into an equivalent legacy or alternative syntax.
const VARIANTS: [(&str, &[(&str, &str)]); 9] = [
    ("servers", &[("mcpServers:", "servers:")]),
    ("mcp_tool", &[("type: mcp\n", "type: mcp_tool\n")]),
    ("target", &[("10]}, next: many", "10]}, target: many")]),
    (
        "a default without a rule",
        &[(
            "next: many}\n        next: done",
            "next: many}\n          - {target: done}",
        )],
    ),
    (
        "an expression as text",
        &[("{expr: \"$.start.path\"}", "$.start.path")],
    ),
    (
        "entryNode and exitNode",
        &[(
            "    nodes:",
            "    entryNode: start\n    exitNode: done\n    nodes:",
        )],
    ),
    (
        "ends without a type",
        &[
            (
                "    nodes:",
                "    entryNode: start\n    exitNode: done\n    nodes:",
            ),
            ("start, type: entry,", "start,"),
            ("done, type: exit", "done"),
        ],
    ),
    (
        "nodes at top level",
        &[
            ("    nodes:", "nodes:"),
            ("type: entry,", "type: entry, tool: sort,"),
            ("done, type: exit", "done, type: exit, tool: sort"),
        ],
    ),
    (
        "next as a list, anchors",
        &[("next: way", "next: [way]"), ("{id: done", "{id: &d done")],
    ),
];

/// The document in every variant.
pub(crate) fn variants() -> impl Iterator<Item = (&'static str, String)> {
    VARIANTS.into_iter().map(|(what, changes)| {
        let mut text = TODAY.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{what}: {from}");
            text = text.replace(from, to);
        }
        (what, text)
    })
}

#[test]
fn older_dialects_give_the_same_workflow() {
    let today = read(TODAY);
    assert_eq!(today.warnings, []);
    for (what, text) in variants() {
        let document = read(&text);
        assert_eq!(document.warnings, [], "{what}");
        assert_eq!(document.servers, today.servers, "{what}");
        let workflows = |document: &GraphDocument| document.workflows[0].workflow.clone();
        assert_eq!(workflows(&document), workflows(&today), "{what}");
    }
}

#[test]
fn json_is_read_like_yaml() {
    let today = read(TODAY);
    let workflow = &today.workflows[0].workflow;
    let json = r#"{"server": {"name": "demo", "version": "1.0.0"},
	"servers": {"files": {"command": "npx"}},
	"tools": [{"name":	"sort", "description": "Sorts", "inputSchema": {"type": "object"},
	"outputSchema": {"type": "object"}, "nodes": [
		{"id": "start", "type": "entry", "next": "list"},
		{"id": "list", "type": "mcp", "server": "files", "tool": "list_directory",
			"args": {"path": "$.start.path"}, "next": "way"},
		{"id": "way", "type": "switch", "next": "done",
			"conditions": [{"rule": {">": [{"var": "list.count"}, 10]}, "next": "many"}]},
		{"id": "many", "type": "transform", "transform": {"expr": "{ 'many': true }"}, "next": "done"},
		{"id": "done", "type": "exit"}]}]}"#;
    assert_eq!(read(json).workflows[0].workflow, *workflow);
}

#[test]
fn today_is_read_into_the_workflow_it_says() {
    let document = read(TODAY);
    let rule = Value::from_json(r#"{">": [{"var": "list.count"}, 10]}"#).unwrap();
    let schema = Value::object([("type", Value::from("object"))]);
    let path = (Str::from("path"), Template::Expr("$.start.path".into()));
    let wanted = Workflow {
        name: "sort".into(),
        description: Some("Sorts".into()),
        input_schema: Some(schema.clone()),
        output_schema: Some(schema),
        nodes: vec![
            Node::new("start", Action::Entry),
            Node::new(
                "list",
                Action::Call {
                    tool: tramline_workflow::ids::ToolName::new("files", "list_directory"),
                    arguments: Template::Object(vec![path]),
                },
            ),
            Node::new(
                "way",
                Action::Choose {
                    rules: vec![tramline_workflow::workflow::SwitchRule {
                        rule,
                        label: "many".into(),
                    }],
                    otherwise: Some("done".into()),
                },
            ),
            Node::new(
                "many",
                Action::Compute {
                    expression: "{ 'many': true }".into(),
                },
            ),
            Node::new("done", Action::Exit),
        ],
        edges: vec![
            Edge::new("start", "list"),
            Edge::new("list", "way"),
            Edge::labelled("way", "many", "many"),
            Edge::labelled("way", "done", "done"),
            Edge::new("many", "done"),
        ],
        ..Workflow::default()
    };
    assert_eq!(*document.workflows[0].workflow, wanted);
    assert_eq!(document.server.title, "demo");
    assert_eq!(document.server.instructions, None);
}

#[test]
fn our_own_fields_are_read() {
    let text = r#"
server: {name: demo, version: "1", title: Demo, instructions: Use it}
executionLimits: {maxNodeExecutions: 50, maxExecutionTimeMs: 7000}
tools:
  - name: demo
    title: A demo
    description: x
    inputSchema: {type: object}
    executionLimits: {maxNodeExecutions: 100000, maxCalls: 3}
    nodes:
      - {id: start, type: entry, next: [a, b]}
      - {id: a, type: mcp, server: builtin, tool: http, args: {url: a}, timeout: 5s, retry: 3, idempotent: true,
         approval: true, on-error: join, next: join}
      - {id: b, type: mcp, server: builtin, tool: http, args: {url: b}, timeout: 250, readOnly: false,
         retry: {max: 2, wait_ms: 10, backoff: 1.5}, approval: Costs money, onError: join, next: join}
      - {id: join, type: transform, join: all, transform: {expr: "1"}, next: done}
      - {id: done, type: exit}
"#;
    let document = read(text);
    assert_eq!(document.warnings, []);
    assert_eq!(document.server.title, "Demo");
    let workflow = &document.workflow("demo").unwrap().workflow;
    assert_eq!(workflow.title.as_deref(), Some("A demo"));
    let wanted = WorkflowLimits {
        steps_max: 100_000,
        active_ms_max: 7_000,
        calls_max: 3,
        ..WorkflowLimits::default()
    };
    assert_eq!(workflow.limits, wanted);
    let [_, a, b, join, _] = workflow.nodes.as_slice() else {
        panic!("expected five nodes");
    };
    assert_eq!((a.timeout_ms, b.timeout_ms), (Some(5_000), Some(250)));
    assert_eq!((a.repeatable, b.repeatable), (Some(true), Some(false)));
    assert_eq!(b.approval.as_deref(), Some("Costs money"));
    assert!(a.approval.is_some());
    let (a, b) = (a.retry.unwrap(), b.retry.unwrap());
    assert_eq!((a.max, a.backoff), (3, 2.0));
    let wanted = RetryPolicy {
        max: 2,
        wait_ms: 10,
        backoff: 1.5,
    };
    assert_eq!(b, wanted);
    assert_eq!(join.join, Join::All);
    let errors = workflow.edges.iter().filter(|edge| edge.label == "error");
    assert_eq!(errors.count(), 2);
}

#[test]
fn nodes_at_top_level_go_to_the_tools_that_reach_them() {
    let text = r#"
server: {name: demo, version: "1"}
tools:
  - {name: one, description: x, inputSchema: {type: object}, entryNode: begin, exitNode: end}
  - {name: two, description: x, inputSchema: {type: object}}
nodes:
  - {id: begin, type: entry, next: shared}
  - {id: start, type: entry, tool: two, next: shared}
  - {id: shared, type: transform, transform: {expr: "1"}, next: end}
  - {id: end, type: exit, tool: two}
"#;
    let document = read(text);
    assert_eq!(document.warnings, []);
    let ids = |name: &str| -> Vec<Str> {
        let workflow = &document.workflow(name).unwrap().workflow;
        workflow.nodes.iter().map(|node| node.id.clone()).collect()
    };
    assert_eq!(ids("one"), ["begin", "shared", "end"]);
    assert_eq!(ids("two"), ["start", "shared", "end"]);
}

#[test]
fn ends_that_are_ordinary_nodes_get_an_entry_and_an_exit() {
    let text = r#"
server: {name: demo, version: "1"}
tools:
  - name: one
    description: x
    inputSchema: {type: object}
    entryNode: work
    exitNode: work
    nodes: [{id: work, type: transform, transform: {expr: "$.entry"}}]
"#;
    let document = read(text);
    let workflow = &document.workflows[0].workflow;
    let ids: Vec<_> = workflow.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["entry", "work", "exit"]);
    assert_eq!(
        workflow.edges,
        [Edge::new("entry", "work"), Edge::new("work", "exit")]
    );
}

#[test]
fn servers_from_elsewhere_are_known_and_tools_are_checked_when_listed() {
    let text = TODAY.replace("mcpServers:\n  files: {command: npx}\n", "");
    let flaws = yaml_graph::read(text.as_bytes()).map(|_| ()).unwrap_err();
    assert_eq!(flaws[0].code.as_str(), "T0016");
    let document = yaml_graph::read_with(text.as_bytes(), &["files".into()]).unwrap();
    assert_eq!(document.calls.len(), 1);
    assert_eq!(document.check_tools(|_| ServerListing::Unlisted), []);
    let there = ServerListing::Tools(vec!["list_directory".into()]);
    assert_eq!(document.check_tools(|_| there.clone()), []);
    let flaws = document.check_tools(|server| {
        assert_eq!(server, "files");
        ServerListing::Tools(vec!["list_directories".into()])
    });
    assert_eq!(flaws.len(), 1);
    let found = (
        flaws[0].code.as_str(),
        flaws[0].span.line,
        flaws[0].span.column,
    );
    assert_eq!(found, ("T0017", 14, 15));
    assert_eq!(
        flaws[0].suggestion.as_deref(),
        Some("did you mean `list_directories`?")
    );
    let flaws = document.check_tools(|_| ServerListing::NoServer(vec!["file".into()]));
    assert_eq!(flaws[0].code.as_str(), "T0016");
}

#[test]
fn a_tool_without_a_file_around_it_is_recognised() {
    let text = r#"
name: double
description: Doubles a number.
inputSchema: {type: object, properties: {n: {type: number}}, required: [n]}
nodes:
  - {id: entry, type: entry, next: twice}
  - {id: twice, type: transform, transform: {expr: "$.entry.n * 2"}, next: exit}
  - {id: exit, type: exit}
"#;
    let read = tramline_formats::read(text.as_bytes(), tramline_formats::ReadOptions::default());
    let read = read.unwrap_or_else(|flaws| panic!("{flaws:#?}"));
    assert_eq!(read.format, tramline_formats::Format::Yaml);
    assert_eq!(read.document.warnings, []);
    assert_eq!(read.document.server.name, "double");
    assert_eq!(read.document.workflows.len(), 1);
    assert_eq!(read.document.workflows[0].workflow.name, "double");
    let slip = text.replace("next: twice", "next: twcie");
    let flaws = yaml_graph::read(slip.as_bytes()).map(|_| ()).unwrap_err();
    assert!(
        flaws[0].suggestion.as_deref().unwrap().contains("twice"),
        "{flaws:#?}"
    );
}
