//! A document's form: in the client's form in both eras, and through the tools that answer.

use super::support::{
    ERAS, Era, connect, connect_with, filled, forms, graph, over, services, structured, tools,
};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::testing::MemoryStore;
use tramline_mcp_server::Toolset;
use tramline_planner::Services;
use tramline_workflow::graph::Graph;

const NODES: &str = "
      - {id: entry, type: entry, next: form}
      - id: form
        type: ask
        message: What goes into the parcel?
        schema:
          type: object
          properties:
            name: {type: string, title: Name, minLength: 1}
            size: {type: string, oneOf: [{const: s, title: Small}, {const: l, title: Large}]}
            extras: {type: array, items: {type: string, enum: [bow, card]}}
            address: {type: object, properties: {zip: {type: string}}, required: [zip]}
          required: [name]
        defaults: {size: s}
        next: exit
        on-decline: none
      - {id: none, type: transform, transform: {expr: '{\"none\": form.action}'}, next: exit}
      - {id: exit, type: exit}
";

fn asking() -> Vec<Arc<Graph>> {
    vec![graph("act", NODES)]
}

fn process() -> Services {
    services(MemoryStore::default(), tools())
}

#[tokio::test]
async fn a_client_draws_the_form_and_its_answer_is_the_output() {
    for era in ERAS {
        let server = over(process(), &[Toolset::Graphs], asking());
        let mut client = connect_with(&server, era, forms()).await;
        let content = json!({"name": "Ada", "extras": ["bow"], "address": "{\"zip\": \"1010\"}"});
        client.queue_answer(filled(content));
        let result = client.call("act", json!({})).await;
        let wanted =
            json!({"name": "Ada", "extras": ["bow"], "address": {"zip": "1010"}, "size": "s"});
        assert_eq!(structured(&result), &wanted, "{era:?}");
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = client.next_question().await
        else {
            panic!("no form");
        };
        assert!(
            message.starts_with("What goes into the parcel?"),
            "{message}"
        );
        let schema = serde_json::to_value(&requested_schema).unwrap();
        assert_eq!(schema["required"], json!(["name"]));
        let fields = &schema["properties"];
        assert_eq!(fields["size"]["oneOf"][1]["title"], "Large", "{schema}");
        assert_eq!(fields["size"]["default"], "s");
        assert_eq!(fields["extras"]["items"]["enum"], json!(["bow", "card"]));
        assert_eq!(fields["address"]["type"], "string");
    }
}

#[tokio::test]
async fn declining_takes_the_edge_and_closing_decides_nothing() {
    for era in ERAS {
        let server = over(process(), &[Toolset::Graphs], asking());
        let client = connect_with(&server, era, forms()).await;
        client.queue_answer(ElicitResult::new(ElicitationAction::Decline));
        let declined = client.call("act", json!({})).await;
        assert_eq!(
            structured(&declined),
            &json!({"none": "decline"}),
            "{era:?}"
        );
        client.queue_answer(ElicitResult::new(ElicitationAction::Cancel));
        let closed = client.call("act", json!({})).await;
        let error = &structured(&closed)["error"];
        assert_eq!(error["waiting"][0]["kind"], "form", "{era:?}: {error}");
        assert_eq!(error["waiting"][0]["form"]["answered_by"], "anyone");
    }
}

/// During the call the form is shown again, with the reason.
#[tokio::test]
async fn a_wrong_answer_is_asked_again() {
    let server = over(process(), &[Toolset::Graphs], asking());
    let mut client = connect_with(&server, Era::Legacy, forms()).await;
    client.queue_answer(filled(json!({"name": ""})));
    client.queue_answer(filled(json!({"name": "Ada"})));
    let result = client.call("act", json!({})).await;
    assert_eq!(structured(&result), &json!({"name": "Ada", "size": "s"}));
    client.next_question().await;
    let ElicitRequestParams::FormElicitationParams { message, .. } = client.next_question().await
    else {
        panic!("no form");
    };
    assert!(message.contains("`name`"), "{message}");
}

#[tokio::test]
async fn tools_answer_with_content_and_a_wrong_field_is_named() {
    for era in ERAS {
        let sets = [Toolset::Graphs, Toolset::Debug, Toolset::Control];
        let server = over(process(), &sets, asking());
        let client = connect(&server, era).await;
        let paused = client.call("act", json!({})).await;
        let waiting = structured(&paused)["error"]["waiting"][0].clone();
        assert_eq!(
            waiting["options"],
            json!(["submit", "decline", "cancel", "reject"])
        );
        assert_eq!(waiting["form"]["schema"]["required"], json!(["name"]));
        let point = waiting["checkpoint_id"].as_str().unwrap().to_owned();
        let answer =
            |content: Json| json!({"checkpoint_id": point, "answer": "submit", "content": content});
        let wrong = client.call("run_answer", answer(json!({"name": 7}))).await;
        assert!(wrong.is_error.unwrap_or_default());
        assert!(
            structured(&wrong).to_string().contains("`name`"),
            "{wrong:?}"
        );
        let done = client
            .call("run_answer", answer(json!({"name": "Ada"})))
            .await;
        assert_eq!(structured(&done)["status"], "completed", "{done:?}");

        let paused = client.call("act", json!({})).await;
        let error = structured(&paused)["error"].clone();
        let response = json!({
            "workflow_id": error["run_id"], "checkpoint_id": error["waiting"][0]["checkpoint_id"],
            "approved": true, "content": {"name": "Grace"},
        });
        let done = client.call("approval_response", response).await;
        assert_eq!(structured(&done)["status"], "complete", "{done:?}");
    }
}
