//! Workflows that agents save, find and call.

use super::GOOD;
use crate::support::{Client, ERAS, connect, over, services, structured, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{EngineOptions, Quota};
use tramline_mcp_server::Toolset;
use tramline_planner::Services;

async fn agent() -> Client {
    let services = services(MemoryStore::default(), tools());
    connect(&over(services, &[Toolset::Library], vec![]), ERAS[1]).await
}

async fn ask(client: &Client, tool: &str, arguments: Json) -> Json {
    structured(&client.call(tool, arguments).await).clone()
}

fn save(name: &str) -> Json {
    json!({"workflow_file": GOOD, "name": name, "description": "doubles a number by looking twice"})
}

#[tokio::test]
async fn a_saved_workflow_is_listed_found_called_and_counted() {
    let client = agent().await;
    let saved = ask(&client, "workflow_save", save("look-twice")).await;
    assert_eq!(saved["success"], true, "{saved}");
    assert_eq!(saved["data"]["version"], 1);
    assert_eq!(saved["data"]["node_type"], "workflow:look-twice");
    let again = ask(&client, "workflow_save", save("look-twice")).await;
    assert_eq!(again["data"]["new"], false, "{again}");
    let call = json!({"workflow": "look-twice", "parameters": {"n": 4}});
    let done = ask(&client, "workflow_execute", call).await;
    assert_eq!(done["data"]["outputs"], json!({"n": 8}), "{done}");
    let node = json!({"node_type": "look-twice", "parameters": {"n": 5}});
    let done = ask(&client, "registry_run", node).await;
    assert_eq!(done["data"]["output"], json!({"n": 10}), "{done}");
    let listed = ask(&client, "workflow_list", json!({"filter": "doubles"})).await;
    assert_eq!(listed["data"]["workflows"][0]["runs"], 2, "{listed}");
    let found = ask(
        &client,
        "workflow_discover",
        json!({"query": "double a number"}),
    )
    .await;
    assert_eq!(found["data"]["matches"][0]["name"], "look-twice", "{found}");
    assert!(found["data"]["matches"][0]["inputs"].is_object());
    let dag = json!({"tasks": [{"id": "a", "tool": "workflow:look-twice", "arguments": {"n": 1}}]});
    let done = ask(&client, "workflow_execute", json!({"workflow": dag})).await;
    assert_eq!(done["success"], true, "{done}");
}

#[tokio::test]
async fn nothing_is_saved_beyond_the_disk_quota() {
    let options = EngineOptions {
        quota: Quota {
            // A store in memory uses no disk.
            disk_bytes_max: Some(0),
            ..Quota::default()
        },
        ..EngineOptions::default()
    };
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(tools()), options);
    let client = connect(&over(services, &[Toolset::Library], vec![]), ERAS[1]).await;
    let refused = ask(&client, "workflow_save", save("look-twice")).await;
    assert_eq!(refused["error"]["type"], "quota", "{refused}");
    let listed = ask(&client, "workflow_list", json!({})).await;
    assert_eq!(listed["data"]["count"], 0, "{listed}");
}

#[tokio::test]
async fn another_of_the_name_stays_unless_forced() {
    let client = agent().await;
    ask(&client, "workflow_save", save("look-twice")).await;
    let mut other = save("look-twice");
    other["workflow_file"] = json!(GOOD.replace("* 2", "* 3"));
    let refused = ask(&client, "workflow_save", other.clone()).await;
    assert_eq!(refused["error"]["type"], "validation", "{refused}");
    assert_eq!(refused["error"]["details"]["version"], 1, "{refused}");
    other["force"] = json!(true);
    let forced = ask(&client, "workflow_save", other).await;
    assert_eq!(forced["data"]["version"], 2, "{forced}");
}

#[tokio::test]
async fn what_cannot_be_saved_is_refused_in_clear_words() {
    let client = agent().await;
    for (name, says) in [
        ("../../etc/passwd", "contains `.`"),
        ("a\0b", "only a-z"),
        ("l\u{43e}\u{43e}k", "U+043E"),
        ("read-file", "reserved"),
        ("Look Twice", "contains `L`"),
    ] {
        let told = ask(&client, "workflow_save", save(name)).await;
        assert_eq!(told["error"]["type"], "validation", "{told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{name:?}: {message}");
    }
    let mut flawed = save("flawed");
    flawed["workflow_file"] = json!(GOOD.replace("tool: look", "tool: lok"));
    let told = ask(&client, "workflow_save", flawed).await;
    assert_eq!(
        told["error"]["suggestions"][0], "line 10: did you mean `look`?",
        "{told}"
    );
    let mut large = save("large");
    large["workflow_file"] = json!(format!("{GOOD}\n# {}", "x".repeat(10 << 20)));
    let told = ask(&client, "workflow_save", large).await;
    assert!(
        told["error"]["message"].as_str().unwrap().contains("bytes"),
        "{told}"
    );
    let listed = ask(&client, "workflow_list", json!({})).await;
    assert_eq!(listed["data"]["count"], 0);
}

#[tokio::test]
async fn what_was_wanted_when_it_was_made_finds_it_again() {
    let client = agent().await;
    let wish = "please make the quantity I look at twice as big";
    ask(&client, "workflow_discover", json!({"query": wish})).await;
    ask(&client, "registry_discover", json!({"task": wish})).await;
    let run = json!({"workflow": GOOD, "parameters": {"n": 4}});
    assert_eq!(ask(&client, "workflow_execute", run).await["success"], true);
    ask(&client, "workflow_save", save("look-twice")).await;
    let found = ask(&client, "workflow_discover", json!({"query": wish})).await;
    let first = &found["data"]["matches"][0];
    assert_eq!(first["name"], "look-twice", "{found}");
    assert!(first["confidence"].as_f64().unwrap() >= 0.95, "{found}");
}
