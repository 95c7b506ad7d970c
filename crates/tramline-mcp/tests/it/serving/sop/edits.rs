//! Calls of a conversation that a person changed, or that were given up after they had left.

use super::super::support::{Client, Era, connect, over, request};
use super::{say, tools};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tramline_core::Value;
use tramline_core::authority::{AgentAnswers, AnswerChannel};
use tramline_core::ids::Checkpoint;
use tramline_core::journal::Answer;
use tramline_engine::seams::Hints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Approvals, Engine, Options, Respondent};
use tramline_mcp::server::{Server, Toolset};

const TILL: &str = "---\nagent: till\nmcp_servers: [{name: till}]\ntools: [pay]\n---\n\
    ```mermaid\nflowchart TD\n  START --> PAY[Pay] --> END([End])\n```\n## Node Prompts\n### PAY\n```yaml\n\
    tools: [pay]\nconfirm: true\nonce_per: {pay: args.order}\nargs:\n  pay:\n\
    \x20   - {rule: args.sum < 100, message: too much}\n```\nPay.\n";

/// A till whose payments wait until they are let through, so that they can be under way.
struct Till {
    engine: Engine,
    server: Server,
    left: Arc<Semaphore>,
    back: Arc<Semaphore>,
    tools: Arc<FakeTools>,
}

impl Till {
    fn new(agents: AgentAnswers) -> Self {
        let (left, back) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gates = (Arc::clone(&left), Arc::clone(&back));
        let pay = move |given: Value| {
            let (left, back) = gates.clone();
            async move {
                left.add_permits(1);
                back.acquire().await.unwrap().forget();
                Ok(given)
            }
        };
        let schema = r#"{"type": "object", "properties": {"order": {"type": "string"}, "sum": {"type": "number"}}}"#;
        let free = TILL.replace("confirm: true\nonce_per: {pay: args.order}\n", "");
        let tools = tools(vec![("till.md", TILL.to_owned()), ("free.md", free)])
            .tool("till", "pay", Hints::default(), pay)
            .described("till", "pay", "Pays.", schema);
        let tools = Arc::new(tools);
        let options = Options {
            approvals: Approvals {
                agents,
                ..Approvals::default()
            },
            ..Options::default()
        };
        let store = Arc::new(MemoryStore::default());
        let engine = Engine::new(store, Arc::clone(&tools) as _, options);
        let server = over(
            engine.clone(),
            &[Toolset::Sop, Toolset::Control],
            Vec::new(),
        );
        Self {
            engine,
            server,
            left,
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
        let said = self.engine.answer(asked, answer, by, None).await;
        said.map_err(|fault| fault.to_string())
    }

    /// Lets the agreed call leave, and gives when it has.
    async fn leaves(&self, asked: &Checkpoint) {
        let handle = self.engine.resume(&asked.run).await.unwrap();
        tokio::spawn(handle.ended());
        self.left.acquire().await.unwrap().forget();
    }
}

async fn at_the_till(client: &Client, file: &str) {
    say(client, "load_graph", json!({"sop_file": file})).await;
    let there = say(client, "advance", json!({})).await;
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
    let till = Till::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "till.md").await;
    let first = asked(&say(&client, "sop_call", pay("1", 5)).await);
    till.answers(&first, with("2", 6)).await.unwrap();
    till.leaves(&first).await;
    // While it is under way, order 2 has had its one payment and order 1 has not.
    let again = say(&client, "sop_call", pay("2", 7)).await;
    assert!(again["error"]["message"].as_str().is_some(), "{again}");
    let other = asked(&say(&client, "sop_call", pay("1", 9)).await);
    assert_ne!(other.run, first.run);
    till.back.add_permits(1);
    // The agent's own call comes back to what was made of it, and says so.
    let told = say(&client, "sop_call", pay("1", 5)).await;
    assert_eq!(told["result"], json!({"order": "2", "sum": 6}), "{told}");
    assert_eq!(told["edited_arguments"], json!({"order": "2", "sum": 6}));
    assert_eq!(told["edited_by"], "ann");
    assert_eq!(till.paid(), 1);
}

#[tokio::test]
async fn an_edit_is_refused_by_a_rule_of_the_procedure_and_by_the_schema() {
    let till = Till::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "till.md").await;
    let point = asked(&say(&client, "sop_call", pay("1", 5)).await);
    let rule = till.answers(&point, with("1", 500)).await.unwrap_err();
    assert!(rule.contains("too much"), "{rule}");
    let arguments = Value::object([("order", 1.into()), ("sum", 5.into())]);
    let kind = till.answers(&point, Answer::ProceedWith { arguments });
    let kind = kind.await.unwrap_err();
    assert!(kind.contains("order"), "{kind}");
    assert_eq!(till.paid(), 0);
    // Both are in the audit, and the question still waits.
    let notes = till.engine.notes(0, Some(&point.run)).await.unwrap();
    let refused = notes.iter().filter(|it| it["result"] == "refused").count();
    assert_eq!(refused, 2, "{notes:?}");
    till.answers(&point, with("1", 50)).await.unwrap();
}

/// Giving up a call that a person agreed to, after it left, does not make it a call that never was.
#[tokio::test]
async fn a_call_that_was_given_up_under_way_is_in_doubt() {
    let till = Till::new(AgentAnswers::Relay);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "till.md").await;
    let first = asked(&say(&client, "sop_call", pay("1", 5)).await);
    till.answers(&first, Answer::Proceed).await.unwrap();
    till.leaves(&first).await;
    let end = json!({"workflow_id": first.run.as_str(), "reason": "never mind"});
    let told = say(&client, "abort", end).await;
    assert_eq!(told["status"], "aborted", "{told}");
    let doubt = say(&client, "sop_call", pay("1", 5)).await;
    let says = doubt["error"]["message"].as_str().unwrap_or_default();
    assert!(says.contains("nobody knows whether it happened"), "{doubt}");
    // It counts as the one payment of this order.
    let other = say(&client, "sop_call", pay("1", 6)).await;
    assert!(other.get("error").is_some(), "{other}");
    assert_eq!(till.paid(), 1);
}

/// Where agents decide nothing that a person should, they do not decide that a call in doubt is made again.
#[tokio::test]
async fn a_person_is_asked_before_a_call_in_doubt_is_repeated() {
    let till = Till::new(AgentAnswers::None);
    let client = connect(&till.server, Era::Modern).await;
    at_the_till(&client, "free.md").await;
    let mut call = pay("1", 5);
    // Its caller goes away while it is under way.
    let gone = client.service.call_tool(request("sop_call", call.clone()));
    tokio::select! {
        told = gone => panic!("it came back: {told:?}"),
        left = till.left.acquire() => left.unwrap().forget(),
    }
    drop(client);
    let client = connect(&till.server, Era::Modern).await;
    let doubt = say(&client, "sop_call", call.clone()).await;
    assert!(doubt.to_string().contains("again"), "{doubt}");
    call["again"] = true.into();
    let told = say(&client, "sop_call", call).await;
    assert_eq!(told["status"], "approval_required", "{told}");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("left before"), "{message}");
    assert_eq!(till.paid(), 1);
}
