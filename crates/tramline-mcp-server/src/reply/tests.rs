//! Structured content depending on the output schema.

use super::{fault_reply, graph_result, output_schema, without_unpromised_structure};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::Fault;
use tramline_expr::Value;
use tramline_formats::yaml_graph;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;

/// A graph with this output schema.
fn graph(schema: Option<Json>) -> Arc<Graph> {
    let mut tool = json!({
        "name": "t", "description": "T.", "inputSchema": {"type": "object"},
        "nodes": [{"id": "entry", "type": "entry", "next": "exit"}, {"id": "exit", "type": "exit"}],
    });
    if let Some(schema) = schema {
        tool["outputSchema"] = schema;
    }
    let document = json!({
        "version": "1.0", "server": {"name": "s", "version": "1.0.0"}, "tools": [tool],
    });
    let read = yaml_graph::read(document.to_string().as_bytes()).unwrap();
    Arc::clone(&read.workflows[0])
}

/// The content and the structured content of a result.
fn reply(schema: Option<Json>, result: Json) -> (Json, Option<Json>) {
    let reply = graph_result(&graph(schema), &RunId::new(0, 0), &Value::from(result));
    let content = serde_json::to_value(&reply.content).unwrap();
    (content, reply.structured_content)
}

#[test]
fn data_is_text_and_structured() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(
        reply(None, json!({"a": 1})),
        (text(r#"{"a":1}"#), Some(json!({"a": 1})))
    );
    assert_eq!(
        reply(None, json!("a")),
        (text("a"), Some(json!({"result": "a"})))
    );
    assert_eq!(
        reply(None, json!(false)),
        (text("false"), Some(json!({"result": false})))
    );
    assert_eq!(
        reply(None, json!([])),
        (text("[]"), Some(json!({"result": []})))
    );
}

#[test]
fn content_is_itself_and_structured_only_where_promised() {
    let one = json!({"type": "text", "text": "a"});
    let list = json!([one, {"type": "image", "data": "AA==", "mimeType": "image/png"}]);
    assert_eq!(reply(None, one.clone()), (json!([one]), None));
    assert_eq!(reply(None, list.clone()), (list.clone(), None));
    let object = Some(json!({"type": "object"}));
    assert_eq!(
        reply(object, one.clone()),
        (json!([one]), Some(one.clone()))
    );
    let array = Some(json!({"type": "array"}));
    let wrapped = json!({"result": list});
    assert_eq!(reply(array, list.clone()), (list, Some(wrapped)));
}

#[test]
fn what_is_structured_fits_what_is_listed() {
    let either = json!({
        "$defs": {"n": {"type": "number"}},
        "anyOf": [{"type": "object"}, {"$ref": "#/$defs/n"}],
    });
    let listed = output_schema(&Value::from(either.clone()));
    assert_eq!(
        Json::from(listed),
        json!({
            "type": "object",
            "properties": {"result": {"anyOf": [{"type": "object"}, {"$ref": "#/$defs/n"}]}},
            "required": ["result"],
            "$defs": {"n": {"type": "number"}},
        })
    );
    for result in [json!({"a": 1}), json!(2)] {
        let (_, structured) = reply(Some(either.clone()), result.clone());
        assert_eq!(structured, Some(json!({"result": result})));
    }
}

#[test]
fn an_error_breaks_no_promise() {
    let broken = |schema| {
        without_unpromised_structure(
            &graph(schema),
            fault_reply(&Fault::Rejected("no".into()), None),
        )
    };
    let free = broken(None);
    assert_eq!(
        free.structured_content,
        Some(
            json!({"error": {"code": -32602, "message": "no", "data": {"name": "INVALID_PARAMS"}}})
        )
    );
    let bound = broken(Some(json!({"type": "object"})));
    assert_eq!(bound.structured_content, None);
    assert_eq!(
        bound.content[0].as_text().unwrap().text,
        r#"{"error":{"code":-32602,"message":"no","data":{"name":"INVALID_PARAMS"}}}"#
    );
}
