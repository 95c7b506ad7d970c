//! Settings and traces for agents: keys by name, runs step by step, never secrets.

use super::support::{ERAS, calling, connect, graph, over, structured, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::ports::{Callable, Store};
use tramline_engine::testing::{FakeCipher, MemoryStore};
use tramline_engine::{EngineOptions, Settings, WorkflowMap};
use tramline_mcp_server::{Server, Toolset};
use tramline_planner::Services;

const SECRET: &str = "sk-live-0123456789abcdefXYZ";

fn serving() -> Server {
    with_settings().0
}

/// A server, and the settings of its operator.
fn with_settings() -> (Server, Settings) {
    let store = Arc::new(MemoryStore::default());
    let kept = Arc::clone(&store) as Arc<dyn Store>;
    let settings = Settings::new(kept, Arc::new(FakeCipher(3)), []).unwrap();
    let nodes = "      - { id: entry, type: entry, next: act }
      - { id: act, type: mcp, server: t, tool: look, args: { auth: 'Bearer ${settings.TOKEN}' }, next: exit }
      - { id: exit, type: exit }\n";
    let graphs = vec![graph("uses_it", nodes), calling("plain", "look", "")];
    let shelf = WorkflowMap::new(graphs.iter().map(|graph| Callable {
        graph: Arc::clone(graph),
        origin: tramline_expr::Value::Null,
    }));
    settings.set_users(vec![("TOKEN".into(), "server github".into())]);
    let options = EngineOptions {
        settings: Some(settings.clone()),
        ..EngineOptions::default()
    };
    let services = Services::with_workflows(store, Arc::new(tools()), Arc::new(shelf), options);
    let server = over(services, &[Toolset::Library, Toolset::Graphs], graphs);
    (server, settings)
}

#[tokio::test]
async fn a_secret_is_set_used_and_never_shown() {
    for era in ERAS {
        let client = connect(&serving(), era).await;
        let mut heard = String::new();
        let mut call = async |tool: &str, arguments: Json| {
            let result = client.call(tool, arguments).await;
            heard.push_str(&serde_json::to_string(&result).unwrap());
            structured(&result).clone()
        };
        let missing = call("settings_get", json!({"key": "TOKEN"})).await;
        assert_eq!(missing["error"]["type"], "not_found");
        assert_eq!(
            missing["error"]["suggestions"][0],
            "tramline settings set TOKEN"
        );
        let set = call("settings_set", json!({"key": "TOKEN", "value": SECRET})).await;
        assert_eq!(set["data"]["is_set"], true, "{set}");
        assert_eq!(set["data"].get("value"), None, "{set}");
        let told = call("settings_get", json!({"key": "TOKEN"})).await;
        assert_eq!(told["success"], true);
        assert_eq!(told["data"].get("value"), None, "{told}");
        let users = &told["data"]["used_by"];
        assert_eq!(
            users,
            &json!(["server github", "workflow uses_it, node act"])
        );
        let done = call("workflow_execute", json!({"workflow": "uses_it"})).await;
        assert_eq!(
            done["data"]["outputs"],
            json!({"auth": "Bearer [redacted:TOKEN]"})
        );
        for named in [
            json!({}),
            json!({"trace_file": "latest"}),
            json!({"trace_file": done["trace_path"]}),
        ] {
            let trace = call("trace_read", named).await;
            assert_eq!(trace["trace_path"], done["trace_path"], "{trace}");
            assert_eq!(trace["data"]["trace_version"], 1);
            assert_eq!(trace["data"]["status"], "completed");
            assert_eq!(
                trace["data"]["steps"][1]["input"]["auth"],
                "Bearer ${settings.TOKEN}"
            );
        }
        let echoed = call("plain", json!({"said": format!("it is {SECRET}!")})).await;
        assert_eq!(echoed["said"], "it is [redacted:TOKEN]!");
        assert!(!heard.contains("0123456789"), "{heard}");
        assert!(!heard.contains("XYZ") && !heard.contains("sk-"), "{heard}");
    }
}

#[tokio::test]
async fn an_agent_changes_nothing_of_the_operators_and_hides_no_words() {
    let (server, settings) = with_settings();
    settings.set("MINE", "operators-own-1", true).await.unwrap();
    let client = connect(&server, ERAS[1]).await;
    for (key, value, kind) in [
        ("MINE", SECRET, "forbidden"),
        ("Z", "value", "validation"),
        ("Z", "Authorization", "validation"),
        ("Z", "zzzzghp", "validation"),
    ] {
        let set = json!({"key": key, "value": value});
        let told = client.call("settings_set", set).await;
        let error = &structured(&told)["error"];
        assert_eq!(error["type"], kind, "{error}");
        let says = error["message"].as_str().unwrap();
        assert!(
            says.contains(&format!("tramline settings set {key}")),
            "{says}"
        );
    }
    assert_eq!(settings.value("MINE"), Some(Ok("operators-own-1".into())));
    let echoed = client
        .call("plain", json!({"value": "Authorization"}))
        .await;
    assert_eq!(structured(&echoed), &json!({"value": "Authorization"}));
}

#[tokio::test]
async fn what_cannot_be_set_or_read_is_told_in_one_shape() {
    let client = connect(&serving(), ERAS[0]).await;
    for (tool, arguments, kind) in [
        (
            "settings_set",
            json!({"key": "a b", "value": "value"}),
            "validation",
        ),
        (
            "settings_set",
            json!({"key": "A", "value": "abc"}),
            "validation",
        ),
        ("trace_read", json!({}), "not_found"),
        (
            "trace_read",
            json!({"trace_file": "run_01m7hd9ae82kyxc0hqawx2c9fa"}),
            "not_found",
        ),
        (
            "trace_read",
            json!({"trace_file": "/etc/passwd"}),
            "not_found",
        ),
    ] {
        let result = client.call(tool, arguments).await;
        let told = structured(&result);
        assert_eq!(result.is_error, Some(true), "{told}");
        assert_eq!(
            (&told["success"], &told["error"]["type"]),
            (&json!(false), &json!(kind)),
            "{told}"
        );
        assert!(told["error"]["suggestions"].is_array());
    }
    let plain = json!({"key": "REGION", "value": "eu", "secret": false});
    let set = client.call("settings_set", plain).await;
    assert_eq!(structured(&set)["data"]["value"], "eu");
}

#[tokio::test]
async fn long_traces_are_read_in_parts() {
    let client = connect(&serving(), ERAS[1]).await;
    client.call("plain", json!({})).await;
    let part = client
        .call("trace_read", json!({"from_step": 2, "limit": 1}))
        .await;
    let data = &structured(&part)["data"];
    assert_eq!(data["steps"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&data["steps"][0]["node"], &data["step_count"]),
        (&json!("act"), &json!(3))
    );
    assert_eq!(data["next_from_step"], 3);
}
