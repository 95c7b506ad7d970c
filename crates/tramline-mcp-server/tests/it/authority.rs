//! An agent that tries to bypass a person: with every tool that could answer, and by detours.

use super::support::{
    Client, ClientEvent, ERAS, Era, connect, connect_over, connect_with, filled, forms, over,
    over_http, request, structured,
};
use rmcp::model::{ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::{RunFilter, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{EngineOptions, Respondent, ToolPattern, ToolPolicy};
use tramline_expr::Value;
use tramline_mcp_server::{HttpOptions, NamedToken, Server, Toolset};
use tramline_planner::Services;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Answer, Event, RunEvent};

/// The tool that needs a person's approval by the operator's policy.
const ASKED: &str = "t:pay";

struct ShopFixture {
    tools: Arc<FakeTools>,
    services: Services,
    server: Server,
}

impl ShopFixture {
    /// `pay` needs approval by the policy, `drop` is destructive, `look` only reads.
    fn new() -> Self {
        let hints = |destructive| ToolHints {
            read_only: Some(false),
            destructive: Some(destructive),
            ..ToolHints::default()
        };
        let looks = ToolHints {
            read_only: Some(true),
            ..ToolHints::default()
        };
        let echo = |arguments: Value| async { Ok(arguments) };
        let tools = FakeTools::new()
            .tool("t", "pay", hints(false), echo)
            .tool("t", "drop", hints(true), echo)
            .tool("t", "look", looks, echo);
        let tools = Arc::new(tools);
        let options = EngineOptions {
            policy: ToolPolicy {
                ask: vec![ToolPattern::parse(ASKED).unwrap()],
                deny: Vec::new(),
            },
            ..EngineOptions::default()
        };
        let store = Arc::new(MemoryStore::default());
        let services = Services::new(store, Arc::clone(&tools) as _, options);
        let server = over(services.clone(), &Toolset::ALL, vec![]);
        Self {
            tools,
            services,
            server,
        }
    }

    fn called(&self, tool: &str) -> usize {
        let calls = self.tools.calls();
        calls.iter().filter(|call| call.tool.tool == tool).count()
    }
}

async fn say(client: &Client, tool: &str, arguments: Json) -> Json {
    let result = client.call(tool, arguments).await;
    structured(&result).clone()
}

/// Starts a DAG with one task that waits; returns the run and the checkpoint.
async fn waits(client: &Client, task: Json) -> (String, String) {
    let asked = say(client, "execute_dag", json!({"workflow": [task]})).await;
    let text = |key: &str| asked[key].as_str().unwrap_or_else(|| panic!("{asked}"));
    (
        text("workflow_id").to_owned(),
        text("checkpoint_id").to_owned(),
    )
}

fn says(told: &Json) -> String {
    told["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn no_tool_answers_what_the_operator_demands() {
    for era in ERAS {
        let shop = ShopFixture::new();
        shop.services
            .engine
            .set_studio_url("http://127.0.0.1:9/studio");
        let client = connect(&shop.server, era).await;
        // Marking the task as the agent's own question does not make it one.
        for task in [
            json!({"id": "a", "tool": "t:pay"}),
            json!({"id": "a", "tool": "t:pay", "approval": true}),
        ] {
            let (run, point) = waits(&client, task).await;
            for approved in [true, false] {
                let answer =
                    json!({"workflow_id": run, "checkpoint_id": point, "approved": approved});
                let told = say(&client, "approval_response", answer).await;
                let data = &told["error"]["data"];
                assert_eq!(data["reason"], "policy", "{told}");
                assert_eq!(data["command"], format!("tramline runs approve {point}"));
                assert!(says(&told).contains("http://127.0.0.1:9/studio"), "{told}");
            }
            for answer in ["proceed", "reject", "skip", "retry"] {
                let answer = json!({"checkpoint_id": point, "answer": answer});
                let told = say(&client, "run_answer", answer).await;
                assert!(says(&told).contains("person"), "{told}");
            }
            for (tool, arguments) in [
                ("continue", json!({"workflow_id": run})),
                ("run_debug", json!({"command": "continue", "run_id": run})),
                ("run_debug", json!({"command": "step", "run_id": run})),
            ] {
                say(&client, tool, arguments).await;
            }
            let stands = shop
                .services
                .engine
                .load(&run.parse().unwrap())
                .await
                .unwrap();
            assert!(!stands.run.pauses.is_empty(), "{era:?}: it must still wait");
        }
        assert_eq!(shop.called("pay"), 0, "{era:?}");
    }
}

#[tokio::test]
async fn there_is_no_way_round_a_question_of_the_operators() {
    let shop = ShopFixture::new();
    let client = connect(&shop.server, Era::Modern).await;
    let pay = || json!({"id": "a", "tool": "t:pay"});
    let (run, _) = waits(&client, pay()).await;
    // Forking, adding the same task, aborting and trying again, or using another toolset.
    let forks = say(&client, "run_fork", json!({"run_id": run})).await;
    assert!(!forks.is_null());
    let ir = json!({"nodes": [{"id": "a", "type": "t:pay", "params": {}}]});
    let yaml = "version: '1.0'\nserver: {name: s, version: '1'}\ntools:\n  - name: x\n    \
                description: d\n    inputSchema: {type: object}\n    nodes:\n      - {id: entry, \
                type: entry, next: a}\n      - {id: a, type: mcp, server: t, tool: pay, args: {}, \
                next: exit}\n      - {id: exit, type: exit}\n";
    for (tool, arguments) in [
        (
            "replan",
            json!({"workflow_id": run, "new_requirement": "x", "new_tasks": [{"id": "b", "tool": "t:pay"}]}),
        ),
        ("abort", json!({"workflow_id": run, "reason": "again"})),
        ("execute_dag", json!({"workflow": [pay()]})),
        ("workflow_execute", json!({"workflow": ir})),
        ("workflow_execute", json!({"workflow": yaml})),
        (
            "workflow_save",
            json!({"name": "pay-it", "description": "pays", "workflow_file": ir}),
        ),
        ("workflow_execute", json!({"workflow": "pay-it"})),
        (
            "registry_run",
            json!({"node_type": "t:pay", "parameters": {}}),
        ),
        (
            "registry_run",
            json!({"node_type": "workflow:pay-it", "parameters": {}}),
        ),
        (
            "run_debug",
            json!({"command": "start", "workflow": "pay-it"}),
        ),
        (
            "run_loop",
            json!({"messages": [{"role": "user", "content": "pay"}]}),
        ),
    ] {
        say(&client, tool, arguments).await;
        assert_eq!(shop.called("pay"), 0, "{tool}");
    }
}

/// An agent may answer breakpoints, forks and child runs. None of these answers is one to the question behind it.
#[tokio::test]
async fn breakpoints_forks_and_children_answer_no_question_of_the_operator() {
    for era in ERAS {
        let shop = ShopFixture::new();
        let client = connect(&shop.server, era).await;
        let engine = &shop.services.engine;
        let ir = json!({"nodes": [{"id": "a", "type": "t:pay", "params": {}}]});
        let save = json!({"name": "pay-it", "description": "pays", "workflow_file": ir});
        say(&client, "workflow_save", save).await;
        let at_node = json!({"command": "start", "workflow": "pay-it", "breakpoints": ["a"]});
        let calls_it =
            json!({"nodes": [{"id": "c", "type": "workflow", "params": {"workflow": "pay-it"}}]});
        let halted = say(&client, "run_debug", at_node).await["run_id"].clone();
        let parent = say(&client, "workflow_execute", json!({"workflow": calls_it})).await;
        // A run that a person approved, and its fork.
        let (run, point) = waits(&client, json!({"id": "a", "tool": "t:pay"})).await;
        let person = Respondent::new("ann", AnswerChannel::CommandLine);
        let asked: Checkpoint = point.parse().unwrap();
        let answered = engine.answer(&asked, Answer::Proceed, person, None).await;
        answered.unwrap();
        let yes = json!({"workflow_id": run});
        say(&client, "continue", yes).await;
        while shop.called("pay") == 0 {
            tokio::task::yield_now().await;
        }
        let fork = json!({"run_id": run, "repeat_effects": true});
        let forked = say(&client, "run_fork", fork).await;
        for told in [&parent, &forked] {
            assert!(told.to_string().contains("run_"), "{told}");
        }
        // Every answer that an agent can give to every question that is open anywhere.
        for _ in 0..4 {
            let open = engine.runs(RunFilter::default()).await.unwrap().rows;
            for row in open {
                let id = row.run.to_string();
                let loaded = engine.load(&row.run).await.unwrap();
                for seq in loaded.run.pauses.keys() {
                    let point = Checkpoint {
                        run: row.run.clone(),
                        seq: *seq,
                    }
                    .to_string();
                    for answer in ["proceed", "approve", "retry", "extend"] {
                        let answer = json!({"checkpoint_id": point, "answer": answer});
                        say(&client, "run_answer", answer).await;
                    }
                    let yes = json!({"workflow_id": id, "checkpoint_id": point, "approved": true});
                    say(&client, "approval_response", yes).await;
                    say(
                        &client,
                        "continue",
                        json!({"workflow_id": id, "checkpoint_id": point}),
                    )
                    .await;
                }
                for command in ["continue", "step"] {
                    say(
                        &client,
                        "run_debug",
                        json!({"command": command, "run_id": id}),
                    )
                    .await;
                }
            }
        }
        assert_eq!(
            shop.called("pay"),
            1,
            "{era:?}: only what the person approved"
        );
        // The halted run waits for a person now, and says so.
        let told = say(&client, "run_read", json!({"run_id": halted})).await;
        assert!(told.to_string().contains("policy"), "{told}");
    }
}

#[tokio::test]
async fn destructive_calls_are_asked_about_in_every_format_that_an_agent_brings() {
    let yaml = "version: '1.0'\nserver: {name: s, version: '1'}\ntools:\n  - name: x\n    \
                description: d\n    inputSchema: {type: object}\n    nodes:\n      - {id: entry, \
                type: entry, next: a}\n      - {id: a, type: mcp, server: t, tool: drop, args: {}, \
                next: exit}\n      - {id: exit, type: exit}\n";
    let markdown = "# wipe\n\nWipes.\n\n## Steps\n\n### a\n\nDrops it.\n\n- type: mcp-t-drop\n";
    for document in [
        json!({"nodes": [{"id": "a", "type": "t:drop", "params": {}}]}),
        json!({"nodes": [{"id": "a", "type": "mcp-t-drop", "params": {}, "batch": {"items": [1, 2]}}]}),
        json!({"tasks": [{"id": "a", "tool": "t:drop"}]}),
        json!(yaml),
        json!(markdown),
    ] {
        let shop = ShopFixture::new();
        let client = connect(&shop.server, Era::Modern).await;
        let ran = say(&client, "workflow_execute", json!({"workflow": document})).await;
        assert_eq!(ran["data"]["status"], "paused", "{document}: {ran}");
        assert_eq!(ran["data"]["waiting"][0]["source"], "destructive", "{ran}");
        // Saved by an agent, it asks whenever it is run.
        let save = json!({"name": "wipe", "description": "wipes", "workflow_file": document});
        let saved = say(&client, "workflow_save", save).await;
        assert_eq!(saved["success"], true, "{saved}");
        let named = say(&client, "workflow_execute", json!({"workflow": "wipe"})).await;
        assert_eq!(named["data"]["status"], "paused", "{document}: {named}");
        say(
            &client,
            "run_debug",
            json!({"command": "start", "workflow": "wipe"}),
        )
        .await;
        say(
            &client,
            "registry_run",
            json!({"node_type": "workflow:wipe", "parameters": {}}),
        )
        .await;
        assert_eq!(shop.called("drop"), 0, "{document}");
    }
}

#[tokio::test]
async fn an_agent_relays_what_documents_and_annotations_ask_for_unless_its_client_has_a_form() {
    for era in ERAS {
        let shop = ShopFixture::new();
        let plain = connect(&shop.server, era).await;
        for task in [
            json!({"id": "a", "tool": "t:drop"}),
            json!({"id": "a", "tool": "t:look", "approval": "please"}),
        ] {
            let (run, point) = waits(&plain, task).await;
            let yes = json!({"workflow_id": run, "checkpoint_id": point, "approved": true});
            let told = say(&plain, "approval_response", yes).await;
            assert_eq!(told["status"], "complete", "{told}");
            let loaded = shop
                .services
                .engine
                .load(&run.parse().unwrap())
                .await
                .unwrap();
            let relayed = |event: &Event| {
                matches!(
                    event,
                    Event::Run(RunEvent::Answered {
                        via: Some(AnswerChannel::Agent),
                        ..
                    })
                )
            };
            assert!(loaded.entries.iter().any(|entry| relayed(&entry.event)));
        }
        let (run, point) = waits(&plain, json!({"id": "a", "tool": "t:drop"})).await;
        let formed = connect_with(&shop.server, era, forms()).await;
        // The form is shown, and closed.
        formed.queue_answer(ElicitResult::new(ElicitationAction::Cancel));
        let yes = json!({"workflow_id": run, "checkpoint_id": point, "approved": true});
        let told = say(&formed, "approval_response", yes).await;
        // Either an error, or the status that it still waits if the form came with another call.
        let waits = told["checkpoint_id"] == point.as_str();
        assert!(says(&told).contains("form") || waits, "{told}");
        assert_eq!(shop.called("drop"), 1);
    }
}

#[tokio::test]
async fn the_clients_form_answers_the_operators_question() {
    for era in ERAS {
        let shop = ShopFixture::new();
        let client = connect_with(&shop.server, era, forms()).await;
        client.queue_answer(filled(json!({"decision": "approve"})));
        let task = json!({"workflow": [{"id": "a", "tool": "t:pay"}]});
        let told = say(&client, "execute_dag", task).await;
        assert_eq!(told["status"], "complete", "{told}");
        assert_eq!(shop.called("pay"), 1);
        let notes = shop.services.engine.audit_notes(0, None).await.unwrap();
        let decisions: Vec<_> = notes
            .iter()
            .flat_map(|note| note["decisions"].as_array().cloned().unwrap_or_default())
            .collect();
        assert_eq!(decisions.len(), 1, "{notes:?}");
        assert_eq!(
            (
                &decisions[0]["via"],
                &decisions[0]["reason"],
                &decisions[0]["tool"]
            ),
            (&json!("form"), &json!("policy"), &json!("t:pay"))
        );
    }
}

/// A client that opens URLs and shows no forms.
fn url_clients() -> ClientCapabilities {
    let mut capabilities = forms();
    capabilities.elicitation = serde_json::from_value(json!({"url": {}})).unwrap();
    capabilities
}

#[tokio::test]
async fn a_refused_answer_can_wait_for_a_person() {
    let shop = ShopFixture::new();
    shop.services
        .engine
        .set_studio_url("http://127.0.0.1:9/studio");
    let mut client = connect_with(&shop.server, Era::Legacy, url_clients()).await;
    let (run, point) = waits(&client, json!({"id": "a", "tool": "t:pay"})).await;
    client.queue_answer(ElicitResult::new(ElicitationAction::Decline));
    let yes = json!({
        "workflow_id": run, "checkpoint_id": point, "approved": true, "wait_seconds": 600,
    });
    let relayed = client.service.call_tool(request("approval_response", yes));
    // Once the URL was shown, the agent's answer has been rejected.
    let heard = &mut client.events;
    let person = async {
        while !matches!(heard.recv().await.unwrap(), ClientEvent::Asked(_)) {}
        let asked: Checkpoint = point.parse().unwrap();
        let by = Respondent::new("ann", AnswerChannel::CommandLine);
        let said = shop
            .services
            .engine
            .answer(&asked, Answer::Proceed, by, None);
        said.await.unwrap();
    };
    let (told, ()) = tokio::join!(relayed, person);
    let told = told.unwrap();
    assert_eq!(structured(&told)["status"], "complete", "{told:?}");
    assert_eq!(shop.called("pay"), 1);
}

#[tokio::test]
async fn a_client_that_opens_addresses_is_sent_to_the_studio() {
    let shop = ShopFixture::new();
    shop.services
        .engine
        .set_studio_url("http://127.0.0.1:9/studio");
    let mut client = connect_with(&shop.server, Era::Legacy, url_clients()).await;
    let (run, point) = waits(&client, json!({"id": "a", "tool": "t:pay"})).await;
    client.queue_answer(ElicitResult::new(ElicitationAction::Decline));
    let yes = json!({"workflow_id": run, "checkpoint_id": point, "approved": true});
    let told = say(&client, "approval_response", yes).await;
    assert!(says(&told).contains("person"), "{told}");
    let ElicitRequestParams::UrlElicitationParams { url, .. } = client.next_question().await else {
        panic!("no URL");
    };
    assert_eq!(url, format!("http://127.0.0.1:9/studio/runs/{run}"));
}

#[tokio::test]
async fn an_approver_token_answers_and_a_plain_one_does_not() {
    let shop = ShopFixture::new();
    let stop = CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let named = |name: &str, approver| NamedToken {
        name: name.into(),
        token: format!("{name}-secret"),
        approver,
    };
    let http = HttpOptions {
        named_tokens: vec![named("ann", false), named("boss", true)],
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    let listening = shop.server.clone().listen(http, stop).await.unwrap();
    let address = listening.address;
    tokio::spawn(listening.serve());
    for (name, allowed) in [("ann", false), ("boss", true)] {
        let transport = over_http(address, Some(&format!("{name}-secret")));
        let client = connect_over(transport, Era::Legacy, ClientCapabilities::default()).await;
        let before = shop.called("pay");
        let (run, point) = waits(&client, json!({"id": "a", "tool": "t:pay"})).await;
        let yes = json!({"workflow_id": run, "checkpoint_id": point, "approved": true});
        say(&client, "approval_response", yes).await;
        assert_eq!(shop.called("pay") - before, usize::from(allowed), "{name}");
    }
}

#[tokio::test]
async fn every_command_of_every_toolset_is_in_the_audit_before_its_reply() {
    let shop = ShopFixture::new();
    let client = connect(&shop.server, Era::Modern).await;
    let (run, point) = waits(&client, json!({"id": "a", "tool": "t:pay"})).await;
    let ir = json!({"nodes": [{"id": "a", "type": "t:look", "params": {"q": "deep"}}]});
    for (tool, arguments, result) in [
        (
            "run_answer",
            json!({"checkpoint_id": point, "answer": "proceed"}),
            "refused",
        ),
        (
            "approval_response",
            json!({"workflow_id": run, "checkpoint_id": point, "approved": true}),
            "refused",
        ),
        ("workflow_execute", json!({"workflow": ir}), "completed"),
        (
            "registry_run",
            json!({"node_type": "t:look", "parameters": {}}),
            "done",
        ),
        (
            "registry_run",
            json!({"node_type": "t:pay", "parameters": {}}),
            "refused",
        ),
        (
            "workflow_save",
            json!({"name": "look", "description": "looks", "workflow_file": ir}),
            "done",
        ),
        (
            "run_debug",
            json!({"command": "stop", "run_id": run, "why": "enough"}),
            "aborted",
        ),
        ("workflow_execute", json!({}), "refused"),
    ] {
        let before = shop
            .services
            .engine
            .audit_notes(0, None)
            .await
            .unwrap()
            .len();
        let told = say(&client, tool, arguments.clone()).await;
        let notes = shop.services.engine.audit_notes(0, None).await.unwrap();
        assert_eq!(notes.len(), before + 1, "{tool}");
        let note = notes.last().unwrap();
        assert_eq!(
            (
                &note["command"],
                &note["result"],
                &note["door"],
                &note["by"]
            ),
            (
                &json!(tool),
                &json!(result),
                &json!("mcp"),
                &json!("agent test")
            ),
            "{note} {told}"
        );
        assert_eq!(note["arguments"], arguments);
    }
    let notes = shop
        .services
        .engine
        .audit_notes(0, Some(&run.parse().unwrap()))
        .await
        .unwrap();
    let commands: Vec<_> = notes
        .iter()
        .map(|note| note["command"].as_str().unwrap())
        .collect();
    assert_eq!(
        commands,
        [
            "execute_dag",
            "run_answer",
            "approval_response",
            "run_debug"
        ]
    );
    let refused = &notes[1]["decisions"][0];
    assert_eq!(
        (&refused["reason"], &refused["via"], &refused["tool"]),
        (&json!("policy"), &json!("agent"), &json!("t:pay"))
    );
    assert!(refused["refused"].as_str().unwrap().contains("person"));
    // Read-only tools are not audited.
    let before = shop
        .services
        .engine
        .audit_notes(0, None)
        .await
        .unwrap()
        .len();
    say(&client, "runs_list", json!({})).await;
    say(&client, "registry_list", json!({})).await;
    assert_eq!(
        shop.services
            .engine
            .audit_notes(0, None)
            .await
            .unwrap()
            .len(),
        before
    );
}
