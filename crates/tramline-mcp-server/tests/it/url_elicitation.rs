//! Questions that the agent may not answer: its client's user is shown a form or a URL, by every tool that
//! answers and in every protocol version.

use super::support::{
    Client, ERAS, Era, connect, connect_with, filled, forms, over, request, structured,
};
use rmcp::model::{
    CallToolResponse, ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction,
    InputRequest,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{EngineOptions, Respondent, ToolPattern, ToolPolicy};
use tramline_expr::Value;
use tramline_mcp_server::{Server, Toolset};
use tramline_planner::Services;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::Answer;

const STUDIO: &str = "http://127.0.0.1:9/studio";

/// A server with one tool that needs approval by the policy.
struct TillFixture {
    tools: Arc<FakeTools>,
    services: Services,
    server: Server,
}

impl TillFixture {
    fn new() -> Self {
        let echo = |arguments: Value| async { Ok(arguments) };
        let tools = Arc::new(FakeTools::new().tool("t", "pay", ToolHints::default(), echo));
        let policy = ToolPolicy {
            ask: vec![ToolPattern::parse("t:pay").unwrap()],
            deny: Vec::new(),
        };
        let options = EngineOptions {
            policy,
            ..EngineOptions::default()
        };
        let store = Arc::new(MemoryStore::default());
        let services = Services::new(store, Arc::clone(&tools) as _, options);
        services.engine.set_studio_url(STUDIO);
        let server = over(services.clone(), &Toolset::ALL, vec![]);
        Self {
            tools,
            services,
            server,
        }
    }

    fn paid(&self) -> usize {
        self.tools.calls().len()
    }

    /// Starts a run that waits, from a client that cannot show anything.
    async fn waits(&self) -> Checkpoint {
        let client = connect(&self.server, Era::Modern).await;
        let task = json!({"workflow": [{"id": "a", "tool": "t:pay"}]});
        let asked = structured(&client.call("execute_dag", task).await).clone();
        asked["checkpoint_id"].as_str().unwrap().parse().unwrap()
    }

    async fn person_agrees(&self, asked: &Checkpoint) {
        let by = Respondent::new("ann", AnswerChannel::CommandLine);
        let said = self
            .services
            .engine
            .answer(asked, Answer::Proceed, by, None);
        said.await.unwrap();
    }
}

/// The two tools that answer, with the arguments for approval.
fn answers(asked: &Checkpoint) -> [(&'static str, Json); 2] {
    let (run, point) = (asked.run.to_string(), asked.to_string());
    [
        (
            "approval_response",
            json!({"workflow_id": run, "checkpoint_id": point, "approved": true}),
        ),
        (
            "run_answer",
            json!({"checkpoint_id": point, "answer": "approve"}),
        ),
    ]
}

/// A client that opens URLs and shows no forms.
fn url_clients() -> ClientCapabilities {
    let mut capabilities = forms();
    capabilities.elicitation = serde_json::from_value(json!({"url": {}})).unwrap();
    capabilities
}

fn is_over(told: &Json) -> bool {
    let status = told["status"].as_str();
    matches!(status, Some("complete" | "completed"))
}

#[tokio::test]
async fn every_tool_that_answers_shows_the_form() {
    for era in ERAS {
        for at in 0..2 {
            let till = TillFixture::new();
            let asked = till.waits().await;
            let mut client = connect_with(&till.server, era, forms()).await;
            let (tool, yes) = answers(&asked)[at].clone();
            // A closed form decides nothing.
            client.queue_answer(ElicitResult::new(ElicitationAction::Cancel));
            client.call(tool, yes.clone()).await;
            assert_eq!(till.paid(), 0, "{era:?} {tool}");
            let ElicitRequestParams::FormElicitationParams { message, .. } =
                client.next_question().await
            else {
                panic!("{era:?} {tool}: no form");
            };
            assert!(message.contains("t:pay"), "{message}");
            client.queue_answer(filled(json!({"decision": "approve"})));
            let told = structured(&client.call(tool, yes).await).clone();
            assert!(is_over(&told), "{era:?} {tool}: {told}");
            assert_eq!(till.paid(), 1);
        }
    }
}

#[tokio::test]
async fn every_tool_that_answers_sends_the_user_to_the_studio() {
    for era in ERAS {
        for at in 0..2 {
            let till = TillFixture::new();
            let asked = till.waits().await;
            let mut client = connect_with(&till.server, era, url_clients()).await;
            let (tool, yes) = answers(&asked)[at].clone();
            // A user who does not go there has not answered, and the agent is told where a person can.
            client.queue_answer(ElicitResult::new(ElicitationAction::Decline));
            let told = structured(&client.call(tool, yes.clone()).await).clone();
            let says = told["error"]["message"].as_str().unwrap_or_default();
            assert!(says.contains("person"), "{era:?} {tool}: {told}");
            let ElicitRequestParams::UrlElicitationParams { url, .. } =
                client.next_question().await
            else {
                panic!("{era:?} {tool}: no URL");
            };
            assert_eq!(url, format!("{STUDIO}/runs/{}", asked.run));
            // A user who went there is waited for.
            client.queue_answer(ElicitResult::new(ElicitationAction::Accept));
            let called = client.service.call_tool(request(tool, yes));
            let heard = &mut client.events;
            let person = async {
                while !matches!(
                    heard.recv().await.unwrap(),
                    super::support::ClientEvent::Asked(_)
                ) {}
                till.person_agrees(&asked).await;
            };
            let (told, ()) = tokio::join!(called, person);
            let told = structured(&told.unwrap()).clone();
            assert!(is_over(&told), "{era:?} {tool}: {told}");
            assert_eq!(till.paid(), 1);
        }
    }
}

/// What a client with the newest protocol version returns is that its user was sent there, never an answer.
#[tokio::test]
async fn an_address_that_is_carried_back_is_no_answer() {
    for at in 0..2 {
        let till = TillFixture::new();
        let asked = till.waits().await;
        let client: Client = connect_with(&till.server, Era::Modern, url_clients()).await;
        let (tool, yes) = answers(&asked)[at].clone();
        let carried = client.service.call_tool_once(request(tool, yes.clone()));
        let CallToolResponse::InputRequired(carried) = carried.await.unwrap() else {
            panic!("{tool}: not carried");
        };
        let requests = carried.input_requests.unwrap();
        let (key, asks) = requests.iter().next().unwrap();
        assert_eq!(*key, asked.to_string());
        let InputRequest::Elicitation(asks) = asks else {
            panic!("{tool}: {asks:?}");
        };
        assert!(matches!(
            asks.params,
            ElicitRequestParams::UrlElicitationParams { .. }
        ));
        let mut back = request(tool, yes);
        back.request_state = carried.request_state;
        // A client that fills in a form it was not given.
        let forged = json!({"action": "decline", "content": {"decision": "approve"}});
        back.input_responses = Some([(key.clone(), forged)].into_iter().collect());
        let told = client.service.call_tool_once(back.clone()).await.unwrap();
        let CallToolResponse::Complete(told) = told else {
            panic!("{tool}: {told:?}");
        };
        assert_eq!(told.is_error, Some(true), "{told:?}");
        assert_eq!(till.paid(), 0, "{tool}");
        // Answered in the meantime, the same request resumes the run.
        till.person_agrees(&asked).await;
        let told = client.service.call_tool_once(back).await.unwrap();
        let CallToolResponse::Complete(told) = told else {
            panic!("{tool}: {told:?}");
        };
        assert!(is_over(structured(&told)), "{tool}: {told:?}");
        assert_eq!(till.paid(), 1);
    }
}
