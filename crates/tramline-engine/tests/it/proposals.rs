//! Every approval records the call that it is about, and exactly that call is made; a person can
//! edit its arguments, within the schema, the policy and the secrets.

use crate::support::graphs;
use std::sync::Arc;
use tramline_engine::ports::{Store, ToolHints};
use tramline_engine::testing::{FakeCipher, FakeTools, MemoryStore};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, Fault, ForkRequest, JournalPoint, PauseAnswer,
    QuestionReader, ReplayStore, Respondent, RunStart, Settings, ToolPattern, ToolPolicy,
};
use tramline_expr::{Str, Value};
use tramline_views::pause_view::{self, Extent};
use tramline_views::trace::Trace;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, ToolName};
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, ProposedCall, RunEvent};

const SCHEMA: &str = r#"{"type": "object", "properties": {"amount": {"type": "number", "maximum": 100},
    "to": {"type": "string"}, "key": {"type": "string", "minLength": 30}}, "additionalProperties": false}"#;

/// `pay` is destructive and not repeatable; `look` is read-only.
fn tools() -> Arc<FakeTools> {
    let pays = ToolHints {
        read_only: Some(false),
        destructive: Some(true),
        ..ToolHints::default()
    };
    let safe = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let tools = FakeTools::new()
        .tool("t", "pay", pays, |arguments| async { Ok(arguments) })
        .tool("t", "look", safe, |arguments| async { Ok(arguments) })
        .described("t", "pay", "Pays", SCHEMA);
    Arc::new(tools)
}

fn workflow(nodes: &str) -> Arc<Graph> {
    let text = format!(
        "
- name: w
  description: d
  inputSchema: {{type: object}}
  outputSchema: {{}}
  nodes:
    - {{id: entry, type: entry, next: look}}
    - {{id: look, type: mcp, server: t, tool: look, args: {{amount: 5}}, next: pay}}
{nodes}
    - {{id: exit, type: exit}}"
    );
    graphs(&text).remove(0)
}

/// A payment that needs approval.
fn payment(args: &str) -> Arc<Graph> {
    workflow(&format!(
        "    - {{id: pay, type: mcp, server: t, tool: pay, approval: it costs money, args: {args}, next: exit}}"
    ))
}

struct Rig {
    store: MemoryStore,
    tools: Arc<FakeTools>,
    engine: Engine,
    options: EngineOptions,
}

impl Rig {
    fn new(policy: ToolPolicy) -> Self {
        let (store, tools) = (MemoryStore::new(), tools());
        let kept = Arc::new(store.clone()) as Arc<dyn Store>;
        let settings = Settings::new(kept, Arc::new(FakeCipher(7)), []).unwrap();
        let options = EngineOptions {
            policy,
            settings: Some(settings),
            replay_store: Some(ReplayStore::new(|| Ok(Arc::new(MemoryStore::new()) as _))),
            ..EngineOptions::default()
        };
        let engine = Engine::new(
            Arc::new(store.clone()),
            Arc::clone(&tools) as _,
            options.clone(),
        );
        Self {
            store,
            tools,
            engine,
            options,
        }
    }

    fn settings(&self) -> &Settings {
        self.options.settings.as_ref().unwrap()
    }

    /// Another process on the same store.
    fn other(&self) -> Engine {
        let store = Arc::new(self.store.process());
        Engine::new(store, Arc::clone(&self.tools) as _, self.options.clone())
    }

    /// Starts a run, which pauses.
    async fn paused(&self, graph: &Arc<Graph>) -> (RunId, Vec<(Seq, Pause)>) {
        let start = RunStart::new(Arc::clone(graph), Value::object::<Str>([]));
        let handle = self.engine.start(start).await.unwrap();
        let run = handle.run.clone();
        match handle.wait().await.unwrap() {
            DriveOutcome::Paused(pauses) => (run, pauses),
            other => panic!("{other:?}"),
        }
    }

    /// The arguments of every payment that was made.
    fn paid(&self) -> Vec<Value> {
        let calls = self.tools.calls().into_iter();
        let paid = calls.filter(|call| call.tool.tool == "pay");
        paid.map(|call| call.arguments).collect()
    }
}

fn proposed((_, pause): &(Seq, Pause)) -> &ProposedCall {
    pause.call().unwrap_or_else(|| panic!("{pause:?}"))
}

fn person() -> Respondent {
    Respondent::new("ada", AnswerChannel::CommandLine)
}

async fn answered(
    engine: &Engine,
    run: &RunId,
    seq: Seq,
    answer: Answer,
) -> Result<DriveOutcome, Fault> {
    let said = PauseAnswer {
        pause: seq,
        answer,
        by: person(),
        why: None,
    };
    let handle = engine.answer_and_resume(run, vec![said]).await?;
    handle.unwrap().answers_recorded().await?.wait().await
}

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

#[tokio::test]
async fn what_is_approved_is_what_is_called() {
    // An expression with another result at each evaluation.
    let graph = payment("{amount: $.look.amount, to: \"$string($random())\"}");
    for elsewhere in [false, true] {
        let rig = Rig::new(ToolPolicy::default());
        let (run, pauses) = rig.paused(&graph).await;
        let call = proposed(&pauses[0]);
        assert_eq!(call.tool, ToolName::new("t", "pay"));
        assert_eq!(call.arguments.get("amount"), Some(&5.into()));
        assert!(call.arguments.get("to").is_some(), "{call:?}");
        assert_eq!(call.annotations.unwrap().destructive, Some(true));
        let engine = match elsewhere {
            true => rig.other(),
            false => rig.engine.clone(),
        };
        let ended = answered(&engine, &run, pauses[0].0, Answer::Proceed).await;
        assert!(matches!(
            ended,
            Ok(DriveOutcome::Finished(Outcome::Completed { .. }))
        ));
        assert_eq!(rig.paid(), std::slice::from_ref(&call.arguments));
    }
}

#[tokio::test]
async fn every_source_of_an_approval_shows_the_call() {
    let asks = ToolPolicy {
        ask: vec![ToolPattern::parse("t:pay").unwrap()],
        deny: Vec::new(),
    };
    let plain = workflow(
        "    - {id: pay, type: mcp, server: t, tool: pay, args: {amount: $.look.amount}, next: exit}",
    );
    let mut cautious = (*plain.workflow).clone();
    cautious.cautious = true;
    let cautious = Arc::new(Graph::build(Arc::new(cautious)).unwrap().0);
    for (policy, graph, source) in [
        (asks, &plain, "policy"),
        (ToolPolicy::default(), &cautious, "destructive"),
        (
            ToolPolicy::default(),
            &payment("{amount: $.look.amount}"),
            "document",
        ),
    ] {
        let rig = Rig::new(policy);
        let (run, pauses) = rig.paused(graph).await;
        assert_eq!(
            proposed(&pauses[0]).arguments,
            json(r#"{"amount":5}"#),
            "{source}"
        );
        let loaded = rig.engine.load(&run).await.unwrap();
        let asked = rig
            .engine
            .pause_details(&loaded, QuestionReader::Person)
            .await
            .remove(0);
        let at = |place: &str| {
            pause_view::value_at(&asked, place)
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(at("/source"), source.into());
        assert_eq!(at("/call/tool"), "t:pay".into());
        assert_eq!(at("/call/server"), "t".into());
        assert_eq!(at("/call/arguments/amount"), 5.into());
        assert_eq!(at("/call/annotations/destructiveHint"), true.into());
        assert_eq!(at("/call/editable"), true.into());
        assert_eq!(at("/requested/workflow"), "w".into());
        assert_eq!(at("/done/latest/0/tool"), "t:look".into());
        assert_eq!(at("/done/latest/0/status"), "succeeded".into());
        let said = pause_view::detail_lines(&asked).join("\n");
        for part in ["tool: t:pay", "amount: 5", "destructive", "✓ look  t:look"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

#[tokio::test]
async fn a_call_in_doubt_is_shown() {
    let graph = workflow(
        "    - {id: pay, type: mcp, server: t, tool: pay, args: {amount: $.look.amount}, next: exit}",
    );
    let mut shown = 0;
    // Wherever the first process crashes.
    for appends in 1..10 {
        let rig = Rig::new(ToolPolicy::default());
        rig.store.crash_after(appends);
        let start = RunStart::new(Arc::clone(&graph), Value::object::<Str>([]));
        let handle = rig.engine.start(start).await.unwrap();
        let run = handle.run.clone();
        let _ = handle.wait().await;
        let other = rig.other();
        let Ok(again) = other.resume(&run).await else {
            break;
        };
        let DriveOutcome::Paused(pauses) = again.wait().await.unwrap() else {
            continue;
        };
        assert!(matches!(pauses[0].1, Pause::InDoubt { .. }));
        let call = proposed(&pauses[0]);
        assert_eq!(call.arguments, json(r#"{"amount":5}"#));
        assert_eq!(call.annotations.unwrap().destructive, Some(true));
        shown += 1;
    }
    assert!(shown > 0);
}

#[tokio::test]
async fn a_call_that_a_fork_would_repeat_is_shown_and_made_as_shown() {
    let rig = Rig::new(ToolPolicy::default());
    let graph = workflow(
        "    - {id: pay, type: mcp, server: t, tool: pay, args: {amount: $.look.amount, to: \"$string($random())\"}, next: exit}",
    );
    let start = RunStart::new(graph, Value::object::<Str>([]));
    let handle = rig.engine.start(start).await.unwrap();
    let run = handle.run.clone();
    handle.wait().await.unwrap();
    let branched = rig
        .engine
        .fork(&run, ForkRequest::at(JournalPoint::Step(2)))
        .await
        .unwrap();
    let fork = branched.handle.run.clone();
    let DriveOutcome::Paused(pauses) = branched.handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    assert!(matches!(pauses[0].1, Pause::Effect { .. }));
    let shown = proposed(&pauses[0]).arguments.clone();
    answered(&rig.engine, &fork, pauses[0].0, Answer::Proceed)
        .await
        .unwrap();
    assert_eq!(rig.paid()[1], shown);
}

#[tokio::test]
async fn a_batch_is_shown_by_number_and_sample_and_called_as_shown() {
    let graph = workflow(
        "    - {id: pay, type: mcp, server: t, tool: pay, approval: yes please, map: {over: \"$append([1..19], 20)\"}, \
         args: {amount: $item, to: \"$string($random())\"}, next: exit}",
    );
    let rig = Rig::new(ToolPolicy::default());
    let (run, pauses) = rig.paused(&graph).await;
    let batch = proposed(&pauses[0]).batch.clone().unwrap();
    assert_eq!((batch.count(), batch.arguments.len()), (20, 20));
    let shown = pause_view::call_value(&pauses[0].1, Extent::Bounded).unwrap();
    assert_eq!(
        pause_view::value_at(&shown, "/items/count"),
        Some(&20.into())
    );
    let calls = pause_view::value_at(&shown, "/items/calls").and_then(Value::as_array);
    assert_eq!(calls.map(<[Value]>::len), Some(5));
    assert_eq!(
        pause_view::value_at(&shown, "/editable"),
        Some(&false.into())
    );
    let edit = Answer::ProceedWith {
        arguments: json(r#"{"amount":1}"#),
    };
    let refused = answered(&rig.engine, &run, pauses[0].0, edit).await;
    let Err(Fault::Rejected(says)) = refused else {
        panic!("{refused:?}")
    };
    assert!(says.contains("one for each item"), "{says}");
    answered(&rig.other(), &run, pauses[0].0, Answer::Proceed)
        .await
        .unwrap();
    let mut paid = rig.paid();
    paid.sort_by_key(|call| call.get("amount").and_then(Value::as_u64));
    assert_eq!(paid, batch.arguments);
}

#[tokio::test]
async fn two_visits_of_a_node_are_asked_about_one_by_one_with_their_own_calls() {
    let graph = graphs(
        "
- name: w
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: one}
    - {id: one, type: transform, transform: {expr: '1'}, next: pay}
    - {id: pay, type: mcp, server: t, tool: pay, approval: yes please, args: {amount: \"$executionCount('pay') + 1\"}, next: again}
    - {id: again, type: switch, conditions: [{rule: {'<': [{var: pay.amount}, 2]}, target: pay}, {target: exit}]}
    - {id: exit, type: exit}",
    )
    .remove(0);
    let rig = Rig::new(ToolPolicy::default());
    let (run, mut pauses) = rig.paused(&graph).await;
    for amount in 1..=2 {
        assert_eq!(
            proposed(&pauses[0]).arguments.get("amount"),
            Some(&amount.into())
        );
        match answered(&rig.engine, &run, pauses[0].0, Answer::Proceed).await {
            Ok(DriveOutcome::Paused(next)) => pauses = next,
            Ok(DriveOutcome::Finished(_)) => assert_eq!(amount, 2),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        rig.paid(),
        [json(r#"{"amount":1}"#), json(r#"{"amount":2}"#)]
    );
}

#[tokio::test]
async fn what_cannot_be_called_is_not_asked_about() {
    let graph = payment("{amount: $.look.amount.$error('no')}");
    let rig = Rig::new(ToolPolicy::default());
    let start = RunStart::new(graph, Value::object::<Str>([]));
    let ended = rig.engine.start(start).await.unwrap().wait().await.unwrap();
    let DriveOutcome::Finished(Outcome::Failed { failure, .. }) = ended else {
        panic!("{ended:?}")
    };
    assert!(failure.message.contains("pay"), "{failure}");
    let denied = ToolPolicy {
        ask: Vec::new(),
        deny: vec![ToolPattern::parse("t:pay").unwrap()],
    };
    let rig = Rig::new(denied);
    let start = RunStart::new(payment("{amount: 1}"), Value::object::<Str>([]));
    let ended = rig.engine.start(start).await.unwrap().wait().await.unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Failed { .. })
    ));
}

#[tokio::test]
async fn a_person_edits_arguments_and_everybody_can_see_it() {
    let rig = Rig::new(ToolPolicy::default());
    let (run, pauses) = rig
        .paused(&payment("{amount: $.look.amount, to: bob}"))
        .await;
    let edited = json(r#"{"amount":4,"to":"eve"}"#);
    let answer = Answer::ProceedWith {
        arguments: edited.clone(),
    };
    let ended = answered(&rig.other(), &run, pauses[0].0, answer).await;
    assert!(matches!(
        ended,
        Ok(DriveOutcome::Finished(Outcome::Completed { .. }))
    ));
    assert_eq!(rig.paid(), std::slice::from_ref(&edited));
    let loaded = rig.engine.load(&run).await.unwrap();
    let journaled = loaded.entries.iter().find_map(|entry| match &entry.event {
        Event::Run(RunEvent::Answered { answer, by, .. }) => Some((answer.clone(), by.clone())),
        _ => None,
    });
    let arguments = edited.clone();
    assert_eq!(
        journaled,
        Some((Answer::ProceedWith { arguments }, "ada".into()))
    );
    let trace = Trace::of(&run, &loaded.run.graph, &loaded.entries);
    let asked = &trace.pauses[0];
    let before = pause_view::value_at(asked.call.as_ref().unwrap(), "/arguments/to");
    assert_eq!(
        (before, asked.answer),
        (Some(&"bob".into()), Some("proceed"))
    );
    assert_eq!(asked.edited_arguments, Some(edited));
    // A replay from its journal takes the same path.
    let again = rig.engine.replay(&run, None).await.unwrap();
    assert!(again.unanswered.is_empty() && again.unused.is_empty());
}

#[tokio::test]
async fn edited_arguments_are_checked_like_any() {
    let rig = Rig::new(ToolPolicy::default());
    rig.settings()
        .set("KEY", "tok-1234567890", true)
        .await
        .unwrap();
    let graph = payment("{amount: 5, key: '${settings.KEY}'}");
    let (run, pauses) = rig.paused(&graph).await;
    let seq = pauses[0].0;
    let shown = pause_view::call_value(&pauses[0].1, Extent::Bounded).unwrap();
    assert_eq!(
        pause_view::value_at(&shown, "/fixed/0"),
        Some(&"/key".into())
    );
    for (arguments, part) in [
        ("{\"amount\":500,\"key\":\"${settings.KEY}\"}", "100"),
        (
            "{\"amount\":5,\"more\":1,\"key\":\"${settings.KEY}\"}",
            "more",
        ),
        (
            "{\"amount\":5,\"key\":\"mine\"}",
            "`/key` contains a secret",
        ),
        ("{\"amount\":5}", "`/key` contains a secret"),
        (
            "{\"amount\":5,\"to\":\"${settings.KEY}\",\"key\":\"${settings.KEY}\"}",
            "`/to` refers to a secret",
        ),
        (
            "{\"amount\":5,\"to\":\"tok-1234567890\",\"key\":\"${settings.KEY}\"}",
            "value of a secret",
        ),
        ("[1]", "JSON object"),
    ] {
        let arguments = json(arguments);
        let answer = Answer::ProceedWith { arguments };
        let refused = answered(&rig.engine, &run, seq, answer).await;
        let Err(Fault::Rejected(says)) = &refused else {
            panic!("{part}: {refused:?}")
        };
        assert!(says.contains(part), "{part}: {says}");
        assert!(!says.contains("tok-1234567890"), "{says}");
    }
    assert_eq!(rig.paid(), []);
    // Unchanged arguments are a plain approval, and a placeholder for a secret need not match the
    // schema.
    let arguments = json("{\"amount\":6,\"key\":\"${settings.KEY}\"}");
    let answer = Answer::ProceedWith { arguments };
    answered(&rig.engine, &run, seq, answer).await.unwrap();
    let paid = rig.paid().remove(0);
    assert_eq!(paid, json(r#"{"amount":6,"key":"tok-1234567890"}"#));
    let loaded = rig.engine.load(&run).await.unwrap();
    let all = format!("{:?}", loaded.entries);
    assert!(!all.contains("tok-1234567890"), "{all}");
}

#[tokio::test]
async fn only_people_edit() {
    let rig = Rig::new(ToolPolicy::default());
    let (run, pauses) = rig.paused(&payment("{amount: 5}")).await;
    let asked = Checkpoint {
        run: run.clone(),
        seq: pauses[0].0,
    };
    for channel in AnswerChannel::ALL {
        let answer = Answer::ProceedWith {
            arguments: json(r#"{"amount":6}"#),
        };
        let by = Respondent::new("somebody", channel);
        let loaded = rig.engine.load(&run).await.unwrap();
        let refused = rig
            .engine
            .answer_denial(&loaded.run, asked.seq, &answer, &by);
        assert_eq!(refused.is_some(), channel.is_relayed(), "{channel:?}");
        if channel.is_relayed() {
            let refused = rig.engine.answer(&asked, answer, by, None).await;
            assert!(
                matches!(refused, Err(Fault::PersonNeeded(_))),
                "{refused:?}"
            );
        }
    }
    assert_eq!(rig.paid(), []);
}

#[tokio::test]
async fn long_arguments_are_cut_where_they_are_shown_and_called_whole() {
    let long = "x".repeat(100_000);
    let rig = Rig::new(ToolPolicy::default());
    let (run, pauses) = rig
        .paused(&payment("{amount: 5, to: \"$pad('', 100000, 'x')\"}"))
        .await;
    let bounded = pause_view::call_value(&pauses[0].1, Extent::Bounded).unwrap();
    assert!(bounded.to_json().len() < 20_000);
    assert_eq!(
        pause_view::value_at(&bounded, "/cut/0"),
        Some(&"/to".into())
    );
    let whole = pause_view::call_value(&pauses[0].1, Extent::Whole).unwrap();
    assert_eq!(
        pause_view::value_at(&whole, "/arguments/to"),
        Some(&long.as_str().into())
    );
    answered(&rig.engine, &run, pauses[0].0, Answer::Proceed)
        .await
        .unwrap();
    assert_eq!(rig.paid()[0].get("to"), Some(&long.into()));
}

/// A process with a stricter policy than the one that paused: an edit does not bypass it.
#[tokio::test]
async fn an_edit_is_refused_where_the_policy_denies_the_tool() {
    let rig = Rig::new(ToolPolicy::default());
    let graph = payment("{amount: 5}");
    let (run, pauses) = rig.paused(&graph).await;
    let mut options = rig.options.clone();
    options.policy = ToolPolicy {
        deny: vec!["t:pay".parse().unwrap()],
        ..ToolPolicy::default()
    };
    let store = Arc::new(rig.store.process());
    let strict = Engine::new(store, Arc::clone(&rig.tools) as _, options);
    let edit = Answer::ProceedWith {
        arguments: Value::object([("amount", 6.into())]),
    };
    let refused = answered(&strict, &run, pauses[0].0, edit)
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("policy denies t:pay"),
        "{refused}"
    );
    let notes = strict.audit_notes(0, Some(&run)).await.unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0]["result"], "refused");
    assert_eq!(rig.paid(), Vec::<Value>::new());
}
