//! pflow IRs: the workflows they become, and every flaw with its location.

use tramline_expr::Value;
use tramline_formats::{Format, KnownServers, ReadOptions, pflow_ir};
use tramline_syntax::MistypedFields;
use tramline_workflow::tool_schema::NoSchemas;
use tramline_workflow::workflow::{Action, ItemFailures, Template, Workflow};

/// Reads without the schemas of tools: these tests are about documents, not about calls.
const PLAIN: ReadOptions<'static> = ReadOptions {
    format: None,
    name: "workflow",
    known_servers: KnownServers::Configured(&[]),
    mistyped_fields: MistypedFields::Warn,
    folder: "",
    tools: &NoSchemas,
};

fn read(text: &str) -> Workflow {
    let read = tramline_formats::read(text.as_bytes(), PLAIN);
    let read = read.unwrap_or_else(|flaws| panic!("{flaws:#?}"));
    assert_eq!(read.format, Format::Ir);
    assert_eq!(read.document.warnings, []);
    (*read.document.workflows[0].workflow).clone()
}

fn flaws(text: &str) -> Vec<String> {
    let flaws = match tramline_formats::read(text.as_bytes(), PLAIN) {
        Ok(read) => read.document.warnings,
        Err(flaws) => flaws,
    };
    flaws.iter().map(ToString::to_string).collect()
}

fn edges(workflow: &Workflow) -> Vec<String> {
    let edges = workflow.edges.iter();
    edges
        .map(|edge| format!("{} {} {}", edge.from, edge.label, edge.to))
        .collect()
}

#[test]
fn what_is_left_out_is_filled_in() {
    let workflow = read(
        r#"{"nodes": [
            {"id": "a", "type": "read-file", "params": {"file_path": "x"}},
            {"id": "b", "type": "http", "params": {"url": "u"}},
            {"id": "entry", "type": "http", "params": {"url": "u"}}
        ]}"#,
    );
    let wanted = [
        "entry_ default a",
        "a default b",
        "b default entry",
        "entry default exit",
    ];
    assert_eq!(edges(&workflow), wanted);
    let Action::Call { tool, arguments } = &workflow.nodes[1].action else {
        panic!("expected a call");
    };
    assert_eq!(tool.to_string(), "builtin:read-file");
    let wanted = Value::object([("path", "x".into())]);
    assert_eq!(*arguments, Template::Literal(wanted));
}

#[test]
fn actions_are_labels_and_the_start_is_named() {
    let workflow = read(
        r#"{"ir_version": "1", "nodes": [
            {"id": "a", "type": "http"}, {"id": "b", "type": "http"}, {"id": "c", "type": "http"}],
            "edges": [{"from": "b", "to": "a"}, {"from": "b", "to": "c", "action": "error"}],
            "start_node": "b", "outputs": {"x": {"source": "${a.body}"}}}"#,
    );
    let wanted = [
        "entry default b",
        "b default a",
        "b error c",
        "a default outputs",
        "c default outputs",
        "outputs default exit",
    ];
    assert_eq!(edges(&workflow), wanted);
}

#[test]
fn templates_become_expressions() {
    let text = r#"{"inputs": {"n": {"type": "int", "default": 5}, "who": {}},
        "nodes": [
            {"id": "get-it", "type": "http", "params": {"url": "u"}},
            {"id": "ask", "type": "mcp-files-read-all", "params": {}},
            {"id": "z", "type": "files:put", "params": {
                "whole": "${get-it.response.items[0]}",
                "text": "Dear ${who}, $${not} ${n}!",
                "default": "${get-it.x ?? n}",
                "literal": "${ask.y ?? \"none }\"}",
                "result": ["${ask.result.y}"],
                "plain": "$5 {x}"
            }}
        ]}"#;
    let elsewhere = ["files".into()];
    let hint = ReadOptions {
        known_servers: KnownServers::Configured(&elsewhere),
        ..PLAIN
    };
    let read =
        tramline_formats::read(text.as_bytes(), hint).unwrap_or_else(|flaws| panic!("{flaws:#?}"));
    let workflow = &read.document.workflows[0].workflow;
    let Action::Call {
        tool,
        arguments: Template::Object(fields),
    } = &workflow.nodes[3].action
    else {
        panic!("expected a call");
    };
    assert_eq!(tool.to_string(), "files:put");
    let source = |name: &str| match &fields.iter().find(|(key, _)| key == name).unwrap().1 {
        Template::Expr(source) => source.to_string(),
        other => format!("{other:?}"),
    };
    assert!(
        source("whole").starts_with("`get-it`.body.items[0] ?? $error("),
        "{}",
        source("whole")
    );
    let text = "\"Dear \" & $string(entry.who ?? $error(\"there is no entry.who; entry has \" & $join($keys(entry), \", \"))) & \", ${not} \" & $string(entry.n ?? 5) & \"!\"";
    assert_eq!(source("text"), text);
    assert_eq!(source("default"), "`get-it`.x ?? entry.n ?? 5");
    assert_eq!(source("literal"), "ask.y ?? \"none }\"");
    assert!(
        source("result").contains("ask.result.y ?? ask.y ?? $error("),
        "{}",
        source("result")
    );
    assert!(source("plain").starts_with("Literal"));
    let Action::Call { tool, .. } = &workflow.nodes[2].action else {
        panic!("expected a call");
    };
    assert_eq!(tool.to_string(), "files:read-all");
    let required = workflow.input_schema.as_ref().unwrap().get("required");
    assert_eq!(required, Some(&Value::array(["who".into()])));
}

#[test]
fn a_batch_is_a_call_for_each_item() {
    let workflow = read(
        r#"{"nodes": [
            {"id": "list", "type": "list-directory", "params": {"path": "."}},
            {"id": "read", "type": "read-file", "params": {"path": "./${file.name}", "n": "${__index__}"},
             "batch": {"items": "${list.entries}", "as": "file", "parallel": true, "max_concurrent": 3,
                       "max_retries": 2, "retry_wait": 0.5, "error_handling": "continue"}}
        ], "outputs": {"first": "${read.results[0].content}"}}"#,
    );
    let node = &workflow.nodes[2];
    let each = node.each.as_ref().unwrap();
    assert_eq!((each.name.as_str(), each.width), ("file", 3));
    assert_eq!(each.failures, ItemFailures::Keep);
    assert!(
        matches!(&each.items, Template::Expr(source) if source.starts_with("list.entries ?? "))
    );
    let retry = node.retry.unwrap();
    assert_eq!((retry.max, retry.wait_ms), (1, 500));
    let Action::Call {
        arguments: Template::Object(fields),
        ..
    } = &node.action
    else {
        panic!("expected a call");
    };
    let said = format!("{fields:?}");
    assert!(said.contains("$string($file.name ?? $error("), "{said}");
    assert!(said.contains("$index ?? $error("), "{said}");
    let said = format!("{:?}", workflow.nodes[3].action);
    assert!(said.contains("read[0].content ?? "), "{said}");
    let written = pflow_ir::write(&Value::object::<&str>([]), &workflow);
    assert_eq!(written.losses, Vec::<String>::new());
    let again = self::read(&written.text);
    assert_eq!(again.nodes[2], workflow.nodes[2], "{}", written.text);
}

#[test]
fn all_flaws_are_reported_at_once_with_locations() {
    let text = r#"{
  "nodes": [
    {"id": "a", "type": "htpp", "params": {"x": "${b.y} and ${1 + 2}"}},
    {"id": "b", "type": "http", "params": {"x": "say ${lists.y}"}, "batch": {"as": "x"}},
    {"id": "list", "type": "http", "params": {"x": "${open"}},
    {"id": "w", "type": "workflow", "params": {"workflow": {"nodes": []}}}
  ],
  "edges": [{"from": "a", "to": "bb"}, {"from": "b", "to": "list", "action": "maybe"}],
  "start_node": "aa",
  "outputs": {"x": {}}
}"#;
    let told = flaws(text);
    let wanted = [
        "3:25 [T0006] node `a` has the unknown type `htpp` (did you mean `http`?)",
        "3:63 [T0014] invalid reference (write `${node.key[0]}`, or `$${…}` if it is just text)",
        "4:56 [T0008] there is no node or input `lists` (did you mean `list`?)",
        "4:77 [T0003] the `items` of `batch` is missing (write `{\"items\": \"${node.list}\"}`)",
        "5:53 [T0014] `${` is not closed (write `${node.key[0]}`, or `$${…}` if it is just text)",
        "6:60 [T0021] node `w` contains an inline workflow, which is not supported (save it and refer to it by name)",
        "8:33 [T0008] there is no node `bb` (did you mean `b`?)",
        "8:78 [T0009] `b` never ends with `maybe` (tools end with `default` or `error`; only a `switch` picks other actions)",
        "9:17 [T0008] there is no node `aa` (did you mean `a`?)",
        "10:20 [T0003] the output `x` has no `source` (add its source: \"source\": \"${node.key}\")",
    ];
    assert_eq!(told, wanted, "{told:#?}");
    let told = flaws(r#"{"nodes": [{"id": "b", "type": "http", "params": {"x": "${1 + 2}"}}]}"#);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("1:59 [T0014] invalid reference"),
        "{told:?}"
    );
}

#[test]
fn flaws_of_a_value_have_pointers() {
    let value =
        Value::from_json(r#"{"nodes": [{"id": "a", "type": "http", "params": {"x": "${b}"}}]}"#);
    let told = pflow_ir::read_value(&value.unwrap(), PLAIN).unwrap_err();
    assert!(
        told[0].to_string().starts_with("/nodes/0/params/x [T0008]"),
        "{}",
        told[0]
    );
}

/// The arguments of the last call as a template, checked to be the same after a round trip.
fn arguments(params: &str, inputs: &str) -> Template {
    let text = format!(
        r#"{{"inputs": {inputs}, "nodes": [{{"id": "a", "type": "http", "params": {{"url": "u"}}}},
            {{"id": "b", "type": "t:x", "params": {params}}}]}}"#
    );
    let read = |text: &str| {
        let hint = ReadOptions {
            known_servers: KnownServers::Any,
            ..PLAIN
        };
        let read = tramline_formats::read(text.as_bytes(), hint);
        let read = read.unwrap_or_else(|flaws| panic!("{flaws:#?}"));
        let workflow = (*read.document.workflows[0].workflow).clone();
        let call = workflow.nodes.iter().find(|node| node.id == "b").unwrap();
        let Action::Call { arguments, .. } = &call.action else {
            panic!("expected a call");
        };
        (arguments.clone(), workflow)
    };
    let (first, workflow) = read(&text);
    let written = pflow_ir::write(&Value::object::<&str>([]), &workflow);
    assert_eq!(read(&written.text).0, first, "{}", written.text);
    first
}

#[test]
fn settings_stay_as_they_are_written() {
    let literal = arguments(r#"{"k": "Bearer ${settings.KEY}", "x": "$${y}"}"#, "{}");
    let wanted = Value::object([("k", "Bearer ${settings.KEY}".into()), ("x", "${y}".into())]);
    assert_eq!(literal, Template::Literal(wanted));
    let Template::Object(mixed) = arguments(r#"{"k": "${a.status} ${settings.KEY}"}"#, "{}") else {
        panic!("expected an expression");
    };
    assert!(tramline_workflow::setting_references::uses_settings(
        &mixed[0].1
    ));
    // An escaped reference is text, and an input called `settings` takes precedence.
    let escaped = arguments(r#"{"k": "$${settings.KEY}"}"#, "{}");
    assert!(
        !tramline_workflow::setting_references::uses_settings(&escaped),
        "{escaped:?}"
    );
    let inputs = r#"{"settings": {"type": "object"}}"#;
    let input = arguments(r#"{"k": "${settings.KEY}"}"#, inputs);
    assert!(
        !tramline_workflow::setting_references::uses_settings(&input),
        "{input:?}"
    );
}

#[test]
fn an_index_may_be_a_reference() {
    let expression = |text: &str| {
        let params = serde_json::json!({ "command": text }).to_string();
        let text = format!(
            r#"{{"inputs": {{"i": {{"type": "number"}}}}, "nodes": [
                {{"id": "a", "type": "shell", "params": {{"command": "x"}}, "batch": {{"items": [1]}}}},
                {{"id": "b", "type": "shell", "params": {params}, "batch": {{"items": [1, 2], "as": "n"}}}}]}}"#
        );
        match &read(&text).nodes[2].action {
            Action::Call {
                arguments: Template::Object(fields),
                ..
            } => fields[0].1.clone(),
            other => panic!("{other:?}"),
        }
    };
    let Template::Expr(source) = expression("${a.results[${__index__}].stdout}") else {
        panic!("a reference keeps its type");
    };
    assert!(source.starts_with("($at0 := $index"), "{source}");
    assert!(source.contains("a[$at0].stdout"), "{source}");
    assert!(!source.contains("999"), "{source}");
    let Template::Expr(source) = expression("x ${a.results[${i}].stdout ?? \"none\"} y") else {
        panic!("a text with a reference is an expression");
    };
    assert!(
        source.contains("[$at0]") && source.contains("\"none\""),
        "{source}"
    );
    let deep = format!("${{{}i{}}}", "a[${".repeat(6), "}]".repeat(6));
    let params = serde_json::json!({ "command": deep }).to_string();
    let text = format!(
        r#"{{"inputs": {{"i": {{"type": "number"}}}}, "nodes": [{{"id": "a", "type": "shell", "params": {params}}}]}}"#
    );
    let found = flaws(&text);
    assert!(found[0].contains("too many references"), "{found:?}");
}

#[test]
fn a_saved_workflow_has_its_ir_beside_its_metadata() {
    let text = r#"{"name": "saved", "description": "Says hi.", "created_at": "2026-01-01",
        "ir": {"ir_version": "0.1.0", "nodes": [{"id": "a", "type": "write-file", "params": {"file_path": "x/y", "content": "hi"}}]}}"#;
    let workflow = read(text);
    assert_eq!(workflow.name, "saved");
    assert_eq!(workflow.description.as_deref(), Some("Says hi."));
    let Action::Call {
        arguments: Template::Literal(arguments),
        ..
    } = &workflow.nodes[1].action
    else {
        panic!("{:?}", workflow.nodes[1]);
    };
    assert_eq!(
        arguments.get("create_dirs"),
        Some(&true.into()),
        "folders are created"
    );
}
