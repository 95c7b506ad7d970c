//! DAGs of tasks: the workflows they become, and every flaw with its location.

use proptest::prelude::*;
use std::fmt::Write;
use tramline_expr::Value;
use tramline_formats::{Format, KnownServers, ReadOptions, json_dag};
use tramline_syntax::MistypedFields;
use tramline_workflow::tool_schema::NoSchemas;
use tramline_workflow::workflow::{Action, Join, Template, UnhandledFailure, Workflow};

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
    assert_eq!(read.format, Format::Dag);
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

fn arguments(workflow: &Workflow, id: &str) -> Template {
    let node = workflow.nodes.iter().find(|node| node.id == id).unwrap();
    match &node.action {
        Action::Call { arguments, .. } => arguments.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn dependencies_are_edges_and_tasks_wait_for_all() {
    let workflow = read(
        r#"{"workflow": {"tasks": [
            {"id": "a", "tool": "builtin:read-file", "arguments": {"path": "x"}},
            {"id": "b", "tool": "builtin:http", "depends_on": ["a"], "approval": "sure?", "retry": 2},
            {"id": "c", "tool": "builtin:http", "dependsOn": ["a", "b"], "timeout": 500},
            {"id": "d", "tool": "builtin:http", "arguments": {"x": "$OUTPUT[c]"}}
        ]}, "config": {"per_layer_validation": true}}"#,
    );
    let edges: Vec<_> = workflow
        .edges
        .iter()
        .map(|edge| format!("{}-{}-{}", edge.from, edge.label, edge.to))
        .collect();
    let wanted = ["a-default-b", "a-default-c", "b-default-c", "c-default-d"];
    assert_eq!(edges, wanted);
    assert!(workflow.nodes.iter().all(|node| node.join == Join::All));
    assert_eq!(workflow.unhandled, UnhandledFailure::SkipsDependents);
    assert_eq!(workflow.nodes[1].approval.as_deref(), Some("sure?"));
    assert_eq!(workflow.nodes[2].timeout_ms, Some(500));
    assert_eq!(workflow.name, "workflow");
}

#[test]
fn references_stand_anywhere_in_the_arguments() {
    let workflow = read(
        r#"{"tasks": [
            {"id": "a-b", "tool": "builtin:http"},
            {"id": "z", "tool": "builtin:http", "arguments": {
                "whole": "$OUTPUT[a-b]",
                "part": "$OUTPUT[a-b].x.y",
                "item": ["$OUTPUT[a-b][0].x", {"deep": "v: $OUTPUT[a-b].n."}],
                "expr": {"expr": "1 + 1"},
                "ref": {"type": "reference", "expression": "a-b.x[1]"},
                "other": {"type": "reference", "task": "a-b", "path": "x"},
                "literal": {"type": "literal", "value": "$OUTPUT[gone]"},
                "parameter": {"type": "parameter", "parameterName": "p"},
                "plain": {"type": "reference", "expression": "a-b", "more": 1},
                "five": "costs $5"
            }}
        ]}"#,
    );
    let Template::Object(fields) = arguments(&workflow, "z") else {
        panic!("expected an object");
    };
    let source = |name: &str| match &fields.iter().find(|(key, _)| key == name).unwrap().1 {
        Template::Expr(source) => source.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(source("whole"), "`a-b`");
    let part = "`a-b`.x.y ?? $error(\"there is no `a-b`.x.y\")";
    assert_eq!(source("part"), part);
    assert!(source("item").contains("`a-b`[0].x"));
    assert!(
        source("item").contains("\\\"v: \\\" & $string(`a-b`.n"),
        "{}",
        source("item")
    );
    assert_eq!(source("expr"), "1 + 1");
    assert!(source("ref").starts_with("`a-b`.x[1] ?? "));
    assert!(source("other").starts_with("`a-b`.x ?? "));
    assert!(source("literal").contains("$OUTPUT[gone]"));
    assert!(source("parameter").starts_with("entry.p ?? "));
    assert!(source("plain").starts_with("Literal"));
    assert_eq!(workflow.nodes[0].action, Action::Entry);
    let schema = workflow.input_schema.unwrap();
    assert_eq!(schema.get("required"), Some(&Value::array(["p".into()])));
}

#[test]
fn all_flaws_are_reported_at_once_with_locations() {
    let text = r#"{
  "tasks": [
    {"id": "fetch", "tool": "builtin:http", "depends_on": ["fetsh"]},
    {"id": "fetch", "tool": "http"},
    {"id": "a", "tool": "builtin:http", "depends_on": ["c"]},
    {"id": "b", "tool": "builtin:http", "depends_on": ["a"]},
    {"id": "c", "tool": "builtin:http", "arguments": {"x": ["see $OUTPUT[b].x and $OUTPUT[feetch].y"]}},
    {"id": "d", "arguments": {"y": {"expr": "1 +"}}, "colour": 1},
    {"id": "e", "tool": "nowhere:x", "arguments": {"y": {"expr": "1 +"}, "z": "$OUTPUT[b"}}
  ]
}"#;
    assert_eq!(
        flaws(text),
        [
            "3:60 [T0008] there is no task `fetsh` (did you mean `fetch`?)",
            "4:12 [T0007] the id `fetch` is used twice (give one of them another id)",
            "4:29 [T0004] `http` does not name a server and its tool (did you mean `builtin:http`?)",
            "5:56 [T0013] these tasks depend on each other: `a` → `b` → `c` → `a` (remove `c` here, or another one of these dependencies)",
            "7:91 [T0008] there is no task `feetch` (did you mean `fetch`?)",
            "8:5 [T0003] the `tool` of task `d` is missing (name the tool, as `server:tool`)",
            "8:49 [T0014] the expression ends where a value is expected (S0207) (see docs.jsonata.org for the syntax)",
            "8:54 [T0005] task `d` has no field `colour` (remove it; known fields are `id`, `tool`, `expr`, `arguments`, `args`, `depends_on`, `dependsOn`, `description`, `approval`, `timeout`, `retry`, `idempotent`, `readOnly`, `join`)",
            "9:25 [T0016] there is no server `nowhere` (add it under `mcpServers`, or use `builtin`)",
            "9:70 [T0014] the expression ends where a value is expected (S0207) (see docs.jsonata.org for the syntax)",
            "9:80 [T0014] invalid reference (write `$OUTPUT[task]`, `$OUTPUT[task].key` or `$OUTPUT[task][0].key`)",
        ]
        .map(str::to_owned)
        .into_iter()
        .collect::<Vec<_>>()
    );
}

#[test]
fn a_misspelled_field_is_an_error_where_the_document_runs_at_once() {
    let strict = ReadOptions {
        mistyped_fields: MistypedFields::Reject,
        ..PLAIN
    };
    for (field, meant) in [
        ("aproval", "approval"),
        ("approvals", "approval"),
        ("Approval", "approval"),
        ("needs_approval", "approval"),
        ("requireApproval", "approval"),
        ("depend_on", "depends_on"),
        ("time_out", "timeout"),
    ] {
        let text =
            format!(r#"{{"tasks": [{{"id": "a", "tool": "builtin:http", "{field}": true}}]}}"#);
        let value = Value::from_json(&text).unwrap();
        let told = json_dag::read_value(&value, strict).unwrap_err();
        let [only] = told.as_slice() else {
            panic!("{field}: {told:?}");
        };
        let hint = format!("did you mean `{meant}`?");
        assert_eq!(only.code.as_str(), "T0036", "{field}");
        assert_eq!(only.suggestion.as_deref(), Some(hint.as_str()), "{field}");
        let told = json_dag::read_value(&value, PLAIN).unwrap();
        assert_eq!(told.warnings[0].code.as_str(), "T0005", "{field}");
    }
    for text in [
        r#"{"tasks": [{"id": "a", "tool": "builtin:http"}], "config": {"per_layer_validaton": true}}"#,
        r#"{"workflow": {"tasks": [{"id": "a", "tool": "builtin:http"}]}, "config": {"perlayervalidation": true}}"#,
    ] {
        let told = json_dag::read_value(&Value::from_json(text).unwrap(), strict).unwrap_err();
        assert_eq!(told[0].code.as_str(), "T0036", "{told:?}");
    }
    let text = r#"{"tasks": [{"id": "a", "tool": "builtin:http", "colour": 1}]}"#;
    let read = json_dag::read_value(&Value::from_json(text).unwrap(), strict).unwrap();
    assert_eq!(read.warnings[0].code.as_str(), "T0005");
}

#[test]
fn flaws_of_a_value_have_pointers() {
    let value = Value::from_json(
        r#"{"tasks": [{"id": "a", "tool": "builtin:http", "arguments": {"x": [{"expr": "("}]}},
                      {"id": "b", "tool": "builtin:http", "depends_on": ["c"]}]}"#,
    );
    let told = json_dag::read_value(&value.unwrap(), PLAIN).unwrap_err();
    let told: Vec<_> = told.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter()
            .any(|flaw| flaw.starts_with("/tasks/1/depends_on/0 [T0008]")),
        "{told:?}"
    );
    assert!(
        told.iter()
            .any(|flaw| flaw.starts_with("/tasks/0/arguments/x/0/expr [T0014]")),
        "{told:?}"
    );
}

#[test]
fn an_unknown_format_is_reported_clearly() {
    let told = flaws("{\"a\": 1}");
    assert_eq!(
        told,
        [
            "1:1 [T0003] cannot tell which format this document is in (a YAML graph has `tools`, a DAG `tasks`, a plan `plan`, an IR `nodes`, markdown `## Steps`)"
        ]
    );
    assert!(flaws("{\"tasks\": []}")[0].contains("there are no tasks"));
    assert!(flaws("{\"tasks\": 5}")[0].contains("must be a list"));
    assert!(flaws("{\"tasks\": [5]}")[0].contains("a list of objects"));
}

/// A document with `count` tasks, each with two dependencies and a reference.
fn large(count: usize) -> String {
    let mut text = String::from("{\"tasks\": [");
    for at in 0..count {
        let (one, other) = (at / 2, at / 3);
        let depends = if at == 0 {
            String::new()
        } else {
            format!(", \"depends_on\": [\"t{one}\", \"t{other}\"]")
        };
        let reference = if at == 0 {
            "none".to_owned()
        } else {
            format!("$OUTPUT[t{one}].x")
        };
        let _ = write!(
            text,
            "{}{{\"id\": \"t{at}\", \"tool\": \"builtin:http\", \"arguments\": {{\"url\": \"{reference}\"}}{depends}}}",
            if at == 0 { "" } else { "," }
        );
    }
    text + "]}"
}

#[test]
fn ten_thousand_tasks_are_read() {
    let text = large(10_000);
    let begun = std::time::Instant::now();
    let workflow = read(&text);
    assert_eq!(workflow.nodes.len(), 10_000);
    // Generous for unoptimised builds on a busy machine; guards against quadratic work.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    let broken = text.replace("\"t1\"", "\"T1\"");
    assert!(flaws(&broken).len() > 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn corrupted_documents_are_answered(at in any::<prop::sample::Index>(), cut in 0..20usize, piece in "[ -~]{0,6}") {
        for good in [
            include_str!("../../../../examples/dags/reading.json"),
            include_str!("../../../../examples/dags/parameters.json"),
            include_str!("../../../../examples/ir/first_file.json"),
            include_str!("../../../../examples/ir/choice.json"),
        ] {
            let begin = at.index(good.len());
            let end = (begin + cut).min(good.len());
            if good.is_char_boundary(begin) && good.is_char_boundary(end) {
                let spoilt = format!("{}{piece}{}", &good[..begin], &good[end..]);
                if let Err(flaws) = tramline_formats::read(spoilt.as_bytes(), PLAIN) {
                    prop_assert!(!flaws.is_empty());
                    prop_assert!(flaws.iter().all(|flaw| flaw.span.line > 0));
                }
            }
        }
    }
}
