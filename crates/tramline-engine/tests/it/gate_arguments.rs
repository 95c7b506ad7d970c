//! The arguments that a gate judges and a person approves are those that are sent.

use crate::support::graphs;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::{JournalStore, Store, ToolHints};
use tramline_engine::settings::Setter;
use tramline_engine::testing::{FakeCipher, FakeTools, MemoryStore};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, Fault, GatedCall, GatedCallOutcome, PinnedProcedures,
    Respondent, RunStart, Settings, SopStart, ToolPattern, ToolPolicy,
};
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_sop::MoveRequest;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Answer, Outcome, Pause};

/// Values that an agent may make secrets.
const ORDER: &str = "ord_7fK2xQ7bLmP4wZr8T";
const BLOCKED: &str = "acct_9hT4kWq2ZxLr7Bv1";

struct GateFixture {
    store: Arc<MemoryStore>,
    tools: Arc<FakeTools>,
    settings: Settings,
    engine: Engine,
    /// Releases calls of `held`.
    gate: Arc<Semaphore>,
}

fn desk(ask: &[&str]) -> GateFixture {
    desk_over(Arc::new(MemoryStore::new()), ask)
}

fn desk_over(store: Arc<MemoryStore>, ask: &[&str]) -> GateFixture {
    let look = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let order = |given: Value| async move {
        let status = match given.get("id").and_then(Value::as_str) {
            Some("W2") => "delivered",
            _ => "pending",
        };
        Ok(Value::object([
            ("status", status.into()),
            ("blocked", BLOCKED.into()),
        ]))
    };
    let echo = |given: Value| async { Ok(given) };
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let tools = FakeTools::new()
        .tool("t", "order", look, order)
        .tool("t", "pay", ToolHints::default(), echo)
        .tool("t", "cancel", ToolHints::default(), echo)
        .tool("t", "lost", ToolHints::default(), |_| async {
            Err(Failure::new(FailureKind::Unavailable, "gone").after_sending())
        })
        .tool("t", "held", ToolHints::default(), move |given| {
            let gate = Arc::clone(&held);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok(given)
            }
        });
    let tools = Arc::new(tools);
    let kept = Arc::clone(&store) as Arc<dyn Store>;
    let settings = Settings::new(kept, Arc::new(FakeCipher(7)), []).unwrap();
    let options = EngineOptions {
        settings: Some(settings.clone()),
        policy: ToolPolicy {
            ask: ask
                .iter()
                .map(|it| ToolPattern::parse(it).unwrap())
                .collect(),
            deny: Vec::new(),
        },
        ..EngineOptions::default()
    };
    let engine = Engine::new(Arc::clone(&store) as _, Arc::clone(&tools) as _, options);
    GateFixture {
        store,
        tools,
        settings,
        engine,
        gate,
    }
}

impl GateFixture {
    async fn set(&self, key: &str, value: &str, secret: bool) {
        let set = self.settings.set_by(Setter::Agent, key, value, secret);
        set.await.unwrap();
    }

    fn pin(&self) {
        let pins = PinnedProcedures {
            procedures: vec!["p".into()],
            exempt_tools: Vec::new(),
            enforces: true,
            sessions_max: 1,
            reserved: Vec::new(),
        };
        self.engine.pin(pins).unwrap();
    }

    /// A session of the pinned procedure at its node PAY, which has these settings.
    async fn session(&self, pay: &str) -> RunId {
        let text = format!(
            "---\nagent: p\ntools: [order, pay, cancel, lost, held]\nread_only_tools: [order]\n---\n```mermaid\nflowchart TD\n \
             START([s]) --> PAY[p] --> DONE([d])\n```\n## Node Prompts\n### PAY\n```yaml\ntools: [pay, cancel, lost, held]\n{pay}```\n"
        );
        let read = sop_markdown::read(text.as_bytes(), "p.md");
        let sop = Arc::new(read.unwrap_or_else(|flaws| panic!("{flaws:?}")).sop);
        let start = SopStart {
            sops: vec![sop],
            files: Vec::new(),
            session: None,
            origin: Value::Null,
            owner: None,
            by: None,
            ttl_ms: None,
            pinned: Some("p".into()),
        };
        let id = self.engine.start_pinned_session(start).await.unwrap().id;
        for node in ["START", "PAY"] {
            let ask = MoveRequest {
                node: Some(node.into()),
                ..MoveRequest::default()
            };
            let moved = self.engine.update_sop_session(
                &id,
                |walk| tramline_sop::move_to(walk, &ask),
                |_, turn| assert!(turn.refusal.is_none(), "{turn:?}"),
            );
            moved.await.unwrap();
        }
        id
    }

    async fn call(&self, id: &RunId, tool: &str, arguments: &str) -> GatedCallOutcome {
        self.call_again(id, tool, arguments, false).await
    }

    async fn call_again(
        &self,
        id: &RunId,
        tool: &str,
        arguments: &str,
        again: bool,
    ) -> GatedCallOutcome {
        let called = self.try_call(id, tool, arguments, again).await;
        called.unwrap()
    }

    async fn try_call(
        &self,
        id: &RunId,
        tool: &str,
        arguments: &str,
        again: bool,
    ) -> Result<GatedCallOutcome, Fault> {
        let call = GatedCall {
            tool: tool.into(),
            arguments: Value::from_json(arguments).unwrap(),
            confirmed: None,
            again,
            by: Respondent::program("agent"),
            origin: Value::Null,
            upstream: None,
        };
        let cancel = CancellationToken::new();
        self.engine.call_in_session(id, call, cancel).await
    }

    /// Runs one call of a document to its end or its first pause.
    async fn run(&self, tool: &str, args: &str) -> (RunId, DriveOutcome) {
        let start = RunStart::new(document(tool, args), Value::object::<&str>([]));
        let handle = self.engine.start(start).await.unwrap();
        (handle.run.clone(), handle.wait().await.unwrap())
    }

    async fn answer(&self, run: &RunId, outcome: &DriveOutcome) -> DriveOutcome {
        let by = Respondent::program("ann");
        self.answer_by(run, outcome, Answer::Proceed, by).await
    }

    async fn answer_by(
        &self,
        run: &RunId,
        outcome: &DriveOutcome,
        answer: Answer,
        by: Respondent,
    ) -> DriveOutcome {
        let DriveOutcome::Paused(pauses) = outcome else {
            panic!("{outcome:?}");
        };
        let asked = Checkpoint {
            run: run.clone(),
            seq: pauses[0].0,
        };
        let said = self.engine.answer(&asked, answer, by, None);
        said.await.unwrap();
        self.engine.resume(run).await.unwrap().wait().await.unwrap()
    }

    async fn paused(&self, run: &RunId) -> DriveOutcome {
        let loaded = self.engine.load(run).await.unwrap();
        DriveOutcome::Paused(loaded.run.pauses.clone().into_iter().collect())
    }

    /// The values of a field in the calls that a tool received.
    fn sent(&self, tool: &str, field: &str) -> Vec<String> {
        let calls = self.tools.calls().into_iter();
        let calls = calls.filter(|call| call.tool.tool == tool);
        calls
            .map(|call| {
                let value = call.arguments.get(field).and_then(Value::as_str);
                value.unwrap_or_default().to_owned()
            })
            .collect()
    }

    async fn journal(&self, id: &RunId) -> String {
        let chunks = self.store.read(id, 0).await.unwrap();
        let texts = chunks.iter();
        texts
            .map(|chunk| String::from_utf8_lossy(&chunk.body).into_owned())
            .collect()
    }
}

fn document(tool: &str, args: &str) -> Arc<Graph> {
    let text = format!(
        "
- name: w
  description: d
  inputSchema: {{type: object}}
  outputSchema: {{}}
  nodes:
    - {{id: entry, type: entry, next: a}}
    - {{id: a, type: mcp, server: t, tool: {tool}, args: {args}, next: exit}}
    - {{id: exit, type: exit}}"
    );
    graphs(&text).remove(0)
}

fn failed(outcome: &DriveOutcome) -> bool {
    match outcome {
        DriveOutcome::Finished(Outcome::Failed { failure, .. }) => {
            failure.kind == FailureKind::Forbidden
        }
        _ => false,
    }
}

fn shown(outcome: &DriveOutcome) -> String {
    let DriveOutcome::Paused(pauses) = outcome else {
        panic!("{outcome:?}");
    };
    let Pause::Approval { call, .. } = &pauses[0].1 else {
        panic!("{pauses:?}");
    };
    call.as_ref().unwrap().arguments.to_json()
}

const RULES: &str = "lookups: {order: {tool: order, args: {id: args.id}}}\nargs:\n  pay:\n    - lookups.order.status = \"pending\"\n    - \
                     args.to != \"blocked_account_4711\"\nonce_per: {pay: args.id}\n";

#[tokio::test]
async fn rules_judge_the_values_of_settings() {
    let desk = desk(&[]);
    desk.pin();
    let id = desk.session(RULES).await;
    desk.set("o", "W1", false).await;
    desk.run("order", "{id: '${settings.o}'}").await;
    // The order that was looked up is not the one that would be paid.
    desk.set("o", "W2", false).await;
    let (_, ended) = desk.run("pay", "{id: '${settings.o}', to: ann}").await;
    assert!(failed(&ended), "{ended:?}");
    desk.run("order", "{id: W1}").await;
    desk.set("t", "blocked_account_4711", false).await;
    let (_, ended) = desk.run("pay", "{id: W1, to: '${settings.t}'}").await;
    assert!(failed(&ended), "{ended:?}");
    for key in ["o0", "o1", "o2"] {
        desk.set(key, "W1", false).await;
        let args = format!("{{id: '${{settings.{key}}}', to: ann}}");
        desk.run("pay", &args).await;
    }
    assert_eq!(desk.sent("pay", "id"), ["W1"]);
    let journal = desk.journal(&id).await;
    assert!(!journal.contains("${settings."), "{journal}");
}

#[tokio::test]
async fn a_secret_in_a_call_is_judged_and_not_written() {
    let desk = desk(&[]);
    desk.pin();
    let rules = format!("args:\n  pay: args.to != \"{BLOCKED}\"\nonce_per: {{pay: args.id}}\n");
    let id = desk.session(&rules).await;
    desk.set("t", BLOCKED, true).await;
    desk.set("o", ORDER, true).await;
    let (_, ended) = desk.run("pay", "{id: '1', to: '${settings.t}'}").await;
    assert!(failed(&ended), "{ended:?}");
    desk.run("pay", "{id: '${settings.o}', to: ann}").await;
    desk.run("pay", "{id: '${settings.o}', to: ann}").await;
    assert_eq!(desk.sent("pay", "id"), [ORDER]);
    let journal = desk.journal(&id).await;
    // The rule itself names the account; the calls do not.
    assert!(!journal.contains(ORDER), "{journal}");
    assert!(journal.contains("${settings.o}"), "{journal}");
}

#[tokio::test]
async fn making_a_value_a_secret_loosens_no_rule() {
    let desk = desk(&[]);
    desk.pin();
    let rules = format!(
        "lookups: {{order: {{tool: order, args: {{id: args.id}}}}}}\nargs:\n  pay: args.to != \"{BLOCKED}\"\n  \
         cancel: args.to != lookups.order.blocked\nonce_per: {{pay: args.id}}\n"
    );
    let id = desk.session(&rules).await;
    let pay = |order: &str, to: &str| format!(r#"{{"id": "{order}", "to": "{to}"}}"#);
    let refused = |told: &GatedCallOutcome| matches!(told, GatedCallOutcome::Refused(_));
    desk.call(&id, "pay", &pay(ORDER, "ann")).await;
    assert!(refused(&desk.call(&id, "pay", &pay(ORDER, "ann")).await));
    desk.set("k1", ORDER, true).await;
    desk.set("k2", BLOCKED, true).await;
    assert!(refused(&desk.call(&id, "pay", &pay(ORDER, "ann")).await));
    assert!(refused(&desk.call(&id, "pay", &pay("o2", BLOCKED)).await));
    // The result of the look-up is redacted, so the rule over it cannot be decided.
    desk.call(&id, "order", r#"{"id": "o3"}"#).await;
    let told = desk.call(&id, "cancel", &pay("o3", BLOCKED)).await;
    assert!(refused(&told), "{told:?}");
    assert_eq!(desk.sent("pay", "to"), ["ann"]);
    assert!(desk.sent("cancel", "to").is_empty());
}

#[tokio::test]
async fn a_call_with_a_secret_counts_after_a_restart() {
    let before = desk(&[]);
    before.pin();
    let id = before.session("once_per: {pay: args.id}\n").await;
    before.set("k1", ORDER, true).await;
    let pay = format!(r#"{{"id": "{ORDER}", "note": "x"}}"#);
    before.call(&id, "pay", &pay).await;
    let after = desk_over(Arc::clone(&before.store), &[]);
    after.pin();
    after.settings.reload().await.unwrap();
    after.settings.unset("k1").await.unwrap();
    let told = after.call(&id, "pay", &pay).await;
    assert!(matches!(told, GatedCallOutcome::Refused(_)), "{told:?}");
    assert!(after.tools.calls().is_empty());
    // Another field that is a secret does not stand in the way.
    let other = desk(&[]);
    other.pin();
    let id = other.session("once_per: {pay: args.id}\n").await;
    other.set("k1", ORDER, true).await;
    for order in ["1", "2"] {
        let pay = format!(r#"{{"id": "{order}", "token": "{ORDER}"}}"#);
        other.call(&id, "pay", &pay).await;
    }
    assert_eq!(other.sent("pay", "id"), ["1", "2"]);
}

#[tokio::test]
async fn what_a_person_approves_is_what_is_sent() {
    let desk = desk(&["t:pay"]);
    desk.engine.serve_agents();
    desk.set("k", "ten to ann", false).await;
    let (run, asked) = desk.run("pay", "{what: '${settings.k}'}").await;
    assert_eq!(shown(&asked), r#"{"what":"ten to ann"}"#);
    desk.set("k", "all to mallory", false).await;
    desk.answer(&run, &asked).await;
    assert_eq!(desk.sent("pay", "what"), ["ten to ann"]);
}

#[tokio::test]
async fn a_setting_that_refers_to_a_setting_is_not_proposed() {
    let desk = desk(&["t:pay"]);
    desk.set("k", "${settings.k}", false).await;
    let (_, ended) = desk.run("pay", "{what: '${settings.k}'}").await;
    assert!(failed(&ended), "{ended:?}");
}

#[tokio::test]
async fn a_secret_that_changes_after_the_approval_is_approved_again() {
    let desk = desk(&["t:pay"]);
    desk.set("k", ORDER, true).await;
    let (run, asked) = desk.run("pay", "{id: '${settings.k}'}").await;
    assert_eq!(shown(&asked), r#"{"id":"${settings.k}"}"#);
    desk.set("k", BLOCKED, true).await;
    let again = desk.answer(&run, &asked).await;
    assert_eq!(shown(&again), r#"{"id":"${settings.k}"}"#);
    assert!(desk.tools.calls().is_empty());
    desk.answer(&run, &again).await;
    assert_eq!(desk.sent("pay", "id"), [BLOCKED]);
}

#[tokio::test]
async fn a_call_of_a_session_is_no_template() {
    let desk = desk(&[]);
    desk.pin();
    let id = desk.session("confirm: true\n").await;
    desk.set("k", "one", false).await;
    let told = desk.call(&id, "cancel", r#"{"n": "${settings.k}"}"#).await;
    let GatedCallOutcome::AwaitsApproval(run) = told else {
        panic!("{told:?}");
    };
    desk.set("k", "two", false).await;
    desk.answer(&run, &desk.paused(&run).await).await;
    assert_eq!(desk.sent("cancel", "n"), ["${settings.k}"]);
}

/// Neither in its session nor in those that replace it.
#[tokio::test]
async fn a_call_in_flight_is_not_repeated() {
    for replacements in [0, 2] {
        let desk = desk(&[]);
        desk.pin();
        let id = desk.session("").await;
        let held = r#"{"id": "1"}"#;
        let rest = async {
            while desk.sent("held", "id").is_empty() {
                tokio::task::yield_now().await;
            }
            let mut latest = id.clone();
            for number in 0..=replacements {
                if number > 0 {
                    latest = desk.session("").await;
                }
                for again in [false, true] {
                    let told = desk.call_again(&latest, "held", held, again).await;
                    let is_running = matches!(told, GatedCallOutcome::StillRunning(_));
                    assert!(is_running, "{told:?}");
                }
            }
            desk.gate.add_permits(2);
            latest
        };
        let (first, last) = tokio::join!(desk.try_call(&id, "held", held, false), rest);
        // A session that was replaced no longer takes the result.
        assert_eq!(first.is_ok(), replacements == 0, "{first:?}");
        assert_eq!(desk.sent("held", "id").len(), 1);
        // Once it has ended, the agent may repeat it.
        let told = desk.call_again(&last, "held", held, true).await;
        let is_called = matches!(told, GatedCallOutcome::Called(Ok(_), _));
        assert!(is_called, "{told:?}");
        assert_eq!(desk.sent("held", "id").len(), 2);
    }
}

const LIMITS: &str = "max_calls: {lost: 1}\nonce_per: {lost: args.id}\n";

#[tokio::test]
async fn a_call_in_doubt_under_a_limit_is_repeated_by_a_person_only() {
    let desk = desk(&[]);
    desk.pin();
    let id = desk.session(LIMITS).await;
    let lost = r#"{"id": "1"}"#;
    let told = desk.call(&id, "lost", lost).await;
    assert!(
        matches!(told, GatedCallOutcome::Called(Err(_), _)),
        "{told:?}"
    );
    let told = desk.call(&id, "lost", lost).await;
    assert!(matches!(told, GatedCallOutcome::InDoubt(_)), "{told:?}");
    // What the reply advises leads on, to a person.
    let told = desk.call_again(&id, "lost", lost, true).await;
    let GatedCallOutcome::AwaitsApproval(run) = told else {
        panic!("{told:?}");
    };
    assert_eq!(desk.sent("lost", "id").len(), 1);
    desk.answer(&run, &desk.paused(&run).await).await;
    assert_eq!(desk.sent("lost", "id").len(), 2);
    let told = desk.call(&id, "lost", r#"{"id": "2"}"#).await;
    assert!(matches!(told, GatedCallOutcome::Refused(_)), "{told:?}");
}

#[tokio::test]
async fn a_rejected_repetition_leaves_the_call_in_doubt_counted() {
    let desk = desk(&[]);
    desk.pin();
    let id = desk.session("max_calls: {lost: 1}\n").await;
    let lost = r#"{"id": "1"}"#;
    desk.call(&id, "lost", lost).await;
    let told = desk.call_again(&id, "lost", lost, true).await;
    let GatedCallOutcome::AwaitsApproval(run) = told else {
        panic!("{told:?}");
    };
    let (asked, by) = (desk.paused(&run).await, Respondent::program("ann"));
    desk.answer_by(&run, &asked, Answer::Reject, by).await;
    let told = desk.call(&id, "lost", r#"{"id": "2"}"#).await;
    assert!(matches!(told, GatedCallOutcome::Refused(_)), "{told:?}");
    assert_eq!(desk.sent("lost", "id").len(), 1);
}

#[tokio::test]
async fn limits_count_a_call_in_doubt_that_an_agent_wants_to_retry() {
    for (channel, sent) in [(AnswerChannel::Agent, 1), (AnswerChannel::CommandLine, 2)] {
        let desk = desk(&[]);
        desk.pin();
        desk.session(LIMITS).await;
        let (run, asked) = desk.run("lost", "{id: '1'}").await;
        let by = Respondent::new("someone", channel);
        let ended = desk.answer_by(&run, &asked, Answer::Retry, by).await;
        assert_eq!(desk.sent("lost", "id").len(), sent, "{ended:?}");
        assert_eq!(failed(&ended), sent == 1, "{ended:?}");
    }
}
