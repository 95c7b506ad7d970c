//! Calls of an SOP session that a person edited, or that were aborted after they were sent.

use super::super::support::{Client, Era, connect, over, request};
use super::{call_sop, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Approvals, EngineOptions, Respondent};
use tramline_expr::Value;
use tramline_mcp_server::{Server, Toolset};
use tramline_planner::Services;
use tramline_workflow::authority::{AgentAnswers, AnswerChannel};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::Answer;

const TILL: &str = "---\nagent: till\nmcp_servers: [{name: till}]\ntools: [pay]\n---\n\
    ```mermaid\nflowchart TD\n  START --> PAY[Pay] --> END([End])\n```\n## Node Prompts\n### PAY\n```yaml\n\
    tools: [pay]\nconfirm: true\nonce_per: {pay: args.order}\nargs:\n  pay:\n\
    \x20   - {rule: args.sum < 100, message: too much}\n```\nPay.\n";

/// A till whose payments wait until they are released, so that they can be in flight.
struct EditableTill {
    services: Services,
    server: Server,
    sent: Arc<Semaphore>,
    back: Arc<Semaphore>,
    tools: Arc<FakeTools>,
}

impl EditableTill {
    fn new(agents: AgentAnswers) -> Self {
        let (sent, back) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gates = (Arc::clone(&sent), Arc::clone(&back));
        let pay = move |given: Value| {
            let (left, back) = gates.clone();
            async move {
                left.add_permits(1);
                match back.acquire().await {
                    Ok(permit) => permit.forget(),
                    // Closed: the server is lost.
                    Err(_) => {
                        let lost = Failure::new(FailureKind::Unavailable, "gone");
                        return Err(lost.after_sending());
                    }
                }
                Ok(given)
            }
        };
        let schema = r#"{"type": "object", "properties": {"order": {"type": "string"}, "sum": {"type": "number"}}}"#;
        let free = TILL.replace("confirm: true\nonce_per: {pay: args.order}\n", "");
        let twice = TILL.replace("once_per: {pay: args.order}", "max_calls: {pay: 2}");
        let files = vec![
            ("till.md", TILL.to_owned()),
            ("free.md", free),
            ("twice.md", twice),
        ];
        let tools = tools(files)
            .tool("till", "pay", ToolHints::default(), pay)
            .described("till", "pay", "Pays.", schema);
        let tools = Arc::new(tools);
        let options = EngineOptions {
            approvals: Approvals {
                agents,
                ..Approvals::default()
            },
            ..EngineOptions::default()
        };
        let store = Arc::new(MemoryStore::default());
        let services = Services::new(store, Arc::clone(&tools) as _, options);
        let server = over(
            services.clone(),
            &[Toolset::Sop, Toolset::Control],
            Vec::new(),
        );
        Self {
            services,
            server,
            sent,
            back,
            tools,
        }
    }

    fn paid(&self) -> usize {
        let calls = self.tools.calls();
        calls.iter().filter(|it| it.tool.tool == "pay").count()
    }

    async fn answers(&self, asked: &Checkpoint, answer: Answer) -> Result<(), String> {
        let by = Respondent::new("ann", AnswerChannel::CommandLine);
        let said = self.services.engine.answer(asked, answer, by, None).await;
        said.map_err(|fault| fault.to_string())
    }

    /// Sends the approved call, and returns when it was sent.
    async fn send_approved(&self, asked: &Checkpoint) {
        let handle = self.services.engine.resume(&asked.run).await.unwrap();
        tokio::spawn(handle.wait());
        self.sent.acquire().await.unwrap().forget();
    }
}

async fn at_the_till(client: &Client, file: &str) {
    call_sop(client, "load_graph", json!({"sop_file": file})).await;
    let there = call_sop(client, "advance", json!({})).await;
    assert_eq!(there["node"]["id"], "PAY", "{there}");
}

fn pay(order: &str, sum: i64) -> Json {
    json!({"tool": "till:pay", "arguments": {"order": order, "sum": sum}})
}

fn asked(told: &Json) -> Checkpoint {
    assert_eq!(told["status"], "approval_required", "{told}");
    told["checkpoint_id"].as_str().unwrap().parse().unwrap()
}

fn with(order: &str, sum: i64) -> Answer {
    let arguments = [("order", Value::from(order)), ("sum", sum.into())];
    Answer::ProceedWith {
        arguments: Value::object(arguments),
    }
}

#[tokio::test]
async fn edited_arguments_count_at_once_and_the_agent_hears_of_them() {
    let till = EditableTill::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "till.md").await;
    let first = asked(&call_sop(&client, "sop_call", pay("1", 5)).await);
    till.answers(&first, with("2", 6)).await.unwrap();
    till.send_approved(&first).await;
    // While it is running, order 2 has had its one payment and order 1 has not.
    let again = call_sop(&client, "sop_call", pay("2", 7)).await;
    assert!(again["error"]["message"].as_str().is_some(), "{again}");
    let other = asked(&call_sop(&client, "sop_call", pay("1", 9)).await);
    assert_ne!(other.run, first.run);
    till.back.add_permits(1);
    // The agent's own call returns the edited result and says so.
    let told = call_sop(&client, "sop_call", pay("1", 5)).await;
    assert_eq!(told["result"], json!({"order": "2", "sum": 6}), "{told}");
    assert_eq!(told["edited_arguments"], json!({"order": "2", "sum": 6}));
    assert_eq!(told["edited_by"], "ann");
    assert_eq!(till.paid(), 1);
}

#[tokio::test]
async fn an_edit_is_refused_by_a_rule_of_the_procedure_and_by_the_schema() {
    let till = EditableTill::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "till.md").await;
    let point = asked(&call_sop(&client, "sop_call", pay("1", 5)).await);
    let rule = till.answers(&point, with("1", 500)).await.unwrap_err();
    assert!(rule.contains("too much"), "{rule}");
    let arguments = Value::object([("order", 1.into()), ("sum", 5.into())]);
    let kind = till.answers(&point, Answer::ProceedWith { arguments });
    let kind = kind.await.unwrap_err();
    assert!(kind.contains("order"), "{kind}");
    assert_eq!(till.paid(), 0);
    // Both are in the audit log, and the question is still open.
    let notes = till
        .services
        .engine
        .audit_notes(0, Some(&point.run))
        .await
        .unwrap();
    let refused = notes.iter().filter(|it| it["result"] == "refused").count();
    assert_eq!(refused, 2, "{notes:?}");
    till.answers(&point, with("1", 50)).await.unwrap();
}

/// Aborting an approved call after it was sent does not undo it.
#[tokio::test]
async fn a_call_that_was_given_up_under_way_is_in_doubt() {
    let till = EditableTill::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "till.md").await;
    let first = asked(&call_sop(&client, "sop_call", pay("1", 5)).await);
    till.answers(&first, Answer::Proceed).await.unwrap();
    till.send_approved(&first).await;
    let end = json!({"workflow_id": first.run.as_str(), "reason": "never mind"});
    let told = call_sop(&client, "abort", end).await;
    assert_eq!(told["status"], "aborted", "{told}");
    let doubt = call_sop(&client, "sop_call", pay("1", 5)).await;
    let says = doubt["error"]["message"].as_str().unwrap_or_default();
    assert!(says.contains("result is unknown"), "{doubt}");
    // It counts as the one payment of this order.
    let other = call_sop(&client, "sop_call", pay("1", 6)).await;
    assert!(other.get("error").is_some(), "{other}");
    assert_eq!(till.paid(), 1);
}

/// If agents may not answer for a person, they may not decide to repeat a call in doubt.
#[tokio::test]
async fn a_person_is_asked_before_a_call_in_doubt_is_repeated() {
    let till = EditableTill::new(AgentAnswers::None);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "free.md").await;
    let mut call = pay("1", 5);
    // Its caller disconnects while it is running.
    let gone = client.service.call_tool(request("sop_call", call.clone()));
    tokio::select! {
        told = gone => panic!("it came back: {told:?}"),
        left = till.sent.acquire() => left.unwrap().forget(),
    }
    drop(client);
    let client = connect(&till.server, Era::Modern).await;
    // The call is still running, until its server is lost.
    let told = call_sop(&client, "sop_call", call.clone()).await;
    assert!(told.to_string().contains("still running"), "{told}");
    till.back.close();
    let doubt = loop {
        let told = call_sop(&client, "sop_call", call.clone()).await;
        if !told.to_string().contains("still running") {
            break told;
        }
        tokio::task::yield_now().await;
    };
    assert!(doubt.to_string().contains("`again: true`"), "{doubt}");
    call["again"] = true.into();
    let told = call_sop(&client, "sop_call", call).await;
    assert_eq!(told["status"], "approval_required", "{told}");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("sent before"), "{message}");
    assert_eq!(till.paid(), 1);
}

/// A call that nobody approved was not made: a corrected one replaces its question, so that only one can leave.
#[tokio::test]
async fn a_corrected_call_replaces_the_question_that_nobody_answered() {
    let till = EditableTill::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "till.md").await;
    let first = asked(&call_sop(&client, "sop_call", pay("1", 5)).await);
    let second = asked(&call_sop(&client, "sop_call", pay("1", 9)).await);
    assert_ne!(first.run, second.run);
    till.answers(&first, Answer::Proceed).await.unwrap_err();
    till.answers(&second, Answer::Proceed).await.unwrap();
    // Approved, it counts: it is not replaced, and the refusal names it.
    let third = call_sop(&client, "sop_call", pay("1", 7)).await;
    let says = third["error"]["message"].as_str().unwrap_or_default();
    assert!(says.contains(second.run.as_str()), "{third}");
    till.back.add_permits(1);
    till.send_approved(&second).await;
    let told = call_sop(&client, "sop_call", pay("1", 9)).await;
    assert_eq!(told, json!({"order": "1", "sum": 9}));
    assert_eq!(till.paid(), 1);
}

/// If several questions use up a limit, it is unknown which one is corrected: the refusal names them.
#[tokio::test]
async fn a_limit_that_waiting_questions_use_up_names_them() {
    let till = EditableTill::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "twice.md").await;
    let first = asked(&call_sop(&client, "sop_call", pay("1", 5)).await);
    let second = asked(&call_sop(&client, "sop_call", pay("2", 5)).await);
    let third = call_sop(&client, "sop_call", pay("3", 5)).await;
    let says = third["error"]["message"].as_str().unwrap_or_default();
    for run in [&first.run, &second.run] {
        assert!(says.contains(run.as_str()), "{third}");
    }
    till.back.add_permits(2);
    for point in [&first, &second] {
        till.answers(point, Answer::Proceed).await.unwrap();
        till.send_approved(point).await;
    }
    let again = call_sop(&client, "sop_call", pay("3", 5)).await;
    assert!(again.get("error").is_some(), "{again}");
    assert_eq!(till.paid(), 2);
}
