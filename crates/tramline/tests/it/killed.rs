//! The server is killed during a client's call: the run is listed afterwards, continues in the next
//! server, and no non-repeatable call is made twice.

use crate::children::{SOON, UnrulyProject, call, with};
use crate::test_servers::StdioClient;
use serde_json::{Value, json};
use tramline_test_server::processes::{wait_until, wait_until_gone};

/// Longer than any test lasts.
const FOR_EVER_MS: u64 = 600_000;

fn record(id: &str, delay_ms: u64, next: &str) -> Value {
    let args = json!({"node": id, "delay_ms": delay_ms});
    let more = json!({"next": next, "timeout": "1h"});
    with(call(id, "record", args), more)
}

/// A client calls `go`; once a node's call is in flight the server is killed.
fn killed_in_the_call_of(node: &str, yard: &UnrulyProject) -> String {
    let mut client = StdioClient::start(yard.serve());
    client.send_call("go", &json!({}));
    until_called(yard, node, 1);
    // Everything before the call, and its intent, is on disk.
    yard.until_shown(&yard.run_id(), |shown| {
        let steps = shown["steps"].as_array()?;
        steps.iter().find(|step| step["node"] == node).map(drop)
    });
    client.kill();
    wait_until_gone(&yard.mark, SOON).unwrap();
    let listed = yard.say(&["runs"]).json["runs"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed[0]["status"], "running");
    listed[0]["run_id"].as_str().unwrap().to_owned()
}

/// Waits until this many calls of a node have arrived.
fn until_called(yard: &UnrulyProject, node: &str, times: usize) {
    let calls = || yard.logged_nodes().iter().filter(|id| *id == node).count();
    wait_until(SOON, || calls() >= times).unwrap();
}

/// The question of a run, once it waits with one.
fn question(yard: &UnrulyProject, run: &str) -> Value {
    yard.until_shown(run, |shown| shown["pauses"].get(0).cloned())
}

#[test]
fn what_may_have_happened_is_asked_about() {
    let nodes = [
        record("first", 0, "slow"),
        record("slow", FOR_EVER_MS, "last"),
        record("last", 0, "exit"),
    ];
    let yard = UnrulyProject::new(&json!("first"), &nodes, &[]);
    let run = killed_in_the_call_of("slow", &yard);

    // The next server resumes the run, and stops at the question.
    let mut client = StdioClient::start(yard.serve());
    let asked = question(&yard, &run);
    assert_eq!(asked["kind"], "in-doubt", "{asked}");
    assert_eq!(asked["node"], "slow", "{asked}");
    assert_eq!(
        client.call("sound", &json!({}))["structuredContent"],
        json!({"all": "well"})
    );
    assert_eq!(yard.logged_nodes(), ["first", "slow"]);

    // A server that is still there would resume the run by itself as soon as it is answered.
    client.close();
    let checkpoint = asked["checkpoint"].as_str().unwrap();
    let said = yard.say(&["runs", "answer", checkpoint, "--skip", "\"by hand\""]);
    assert_eq!(said.exit, 0, "{said:?}");
    let said = yard.say(&["runs", "resume", &run]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert_eq!(yard.shown(&run)["status"], "completed");
    assert_eq!(yard.logged_nodes(), ["first", "slow", "last"]);
    yard.is_sound();
}

#[test]
fn what_may_be_repeated_is_called_again_without_asking() {
    let look = with(
        record("look", FOR_EVER_MS, "last"),
        json!({"readOnly": true}),
    );
    let nodes = [record("first", 0, "look"), look, record("last", 0, "exit")];
    let yard = UnrulyProject::new(&json!("first"), &nodes, &[]);
    let run = killed_in_the_call_of("look", &yard);
    let client = StdioClient::start(yard.serve());
    until_called(&yard, "look", 2);
    let log = yard.log();
    assert_eq!(yard.logged_nodes(), ["first", "look", "look"]);
    assert_eq!(log[1]["key"], log[2]["key"], "the same call: {log:?}");
    let shown = yard.shown(&run);
    assert_eq!(shown["status"], "running", "{shown}");
    client.kill();
    wait_until_gone(&yard.mark, SOON).unwrap();
    yard.is_sound();
}
