//! Rules over calls as an agent meets them: the error names the lookup, a person sees the rule.

use super::super::support::{Client, Era, connect, over};
use super::{call_sop, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::EngineOptions;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::MemoryStore;
use tramline_expr::Value;
use tramline_mcp_server::Toolset;
use tramline_planner::Services;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{Event, Outcome, SopEvent};

const TILL: &str = "---\nagent: till\ntools: [order, pay]\nread_only_tools: [order]\n---\n\
    ```mermaid\nflowchart TD\n  START --> PAY[Pay] --> END([End])\n```\n## Node Prompts\n### PAY\n```yaml\n\
    tools: [pay]\nlookups:\n  order: {tool: order, args: {id: args.order}}\nargs:\n  pay:\n\
    \x20   - {rule: args.sum <= lookups.order.total, message: more than the order costs}\n\
    \x20   - {rule: args.to = lookups.order.card, message: another card than it was paid with, otherwise: ask}\n\
    once_per: {pay: args.order}\n```\nPay.\n";

fn services(store: MemoryStore) -> Services {
    let order = |_| async {
        let order = r#"{"total": 10, "card": "blue"}"#;
        Ok(Value::from_json(order).unwrap())
    };
    let tools = tools(vec![("till.md", TILL.to_owned())]);
    let tools = tools.tool("shop", "order", ToolHints::default(), order);
    Services::new(Arc::new(store), Arc::new(tools), EngineOptions::default())
}

async fn pay(client: &Client, sum: i64, to: &str) -> Json {
    let arguments = json!({"order": "1", "sum": sum, "to": to});
    call_sop(
        client,
        "sop_call",
        json!({"tool": "pay", "arguments": arguments}),
    )
    .await
}

#[tokio::test]
async fn a_refusal_names_the_look_up_and_the_operands_and_a_person_sees_the_rule() {
    let store = MemoryStore::default();
    let services = services(store.clone());
    let server = over(services.clone(), &[Toolset::Sop], Vec::new());
    let client = connect(&server, Era::Legacy).await;
    let loaded = call_sop(&client, "load_graph", json!({"sop_file": "till.md"})).await;
    let id: RunId = loaded["session_id"].as_str().unwrap().parse().unwrap();
    call_sop(&client, "advance", json!({})).await;

    let early = pay(&client, 5, "blue").await;
    let first = json!([{"tool": "order", "arguments": {"id": "1"}}]);
    assert_eq!(early["error"]["call_first"], first, "{early}");
    let look_up = json!({"tool": "order", "arguments": {"id": "1"}});
    call_sop(&client, "sop_call", look_up).await;

    let much = pay(&client, 11, "blue").await;
    let message = much["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("more than the order costs (args.sum = 11, lookups.order.total = 10)"),
        "{much}"
    );
    assert_eq!(
        much["error"]["rules"][0]["operands"][0],
        json!({"what": "args.sum", "value": 11})
    );

    let other = pay(&client, 5, "red").await;
    assert_eq!(other["status"], "approval_required", "{other}");
    let asked = other["message"].as_str().unwrap();
    assert!(
        asked.contains(
            "another card than it was paid with (args.to = \"red\", lookups.order.card = \"blue\")"
        ),
        "{asked}"
    );
    // Nobody approved it, so the corrected call takes its place, and is then the one call for this order.
    let paid = pay(&client, 5, "blue").await;
    assert_eq!(paid["sum"], 5, "{paid}");
    let withdrawn: RunId = other["workflow_id"].as_str().unwrap().parse().unwrap();
    let withdrawn = services.engine.load(&withdrawn).await.unwrap().run.outcome;
    assert!(
        matches!(withdrawn, Some(Outcome::Aborted { .. })),
        "{withdrawn:?}"
    );
    call_sop(&client, "goto_node", json!({"node_id": "START"})).await;
    call_sop(&client, "advance", json!({})).await;
    let beside = pay(&client, 6, "blue").await;
    assert!(
        beside["error"]["message"]
            .as_str()
            .unwrap()
            .contains("once_per"),
        "{beside}"
    );

    let entries = services.engine.entries(&id).await.unwrap();
    let holds = entries.iter().filter_map(|entry| match &entry.event {
        Event::Sop(SopEvent::ToolCalled(called)) => {
            Some(called.rules.iter().map(|it| it.holds).collect())
        }
        Event::Sop(SopEvent::Refused(refused)) => {
            Some(refused.rules.iter().map(|it| it.holds).collect())
        }
        _ => None,
    });
    let holds: Vec<Vec<Option<bool>>> = holds.collect();
    let (yes, no) = (Some(true), Some(false));
    let expected = [
        vec![None, None, yes],
        vec![],
        vec![no, yes, yes],
        vec![yes, no, yes],
        vec![yes, yes, yes],
        vec![yes, yes, no],
    ];
    assert_eq!(holds, expected);
}

/// Annotations override the file: a tool whose annotations say that it writes is not read-only.
#[tokio::test]
async fn a_tool_that_its_server_says_writes_is_warned_of_under_read_only_tools() {
    let hints = ToolHints {
        read_only: Some(false),
        ..ToolHints::default()
    };
    let tools = tools(vec![("till.md", TILL.to_owned())]);
    let tools = tools.tool("shop", "order", hints, |given| async { Ok(given) });
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(tools), EngineOptions::default());
    let server = over(services, &[Toolset::Sop], Vec::new());
    let client = connect(&server, Era::Legacy).await;
    let loaded = call_sop(&client, "load_graph", json!({"sop_file": "till.md"})).await;
    let warnings = loaded["warnings"].to_string();
    assert!(
        warnings.contains("T0040") && warnings.contains("`order`"),
        "{loaded}"
    );
}
