//! Forms: a node asks, an answer is checked, and the run continues where the answer says.

use crate::support::{engine, graphs, tools};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{DriveOutcome, Engine, Fault, Respondent, RunStart, clock};
use tramline_expr::Value;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Answer, Outcome, Pause};

/// A graph that asks; `more` are further lines of its node.
fn asking(more: &str) -> Arc<Graph> {
    let text = format!(
        "
- name: ask
  description: d
  inputSchema: {{type: object}}
  outputSchema: {{}}
  nodes:
    - {{id: entry, type: entry, next: form}}
    - id: form
      type: ask
      message: {{expr: '\"Who is \" & entry.who & \"?\"'}}
      schema:
        type: object
        properties:
          name: {{type: string, minLength: 1}}
          age: {{type: integer, minimum: 0, default: 30}}
        required: [name, age]
      defaults: {{name: $.entry.who}}
      next: exit
{more}
    - id: other
      type: transform
      transform: {{expr: '{{\"other\": form}}'}}
      next: exit
    - {{id: exit, type: exit}}"
    );
    graphs(&text).remove(0)
}

const EVERY_EDGE: &str = "      on-decline: other
      on-cancel: other
      on-timeout: other";
const ON_DECLINE: &str = "      on-decline: other";

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

fn submit(text: &str) -> Answer {
    Answer::Submit {
        content: json(text),
    }
}

/// Starts a run up to its question.
async fn ask(engine: &Engine, graph: &Arc<Graph>) -> (Checkpoint, Pause) {
    let start = RunStart::new(Arc::clone(graph), json(r#"{"who": "Ada"}"#));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(mut pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    let (seq, pause) = pauses.remove(0);
    (Checkpoint { run, seq }, pause)
}

async fn outcome(engine: &Engine, asked: &Checkpoint) -> Outcome {
    let ended = engine.resume(&asked.run).await.unwrap().wait().await;
    match ended.unwrap() {
        DriveOutcome::Finished(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

fn result(outcome: Outcome) -> String {
    match outcome {
        Outcome::Completed { result } => result.to_json(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_is_completed_checked_and_the_output() {
    let (store, tools) = (MemoryStore::new(), tools());
    let mine = engine(&store, &tools);
    let (asked, pause) = ask(&mine, &asking(ON_DECLINE)).await;
    let form = pause.form().unwrap();
    assert_eq!(form.message, "Who is Ada?");
    assert_eq!(form.defaults.to_json(), r#"{"name":"Ada"}"#);
    for (wrong, says) in [
        (submit(r#"{"age": "old"}"#), "`age`:"),
        (submit(r#"{"name": ""}"#), "`name`:"),
        (submit(r#"{"nam": "x"}"#), "did you mean `name`?"),
        (Answer::Cancel, "no `on-cancel`"),
        (Answer::TimeOut, "has not timed out"),
        (Answer::Proceed, "this pause accepts submit"),
    ] {
        let fault = mine.answer(&asked, wrong.clone(), "me".into(), None).await;
        assert!(
            matches!(&fault, Err(Fault::Rejected(message)) if message.contains(says)),
            "{wrong:?}: {fault:?}"
        );
    }
    // The question is in the journal: another process answers it, and the first answer counts.
    let other = engine(&store.process(), &tools);
    other
        .answer(&asked, submit(r#"{"age": 36}"#), "me".into(), None)
        .await
        .unwrap();
    let late = mine.answer(&asked, submit("{}"), "me".into(), None).await;
    assert!(matches!(late, Err(Fault::Stale { .. })), "{late:?}");
    let ended = result(outcome(&other, &asked).await);
    assert_eq!(ended, r#"{"age":36,"name":"Ada"}"#);
}

#[tokio::test]
async fn a_form_that_is_not_filled_in_takes_its_edge_or_ends_the_run() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    for (answer, action) in [(Answer::Decline, "decline"), (Answer::Cancel, "cancel")] {
        let (asked, _) = ask(&engine, &asking(EVERY_EDGE)).await;
        let why = Some("no time".to_owned());
        engine
            .answer(&asked, answer, "me".into(), why)
            .await
            .unwrap();
        let ended = result(outcome(&engine, &asked).await);
        let wanted = format!(r#"{{"other":{{"action":"{action}","reason":"no time"}}}}"#);
        assert_eq!(ended, wanted);
    }
    let (asked, _) = ask(&engine, &asking("")).await;
    engine
        .answer(&asked, Answer::Decline, "me".into(), None)
        .await
        .unwrap();
    let ended = outcome(&engine, &asked).await;
    assert!(matches!(ended, Outcome::Rejected { .. }), "{ended:?}");
}

#[tokio::test]
async fn nobody_answers_in_time() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let timed = format!("{EVERY_EDGE}\n      timeout: 20ms");
    let (asked, _) = ask(&engine, &asking(&timed)).await;
    // The process that asked times it out by itself, and continues.
    let ended = engine.wait_for_end(&asked).await;
    assert_eq!(result(ended), r#"{"other":{"action":"timeout"}}"#);
    let (asked, _) = ask(&engine, &asking("      timeout: 20ms")).await;
    match engine.wait_for_end(&asked).await {
        Outcome::Failed { failure, .. } => {
            assert!(failure.message.contains("nobody answered"), "{failure:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_question_times_out_though_its_process_is_gone() {
    let (store, tools) = (MemoryStore::new(), tools());
    let first = engine(&store, &tools);
    let timed = format!("{EVERY_EDGE}\n      timeout: 300ms");
    let (asked, pause) = ask(&first, &asking(&timed)).await;
    first.close().await;
    let second = engine(&store.process(), &tools);
    let until_ms = pause.form().unwrap().until_ms.unwrap();
    while clock::now_ms() < until_ms {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let late = second.answer(&asked, submit("{}"), "me".into(), None).await;
    assert!(
        matches!(&late, Err(Fault::Rejected(says)) if says.contains("has timed out")),
        "{late:?}"
    );
    let ended = result(outcome(&second, &asked).await);
    assert_eq!(ended, r#"{"other":{"action":"timeout"}}"#);
}

#[tokio::test]
async fn only_people_answer_a_form_for_people() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let (asked, _) = ask(&engine, &asking("      answered-by: people")).await;
    let agent = || Respondent::new("agent", AnswerChannel::Agent);
    let refused = engine.answer(&asked, submit("{}"), agent(), None).await;
    assert!(
        matches!(refused, Err(Fault::PersonNeeded(_))),
        "{refused:?}"
    );
    let (open, _) = ask(&engine, &asking("")).await;
    engine
        .answer(&open, submit("{}"), agent(), None)
        .await
        .unwrap();
    let formful = Respondent {
        shows_forms: true,
        ..agent()
    };
    let (open, _) = ask(&engine, &asking("")).await;
    let refused = engine.answer(&open, submit("{}"), formful, None).await;
    assert!(
        matches!(refused, Err(Fault::PersonNeeded(_))),
        "{refused:?}"
    );
}

/// Two visits of a node wait at the same time: each gets its own answer.
#[tokio::test]
async fn two_open_forms_of_one_node_keep_their_answers_apart() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let graph = graphs(
        "
- name: twice
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: [a, b]}
    - {id: a, type: transform, transform: {expr: '\"a\"'}, next: form}
    - {id: b, type: transform, transform: {expr: '\"b\"'}, next: form}
    - id: form
      type: ask
      message: {expr: $previousNode()}
      schema: {type: object, properties: {is: {type: string}}}
      next: keep
    - {id: keep, type: transform, transform: {expr: '$previousNode().is'}, next: exit}
    - {id: exit, type: exit}",
    )
    .remove(0);
    let start = RunStart::new(graph, json("{}"));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    assert_eq!(pauses.len(), 2);
    // The later question is answered first.
    for (seq, pause) in pauses.iter().rev() {
        let asked = Checkpoint {
            run: run.clone(),
            seq: *seq,
        };
        let is = pause.form().unwrap().message.clone();
        let content = Value::object([("is", is.into())]);
        let answer = Answer::Submit { content };
        engine
            .answer(&asked, answer, "me".into(), None)
            .await
            .unwrap();
    }
    let asked = Checkpoint {
        run: run.clone(),
        seq: pauses[0].0,
    };
    assert_eq!(result(outcome(&engine, &asked).await), r#""b""#);
    // The run ends with the visit that reaches the exit first: the one that was answered last is still to come.
    let run = engine.load(&run).await.unwrap().run;
    assert_eq!(
        run.outputs().get("form").unwrap().to_json(),
        r#"{"is":"b"}"#
    );
}

/// Waits for the end of a run that a timer continues.
trait WaitForEnd {
    async fn wait_for_end(&self, asked: &Checkpoint) -> Outcome;
}

impl WaitForEnd for Engine {
    async fn wait_for_end(&self, asked: &Checkpoint) -> Outcome {
        loop {
            if let Some(outcome) = self.load(&asked.run).await.unwrap().run.outcome {
                return outcome;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
