//! Calls at a node with `confirm`: a person is asked through any channel, and the call is made once, as shown.

use super::super::support::{
    ERAS, Era, connect, connect_with, filled, forms, over, request, structured,
};
use super::{Client, call_sop, tools};
use rmcp::model::{CallToolResponse, ElicitRequestParams};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tramline_engine::ports::{RunFilter, RunStatus, ToolHints};
use tramline_engine::testing::MemoryStore;
use tramline_engine::{EngineOptions, Fault, ToolPolicy, clock};
use tramline_expr::Value;
use tramline_mcp_server::{Server, ServerDescription, ServerOptions, Toolset};
use tramline_planner::Services;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Event, SopEvent};

const SHOP: &str = "---\nagent: shop\n---\n```mermaid\nflowchart TD\n  START --> SELL[Sell] --> END([End])\n```\n\
                    ## Node Prompts\n### SELL\n```yaml\ntools: [sell]\nconfirm: true\n```\nSell.\n";

/// A store, and a count of the sales made over it.
#[derive(Clone, Default)]
struct SaleFixture {
    store: MemoryStore,
    sold: Arc<AtomicUsize>,
}

impl SaleFixture {
    /// An engine over the store, like another process.
    fn process(&self, options: EngineOptions) -> Services {
        let sold = Arc::clone(&self.sold);
        let sell = move |given: Value| {
            sold.fetch_add(1, Ordering::SeqCst);
            async { Ok(given) }
        };
        let free = SHOP.replace("confirm: true\n", "");
        let files = vec![("shop.md", SHOP.to_owned()), ("free.md", free)];
        let tools = tools(files).tool("shop", "sell", ToolHints::default(), sell);
        Services::new(Arc::new(self.store.clone()), Arc::new(tools), options)
    }

    fn serve(&self) -> (Services, Server) {
        let services = self.process(EngineOptions::default());
        let server = over(
            services.clone(),
            &[Toolset::Sop, Toolset::Control],
            Vec::new(),
        );
        (services, server)
    }

    fn sold(&self) -> usize {
        self.sold.load(Ordering::SeqCst)
    }
}

async fn at_the_till(client: &Client) -> RunId {
    let loaded = call_sop(client, "load_graph", json!({"sop_file": "shop.md"})).await;
    let there = call_sop(client, "advance", json!({})).await;
    assert_eq!(there["node"]["id"], "SELL", "{there}");
    loaded["session_id"].as_str().unwrap().parse().unwrap()
}

fn sell(sum: i64) -> Json {
    json!({"tool": "sell", "arguments": {"sum": sum}, "confirm": "the customer said yes"})
}

fn asked(told: &Json) -> Checkpoint {
    assert_eq!(told["status"], "approval_required", "{told}");
    told["checkpoint_id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_clients_user_is_asked_and_the_call_is_made_as_shown() {
    for era in ERAS {
        let place = SaleFixture::default();
        let (services, server) = place.serve();
        let mut client = connect_with(&server, era, forms()).await;
        let id = at_the_till(&client).await;
        client.queue_answer(filled(json!({"decision": "approve"})));
        let result = call_sop(&client, "sop_call", sell(3)).await;
        assert_eq!(result, json!({"sum": 3}), "{era:?}");
        let ElicitRequestParams::FormElicitationParams { message, .. } =
            client.next_question().await
        else {
            panic!("no form");
        };
        for words in ["shop:sell", "{\"sum\":3}", "the customer said yes", "SELL"] {
            assert!(message.contains(words), "{message}");
        }
        let entries = services.engine.entries(&id).await.unwrap();
        let agreed = entries.iter().any(|entry| {
            matches!(&entry.event, Event::Sop(SopEvent::ToolAnswered(it))
                if it.by.as_deref() == Some("MCP client test") && it.failure.is_none())
        });
        assert!(agreed, "{entries:?}");
        // The next call asks again, and a rejection is reported as such.
        client.queue_answer(filled(json!({"decision": "reject", "reason": "too dear"})));
        let no = call_sop(&client, "sop_call", sell(3)).await;
        assert_eq!(no["error"]["status"], "rejected", "{no}");
        assert!(
            no["error"]["message"]
                .as_str()
                .unwrap()
                .contains("too dear")
        );
        assert_eq!(place.sold(), 1);
    }
}

#[tokio::test]
async fn whom_a_client_cannot_reach_agrees_elsewhere_also_after_a_restart() {
    for era in ERAS {
        let place = SaleFixture::default();
        let (_, server) = place.serve();
        let client = connect(&server, era).await;
        let id = at_the_till(&client).await;
        let first = asked(&call_sop(&client, "sop_call", sell(3)).await);
        assert_eq!(first, asked(&call_sop(&client, "sop_call", sell(3)).await));
        // A changed call asks a new question.
        let other = asked(&call_sop(&client, "sop_call", sell(300)).await);
        assert_ne!(first, other);
        drop((client, server));

        let (_, server) = place.serve();
        let client = connect(&server, era).await;
        let theirs = place.process(EngineOptions::default());
        theirs
            .engine
            .approve(&first, true, "ann".into(), None)
            .await
            .unwrap();
        let mut again = sell(3);
        again["session_id"] = id.as_str().into();
        let made = call_sop(&client, "sop_call", again.clone()).await;
        assert_eq!(made, json!({"sum": 3}));
        assert_eq!(place.sold(), 1);
        // Only that one call was approved.
        assert_ne!(first, asked(&call_sop(&client, "sop_call", again).await));
        assert_eq!(place.sold(), 1);
    }
}

#[tokio::test]
async fn the_agent_does_not_confirm_for_the_person_and_the_session_knows_who_did() {
    let place = SaleFixture::default();
    let (services, server) = place.serve();
    let client = connect(&server, Era::Modern).await;
    let id = at_the_till(&client).await;
    let asked = asked(&call_sop(&client, "sop_call", sell(4)).await);
    let yes = json!({"workflow_id": asked.run.as_str(), "checkpoint_id": asked.to_string(), "approved": true});
    let refused = call_sop(&client, "approval_response", yes).await;
    assert_eq!(refused["error"]["data"]["reason"], "confirm", "{refused}");
    assert_eq!(place.sold(), 0);
    let said = services.engine.approve(&asked, true, "ann".into(), None);
    said.await.unwrap();
    let driven = services.engine.resume(&asked.run).await.unwrap();
    driven.wait().await.unwrap();
    assert_eq!(place.sold(), 1);
    // The agent gets the result of the call made in the meantime; that is not another call.
    assert_eq!(
        call_sop(&client, "sop_call", sell(4)).await,
        json!({"sum": 4})
    );
    assert_eq!(place.sold(), 1);
    let end = call_sop(&client, "advance", json!({})).await;
    assert_eq!(end["node"]["id"], "END", "{end}");
    let open = services
        .engine
        .read_sop_session(&id, |walk| walk.open_calls.len())
        .await
        .unwrap();
    assert_eq!(open, 0);
}

#[tokio::test]
async fn moving_on_withdraws_the_question() {
    let place = SaleFixture::default();
    let (services, server) = place.serve();
    let client = connect(&server, Era::Modern).await;
    at_the_till(&client).await;
    let asked = asked(&call_sop(&client, "sop_call", sell(5)).await);
    call_sop(&client, "goto_node", json!({"node_id": "END"})).await;
    let late = services
        .engine
        .approve(&asked, true, "ann".into(), None)
        .await;
    assert!(matches!(late, Err(Fault::Ended { .. })), "{late:?}");
    let refused = call_sop(&client, "sop_call", sell(5)).await;
    assert_eq!(refused["error"]["allowed_at"], json!(["SELL"]), "{refused}");
    assert_eq!(place.sold(), 0);
}

#[tokio::test]
async fn a_carried_answer_counts_once() {
    let place = SaleFixture::default();
    let (_, server) = place.serve();
    let client = connect_with(&server, Era::Modern, forms()).await;
    at_the_till(&client).await;
    let carried = client.service.call_tool_once(request("sop_call", sell(6)));
    let CallToolResponse::InputRequired(carried) = carried.await.unwrap() else {
        panic!("not carried");
    };
    let key = carried
        .input_requests
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    let answer = serde_json::to_value(filled(json!({"decision": "approve"}))).unwrap();
    let mut back = request("sop_call", sell(6));
    back.request_state = carried.request_state;
    back.input_responses = Some([(key, answer)].into_iter().collect());
    let first = client.service.call_tool_once(back.clone()).await.unwrap();
    let CallToolResponse::Complete(first) = first else {
        panic!("not made");
    };
    assert_eq!(structured(&first), &json!({"sum": 6}));
    let second = client.service.call_tool_once(back).await.unwrap();
    let CallToolResponse::Complete(second) = second else {
        panic!("asked again");
    };
    assert_eq!(second.is_error, Some(true), "{second:?}");
    assert_eq!(place.sold(), 1);
}

#[tokio::test]
async fn policy_asks_a_person_in_a_session_too() {
    let place = SaleFixture::default();
    let options = EngineOptions {
        policy: ToolPolicy {
            ask: vec!["shop:sell".parse().unwrap()],
            ..ToolPolicy::default()
        },
        ..EngineOptions::default()
    };
    let services = place.process(options);
    let server = over(services.clone(), &[Toolset::Sop], Vec::new());
    let client = connect(&server, Era::Modern).await;
    call_sop(&client, "load_graph", json!({"sop_file": "free.md"})).await;
    call_sop(&client, "advance", json!({})).await;
    let asked = asked(&call_sop(&client, "sop_call", sell(7)).await);
    let status = async |run: &RunId| {
        let runs = services
            .engine
            .runs(RunFilter::default())
            .await
            .unwrap()
            .rows;
        let row = runs.into_iter().find(|row| row.run == *run).unwrap();
        row.index_row.status
    };
    assert_eq!(status(&asked.run).await, RunStatus::Paused);
    services
        .engine
        .approve(&asked, true, "ann".into(), None)
        .await
        .unwrap();
    assert_eq!(
        call_sop(&client, "sop_call", sell(7)).await,
        json!({"sum": 7})
    );
    assert_eq!(status(&asked.run).await, RunStatus::Completed);
}

#[tokio::test]
async fn an_abandoned_session_expires_and_says_so() {
    let place = SaleFixture::default();
    let services = place.process(EngineOptions::default());
    let conduct = ServerOptions {
        ttl: Some(Duration::from_millis(1)),
        ..ServerOptions::default()
    };
    let toolsets = [Toolset::Sop];
    let server = Server::with_options(
        services.clone(),
        ServerDescription::default(),
        &toolsets,
        [],
        conduct,
    )
    .unwrap();
    let client = connect(&server, Era::Modern).await;
    let loaded = call_sop(&client, "load_graph", json!({"sop_file": "shop.md"})).await;
    let id: RunId = loaded["session_id"].as_str().unwrap().parse().unwrap();
    // It expires with the next millisecond of the clock.
    let begun = clock::now_ms();
    while clock::now_ms() < begun + 2 {
        tokio::task::yield_now().await;
    }
    let late = call_sop(&client, "advance", json!({})).await;
    let says = late["error"]["message"].as_str().unwrap();
    assert!(
        says.contains("expired") && says.contains("load_graph"),
        "{says}"
    );
    let row = services.engine.store().row(&id).await.unwrap().unwrap();
    assert_eq!(row.index_row.status, RunStatus::Expired);
    // The expiry sweep ends such sessions too.
    call_sop(&client, "load_graph", json!({"sop_file": "shop.md"})).await;
    while services.engine.expire().await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_question_shows_which_agent_asks_and_what_the_session_did() {
    let place = SaleFixture::default();
    let (services, server) = place.serve();
    let client = connect(&server, Era::Modern).await;
    at_the_till(&client).await;
    let first = asked(&call_sop(&client, "sop_call", sell(3)).await);
    let approved = services.engine.approve(&first, true, "ann".into(), None);
    approved.await.unwrap();
    assert_eq!(
        call_sop(&client, "sop_call", sell(3)).await,
        json!({"sum": 3})
    );
    let second = asked(&call_sop(&client, "sop_call", sell(4)).await);
    let shown = services.engine.load_pause_details(&second.run).await;
    let shown = shown.unwrap().remove(0);
    let told: Json = (&shown).into();
    assert_eq!(told["requested"]["by"], "agent test", "{told}");
    assert_eq!(told["done"]["calls"], 1, "{told}");
    assert_eq!(told["done"]["latest"][0]["node"], "SELL", "{told}");
    assert_eq!(told["done"]["latest"][0]["status"], "succeeded", "{told}");
    let lines = tramline_views::pause_view::detail_lines(&shown).join("\n");
    for words in ["agent test", "done so far: 1 call", "shop:sell"] {
        assert!(lines.contains(words), "{lines}");
    }
}
