//! What a server sends besides answers: log messages as requested, and only declared capabilities.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use super::support::{ERAS, Era, calling, connect, request, serving};
use rmcp::model::{CallToolResponse, LoggingLevel, RequestMetaObject, SetLevelRequestParams};
use serde_json::json;
use tramline_mcp_server::Toolset;

fn graphs() -> Vec<std::sync::Arc<tramline_workflow::graph::Graph>> {
    vec![calling("fine", "look", ""), calling("fails", "nowhere", "")]
}

#[tokio::test]
async fn a_run_is_logged_from_the_level_asked_for() {
    for era in ERAS {
        let server = serving(&[Toolset::Graphs], graphs());
        let mut client = connect(&server, era).await;
        let call = async |client: &super::support::Client, name: &str, level: LoggingLevel| {
            let mut request = request(name, json!({}));
            match era {
                Era::Legacy => {
                    let level = SetLevelRequestParams::new(level);
                    client.service.peer().set_level(level).await.unwrap();
                }
                Era::Modern => {
                    let mut meta = RequestMetaObject::default();
                    meta.set_log_level(level);
                    request.meta = Some(meta);
                }
            }
            let called = client.service.call_tool_once(request).await;
            assert!(
                matches!(called, Ok(CallToolResponse::Complete(_))),
                "{called:?}"
            );
        };
        call(&client, "fine", LoggingLevel::Warning).await;
        call(&client, "fails", LoggingLevel::Error).await;
        let logged = client.logged_until("T0505").await;
        assert_eq!(logged.len(), 1, "{era:?} {logged:?}");
        assert_eq!(logged[0].level, LoggingLevel::Error);
        assert!(
            logged[0].data["run_id"]
                .as_str()
                .unwrap()
                .starts_with("run_")
        );
        assert_eq!(logged[0].data["node"], "act");
        call(&client, "fine", LoggingLevel::Debug).await;
        let logged = client.logged_until("the run completed").await;
        let nodes: Vec<_> = logged
            .iter()
            .filter_map(|told| told.data["node"].as_str())
            .collect();
        assert_eq!(nodes, ["entry", "act", "act", "exit"], "{era:?}");
    }
}

#[tokio::test]
async fn nothing_is_logged_that_was_not_asked_for() {
    let mut client = connect(&serving(&[Toolset::Graphs], graphs()), Era::Legacy).await;
    client.call("fails", json!({})).await;
    assert!(client.events.try_recv().is_err());
}

#[tokio::test]
async fn what_is_not_declared_is_not_there() {
    for era in ERAS {
        let client = connect(&serving(&[Toolset::Graphs], graphs()), era).await;
        let info = client.service.peer().peer_info().unwrap();
        assert!(info.capabilities.experimental.is_none());
        assert!(info.instructions.as_ref().unwrap().contains("workflow"));
    }
}
