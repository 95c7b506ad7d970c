//! Edits preserve what they do not touch; an edit followed by its inverse restores the text.

use super::*;
use crate::{KnownServers, ReadOptions};
use proptest::prelude::*;
use serde_json::json;

mod charts;
mod steps;

const TEXT: &str = r#"# Prices of parcels.
version: "1"
server: {name: s, version: "1"}
tools:
  - name: parcel   # the only one
    description: d
    inputSchema: {type: object}
    nodes:
      - id: in
        type: entry
        next: price # goes on

      # What it costs.
      - id: price
        type: transform
        transform:
          expr: '$.in.weight * 2'
        next: way

      - id: way
        type: switch
        conditions:
          - rule: { ">": [{ var: price }, 100] }
            next: dear
        next: out

      - { id: dear, type: transform, transform: { expr: "price + 1" }, next: out }

      - id: out
        type: exit
"#;

fn made(text: &str, edits: serde_json::Value) -> Result<EditedText, String> {
    let edits: Vec<GraphEdit> = serde_json::from_value(edits).unwrap();
    apply_edits(text, None, None, &edits)
}

fn after(text: &str, edits: serde_json::Value) -> String {
    let edited = made(text, edits).unwrap();
    let mut again: Vec<char> = text.chars().collect();
    for change in edited.changes.iter().rev() {
        again.splice(change.from..change.to, change.insert.chars());
    }
    assert_eq!(again.into_iter().collect::<String>(), edited.text);
    edited.text
}

/// The edges of the only workflow, sorted.
fn edges(text: &str) -> Vec<String> {
    let hint = ReadOptions {
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    // The editor shows references to a removed node as flaws; here only the edges matter.
    let text = text
        .replace("{ var: price }", "{ var: in.weight }")
        .replace("price + 1", "in.weight + 1");
    let read = crate::read(text.as_bytes(), hint).unwrap();
    let edges = read.document.workflows[0].workflow.edges.iter();
    let mut edges: Vec<_> = edges
        .map(|edge| format!("{}>{}", edge.from, edge.to))
        .collect();
    edges.sort();
    edges
}

#[test]
fn a_node_is_put_between_two_others() {
    let node = json!({"id": "tax", "kind": "compute", "transform": {"expr": "price * 1.2"}});
    let text = after(
        TEXT,
        json!([{"op": "add_node", "after": "price", "node": node}]),
    );
    let wanted = TEXT.replace("        next: way\n", "        next: tax\n\n      - id: tax\n        type: transform\n        transform: {expr: price * 1.2}\n        next: way\n");
    assert_eq!(text, wanted);
    let back = after(&text, json!([{"op": "remove_node", "id": "tax"}]));
    assert_eq!(back, TEXT);
}

#[test]
fn a_removed_node_is_bypassed() {
    let text = after(TEXT, json!([{"op": "remove_node", "id": "price"}]));
    assert!(
        text.contains("next: way # goes on") && text.contains("# What it costs."),
        "{text}"
    );
    assert_eq!(edges(&text), ["dear>out", "in>way", "way>dear", "way>out"]);
    let text = after(TEXT, json!([{"op": "remove_node", "id": "dear"}]));
    assert_eq!(
        edges(&text),
        ["in>price", "price>way", "way>out", "way>out"]
    );
}

#[test]
fn a_name_is_exchanged_in_edges_and_expressions() {
    let text = after(
        TEXT,
        json!([{"op": "rename_node", "id": "price", "to": "cost"}]),
    );
    for part in [
        "next: cost # goes on",
        "id: cost\n",
        "{ var: cost }",
        "\"cost + 1\"",
    ] {
        assert!(
            text.contains(part) || text.contains(&part.replace('"', "")),
            "{part}: {text}"
        );
    }
    assert!(text.contains("# What it costs."));
    let text = after(
        TEXT,
        json!([{"op": "rename_node", "id": "in", "to": "entry"}]),
    );
    assert!(text.contains("$.entry.weight * 2"), "{text}");
}

#[test]
fn edges_are_added_and_removed() {
    let text = after(TEXT, json!([{"op": "connect", "from": "in", "to": "dear"}]));
    assert!(text.contains("next: [price, dear] # goes on"), "{text}");
    let back = after(
        &text,
        json!([{"op": "disconnect", "from": "in", "to": "dear"}]),
    );
    assert_eq!(back, TEXT);
    let text = after(
        TEXT,
        json!([{"op": "connect", "from": "price", "to": "dear", "label": "error"}]),
    );
    assert!(
        text.contains("        next: way\n        on-error: dear\n"),
        "{text}"
    );
    assert_eq!(
        after(
            &text,
            json!([{"op": "disconnect", "from": "price", "to": "dear"}])
        ),
        TEXT
    );
    let rule = r#"{"==": [{"var": "price"}, 1]}"#;
    let text = after(
        TEXT,
        json!([{"op": "connect", "from": "way", "to": "price", "label": rule}]),
    );
    assert_eq!(
        edges(&text).iter().filter(|it| *it == "way>price").count(),
        1
    );
    assert_eq!(
        after(
            &text,
            json!([{"op": "disconnect", "from": "way", "to": "price"}])
        ),
        TEXT
    );
}

#[test]
fn a_field_is_set_where_it_stands() {
    let set = |path: serde_json::Value, value: serde_json::Value| {
        after(
            TEXT,
            json!([{"op": "set_field", "id": "price", "path": path, "value": value}]),
        )
    };
    let text = set(json!(["transform", "expr"]), json!("$.in.weight * 3"));
    assert_eq!(text, TEXT.replace("weight * 2", "weight * 3"));
    let text = set(json!(["timeout"]), json!("5s"));
    assert_eq!(
        text,
        TEXT.replace(
            "        next: way\n",
            "        next: way\n        timeout: 5s\n"
        )
    );
    let text = set(json!(["next"]), json!(null));
    assert_eq!(text, TEXT.replace("        next: way\n", ""));
}

#[test]
fn several_edits_are_made_one_after_the_other() {
    let text = after(
        TEXT,
        json!([
        {"op": "rename_node", "id": "dear", "to": "costly"},
        {"op": "set_field", "id": "costly", "path": ["retry"], "value": {"max": 2, "wait_ms": 1, "backoff": 1}},
        {"op": "remove_node", "id": "price"}]),
    );
    assert_eq!(
        edges(&text),
        ["costly>out", "in>way", "way>costly", "way>out"]
    );
}

#[test]
fn impossible_edits_are_rejected_with_a_reason() {
    let told = |edits: serde_json::Value| made(TEXT, edits).unwrap_err();
    assert_eq!(
        told(json!([{"op": "remove_node", "id": "pric"}])),
        "there is no node `pric`; did you mean `price`?"
    );
    assert!(told(json!([{"op": "rename_node", "id": "in", "to": "out"}])).contains("taken"));
    assert!(told(json!([{"op": "connect", "from": "way", "to": "in"}])).contains("give a rule"));
    assert!(
        told(json!([{"op": "disconnect", "from": "in", "to": "out"}])).contains("there is no edge")
    );
    let aliased = TEXT
        .replace("next: price #", "next: &p price #")
        .replace("{ var: price }", "{ var: *p }");
    let refused = made(
        &aliased,
        json!([{"op": "rename_node", "id": "price", "to": "cost"}]),
    );
    assert!(refused.is_err() || edges(&refused.unwrap().text).contains(&"in>cost".to_owned()));
    assert!(made("flowchart", json!([{"op": "remove_node", "id": "a"}])).is_err());
}

#[test]
fn dags_and_irs_are_edited_too() {
    let dag = "{\n  \"tasks\": [\n    {\"id\": \"a\", \"tool\": \"s:t\", \"arguments\": {}},\n    {\"id\": \"b\", \"tool\": \"s:t\", \"arguments\": {}, \"depends_on\": [\"a\"]}\n  ]\n}\n";
    let node = json!({"id": "c", "tool": "s:t", "arguments": {}});
    let text = after(dag, json!([{"op": "add_node", "after": "b", "node": node}]));
    assert!(edges(&text).contains(&"b>c".to_owned()), "{text}");
    assert_eq!(after(&text, json!([{"op": "remove_node", "id": "c"}])), dag);
    let text = after(dag, json!([{"op": "disconnect", "from": "a", "to": "b"}]));
    assert_eq!(
        after(&text, json!([{"op": "connect", "from": "a", "to": "b"}])),
        dag
    );
    let ir = "{\"ir_version\": \"0.1.0\", \"nodes\": [{\"id\": \"a\", \"type\": \"shell\", \"params\": {\"command\": \"ls\"}}, {\"id\": \"b\", \"type\": \"shell\", \"params\": {\"command\": \"ls\"}}], \"edges\": [{\"from\": \"a\", \"to\": \"b\"}]}";
    let text = after(ir, json!([{"op": "rename_node", "id": "b", "to": "z"}]));
    assert_eq!(text, ir.replace("\"b\"", "\"z\""));
    let text = after(ir, json!([{"op": "remove_node", "id": "b"}]));
    assert!(text.contains("\"edges\": []"), "{text}");
}

/// A graph with a chain of nodes, written in one of several styles.
fn chain(length: usize, flow: &[bool], apart: bool, comments: bool, crlf: bool) -> String {
    let mut text = "server: {name: s, version: '1'}\ntools:\n- name: t\n  description: d\n  inputSchema: {type: object}\n  nodes:\n".to_owned();
    for (at, in_flow) in flow.iter().copied().enumerate().take(length) {
        let (id, kind, more) = match at {
            0 => ("n0".to_owned(), "entry", String::new()),
            _ => (format!("n{at}"), "transform", format!("$.n{}", at - 1)),
        };
        if comments {
            text.push_str(&format!("    # node {id} ä\n"));
        }
        let next = format!("n{}", at + 1);
        if in_flow {
            let body = if more.is_empty() {
                String::new()
            } else {
                format!(", transform: {{expr: '{more}'}}")
            };
            text.push_str(&format!(
                "    - {{id: {id}, type: {kind}{body}, next: {next}}}\n"
            ));
        } else {
            let body = if more.is_empty() {
                String::new()
            } else {
                format!("      transform:\n        expr: |-\n          {more}\n")
            };
            let note = if comments { "  # on" } else { "" };
            text.push_str(&format!(
                "    - id: {id}\n      type: {kind}\n{body}      next: {next}{note}\n"
            ));
        }
        if apart {
            text.push('\n');
        }
    }
    text.push_str(&format!("    - id: n{length}\n      type: exit\n"));
    if crlf {
        text.replace('\n', "\r\n")
    } else {
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn an_edit_and_its_opposite_leave_the_text(
        length in 2usize..7,
        flow in proptest::collection::vec(any::<bool>(), 8),
        (apart, comments, crlf) in any::<(bool, bool, bool)>(),
        pick in any::<prop::sample::Index>(),
        kind in 0usize..4,
    ) {
        let text = chain(length, &flow, apart, comments, crlf);
        let at = pick.index(length);
        let (id, last) = (format!("n{at}"), format!("n{length}"));
        let (there, back) = match kind {
            0 => (
                json!([{"op": "add_node", "after": id, "node": {"id": "new", "kind": "compute", "transform": {"expr": "1"}}}]),
                json!([{"op": "remove_node", "id": "new"}]),
            ),
            1 => (
                json!([{"op": "rename_node", "id": id, "to": "other"}]),
                json!([{"op": "rename_node", "id": "other", "to": id}]),
            ),
            2 if at + 1 < length => (
                json!([{"op": "connect", "from": id, "to": last}]),
                json!([{"op": "disconnect", "from": id, "to": last}]),
            ),
            _ => (
                json!([{"op": "set_field", "id": id, "path": ["description"], "value": "a: b"}]),
                json!([{"op": "set_field", "id": id, "path": ["description"], "value": null}]),
            ),
        };
        let edited = after(&text, there);
        prop_assert_ne!(&edited, &text);
        let hint = ReadOptions { known_servers: KnownServers::Any, ..ReadOptions::default() };
        prop_assert!(crate::read(edited.as_bytes(), hint).is_ok(), "{}", edited);
        prop_assert_eq!(after(&edited, back), text);
    }
}

#[test]
fn the_steps_of_a_plan_come_and_go_in_their_order() {
    let plan = r#"{
  "plan": [
    {"id": "a", "tool": "s:x", "args": {}},
    {"id": "b", "tool": "s:y", "args": {"of": "$OUTPUT[a].n"}}
  ]
}
"#;
    assert_eq!(edges(plan), ["a>b"]);
    let node = json!({"id": "c", "kind": "call", "tool": "s:z", "args": {}});
    let more = after(
        plan,
        json!([{"op": "add_node", "after": "a", "node": node}]),
    );
    assert_eq!(edges(&more), ["a>b", "a>c", "c>b"]);
    let back = after(&more, json!([{"op": "remove_node", "id": "c"}]));
    assert_eq!(back, plan);
    let named = after(
        plan,
        json!([{"op": "rename_node", "id": "a", "to": "first"}]),
    );
    let wanted = plan.replace("\"a\"", "\"first\"");
    assert_eq!(named, wanted.replace("[a]", "[first]"));
    let refused = made(plan, json!([{"op": "connect", "from": "b", "to": "a"}]));
    assert!(refused.unwrap_err().contains("in list order"));
}
