//! What the audit says about calls: which run they were about, and whether they took effect.

use super::support::{Era, connect, connect_with, filled, forms, over, request, services, tools};
use rmcp::model::{CallToolResponse, ErrorCode};
use rmcp::service::ServiceError;
use serde_json::{Value as Json, json};
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::MemoryStore;
use tramline_expr::Value;
use tramline_mcp_server::Toolset;
use tramline_planner::Services;
use tramline_workflow::failure::{Failure, FailureKind};

async fn notes(services: &Services) -> Vec<Json> {
    services.engine.audit_notes(0, None).await.unwrap()
}

/// A tool that fails may have done something: its call was not refused.
#[tokio::test]
async fn a_call_whose_run_failed_is_not_recorded_as_refused() {
    let fails = |_: Value| async {
        let failure = Failure::new(FailureKind::Tool, "it did something and failed");
        Err::<Value, _>(failure)
    };
    let tools = tools().tool("t", "fail", ToolHints::default(), fails);
    let services = services(MemoryStore::default(), tools);
    let server = over(services.clone(), &[Toolset::Library], Vec::new());
    let client = connect(&server, Era::Modern).await;
    for _ in 0..2 {
        let call = json!({"node_type": "t:fail", "parameters": {}});
        assert_eq!(client.call("registry_run", call).await.is_error, Some(true));
    }
    let dag = json!({"workflow": {"tasks": [{"id": "a", "tool": "t:work", "arguments": {}}]}});
    client.call("workflow_execute", dag).await;
    let missing = json!({"node_type": "t:none", "parameters": {}});
    client.call("registry_run", missing).await;
    let notes = notes(&services).await;
    let told: Vec<_> = notes
        .iter()
        .map(|note| (note["result"].as_str().unwrap(), note["run_id"].is_string()))
        .collect();
    let failed = ("failed", true);
    assert_eq!(
        told,
        [failed, failed, ("completed", true), ("refused", false)],
        "{notes:?}"
    );
}

/// An answer belongs to the call that asked: with the arguments of another one it is refused, and that is recorded.
#[tokio::test]
async fn an_answer_is_bound_to_the_call_that_asked() {
    let services = services(MemoryStore::default(), tools());
    let server = over(services.clone(), &[Toolset::Control], Vec::new());
    let client = connect_with(&server, Era::Modern, forms()).await;
    let task = |x: u32| json!({"workflow": {"tasks": [{"id": "a", "tool": "t:work", "arguments": {"x": x}, "approval": true}]}});
    let asked = client
        .service
        .call_tool_once(request("execute_dag", task(1)));
    let Ok(CallToolResponse::InputRequired(asked)) = asked.await else {
        panic!("not asked");
    };
    let key = asked.input_requests.unwrap().into_keys().next().unwrap();
    let answer = serde_json::to_value(filled(json!({"decision": "approve"}))).unwrap();
    let back = |arguments: Json, state: &str| {
        let mut back = request("execute_dag", arguments);
        back.input_responses = Some([(key.clone(), answer.clone())].into_iter().collect());
        back.request_state = Some(state.to_owned());
        back
    };
    let sealed = asked.request_state.unwrap();
    let forged = format!("{sealed}x");
    for (arguments, state) in [(task(2), &sealed), (task(1), &forged)] {
        let refused = client.service.call_tool_once(back(arguments, state)).await;
        let Err(ServiceError::McpError(refused)) = refused else {
            panic!("not refused: {refused:?}");
        };
        assert_eq!(refused.code, ErrorCode::INVALID_PARAMS);
    }
    let told: Vec<_> = notes(&services)
        .await
        .into_iter()
        .map(|note| note["result"].clone())
        .collect();
    assert_eq!(told, ["asked", "refused", "refused"]);
    // The same arguments in another order are the same call.
    let same = json!({"workflow": {"tasks": [{"approval": true, "arguments": {"x": 1}, "tool": "t:work", "id": "a"}]}});
    let done = client.service.call_tool_once(back(same, &sealed)).await;
    let CallToolResponse::Complete(done) = done.unwrap() else {
        panic!("not complete");
    };
    assert_eq!(done.is_error, Some(false), "{done:?}");
}
