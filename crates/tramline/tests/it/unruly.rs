//! Misbehaving downstream servers with `tramline run`: each ends in a clear failure or in success
//! after a retry, the next run works, and no child is left behind.

use crate::children::{CommandOutcome, SOON, UnrulyProject, call, with};
use serde_json::{Value, json};
use tramline_test_server::processes::{kill_marked, marked, wait_until, wait_until_gone};

/// A graph of one call.
fn one(tool: &str, args: Value, more: Value) -> UnrulyProject {
    UnrulyProject::new(&json!("it"), &[with(call("it", tool, args), more)], &[])
}

/// The run failed at `it`, with this code and message.
fn assert_failed(said: &CommandOutcome, code: &str, says: &str) {
    assert_eq!((said.exit, &said.json["status"]), (1, &json!("failed")));
    let error = &said.json["error"];
    assert_eq!(
        (&error["code"], &error["node"]),
        (&json!(code), &json!("it"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(says), "{message}");
}

/// The call at `it` was sent and failed with this message, and the run asks whether it happened.
/// Returns the failure.
fn assert_doubted(yard: &UnrulyProject, said: &CommandOutcome, kind: &str, says: &str) -> Value {
    assert_eq!(
        (said.exit, &said.json["status"]),
        (4, &json!("paused")),
        "{said:?}"
    );
    let asked = &said.json["waiting"][0];
    let about = (&asked["kind"], &asked["node"]);
    assert_eq!(about, (&json!("in-doubt"), &json!("it")), "{said:?}");
    let shown = yard.shown(said.json["run_id"].as_str().unwrap());
    let steps = shown["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["node"] == "it").unwrap();
    assert_eq!(step["may_have_happened"], true, "{step}");
    let failure = step["retried"][0].clone();
    let marked = (&failure["kind"], &failure["may_have_happened"]);
    assert_eq!(marked, (&json!(kind), &json!(true)), "{failure}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains(says), "{message}");
    failure
}

fn assert_gave(said: &CommandOutcome, result: &str) {
    assert_eq!((said.exit, &said.json["result"]), (0, &json!(result)));
}

/// How often the only step was attempted.
fn attempts(yard: &UnrulyProject, said: &CommandOutcome) -> Value {
    let shown = yard.shown(said.json["run_id"].as_str().unwrap());
    let steps = shown["steps"].as_array().unwrap();
    let it = steps.iter().find(|step| step["node"] == "it");
    it.unwrap()["attempts"].clone()
}

#[test]
fn a_call_that_hangs_ends_at_its_time_out() {
    let yard = one("hang", json!({}), json!({"timeout": 300}));
    let said = yard.go();
    assert_doubted(&yard, &said, "timeout", "u:hang did not answer");
    wait_until_gone(&yard.mark, SOON).unwrap();
    assert_eq!(yard.log()[0]["cancelled"], "hang");
    yard.is_sound();
}

#[test]
fn a_server_that_freezes_is_left_behind_by_nobody() {
    let yard = one("freeze", json!({}), json!({"timeout": 300}));
    assert_doubted(&yard, &yard.go(), "timeout", "u:freeze did not answer");
    yard.is_sound();
}

#[test]
fn a_crash_in_the_middle_of_a_call_is_told_with_its_last_words() {
    let yard = one("crash", json!({}), json!({}));
    let said = yard.go();
    let failure = assert_doubted(&yard, &said, "unavailable", "exited with code 3");
    let data = &failure["data"];
    assert_eq!(data["stderr"], json!(["unruly: about to crash"]));
    yard.is_sound();
}

#[test]
fn a_crash_is_not_retried_unless_the_call_may_be_repeated() {
    let retry = json!({"max": 2, "wait_ms": 1, "backoff": 1});
    let yard = one("crash", json!({}), json!({"retry": retry}));
    let said = yard.go();
    assert_doubted(&yard, &said, "unavailable", "exited with code 3");
    assert_eq!(attempts(&yard, &said), 1);
    yard.is_sound();

    let yard = one(
        "crash",
        json!({}),
        json!({"retry": retry, "idempotent": true}),
    );
    let said = yard.go();
    assert_failed(&said, "T0502", "exited with code 3");
    assert_eq!(attempts(&yard, &said), 3);
    yard.is_sound();
}

#[test]
fn a_document_that_says_what_follows_a_failure_is_not_asked() {
    let crash = with(call("it", "crash", json!({})), json!({"on-error": "told"}));
    let told = json!({"id": "told", "type": "transform", "next": "exit",
        "transform": {"expr": "it.error"}});
    let yard = UnrulyProject::new(&json!("it"), &[crash, told], &[]);
    let said = yard.go();
    assert_eq!(said.exit, 0, "{said:?}");
    let error = &said.json["result"];
    assert_eq!(
        (&error["code"], &error["may_have_happened"]),
        (&json!("T0502"), &json!(true))
    );
    yard.is_sound();
}

#[test]
fn a_call_that_may_be_repeated_survives_its_server() {
    let retry = json!({"max": 3, "wait_ms": 1, "backoff": 1});
    let yard = one("sleep", json!({"ms": 700}), json!({"retry": retry}));
    let driver = yard.start(&["run", "yard.yaml", "go"]);
    let run = yard.run_id();
    yard.until_shown(&run, |shown| {
        let steps = shown["steps"].as_array()?;
        steps.iter().find(|step| step["node"] == "it").map(drop)
    });
    wait_until(SOON, || !marked(&yard.mark).is_empty()).unwrap();
    kill_marked(&yard.mark);
    let said = driver.ended();
    assert_gave(&said, "slept 700 ms");
    assert_eq!(attempts(&yard, &said), 2);
    yard.is_sound();
}

#[test]
fn a_tool_that_fails_at_first_is_tried_again() {
    let retry = json!({"max": 3, "wait_ms": 1, "backoff": 1});
    let args = json!({"file": "flaky.count", "fail_times": 2});
    let yard = one("flaky", args, json!({"retry": retry}));
    let said = yard.go();
    assert_gave(&said, "worked after 2 failures");
    assert_eq!(attempts(&yard, &said), 3);
    yard.is_sound();
}

#[test]
fn floods_are_borne_or_end_the_call() {
    let yard = one("flood", json!({"bytes": 8_000_000}), json!({}));
    assert_gave(&yard.go(), "flooded");
    yard.is_sound();
    let yard = one("flood", json!({"bytes": 200_000_000}), json!({}));
    assert_doubted(
        &yard,
        &yard.go(),
        "bad-answer",
        "flooded its standard output",
    );
    yard.is_sound();
}

#[test]
fn garbage_and_second_answers_are_passed_over() {
    let yard = one("garbage", json!({}), json!({}));
    assert_gave(&yard.go(), "after the garbage");
    yard.is_sound();
    let yard = one("twice", json!({}), json!({}));
    assert_gave(&yard.go(), "first");
    yard.is_sound();
}

#[test]
fn an_answer_of_50_megabytes_fails_the_call() {
    let yard = one("big", json!({"bytes": 50_000_000}), json!({}));
    assert_failed(&yard.go(), "T0504", "over the limit of 16777216 bytes");
    yard.is_sound();
}

#[test]
fn a_server_that_exits_at_its_start_is_told_with_its_last_words() {
    let node = with(call("it", "echo", json!({})), json!({"server": "v"}));
    let yard = UnrulyProject::new(&json!("it"), &[node], &["--exit-at-start"]);
    let said = yard.go();
    assert_failed(&said, "T0502", "exited with code 7");
    let data = &said.json["error"]["data"];
    assert_eq!(
        data["stderr"],
        json!(["unruly: exiting at start, as requested"])
    );
    yard.is_sound();
}

#[test]
fn a_server_that_will_not_go_is_made_to_with_its_children() {
    let node = with(call("it", "echo", json!({"a": 1})), json!({"server": "v"}));
    let yard = UnrulyProject::new(&json!("it"), &[node], &["--ignore-eof", "--grandchild"]);
    let said = yard.go();
    assert_eq!((said.exit, &said.json["result"]), (0, &json!({"a": 1})));
    assert_eq!(marked(&yard.mark), [0_u32; 0], "left behind at the end");
    yard.is_sound();
}
