//! Pinned procedures: whatever else is served, nothing bypasses their gate.

use super::super::support::{Client, ERAS, Era, connect, graph, over, structured};
use super::{call_sop, tools};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_engine::ports::{Callable, RunFilter, ToolHints};
use tramline_engine::testing::MemoryStore;
use tramline_engine::{EngineOptions, RunStart, WorkflowMap};
use tramline_expr::Map;
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_mcp_server::{PinOptions, PinnedProcedure, Server, Toolset};
use tramline_planner::Services;
use tramline_workflow::graph::Graph;

pub(super) const BANK: &str = "---\nagent: bank\nread_only_tools: [look]\n---\n## Role\nYou work at a bank.\n\
                    ## SOP Flowchart\n```mermaid\nflowchart TD\n  START --> AUTH[Who] --> ROUTE{What}\n  ROUTE -->|pay| PAY[Pay] --> END([End])\n\
                    ROUTE -->|ask| ASK[Ask first] --> END\n```\n\
                    ## Node Prompts\n### AUTH\n```yaml\ntools: [identify]\nmust_call: [identify]\n```\nAsk who it is.\n\
                    ### PAY\n```yaml\ntools: [pay]\n```\nPay.\n### ASK\n```yaml\ntools: [pay]\nconfirm: true\n```\nAsk.\n";

/// A served workflow that pays.
fn pay_now() -> Arc<Graph> {
    graph(
        "pay_now",
        "      - { id: entry, type: entry, next: pay }\n      - { id: pay, type: mcp, server: t, tool: pay, args: { sum: 1 }, next: exit }\n      - { id: exit, type: exit }\n",
    )
}

/// A store, and a count of the payments made over it.
#[derive(Clone, Default)]
pub(super) struct PinnedFixture {
    store: MemoryStore,
    paid: Arc<AtomicUsize>,
}

impl PinnedFixture {
    pub(super) fn process(&self) -> Services {
        let paid = Arc::clone(&self.paid);
        let pay = move |given: Value| {
            paid.fetch_add(1, Ordering::SeqCst);
            async { Ok(given) }
        };
        let echo = |given: Value| async { Ok(given) };
        let lax = "```mermaid\nflowchart TD\n  START --> PAY[Pay]\n```\n## Node Prompts\n### PAY\n```yaml\ntools: [pay, wipe]\n```\nPay.\n";
        let files = vec![("lax.md", lax.to_owned()), ("bank.md", BANK.to_owned())];
        let look = ToolHints {
            read_only: Some(true),
            ..ToolHints::default()
        };
        let wipes = ToolHints {
            destructive: Some(true),
            ..ToolHints::default()
        };
        let tools = tools(files)
            .tool("t", "pay", ToolHints::default(), pay)
            .tool("t", "identify", look, echo)
            .tool("t", "look", look, echo)
            .tool("evil", "identify", look, echo)
            .tool("free", "note", look, echo)
            .tool("t", "wipe", wipes, echo)
            .tool("t", "login", look, echo)
            .described(
                "t",
                "login",
                "Logs in.",
                r#"{"type": "object", "properties": {"session_id": {"type": "number"}, "confirm": {"type": "boolean"}}}"#,
            );
        let shelf = WorkflowMap::new([Callable {
            graph: pay_now(),
            origin: Value::Null,
        }]);
        let store = Arc::new(self.store.clone());
        Services::with_workflows(
            store,
            Arc::new(tools),
            Arc::new(shelf),
            EngineOptions::default(),
        )
    }

    pub(super) async fn serve(&self) -> (Services, Server) {
        self.serve_with(&[&bank(BANK)], PinOptions::default()).await
    }

    pub(super) async fn serve_with(
        &self,
        pinned: &[&PinnedProcedure],
        terms: PinOptions,
    ) -> (Services, Server) {
        let services = self.process();
        let server = over(services.clone(), &Toolset::ALL, vec![pay_now()]);
        let pinned = pinned.iter().map(|it| (*it).clone()).collect();
        server.pin_procedures(pinned, terms).await.unwrap();
        (services, server)
    }

    pub(super) fn paid(&self) -> usize {
        self.paid.load(Ordering::SeqCst)
    }
}

pub(super) fn bank(text: &str) -> PinnedProcedure {
    // The server `evil` makes `identify` ambiguous, so the file names its server.
    let text = text.replacen(
        "agent: bank\n",
        "agent: bank\nmcp_servers: [{name: t}]\n",
        1,
    );
    PinnedProcedure {
        location: "bank.md".into(),
        sops: vec![Arc::new(
            sop_markdown::read(text.as_bytes(), "bank").unwrap().sop,
        )],
        files: Vec::new(),
        paths: vec!["/srv/bank.md".into()],
    }
}

pub(super) async fn move_to(client: &Client, node: &str) -> Json {
    let loaded = call_sop(client, "load_graph", json!({})).await;
    assert_eq!(loaded["agent"], "bank", "{loaded}");
    call_sop(client, "advance", json!({})).await;
    let known = call_sop(
        client,
        "sop_call",
        json!({"tool": "identify", "arguments": {}}),
    )
    .await;
    assert!(known.get("error").is_none(), "{known}");
    call_sop(client, "goto_node", json!({"node_id": "ROUTE"})).await;
    let there = call_sop(client, "goto_node", json!({"node_id": node})).await;
    assert_eq!(there["node"]["id"], node, "{there}");
    loaded["session_id"].clone()
}

pub(super) fn dag(tool: &str) -> Json {
    json!({"workflow": {"tasks": [{"id": "a", "tool": tool, "arguments": {"sum": 7}, "depends_on": []}]}})
}

/// Every kind of run that pays, as an agent would try it.
async fn attempts(client: &Client) -> Vec<(&'static str, Json)> {
    let ir =
        json!({"nodes": [{"id": "a", "type": "mcp-t-pay", "params": {"sum": 7}}], "edges": []});
    let mut told = Vec::new();
    for (tool, arguments) in [
        ("execute_dag", dag("t:pay")),
        (
            "registry_run",
            json!({"node_type": "t:pay", "parameters": {"sum": 7}}),
        ),
        ("workflow_execute", json!({"workflow": ir})),
        (
            "run_loop",
            json!({"plan": [{"tool": "t:pay", "args": {"sum": 7}}]}),
        ),
        ("pay_now", json!({})),
        (
            "run_debug",
            json!({"command": "start", "workflow": "pay_now", "input": {}}),
        ),
        ("pay", json!({"sum": 7})),
        (
            "sop_call",
            json!({"tool": "t:pay", "arguments": {"sum": 7}}),
        ),
    ] {
        let result = client.call(tool, arguments).await;
        told.push((tool, serde_json::to_value(&result).unwrap()));
    }
    told
}

#[tokio::test]
async fn no_toolset_calls_past_the_gate() {
    for era in ERAS {
        let place = PinnedFixture::default();
        let (_, server) = place.serve().await;
        let client = connect(&server, era).await;
        // First without a session, then at a node where nothing may be paid.
        for stage in ["before", "at the beginning"] {
            for (tool, reply) in attempts(&client).await {
                assert_eq!(place.paid(), 0, "{stage}: {tool} paid: {reply}");
                let says = reply.to_string();
                assert!(
                    says.contains("load_graph") || says.contains("PAY"),
                    "{stage}: {tool} does not say what to do: {says}"
                );
            }
            call_sop(&client, "load_graph", json!({})).await;
            call_sop(&client, "advance", json!({})).await;
        }
    }
}

#[tokio::test]
async fn at_its_node_a_run_pays_and_the_session_records_it() {
    for era in ERAS {
        let place = PinnedFixture::default();
        let (services, server) = place.serve().await;
        let client = connect(&server, era).await;
        let session = move_to(&client, "PAY").await;
        let done = call_sop(&client, "execute_dag", dag("t:pay")).await;
        assert_eq!(done["status"], "complete", "{done}");
        assert_eq!(done["results"][0]["status"], "success", "{done}");
        assert_eq!(place.paid(), 1);
        let id = session.as_str().unwrap().parse().unwrap();
        let called = services
            .engine
            .read_sop_session(&id, |walk| {
                (
                    walk.call_count,
                    walk.results.get("pay").cloned(),
                    walk.open_calls.len(),
                )
            })
            .await
            .unwrap();
        assert_eq!(called.0, 2);
        assert_eq!(called.1.unwrap().get("sum"), Some(&7.into()));
        assert_eq!(called.2, 0);
        // Child runs are checked too, and the next node forbids it again.
        call_sop(&client, "goto_node", json!({"node_id": "END"})).await;
        for (tool, reply) in attempts(&client).await {
            assert_eq!(place.paid(), 1, "{tool}: {reply}");
        }
    }
}

#[tokio::test]
async fn a_node_that_wants_a_person_is_not_paid_at_by_a_run() {
    let place = PinnedFixture::default();
    let (_, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    move_to(&client, "ASK").await;
    for tool in ["execute_dag", "pay_now"] {
        let arguments = if tool == "pay_now" {
            json!({})
        } else {
            dag("t:pay")
        };
        let reply = client.call(tool, arguments).await;
        let says = serde_json::to_string(&reply).unwrap();
        assert!(says.contains("sop_call"), "{says}");
    }
    assert_eq!(place.paid(), 0);
    let asked = call_sop(
        &client,
        "sop_call",
        json!({"tool": "pay", "arguments": {"sum": 1}}),
    )
    .await;
    assert_eq!(asked["status"], "approval_required", "{asked}");
    // The agent cannot approve for the person, nor extend or fork the question.
    let point = asked["checkpoint_id"].clone();
    let run = asked["workflow_id"].clone();
    for (tool, arguments) in [
        (
            "approval_response",
            json!({"workflow_id": run, "checkpoint_id": point, "approved": true}),
        ),
        (
            "replan",
            json!({"workflow_id": run, "new_requirement": "pay", "new_tasks": [{"id": "x", "tool": "t:pay", "arguments": {}}]}),
        ),
        ("run_fork", json!({"run_id": run, "at_event": 1})),
        ("continue", json!({"workflow_id": run})),
    ] {
        let reply = client.call(tool, arguments).await;
        assert_eq!(place.paid(), 0, "{tool}: {reply:?}");
    }
}

#[tokio::test]
async fn the_operators_own_runs_are_not_held_and_agents_cannot_use_them() {
    let place = PinnedFixture::default();
    // Started as by the command line.
    let operator = place.process();
    let start = RunStart::new(pay_now(), Map::new().into());
    let done = operator.engine.start(start).await.unwrap();
    let id = done.run.clone();
    done.wait().await.unwrap();
    assert_eq!(place.paid(), 1, "the operator's own run must pay");
    let (_, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let fork = json!({"run_id": id.as_str(), "at_event": 1});
    client.call("run_fork", fork).await;
    let more = json!({"workflow_id": id.as_str(), "new_requirement": "pay", "new_tasks": [{"id": "x", "tool": "t:pay", "arguments": {}}]});
    client.call("replan", more).await;
    assert_eq!(place.paid(), 1);
}

#[tokio::test]
async fn tools_listed_as_free_are_called_without_a_session() {
    let place = PinnedFixture::default();
    let terms = PinOptions {
        ungated: vec!["free:*".parse().unwrap()],
        ..PinOptions::default()
    };
    let (_, server) = place.serve_with(&[&bank(BANK)], terms).await;
    let client = connect(&server, Era::Modern).await;
    let done = call_sop(&client, "execute_dag", dag("free:note")).await;
    assert_eq!(done["results"][0]["status"], "success", "{done}");
    let held = call_sop(&client, "execute_dag", dag("t:look")).await;
    assert_eq!(held["results"][0]["status"], "error", "{held}");
}

#[tokio::test]
async fn only_pinned_procedures_are_loaded_and_one_needs_no_name() {
    for era in ERAS {
        let place = PinnedFixture::default();
        let (_, server) = place.serve().await;
        let client = connect(&server, era).await;
        for asked in [
            "lax.md",
            "./lax.md",
            "x/../lax.md",
            "/srv/lax.md",
            "https://example.com/lax.md",
            "lax",
            "/etc/passwd",
        ] {
            let reply = client.call("load_graph", json!({"sop_file": asked})).await;
            assert_eq!(reply.is_error, Some(true), "{asked}");
            let says = structured(&reply)["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(says.contains("bank"), "{says}");
        }
        for asked in ["bank", "bank.md", "./bank.md", "/srv/bank.md"] {
            let told = call_sop(&client, "load_graph", json!({"sop_file": asked})).await;
            assert_eq!(told["agent"], "bank", "{told}");
            assert_eq!(told["pinned"], true);
            assert!(
                told["system_prompt"]
                    .as_str()
                    .unwrap()
                    .contains("flowchart TD")
            );
            assert!(told["next"].as_str().unwrap().contains("goto_node"));
        }
        let listed = client.service.list_all_tools().await.unwrap();
        let load = listed.iter().find(|it| it.name == "load_graph").unwrap();
        assert!(load.input_schema.get("required").is_none());
        let prompts = client.service.list_all_prompts().await.unwrap();
        assert_eq!(prompts.len(), 1);
    }
}

#[tokio::test]
async fn of_several_pinned_procedures_one_is_named() {
    let place = PinnedFixture::default();
    let other = bank(&BANK.replacen("agent: bank", "agent: desk", 1));
    let mut other = other;
    other.location = "desk.md".into();
    other.paths = vec!["/srv/desk.md".into()];
    let (_, server) = place
        .serve_with(&[&bank(BANK), &other], PinOptions::default())
        .await;
    let client = connect(&server, Era::Modern).await;
    let reply = client.call("load_graph", json!({})).await;
    let says = structured(&reply)["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(says.contains("bank, desk"), "{says}");
    let told = call_sop(&client, "load_graph", json!({"sop_file": "desk"})).await;
    assert_eq!(told["agent"], "desk");
}

#[tokio::test]
async fn a_session_from_before_the_pin_cannot_be_continued() {
    let place = PinnedFixture::default();
    let unpinned = over(place.process(), &[Toolset::Sop], Vec::new());
    let client = connect(&unpinned, Era::Modern).await;
    let loaded = call_sop(&client, "load_graph", json!({"sop_file": "lax.md"})).await;
    call_sop(&client, "goto_node", json!({"node_id": "START"})).await;
    call_sop(&client, "goto_node", json!({"node_id": "PAY"})).await;
    let (_, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let call = json!({"tool": "pay", "arguments": {}, "session_id": loaded["session_id"]});
    let reply = client.call("sop_call", call).await;
    assert_eq!(reply.is_error, Some(true));
    assert_eq!(place.paid(), 0);
}

#[tokio::test]
async fn a_second_session_ends_the_first() {
    let place = PinnedFixture::default();
    let (_, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    let parked = move_to(&client, "PAY").await;
    let second = call_sop(&client, "load_graph", json!({})).await;
    let note = second["note"].as_str().unwrap();
    assert!(
        note.contains(parked.as_str().unwrap()) && note.contains("ended"),
        "{note}"
    );
    let call = json!({"tool": "pay", "arguments": {}, "session_id": parked});
    let reply = client.call("sop_call", call).await;
    assert_eq!(reply.is_error, Some(true), "{reply:?}");
    let meta = call_in_session(&client, "execute_dag", dag("t:pay"), &parked).await;
    assert_eq!(meta.is_error, Some(true), "{meta:?}");
    assert_eq!(place.paid(), 0);
}

async fn call_in_session(
    client: &Client,
    tool: &str,
    arguments: Json,
    id: &Json,
) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    let mut request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    request.meta = Some(serde_json::from_value(json!({"sop_session_id": id})).unwrap());
    client.service.call_tool(request).await.unwrap()
}

#[tokio::test]
async fn where_several_are_allowed_a_run_names_its_session() {
    let place = PinnedFixture::default();
    let terms = PinOptions {
        sessions_max: 2,
        ..PinOptions::default()
    };
    let (_, server) = place.serve_with(&[&bank(BANK)], terms).await;
    let client = connect(&server, Era::Modern).await;
    let first = move_to(&client, "PAY").await;
    let second = move_to(&client, "ASK").await;
    let unclear = call_sop(&client, "execute_dag", dag("t:pay")).await;
    assert_eq!(unclear["results"][0]["status"], "error", "{unclear}");
    let named = call_in_session(&client, "execute_dag", dag("t:pay"), &second).await;
    assert_eq!(structured(&named)["results"][0]["status"], "error");
    assert_eq!(place.paid(), 0);
    let named = call_in_session(&client, "execute_dag", dag("t:pay"), &first).await;
    assert_eq!(
        structured(&named)["results"][0]["status"],
        "success",
        "{named:?}"
    );
    let stranger = call_in_session(&client, "execute_dag", dag("t:pay"), &json!(5)).await;
    assert_eq!(stranger.is_error, Some(true));
    assert_eq!(place.paid(), 1);
}

#[tokio::test]
async fn a_run_is_held_in_a_process_that_pinned_nothing() {
    let place = PinnedFixture::default();
    let (_, server) = place.serve().await;
    let client = connect(&server, Era::Modern).await;
    call_sop(&client, "load_graph", json!({})).await;
    let config = json!({"per_layer_validation": true});
    let mut two = dag("t:look");
    two["workflow"]["tasks"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "b", "tool": "t:pay", "arguments": {"sum": 7}, "depends_on": ["a"]}));
    two["config"] = config;
    let paused = call_sop(&client, "execute_dag", two).await;
    assert_eq!(paused["status"], "layer_complete", "{paused}");
    // Another server over the same store, without the pin.
    let lax = over(place.process(), &Toolset::ALL, Vec::new());
    let client = connect(&lax, Era::Modern).await;
    let run = json!({"workflow_id": paused["workflow_id"]});
    let done = call_sop(&client, "continue", run).await;
    assert_eq!(place.paid(), 0, "{done}");
    let runs = place
        .process()
        .engine
        .runs(RunFilter::default())
        .await
        .unwrap();
    assert!(runs.rows.len() >= 2);
}

#[tokio::test]
async fn a_tool_of_the_same_name_elsewhere_identifies_nobody() {
    let place = PinnedFixture::default();
    let free = BANK.replacen("agent: bank\n", "agent: bank\nenforce_tools: false\n", 1);
    let (_, server) = place
        .serve_with(&[&bank(&free)], PinOptions::default())
        .await;
    let client = connect(&server, Era::Modern).await;
    call_sop(&client, "load_graph", json!({})).await;
    call_sop(&client, "advance", json!({})).await;
    call_sop(
        &client,
        "sop_call",
        json!({"tool": "evil:identify", "arguments": {}}),
    )
    .await;
    let there = call_sop(&client, "goto_node", json!({"node_id": "ROUTE"})).await;
    assert_eq!(there["valid"], false, "{there}");
    call_sop(
        &client,
        "sop_call",
        json!({"tool": "identify", "arguments": {}}),
    )
    .await;
    let there = call_sop(&client, "goto_node", json!({"node_id": "ROUTE"})).await;
    assert_eq!(there["valid"], true, "{there}");
}

#[tokio::test]
async fn a_destructive_tool_that_no_node_lists_is_asked_about() {
    let place = PinnedFixture::default();
    let free = BANK.replacen("agent: bank\n", "agent: bank\nenforce_tools: false\n", 1);
    let (_, server) = place
        .serve_with(&[&bank(&free)], PinOptions::default())
        .await;
    let client = connect(&server, Era::Modern).await;
    call_sop(&client, "load_graph", json!({})).await;
    call_sop(&client, "advance", json!({})).await;
    let asked = call_sop(
        &client,
        "sop_call",
        json!({"tool": "wipe", "arguments": {}}),
    )
    .await;
    assert_eq!(asked["status"], "approval_required", "{asked}");
}

#[tokio::test]
async fn a_gated_tools_own_arguments_reach_it() {
    let place = PinnedFixture::default();
    let text = BANK.replacen("tools: [identify]", "tools: [identify, login]", 1);
    let (_, server) = place
        .serve_with(&[&bank(&text)], PinOptions::default())
        .await;
    let client = connect(&server, Era::Modern).await;
    let listed = client.service.list_all_tools().await.unwrap();
    let login = listed.iter().find(|it| it.name == "login").unwrap();
    let properties = &login.input_schema["properties"];
    assert_eq!(properties["session_id"]["type"], "number", "{properties}");
    assert_eq!(properties["sop_session_id"]["type"], "string");
    let session = call_sop(&client, "load_graph", json!({})).await["session_id"].clone();
    call_sop(&client, "advance", json!({})).await;
    let own = json!({"session_id": 5, "confirm": true, "sop_session_id": session});
    let done = call_sop(&client, "login", own).await;
    assert_eq!(done, json!({"session_id": 5, "confirm": true}));
    // Our own argument must be a string.
    for tool in ["identify", "goto_node"] {
        let arguments = json!({"session_id": 5, "node_id": "START"});
        let wrong = client.call(tool, arguments).await;
        assert_eq!(wrong.is_error, Some(true), "{tool}: {wrong:?}");
        assert!(
            serde_json::to_string(&wrong)
                .unwrap()
                .contains("session_id")
        );
    }
}

#[tokio::test]
async fn a_procedure_inside_is_loaded_by_itself_only_if_that_skips_nothing() {
    let inner = "---\nagent: inner\n---\n```mermaid\nflowchart TD\n  IN --> PAY[Pay] --> OUT([Out])\n```\n## Node Prompts\n### PAY\n```yaml\ntools: [pay]\n```\nPay.\n";
    let outer = |demand: &str| {
        format!(
            "---\nagent: outer\n---\n```mermaid\nflowchart TD\n  START --> AUTH[Who] --> SUB[Sub] --> END([End])\n```\n\
             ## Node Prompts\n### AUTH\n```yaml\ntools: [identify]\n{demand}```\nWho.\n### SUB\n```yaml\nsop: inner.md\n```\n"
        )
    };
    for (demand, loads) in [("", true), ("must_call: [identify]\n", false)] {
        let read = |text: &str| Arc::new(sop_markdown::read(text.as_bytes(), "x").unwrap().sop);
        let pinned = PinnedProcedure {
            location: "outer.md".into(),
            sops: vec![read(&outer(demand)), read(inner)],
            files: vec!["inner.md".into()],
            paths: vec!["/srv/outer.md".into(), "/srv/inner.md".into()],
        };
        let (_, server) = PinnedFixture::default()
            .serve_with(&[&pinned], PinOptions::default())
            .await;
        let client = connect(&server, Era::Modern).await;
        for asked in ["inner", "inner.md"] {
            let reply = client.call("load_graph", json!({"sop_file": asked})).await;
            assert_eq!(reply.is_error != Some(true), loads, "{asked}: {reply:?}");
            if !loads {
                assert!(serde_json::to_string(&reply).unwrap().contains("AUTH"));
            }
        }
        let whole = call_sop(&client, "load_graph", json!({"sop_file": "outer"})).await;
        assert_eq!(whole["agent"], "outer");
    }
}
