//! Who may answer: the engine enforces the table, on every path of answering and around every
//! workaround.

use crate::support::{graphs, tools};
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{
    Approvals, DriveOutcome, Engine, EngineOptions, Fault, ForkRequest, JournalPoint, PauseAnswer,
    Respondent, RunStart, ToolPattern, ToolPolicy,
};
use tramline_expr::{Str, Value};
use tramline_workflow::authority::{
    AgentAnswers, AnswerChannel, ApprovalSource, BudgetSource, PauseReason,
};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Answer, Budget, Event, Outcome, Pause, RunEvent};

const RELAYED: [AnswerChannel; 2] = [AnswerChannel::Agent, AnswerChannel::Http];

fn asks(pattern: &str) -> EngineOptions {
    EngineOptions {
        policy: ToolPolicy {
            ask: vec![ToolPattern::parse(pattern).unwrap()],
            deny: Vec::new(),
        },
        ..EngineOptions::default()
    }
}

/// `plain` calls; `agreed` calls after an approval in its document.
fn workflows() -> Vec<Arc<Graph>> {
    graphs(
        "
- name: plain
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: act}
    - {id: act, type: mcp, server: t, tool: work, args: {task: x}, next: exit}
    - {id: exit, type: exit}
- name: agreed
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: act}
    - {id: act, type: mcp, server: t, tool: work, approval: please, args: {task: x}, next: exit}
    - {id: exit, type: exit}",
    )
}

fn engine(tools: &Arc<FakeTools>, options: EngineOptions) -> Engine {
    Engine::new(
        Arc::new(MemoryStore::new()),
        Arc::clone(tools) as _,
        options,
    )
}

fn begin(graph: usize) -> RunStart {
    RunStart::new(Arc::clone(&workflows()[graph]), Value::object::<Str>([]))
}

async fn paused(engine: &Engine, start: RunStart) -> (RunId, Seq, Pause) {
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(mut pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    let (seq, pause) = pauses.remove(0);
    (run, seq, pause)
}

fn by(channel: AnswerChannel) -> Respondent {
    Respondent::new("somebody", channel)
}

/// Answers on both paths: by appending to the run, and by answering and resuming in one call.
async fn refused(engine: &Engine, run: &RunId, seq: Seq, answer: Answer, by: Respondent) -> Fault {
    let asked = Checkpoint {
        run: run.clone(),
        seq,
    };
    let said = PauseAnswer {
        pause: seq,
        answer: answer.clone(),
        by: by.clone(),
        why: None,
    };
    let went = engine.answer_and_resume(run, vec![said]).await;
    assert!(matches!(went.err(), Some(Fault::PersonNeeded(_))));
    let fault = engine.answer(&asked, answer, by, None).await.unwrap_err();
    let loaded = engine.load(run).await.unwrap();
    assert!(
        loaded.run.pauses.contains_key(&seq),
        "the pause is still pending"
    );
    let answered = |event: &Event| matches!(event, Event::Run(RunEvent::Answered { .. }));
    assert!(!loaded.entries.iter().any(|entry| answered(&entry.event)));
    fault
}

async fn goes_on(engine: &Engine, run: &RunId, seq: Seq, by: Respondent) -> DriveOutcome {
    let said = PauseAnswer {
        pause: seq,
        answer: Answer::Proceed,
        by,
        why: None,
    };
    let handle = engine
        .answer_and_resume(run, vec![said])
        .await
        .unwrap()
        .unwrap();
    handle.wait().await.unwrap()
}

#[tokio::test]
async fn what_the_policy_asks_is_answered_by_people_only() {
    for channel in AnswerChannel::ALL {
        let tools = tools();
        let mut options = asks("t:*");
        options.approvals.command_options = "--data-dir /d".into();
        let engine = engine(&tools, options);
        engine.set_studio_url("http://127.0.0.1:1/studio");
        let (run, seq, pause) = paused(&engine, begin(0)).await;
        let Pause::Approval { source, .. } = pause else {
            panic!("{pause:?}")
        };
        assert_eq!(source, Some(ApprovalSource::Policy));
        if !RELAYED.contains(&channel) {
            let ended = goes_on(&engine, &run, seq, by(channel)).await;
            assert!(matches!(
                ended,
                DriveOutcome::Finished(Outcome::Completed { .. })
            ));
            assert_eq!(tools.calls().len(), 1);
            continue;
        }
        for answer in [Answer::Proceed, Answer::Reject] {
            let fault = refused(&engine, &run, seq, answer, by(channel)).await;
            let Fault::PersonNeeded(needed) = &fault else {
                panic!("{fault}")
            };
            assert_eq!(needed.reason, PauseReason::Policy);
            let says = fault.to_string();
            assert!(
                says.contains("tramline --data-dir /d runs approve chk_"),
                "{says}"
            );
            assert!(says.contains("http://127.0.0.1:1/studio"), "{says}");
        }
        assert_eq!(tools.calls(), []);
    }
}

#[tokio::test]
async fn a_relayed_answer_is_journaled_as_relayed_and_covers_the_document_alone() {
    // Without a policy the agent relays the answer to a document's approval.
    let tools = tools();
    let free = engine(&tools, EngineOptions::default());
    let (run, seq, _) = paused(&free, begin(1)).await;
    let ended = goes_on(&free, &run, seq, by(AnswerChannel::Agent)).await;
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    let entries = free.load(&run).await.unwrap().entries;
    let relayed = |event: &Event| {
        matches!(
            event,
            Event::Run(RunEvent::Answered {
                via: Some(AnswerChannel::Agent),
                ..
            })
        )
    };
    assert!(entries.iter().any(|entry| relayed(&entry.event)));
    let trace = free.trace(&run).await.unwrap();
    let by_whom = trace.pauses[0].by.as_ref().unwrap();
    assert_eq!(by_whom.via, Some(AnswerChannel::Agent));
    assert_eq!(trace.pauses[0].source, Some("document"));
    // With one, the document's `approval` does not replace the operator's.
    let strict = engine(&tools, asks("t:*"));
    let (run, seq, _) = paused(&strict, begin(1)).await;
    refused(
        &strict,
        &run,
        seq,
        Answer::Proceed,
        by(AnswerChannel::Agent),
    )
    .await;
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn a_policy_that_came_later_still_asks_a_person() {
    let tools = tools();
    let store = Arc::new(MemoryStore::new());
    let before = Engine::new(
        store.clone(),
        Arc::clone(&tools) as _,
        EngineOptions::default(),
    );
    let (run, seq, _) = paused(&before, begin(1)).await;
    drop(before);
    let after = Engine::new(store, Arc::clone(&tools) as _, asks("t:*"));
    let ended = goes_on(&after, &run, seq, by(AnswerChannel::Agent)).await;
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("{ended:?}")
    };
    refused_by_policy(&pauses[0].1);
    assert_eq!(tools.calls(), []);
    let ended = goes_on(&after, &run, pauses[0].0, by(AnswerChannel::CommandLine)).await;
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    assert_eq!(tools.calls().len(), 1);
}

fn refused_by_policy(pause: &Pause) {
    let Pause::Approval { source, .. } = pause else {
        panic!("{pause:?}")
    };
    assert_eq!(*source, Some(ApprovalSource::Policy));
}

#[tokio::test]
async fn a_client_with_forms_does_not_relay_and_agents_can_be_switched_off() {
    for (agents, forms, allowed) in [
        (AgentAnswers::Relay, false, true),
        (AgentAnswers::Relay, true, false),
        (AgentAnswers::None, false, false),
        (AgentAnswers::All, true, true),
    ] {
        let options = EngineOptions {
            approvals: Approvals {
                agents,
                ..Approvals::default()
            },
            ..EngineOptions::default()
        };
        let tools = tools();
        let engine = engine(&tools, options);
        let (run, seq, _) = paused(&engine, begin(1)).await;
        let agent = Respondent {
            shows_forms: forms,
            ..by(AnswerChannel::Agent)
        };
        match allowed {
            true => drop(goes_on(&engine, &run, seq, agent).await),
            false => drop(refused(&engine, &run, seq, Answer::Proceed, agent).await),
        }
        assert_eq!(tools.calls().len(), usize::from(allowed), "{agents:?}");
    }
}

#[tokio::test]
async fn a_fork_does_not_inherit_an_approval() {
    let tools = tools();
    let engine = engine(&tools, asks("t:*"));
    let (run, seq, _) = paused(&engine, begin(0)).await;
    goes_on(&engine, &run, seq, by(AnswerChannel::Form)).await;
    assert_eq!(tools.calls().len(), 1);
    let entries = engine.load(&run).await.unwrap().entries;
    for entry in &entries {
        let branch = ForkRequest {
            effects: tramline_engine::EffectPolicy::Repeat,
            ..ForkRequest::at(JournalPoint::Event(entry.seq))
        };
        let Ok(fork) = engine.fork(&run, branch).await else {
            continue;
        };
        let id = fork.handle.run.clone();
        if let DriveOutcome::Paused(pauses) = fork.handle.wait().await.unwrap() {
            let (seq, pause) = &pauses[0];
            refused_by_policy(pause);
            let agent = by(AnswerChannel::Agent);
            let asked = Checkpoint {
                run: id.clone(),
                seq: *seq,
            };
            let fault = engine.answer(&asked, Answer::Proceed, agent, None).await;
            assert!(matches!(fault, Err(Fault::PersonNeeded(_))));
        }
        assert_eq!(tools.calls().len(), 1, "forked after event {}", entry.seq);
    }
}

#[tokio::test]
async fn the_operators_budget_is_extended_by_people_only() {
    let tools = tools();
    let store = Arc::new(MemoryStore::new());
    let options = EngineOptions {
        budget: Some(Budget {
            calls: Some(0),
            ..Budget::default()
        }),
        ..EngineOptions::default()
    };
    let engine = Engine::new(store, Arc::clone(&tools) as _, options);
    // A larger budget of the caller changes nothing.
    let mut start = begin(0);
    start.budget = Some(Budget {
        calls: Some(100),
        ..Budget::default()
    });
    let (run, seq, pause) = paused(&engine, start).await;
    let Pause::Budget { source, limit, .. } = pause else {
        panic!("{pause:?}")
    };
    assert_eq!((source, limit), (Some(BudgetSource::Operator), 0));
    let more = Answer::Extend {
        budget: Budget {
            calls: Some(5),
            ..Budget::default()
        },
    };
    refused(&engine, &run, seq, more.clone(), by(AnswerChannel::Agent)).await;
    let said = PauseAnswer {
        pause: seq,
        answer: more,
        by: by(AnswerChannel::Approver),
        why: None,
    };
    let handle = engine
        .answer_and_resume(&run, vec![said])
        .await
        .unwrap()
        .unwrap();
    let ended = handle.wait().await.unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn a_callers_extension_does_not_lift_the_operators_bound() {
    let tools = tools();
    let calls = |calls| Budget {
        calls: Some(calls),
        ..Budget::default()
    };
    let options = EngineOptions {
        budget: Some(calls(1)),
        ..EngineOptions::default()
    };
    let engine = engine(&tools, options);
    let graph = graphs(
        "
- name: twice
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: one}
    - {id: one, type: mcp, server: t, tool: work, args: {task: x}, next: two}
    - {id: two, type: mcp, server: t, tool: work, args: {task: x}, next: exit}
    - {id: exit, type: exit}",
    );
    let mut start = RunStart::new(Arc::clone(&graph[0]), Value::object::<Str>([]));
    start.budget = Some(calls(0));
    let (run, seq, pause) = paused(&engine, start).await;
    assert!(matches!(
        pause,
        Pause::Budget {
            source: Some(BudgetSource::Caller),
            ..
        }
    ));
    let said = PauseAnswer {
        pause: seq,
        answer: Answer::Extend { budget: calls(50) },
        by: by(AnswerChannel::Agent),
        why: None,
    };
    let handle = engine
        .answer_and_resume(&run, vec![said])
        .await
        .unwrap()
        .unwrap();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    let operators = |pause: &Pause| {
        matches!(
            pause,
            Pause::Budget {
                source: Some(BudgetSource::Operator),
                limit: 1,
                ..
            }
        )
    };
    assert!(operators(&pauses[0].1), "{pauses:?}");
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn to_repeat_a_call_in_doubt_that_the_policy_asks_about_takes_a_person() {
    let store = Arc::new(MemoryStore::new());
    let began = Arc::new(tokio::sync::Notify::new());
    let tell = Arc::clone(&began);
    let hangs = FakeTools::new().tool("t", "work", ToolHints::default(), move |_| {
        tell.notify_one();
        std::future::pending()
    });
    let before = Engine::new(store.clone(), Arc::new(hangs), asks("t:*"));
    let (run, seq, _) = paused(&before, begin(0)).await;
    let said = PauseAnswer {
        pause: seq,
        answer: Answer::Proceed,
        by: by(AnswerChannel::Form),
        why: None,
    };
    let driven = before.answer_and_resume(&run, vec![said]).await.unwrap();
    began.notified().await;
    before.close().await;
    drop(driven);
    let tools = tools();
    let after = Engine::new(store, Arc::clone(&tools) as _, asks("t:*"));
    let ended = after.resume(&run).await.unwrap().wait().await.unwrap();
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("{ended:?}")
    };
    assert!(matches!(pauses[0].1, Pause::InDoubt { .. }), "{pauses:?}");
    let asked = Checkpoint {
        run: run.clone(),
        seq: pauses[0].0,
    };
    for channel in RELAYED {
        let again = after.answer(&asked, Answer::Retry, by(channel), None).await;
        let Err(Fault::PersonNeeded(needed)) = again else {
            panic!("{again:?}")
        };
        assert_eq!(needed.reason, PauseReason::Policy);
    }
    assert_eq!(tools.calls(), []);
    let person = by(AnswerChannel::CommandLine);
    let said = after.answer(&asked, Answer::Retry, person, None);
    said.await.unwrap();
    let ended = after.resume(&run).await.unwrap().wait().await.unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn every_answer_is_in_the_audit_whichever_door_forgot_to_note_it() {
    let tools = tools();
    let engine = engine(&tools, asks("t:*"));
    let (run, seq, _) = paused(&engine, begin(0)).await;
    let asked = Checkpoint {
        run: run.clone(),
        seq,
    };
    let refused = engine.answer(&asked, Answer::Proceed, by(AnswerChannel::Agent), None);
    assert!(refused.await.is_err());
    goes_on(&engine, &run, seq, by(AnswerChannel::Program)).await;
    let notes = engine.audit_notes(0, Some(&run)).await.unwrap();
    let told: Vec<_> = notes
        .iter()
        .map(|note| {
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let decision = &note["decisions"][0];
            [
                text(&note["result"]),
                text(&decision["via"]),
                text(&decision["tool"]),
                text(&decision["reason"]),
            ]
        })
        .collect();
    assert_eq!(
        told,
        [
            ["refused", "agent", "t:work", "policy"].map(str::to_owned),
            ["answered", "program", "t:work", "policy"].map(str::to_owned),
        ]
    );
    assert_eq!(notes[1]["decisions"][0]["arguments"]["task"], "x");
}

#[tokio::test]
async fn who_may_not_answer_for_a_repeated_call_does_not_leave_the_question_out() {
    for (agents, allowed) in [
        (AgentAnswers::None, false),
        (AgentAnswers::Relay, true),
        (AgentAnswers::All, true),
    ] {
        let options = EngineOptions {
            approvals: Approvals {
                agents,
                ..Approvals::default()
            },
            ..EngineOptions::default()
        };
        let engine = engine(&tools(), options);
        for channel in AnswerChannel::ALL {
            let ruled = engine.may_repeat_effects(&by(channel));
            let expected = allowed || !channel.is_relayed();
            assert_eq!(ruled.is_ok(), expected, "{agents:?} {channel:?}");
        }
    }
}
