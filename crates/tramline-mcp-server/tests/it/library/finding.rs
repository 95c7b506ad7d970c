//! Callable nodes as agents find them: discover, describe, search, run.

use crate::support::{ERAS, connect, over, services, structured, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::EngineOptions;
use tramline_engine::policy::{ToolPattern, ToolPolicy};
use tramline_engine::testing::MemoryStore;
use tramline_mcp_server::{Server, Toolset};
use tramline_planner::Services;

async fn ask(server: &Server, tool: &str, arguments: Json) -> Json {
    let client = connect(server, ERAS[1]).await;
    structured(&client.call(tool, arguments).await).clone()
}

fn server() -> Server {
    let services = services(MemoryStore::default(), tools());
    over(services, &[Toolset::Library], vec![])
}

#[tokio::test]
async fn everything_callable_is_listed_described_and_searched() {
    let server = server();
    let all = ask(&server, "registry_list", json!({})).await;
    assert_eq!(all["data"]["count"], 2, "{all}");
    let one = ask(
        &server,
        "registry_describe",
        json!({"nodes": ["t:look", "mcp-t-work", "t:lok"]}),
    );
    let one = one.await;
    assert_eq!(one["data"]["nodes"][0]["node_type"], "t:look", "{one}");
    assert_eq!(one["data"]["nodes"][0]["read_only"], true);
    assert_eq!(one["data"]["nodes"][1]["node_type"], "t:work");
    let missing = &one["data"]["not_found"][0];
    assert_eq!(missing["type"], "not_found");
    assert_eq!(missing["suggestions"][0], "did you mean `t:look`?");
    for pattern in ["loo", "t:l*", "LOOK"] {
        let found = ask(&server, "registry_search", json!({"pattern": pattern})).await;
        assert_eq!(
            found["data"]["nodes"][0]["node_type"], "t:look",
            "{pattern}"
        );
    }
    let found = ask(
        &server,
        "registry_discover",
        json!({"task": "look at something"}),
    )
    .await;
    assert_eq!(found["data"]["nodes"][0]["node_type"], "t:look", "{found}");
    assert!(found["data"]["nodes"][0]["inputs"].is_object(), "{found}");
    assert!(
        found["data"]["nodes"][0]["confidence"].is_number(),
        "{found}"
    );
}

#[tokio::test]
async fn discovery_is_limited_and_learns_from_what_was_executed() {
    let server = server();
    let client = connect(&server, ERAS[1]).await;
    let task = json!({"task": "look at the work of today", "limit": 1});
    let found = client.call("registry_discover", task.clone()).await;
    let nodes = structured(&found)["data"]["nodes"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(nodes, 1, "{found:?}");
    for limit in [json!(0), json!(51), json!("many")] {
        let wrong = json!({"task": "look at the work", "limit": limit});
        let refused = client.call("registry_discover", wrong).await;
        assert_eq!(structured(&refused)["success"], false, "{refused:?}");
    }
    // Neither search showed the tool, but the first one names it.
    let ran = json!({"node_type": "t:work", "parameters": {}});
    let ran = client.call("registry_run", ran).await;
    assert_eq!(structured(&ran)["success"], true, "{ran:?}");
    let again = client.call(
        "registry_discover",
        json!({"task": "look at the work of today"}),
    );
    let again = structured(&again.await).clone();
    let nodes = again["data"]["nodes"].as_array().unwrap();
    let work = nodes
        .iter()
        .find(|node| node["node_type"] == "t:work")
        .unwrap();
    let reasons = work["reasons"].to_string();
    assert!(reasons.contains("similar past request"), "{again}");
}

#[tokio::test]
async fn discovery_names_servers_that_could_not_be_asked() {
    let tools = tools().unreachable("attic", "connection refused");
    let services = services(MemoryStore::default(), tools);
    let server = over(services, &[Toolset::Library], vec![]);
    let found = ask(
        &server,
        "registry_discover",
        json!({"task": "look at something"}),
    )
    .await;
    assert_eq!(found["data"]["nodes"][0]["node_type"], "t:look", "{found}");
    assert_eq!(
        found["data"]["unreachable"][0]["server"], "attic",
        "{found}"
    );
    let message = found["data"]["unreachable"][0]["message"].as_str().unwrap();
    assert!(message.contains("connection refused"), "{found}");
}

#[tokio::test]
async fn a_node_that_is_tried_gives_its_output_and_every_path_in_it() {
    let parameters = json!({"n": 3, "list": [{"a": "x"}, {"a": null}]});
    let asked = json!({"node_type": "t:look", "parameters": parameters});
    let done = ask(&server(), "registry_run", asked).await;
    assert_eq!(done["data"]["output"], parameters, "{done}");
    let structure = done["data"]["structure"].as_array().unwrap();
    let a = structure
        .iter()
        .find(|one| one["path"] == "list[0].a")
        .unwrap();
    assert_eq!(a["type"], "string|null");
    assert_eq!(a["example"], "x");
    assert!(
        done["trace_path"]
            .as_str()
            .unwrap()
            .starts_with("tramline://runs/run_")
    );
}

#[tokio::test]
async fn what_needs_approval_is_not_tried() {
    let policy = ToolPolicy {
        ask: vec![ToolPattern::parse("t:look").unwrap()],
        deny: vec![ToolPattern::parse("t:work").unwrap()],
    };
    let options = EngineOptions {
        policy,
        ..EngineOptions::default()
    };
    let fakes = Arc::new(tools());
    let calls = Arc::clone(&fakes);
    let services = Services::new(Arc::new(MemoryStore::default()), fakes, options);
    let server = over(services, &[Toolset::Library], vec![]);
    for (node, reason) in [("t:look", "approval_required"), ("t:work", "denied")] {
        let told = ask(&server, "registry_run", json!({"node_type": node})).await;
        assert_eq!(told["success"], false);
        assert_eq!(told["error"]["details"]["reason"], reason, "{told}");
        assert!(!told["error"]["suggestions"].as_array().unwrap().is_empty());
    }
    assert!(calls.calls().is_empty());
}

#[tokio::test]
async fn a_slip_is_mended_in_one_round() {
    let server = server();
    let save = json!({"workflow_file": super::GOOD, "name": "look-twice", "description": "d"});
    assert_eq!(ask(&server, "workflow_save", save).await["success"], true);
    for (tool, arguments, suggestion) in [
        (
            "registry_run",
            json!({"node_type": "t:lok"}),
            "did you mean `t:look`?",
        ),
        (
            "registry_run",
            json!({"node_tipe": "t:look"}),
            "write `node_type` instead of `node_tipe`",
        ),
        (
            "workflow_execute",
            json!({"workflow": "look-twcie"}),
            "did you mean `look-twice`?",
        ),
        ("workflow_discover", json!({}), "add `query` (string)"),
    ] {
        let told = ask(&server, tool, arguments).await;
        assert_eq!(told["success"], false, "{told}");
        let suggestions = told["error"]["suggestions"].as_array().unwrap();
        assert!(suggestions.contains(&json!(suggestion)), "{tool}: {told}");
    }
}

/// Every agent with this toolset reads the whole list, so it must stay small.
#[tokio::test]
async fn the_list_of_tools_is_within_its_budget() {
    const TOKENS_MAX: usize = 2_500;
    let client = connect(&server(), ERAS[1]).await;
    let listed = serde_json::to_string(&client.tools().await).unwrap();
    let tokens = tiktoken_rs::o200k_base()
        .unwrap()
        .encode_ordinary(&listed)
        .len();
    println!("{tokens} tokens");
    assert!(tokens <= TOKENS_MAX, "{tokens} tokens");
}
