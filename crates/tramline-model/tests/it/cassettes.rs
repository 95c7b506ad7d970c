//! Recorded answers are replayed.

use crate::prompt;
use std::sync::Arc;
use tramline_engine::ports::Model;
use tramline_engine::testing::ScriptedModel;
use tramline_model::{Recorder, Redact, Replayer};
use tramline_workflow::failure::{Failure, FailureKind};

#[tokio::test]
async fn a_record_answers_in_the_models_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan.jsonl");
    let busy = Failure::new(FailureKind::Unavailable, "busy");
    let script = ScriptedModel::new(["one", "two", "three"]).then_fail(busy);
    let recorder = Recorder::new(Arc::new(script), &path, Redact::default()).unwrap();
    for (text, says) in [
        ("a", Some("one")),
        ("b", Some("two")),
        ("a", Some("three")),
        ("c", None),
    ] {
        let answer = recorder.complete(prompt(text, None)).await;
        assert_eq!(answer.ok().map(|answer| answer.text).as_deref(), says);
    }
    let replayer = Replayer::open(&path, Redact::default()).unwrap();
    for (text, says) in [
        ("a", "one"),
        ("b", "two"),
        ("a", "three"),
        ("a", "three"),
        ("b", "two"),
    ] {
        assert_eq!(
            replayer.complete(prompt(text, None)).await.unwrap().text,
            says
        );
    }
    assert_eq!(
        replayer
            .complete(prompt("c", None))
            .await
            .unwrap_err()
            .message,
        "busy"
    );
    let unknown = replayer.complete(prompt("d", None)).await.unwrap_err();
    assert_eq!(unknown.kind, FailureKind::NotRecorded);
    assert!(unknown.message.contains("record it again"), "{unknown}");
}

#[test]
fn a_file_that_is_no_record_is_told_by_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan.jsonl");
    std::fs::write(&path, "\n{\"prompt\": 3}\n").unwrap();
    let wrong = Replayer::open(&path, Redact::default()).err().unwrap();
    assert!(wrong.contains("plan.jsonl: line 2:"), "{wrong}");
    assert!(Replayer::open(&dir.path().join("nowhere"), Redact::default()).is_err());
}

#[tokio::test]
async fn a_record_holds_no_secret_and_answers_prompts_that_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan.jsonl");
    let redact = || Redact::new(|text| text.replace("hush-hush", "[redacted:K]"));
    let denied = Failure::new(FailureKind::Forbidden, "no hush-hush");
    let script = ScriptedModel::new(["it is hush-hush"]).then_fail(denied);
    let recorder = Recorder::new(Arc::new(script), &path, redact()).unwrap();
    let said = recorder
        .complete(prompt("say hush-hush", None))
        .await
        .unwrap();
    assert_eq!(said.text, "it is hush-hush");
    assert!(
        recorder
            .complete(prompt("again hush-hush", None))
            .await
            .is_err()
    );
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(!written.contains("hush-hush"), "{written}");
    let replayer = Replayer::open(&path, redact()).unwrap();
    let said = replayer
        .complete(prompt("say hush-hush", None))
        .await
        .unwrap();
    assert_eq!(said.text, "it is [redacted:K]");
}
