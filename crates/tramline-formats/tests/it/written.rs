//! A written workflow reads back unchanged.

use crate::{dialects, shared};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::{self, GraphDocument};
use tramline_formats::{ConvertedDocument, Format, KnownServers, ReadOptions, json_dag, pflow_ir};
use tramline_syntax::MistypedFields;
use tramline_workflow::ids::ToolName;
use tramline_workflow::tool_schema::BuiltinSchemas;
use tramline_workflow::workflow::{
    Action, Edge, FanOutSpec, ItemFailures, Join, Node, RetryPolicy, SwitchRule, Template,
    WaitTime, Workflow, WorkflowLimits,
};

const ANY: ReadOptions<'static> = ReadOptions {
    format: None,
    name: "workflow",
    known_servers: KnownServers::Any,
    mistyped_fields: MistypedFields::Warn,
    folder: "",
    tools: &BuiltinSchemas,
};

fn read(text: &str) -> GraphDocument {
    match tramline_formats::read(text.as_bytes(), ANY) {
        Ok(read) => read.document,
        Err(flaws) => panic!("{flaws:#?}\n{text}"),
    }
}

fn as_yaml(document: &GraphDocument) -> ConvertedDocument {
    let workflows: Vec<_> = document
        .workflows
        .iter()
        .map(|graph| &*graph.workflow)
        .collect();
    yaml_graph::write(&document.server, &document.servers, &workflows)
}

fn same(one: &GraphDocument, other: &GraphDocument, text: &str) {
    assert_eq!(one.server, other.server, "{text}");
    assert_eq!(one.servers, other.servers, "{text}");
    assert_eq!(one.workflows.len(), other.workflows.len());
    for (one, other) in one.workflows.iter().zip(&other.workflows) {
        assert_eq!(one.workflow, other.workflow, "{text}");
    }
}

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(folder);
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

#[test]
fn yaml_graphs_read_back() {
    let files = examples("graphs").into_iter().chain(shared::documents());
    let files = files.map(|path| std::fs::read_to_string(path).unwrap());
    let variants = dialects::variants().map(|(_, text)| text);
    for text in files.chain(variants) {
        let document = read(&text);
        let written = as_yaml(&document);
        assert_eq!(written.losses, Vec::<String>::new(), "{}", written.text);
        same(&document, &read(&written.text), &written.text);
        assert_eq!(
            as_yaml(&read(&written.text)).text,
            written.text,
            "writing it again changes nothing"
        );
    }
}

#[test]
fn dags_read_back() {
    let large = r#"{"name": "x", "tasks": [
        {"id": "a b", "tool": "s:t", "arguments": {"x": {"type": "literal", "value": {"expr": "no"}}}},
        {"id": "c", "tool": "s:t", "retry": {"max": 2, "wait_ms": 5, "backoff": 1.5}, "approval": true, "idempotent": false,
         "arguments": {"t": "a $OUTPUT[a b].x-y[0], $OUTPUT[a b]", "w": "$OUTPUT[a b][\"k l\"]", "e": {"expr": "$.`a b`"},
                       "p": {"type": "parameter", "name": "q r"}, "l": "$OUTPUT [x]", "n": [{"deep": "$OUTPUT[a b]"}]}},
        {"id": "entry", "expr": "1 + 1", "depends_on": ["c", "a b"], "timeout": "5s"}
    ]}"#;
    let files = examples("dags")
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    for text in files.chain([large.to_owned()]) {
        let document = read(&text);
        let written = json_dag::write(&document.servers, &document.workflows[0].workflow);
        assert_eq!(written.losses, Vec::<String>::new(), "{}", written.text);
        same(&document, &read(&written.text), &written.text);
    }
}

#[test]
fn irs_read_back_in_meaning() {
    for path in examples("ir") {
        let document = read(&std::fs::read_to_string(path).unwrap());
        let workflow = &document.workflows[0].workflow;
        let written = pflow_ir::write(&document.servers, workflow);
        assert_eq!(written.losses, Vec::<String>::new(), "{}", written.text);
        let again = read(&written.text);
        let again = &again.workflows[0].workflow;
        assert_eq!(again.nodes, workflow.nodes, "{}", written.text);
        assert_eq!(again.input_schema, workflow.input_schema);
        let sorted = |workflow: &Workflow| {
            let mut edges: Vec<_> = workflow
                .edges
                .iter()
                .map(|edge| format!("{edge:?}"))
                .collect();
            edges.sort();
            edges
        };
        assert_eq!(sorted(again), sorted(workflow), "{}", written.text);
    }
}

/// A form in every format, with every field and edge.
#[test]
fn forms_read_back() {
    let schema = r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "title": "N"},
        "a": {"type": "object", "properties": {"$ref": {"type": "string"}}}}}"#;
    let yaml = format!(
        r#"{{version: "1.0", server: {{name: x, version: "1"}}, tools: [{{name: t, description: d,
        inputSchema: {{type: object}}, nodes: [
        {{id: start, type: entry, next: form}},
        {{id: form, type: ask, message: {{expr: '"How many? " & start.x'}}, schema: {schema},
          defaults: {{n: $.start.n, a: {{"$ref": {{value: "$1"}}}}}}, timeout: 2d, answered-by: people,
          next: end, on-decline: other, onCancel: other, on-timeout: other, on-error: other}},
        {{id: other, type: transform, transform: {{expr: "1"}}, next: end}},
        {{id: end, type: exit}}]}}]}}"#
    );
    let dag = format!(
        r#"{{"name": "x", "tasks": [{{"id": "a", "expr": "1"}},
        {{"id": "form", "tool": "builtin:ask", "arguments": {{"message": "How many? $OUTPUT[a]", "schema": {schema},
          "defaults": {{"n": "$OUTPUT[a]"}}, "timeout": 5000}}}}]}}"#
    );
    let ir = format!(
        r#"{{"name": "x", "inputs": {{"who": {{"type": "string"}}}}, "nodes": [
        {{"id": "form", "type": "ask", "params": {{"message": "How many, ${{who}}?", "schema": {schema},
          "defaults": {{"n": 1}}, "answered-by": "people"}}, "on-decline": "other"}},
        {{"id": "other", "type": "transform", "params": {{"expr": "1"}}, "next": "end"}}]}}"#
    );
    let markdown = "# X\n\nAsks.\n\n## Inputs\n\n### who\n\nWho.\n\n- type: string\n\n## Steps\n\n### form\n\n\
        Asks.\n\n- type: ask\n- message: How many, ${who}?\n- next: last\n- on-decline: other\n\n```yaml schema\n\
        type: object\nproperties:\n  n: {type: integer}\n```\n\n### other\n\nNot.\n\n- type: transform\n\
        - expr: '1'\n- next: end\n\n### last\n\nLast.\n\n- type: transform\n- expr: form.n\n\n## Outputs\n\n### n\n\nN.\n\n\
        - source: ${last}\n";
    for (text, format) in [
        (yaml.as_str(), Format::Yaml),
        (&dag, Format::Dag),
        (&ir, Format::Ir),
        (markdown, Format::Markdown),
    ] {
        let hint = ReadOptions {
            format: Some(format),
            ..ANY
        };
        let read = |text: &str| match tramline_formats::read(text.as_bytes(), hint) {
            Ok(read) => read.document,
            Err(flaws) => panic!("{flaws:#?}\n{text}"),
        };
        let document = read(text);
        let workflow = &document.workflows[0].workflow;
        let asks = workflow.nodes.iter().find(|node| node.id == "form");
        let asks = asks.map(|node| &node.action);
        assert!(matches!(asks, Some(Action::Ask(_))), "{asks:?}");
        let written = match format {
            Format::Yaml => as_yaml(&document),
            Format::Dag => json_dag::write(&document.servers, workflow),
            Format::Ir => pflow_ir::write(&document.servers, workflow),
            Format::Markdown => {
                tramline_formats::pflow_markdown::write(&document.servers, workflow)
            }
        };
        assert_eq!(written.losses, Vec::<String>::new(), "{}", written.text);
        let again = read(&written.text);
        let again = &again.workflows[0].workflow;
        assert_eq!(again.nodes, workflow.nodes, "{}", written.text);
        let count = |workflow: &Workflow| workflow.edges.len();
        assert_eq!(count(again), count(workflow), "{}", written.text);
        for edge in &workflow.edges {
            assert!(again.edges.contains(edge), "{edge:?}: {}", written.text);
        }
    }
}

#[test]
fn flaws_of_forms_name_their_place() {
    let node = |more: &str| {
        format!(
            "{{version: '1.0', server: {{name: x, version: '1'}}, tools: [{{name: t, description: d, inputSchema: \
             {{type: object}}, nodes: [{{id: a, type: entry, next: form}}, {{id: form, type: ask, next: b, {more}}}, \
             {{id: b, type: exit}}]}}]}}"
        )
    };
    let fine = "schema: {type: object, properties: {n: {type: string}}}";
    for (more, pointer, says) in [
        (fine.to_owned(), "/tools/0/nodes/1", "message"),
        ("message: m".into(), "/tools/0/nodes/1", "schema"),
        (
            "message: m, schema: {type: string}".into(),
            "/tools/0/nodes/1/schema",
            "type: object",
        ),
        (
            "message: m, schema: {type: object, properties: {n: {type: text}}}".into(),
            "/tools/0/nodes/1/schema/properties/n/type",
            "not a type",
        ),
        (
            format!("message: m, {fine}, answered-by: nobody"),
            "/tools/0/nodes/1/answered-by",
            "`anyone` or `people`",
        ),
        (
            format!("message: m, {fine}, timeout: 3000d"),
            "/tools/0/nodes/1/timeout",
            "a year",
        ),
        (
            format!("message: $.nowhere.x, {fine}"),
            "/tools/0/nodes/1/message",
            "nowhere",
        ),
        (
            format!("message: m, {fine}, on-decline: c"),
            "/tools/0/nodes/1/on-decline",
            "there is no node `c`",
        ),
    ] {
        let text = node(&more);
        let flaws = tramline_formats::read(text.as_bytes(), ANY).unwrap_err();
        let found = flaws
            .iter()
            .find(|flaw| flaw.span.pointer == pointer && flaw.message.contains(says));
        assert!(found.is_some(), "{more}: {flaws:#?}");
    }
}

#[test]
fn conversion_losses_are_listed() {
    let text = r#"{version: "1.0", server: {name: x, version: "1"}, tools: [{name: t, description: d,
        inputSchema: {type: object, properties: {n: {type: number, minimum: 5}}}, outputSchema: {type: object},
        nodes: [
        {id: start, type: entry, next: [a, b]},
        {id: a, type: mcp, server: s, tool: t, args: {x: {expr: "1 + start.n"}, y: $.start.n}, on-error: b, next: way},
        {id: b, type: transform, transform: {expr: "1"}, next: way},
        {id: way, type: switch, conditions: [{rule: true, next: a}], next: end},
        {id: end, type: exit}]}]}"#;
    let document = read(text);
    let workflow = &document.workflows[0].workflow;
    let dag = json_dag::write(&document.servers, workflow);
    assert_eq!(
        dag.losses,
        [
            "the edge from `a` to `b` with label error",
            "the edge back from `way` to `a`: a DAG has no loops",
            "the switch `way`: here all of its branches run",
            "which output is the result: here it is all outputs, by task id",
            "the output schema: the result has a different shape here",
            "that a failure ends the run: here it skips only its dependents",
        ]
    );
    assert_eq!(read(&dag.text).workflows[0].workflow.nodes[0].id, "start");
    let ir = pflow_ir::write(&document.servers, workflow);
    assert_eq!(
        ir.losses,
        [
            "`minimum` of the input `n`",
            "the output schema",
            "the expression `1 + start.n` in the arguments of `a`",
            "that `b` also starts the run: an IR has one start node",
        ]
    );
    assert!(ir.text.contains("\"y\": \"${n}\""), "{}", ir.text);
}

#[test]
fn a_dag_becomes_a_graph_with_both_ends() {
    let document = read(&std::fs::read_to_string(&examples("dags")[2]).unwrap());
    let written = as_yaml(&document);
    let lost = [
        "the approval before calls of tools annotated as destructive",
        "the retry of repeatable calls whose server was unavailable",
        "that a failure skips only its dependents: here it ends the run",
    ];
    assert_eq!(written.losses, lost);
    let again = tramline_formats::read(written.text.as_bytes(), ANY).unwrap();
    assert_eq!(again.format, Format::Yaml);
    let ids: Vec<_> = again.document.workflows[0]
        .workflow
        .nodes
        .iter()
        .map(|node| node.id.to_string())
        .collect();
    assert_eq!(
        ids,
        [
            "entry", "list", "plan", "shopping", "sizes", "results", "exit"
        ]
    );
}

fn word() -> impl Strategy<Value = Str> {
    prop::sample::select(vec![
        "a",
        "b c",
        "true",
        "5",
        "$x",
        "x: y",
        "日本",
        "it's",
        "#1",
        "-",
        "\"q\"",
        "line\nline\n",
    ])
    .prop_map(Str::from)
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(i64::from(n))),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..4).prop_map(Value::object),
        ]
    })
}

/// Arguments as a reader returns them: a literal, or an object that contains expressions.
fn arguments() -> impl Strategy<Value = Template> {
    let plain = prop::collection::vec((word(), any::<i16>()), 0..3).prop_map(|pairs| {
        let pairs = pairs
            .into_iter()
            .map(|(key, n)| (key, Value::from(i64::from(n))));
        Template::Literal(Value::object(pairs))
    });
    let source = prop::sample::select(vec![
        "$.entry.a",
        "entry.a & \"x\"",
        "(\n  $x := 1;\n  $x\n)\n",
        "$count([1])",
    ]);
    let mixed = (source, json()).prop_map(|(source, value)| {
        let mut fields = vec![(Str::from("e"), Template::Expr(source.into()))];
        if !value.to_json().contains("$x") {
            fields.push(("l".into(), Template::Literal(value)));
        }
        Template::Object(fields)
    });
    prop_oneof![plain, mixed]
}

prop_compose! {
    fn middle()(
        kind in 0..4usize,
        arguments in arguments(),
        approval in prop::option::of(word()),
        timeout_ms in prop::option::of(1..100_000u64),
        retry in prop::option::of((0..9u32, 0..999u64, 1..9u32)),
        repeatable in prop::option::of(any::<bool>()),
        all in any::<bool>(),
        targets in prop::collection::vec(any::<prop::sample::Index>(), 1..3),
        fails in prop::option::of(any::<prop::sample::Index>()),
        each in prop::option::of((1..9u32, any::<bool>())),
    ) -> (Node, Vec<prop::sample::Index>, Option<prop::sample::Index>) {
        let action = match kind {
            0 => Action::Call { tool: ToolName::new("ser ver", "tool"), arguments },
            1 => Action::Compute { expression: "(\n  1;\n  2\n)".into() },
            2 => Action::Wait(WaitTime::For(Template::Literal("5s".into()))),
            _ => Action::Choose { rules: Vec::new(), otherwise: None },
        };
        let mut node = Node::new("", action);
        if kind == 2 {
            return (node, targets, None);
        }
        node.each = each.filter(|_| kind == 0).map(|(width, keeps)| Box::new(FanOutSpec {
            items: Template::Expr("$.entry.list".into()),
            name: "it".into(),
            width,
            failures: if keeps { ItemFailures::Keep } else { ItemFailures::Stop },
        }));
        node.approval = approval.filter(|reason| !reason.trim().is_empty());
        node.timeout_ms = timeout_ms;
        node.retry = retry.map(|(max, wait_ms, tenths)| RetryPolicy { max, wait_ms, backoff: 1.0 + f64::from(tenths) / 8.0 });
        node.repeatable = repeatable.filter(|_| kind == 0);
        node.join = if all { Join::All } else { Join::Any };
        (node, targets, fails)
    }
}

prop_compose! {
    /// A workflow with its parts in file order; its shape need not make sense.
    fn workflow()(
        middle in prop::collection::vec(middle(), 1..6),
        limits in (1..5_000u64, 1..9_999u64, 1..99_999u64),
        title in prop::option::of(word()),
        description in word(),
        output in prop::option::of(Just(Value::object([("type", "object".into())]))),
        rule in json(),
    ) -> Workflow {
        let count = middle.len();
        let id = |at: usize| match at {
            0 => Str::from("entry"),
            at if at > count => "exit".into(),
            at => format!("node {at}").into(),
        };
        let mut nodes = vec![Node::new("entry", Action::Entry)];
        let mut edges = vec![Edge::new("entry", id(1))];
        for (at, (mut node, targets, fails)) in middle.into_iter().enumerate() {
            node.id = id(at + 1);
            let mut to: Vec<_> = targets.iter().map(|target| id(1 + target.index(count))).collect();
            to.push(id(at + 2));
            if let Action::Choose { rules, otherwise } = &mut node.action {
                let last = to.pop();
                for label in to {
                    edges.push(Edge::labelled(node.id.clone(), label.clone(), label.clone()));
                    let rule = match &rule {
                        // Text is not a rule.
                        Value::String(text) => Value::object([("!", text.clone().into())]),
                        other => other.clone(),
                    };
                    rules.push(SwitchRule { rule, label });
                }
                edges.extend(last.clone().map(|label| Edge::labelled(node.id.clone(), label.clone(), label)));
                *otherwise = last;
            } else {
                edges.extend(to.into_iter().map(|to| Edge::new(node.id.clone(), to)));
            }
            edges.extend(fails.map(|to| Edge::labelled(node.id.clone(), id(1 + to.index(count)), "error")));
            nodes.push(node);
        }
        nodes.push(Node::new("exit", Action::Exit));
        Workflow {
            name: "t".into(),
            title,
            description: Some(description),
            input_schema: Some(Value::object([("type", "object".into())])),
            output_schema: output,
            nodes,
            edges,
            limits: WorkflowLimits { steps_max: limits.0, active_ms_max: limits.1, calls_max: limits.2, ..WorkflowLimits::default() },
            ..Workflow::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_workflows_read_back_from_yaml(workflow in workflow()) {
        let server = yaml_graph::ServerInfo { name: "x".into(), version: "1".into(), title: "x".into(), instructions: None };
        let written = yaml_graph::write(&server, &Value::object::<Str>([]), &[&workflow]);
        prop_assert_eq!(&written.losses, &Vec::<String>::new());
        // Joins on cycles and invalid rules are rejected; a workflow that is accepted must be equal.
        if let Ok(read) = tramline_formats::read(written.text.as_bytes(), ANY) {
            prop_assert_eq!(&*read.document.workflows[0].workflow, &workflow, "{}", written.text);
        } else if let Err(flaws) = tramline_formats::read(written.text.as_bytes(), ANY) {
            let expected = ["T0013", "T0015", "T0011"];
            prop_assert!(flaws.iter().any(|flaw| expected.contains(&flaw.code.as_str())), "{:?} {}", flaws, written.text);
        }
    }

    #[test]
    fn whatever_is_converted_can_be_read(workflow in workflow()) {
        let none = Value::object::<Str>([]);
        let acts = |node: &Node| matches!(node.action, Action::Call { .. } | Action::Compute { .. });
        let some = workflow.nodes.iter().any(acts);
        if some && tramline_workflow::graph::Graph::build(workflow.clone()).is_ok() {
            for written in [json_dag::write(&none, &workflow), pflow_ir::write(&none, &workflow)] {
                let read = tramline_formats::read(written.text.as_bytes(), ANY);
                prop_assert!(read.is_ok(), "{:?}\n{}", read, written.text);
            }
        }
    }
}
