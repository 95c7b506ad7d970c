//! Only enabled toolsets are served, and tool names are unique.

use super::support::{ERAS, calling, connect, pure, services, serving, structured, tools};
use serde_json::json;
use tramline_engine::testing::MemoryStore;
use tramline_expr::Value;
use tramline_mcp_server::{NameTaken, Server, ServerDescription, Toolset};

#[tokio::test]
async fn only_what_is_switched_on_is_offered() {
    for era in ERAS {
        for (toolsets, expected) in [
            (&[Toolset::Graphs][..], &["same"][..]),
            (&[Toolset::Library], &["workflow_discover"]),
            (&[Toolset::Debug], &["runs_list"]),
            (&[Toolset::Graphs, Toolset::Debug], &["same", "runs_list"]),
            (&[], &[]),
        ] {
            let client = connect(&serving(toolsets, vec![pure("same")]), era).await;
            let names = client.names().await;
            assert_eq!(names[..expected.len()], *expected, "{era:?}");
            let others = ["same", "workflow_discover", "runs_list"];
            for other in others.iter().filter(|other| !expected.contains(other)) {
                assert!(!names.iter().any(|name| name == other), "{era:?}: {other}");
            }
        }
    }
}

#[tokio::test]
async fn runs_are_listed_and_chosen() {
    for era in ERAS {
        let graphs = vec![pure("one"), calling("two", "look", "")];
        let client = connect(&serving(&Toolset::ALL, graphs), era).await;
        for name in ["one", "two", "one"] {
            let result = client.call(name, json!({"a": 1})).await;
            assert_eq!(structured(&result), &json!({"a": 1}));
        }
        let all = client.call("runs_list", json!({})).await;
        let runs = structured(&all)["runs"].as_array().unwrap();
        let workflows: Vec<_> = runs.iter().map(|run| &run["workflow"]).collect();
        assert_eq!(workflows, ["one", "two", "one"]);
        assert_eq!(runs[0]["status"], "completed");
        assert!(runs[0]["run_id"].as_str().unwrap().starts_with("run_"));
        assert!(runs[0]["started"].as_str().unwrap().ends_with('Z'));

        let one = client.call("runs_list", json!({"workflow": "one", "limit": 1}));
        let one = one.await;
        assert_eq!(structured(&one)["runs"].as_array().unwrap().len(), 1);
        assert_eq!(structured(&one)["more"], true);
        let none = client.call("runs_list", json!({"status": "failed"})).await;
        assert_eq!(structured(&none)["runs"], json!([]));
    }
}

#[tokio::test]
async fn wrong_arguments_are_told_in_the_schemas_words() {
    for era in ERAS {
        let client = connect(&serving(&[Toolset::Debug], vec![]), era).await;
        let wrong = json!({"limit": 0, "status": "odd"});
        let refused = client.call("runs_list", wrong).await;
        assert_eq!(refused.is_error, Some(true));
        let message = structured(&refused)["error"]["message"].as_str().unwrap();
        assert!(message.contains("/limit"), "{message}");
        assert!(message.contains("/status"), "{message}");
    }
}

#[tokio::test]
async fn a_graph_may_not_take_a_tools_name() {
    let make = |toolsets: &[Toolset], names: &[&str]| {
        let graphs = names.iter().map(|name| (pure(name), Value::Null));
        let services = services(MemoryStore::default(), tools());
        Server::new(services, ServerDescription::default(), toolsets, graphs).err()
    };
    assert_eq!(make(&[Toolset::Graphs], &["runs_list"]), None);
    let taken = make(&Toolset::ALL, &["runs_list"]).unwrap();
    assert!(taken.to_string().contains("toolset `debug`"), "{taken}");
    assert_eq!(
        make(&Toolset::ALL, &["a", "a"]),
        Some(NameTaken::TwoGraphs("a".into()))
    );
}
