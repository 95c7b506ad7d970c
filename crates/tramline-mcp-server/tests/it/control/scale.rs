//! Large workflows: ten thousand tasks, a megabyte of arguments.

use super::{ControlFixture, call};
use crate::support::Era;
use serde_json::{Value as Json, json};

#[tokio::test]
async fn ten_thousand_tasks_run() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let tasks: Vec<Json> = (0..10_000)
        .map(|at| match at {
            0..100 => json!({"id": format!("t{at}"), "tool": "t:echo", "arguments": {"n": at}}),
            _ => {
                let before = format!("t{}", at - 100);
                json!({"id": format!("t{at}"), "tool": "t:echo", "arguments": {"n": format!("$OUTPUT[{before}].n")}})
            }
        })
        .collect();
    let done = call(
        &client,
        "execute_dag",
        json!({"workflow": {"tasks": tasks}}),
    )
    .await;
    assert_eq!(done["status"], "complete", "{}", done["error"]);
    let results = done["results"].as_array().unwrap();
    assert_eq!(results.len(), 10_000);
    assert_eq!(results[9_999]["output"], json!({"n": 99}));
    assert_eq!(done["total_layers"], 100);
}

#[tokio::test]
async fn a_megabyte_of_arguments_is_carried() {
    let client = ControlFixture::new().client(Era::Modern).await;
    let text = "x".repeat(1 << 20);
    let dag = json!({"workflow": [
        {"id": "a", "tool": "t:echo", "arguments": {"text": text}},
        {"id": "b", "tool": "t:echo", "arguments": {"length": {"expr": "$length(a.text)"}}, "depends_on": ["a"]}
    ]});
    let done = call(&client, "execute_dag", dag).await;
    assert_eq!(done["results"][1]["output"], json!({"length": 1 << 20}));
}
