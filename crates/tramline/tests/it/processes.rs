//! Several processes on one data directory: one drives, the others read, answer, abort and take
//! over.

use crate::children::{CommandOutcome, RunningCommand, SOON, UnrulyProject, call, with};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};
use tramline_test_server::processes::wait_until_gone;

/// How long an abort from another process may take until the driver has ended, on a busy machine.
const PROMPT: Duration = Duration::from_secs(10);

fn record(id: &str, next: &str) -> Value {
    with(
        call(id, "record", json!({"node": id})),
        json!({"next": next}),
    )
}

#[test]
fn a_run_goes_on_in_another_process_and_no_step_is_taken_twice() {
    let slow = with(
        record("slow", "last"),
        json!({"args": {"node": "slow", "delay_ms": 120_000}, "timeout": "5m"}),
    );
    let nodes = [record("first", "slow"), slow, record("last", "exit")];
    let yard = UnrulyProject::new(&json!("first"), &nodes, &[]);
    let driver = yard.start(&["run", "yard.yaml", "go"]);
    yard.until_logged(2);
    let run = yard.run_id();

    for said in both(&yard, &run) {
        assert_eq!(said.exit, 1, "{said:?}");
        let message = said.json["error"]["message"].as_str().unwrap();
        let who = format!("{run} is being driven by process {}", driver.id());
        assert!(message.contains(&who), "{message}");
    }

    driver.kill();
    wait_until_gone(&yard.mark, SOON).unwrap();
    // One takes it over and asks; the other is too late, or comes after the question.
    let said = both(&yard, &run);
    assert!(said.iter().any(|said| said.exit == 4), "{said:?}");
    assert!(
        said.iter().all(|said| said.exit == 4 || said.exit == 1),
        "{said:?}"
    );
    let paused = said.iter().find(|said| said.exit == 4).unwrap();
    let asked = &paused.json["waiting"][0];
    assert_eq!(
        (&asked["kind"], &asked["node"]),
        (&json!("in-doubt"), &json!("slow"))
    );
    assert_eq!(yard.logged_nodes(), ["first", "slow"]);

    let checkpoint = asked["checkpoint_id"].as_str().unwrap();
    let answered = yard.say(&["runs", "answer", checkpoint, "--skip", "\"recorded\""]);
    assert_eq!(answered.exit, 0, "{answered:?}");
    let again = yard.say(&["runs", "answer", checkpoint, "--retry"]);
    assert_eq!(again.exit, 2, "{again:?}");

    // One drives it to its end; the other finds it driven or over.
    let said = both(&yard, &run);
    assert!(said.iter().any(|said| said.exit == 0), "{said:?}");
    assert!(
        said.iter().all(|said| [0, 1, 2].contains(&said.exit)),
        "{said:?}"
    );
    assert_eq!(yard.logged_nodes(), ["first", "slow", "last"]);
    let shown = yard.shown(&run);
    assert_eq!(shown["status"], "completed");
    assert!(shown["resumed"].as_array().unwrap().len() >= 2);
    yard.is_sound();
}

/// Two processes that resume the same run at the same time.
fn both(yard: &UnrulyProject, run: &str) -> [CommandOutcome; 2] {
    let start = || yard.start(&["runs", "resume", run]);
    [start(), start()].map(RunningCommand::ended)
}

#[test]
fn an_abort_from_another_process_stops_the_driver_and_cancels_its_call() {
    let hang = with(
        call("hang", "hang", json!({"told": 1})),
        json!({"timeout": "10m"}),
    );
    let yard = UnrulyProject::new(&json!("first"), &[record("first", "hang"), hang], &[]);
    let driver = yard.start(&["run", "yard.yaml", "go"]);
    let run = yard.run_id();
    // The server has the call: an earlier abort would have nothing to cancel.
    yard.until_logged(2);
    let begun = Instant::now();
    let said = yard.say(&["runs", "abort", &run, "--why", "enough"]);
    assert_eq!(said.exit, 0, "{said:?}");
    let ended = driver.ended();
    assert!(begun.elapsed() < PROMPT, "took {:?}", begun.elapsed());
    assert_eq!((ended.exit, &ended.json["status"]), (1, &json!("aborted")));
    assert!(
        ended.json["error"]["message"]
            .as_str()
            .unwrap()
            .ends_with("enough")
    );
    wait_until_gone(&yard.mark, SOON).unwrap();
    let log = yard.log();
    assert_eq!(log.last().unwrap()["cancelled"], "hang", "{log:?}");
    // The call was sent before the run ended.
    let shown = yard.shown(&run);
    let steps = shown["steps"].as_array().unwrap();
    let hang = steps.iter().find(|step| step["node"] == "hang").unwrap();
    assert_eq!(hang["may_have_happened"], true, "{hang}");
    let late = yard.say(&["runs", "resume", &run]);
    assert_eq!(late.exit, 2, "{late:?}");
    yard.is_sound();
}

#[test]
fn an_answer_reaches_a_run_that_a_server_drives_while_another_branch_works() {
    let asked = with(record("asked", "exit"), json!({"approval": "Is it right?"}));
    let slow = with(
        call("slow", "sleep", json!({"ms": 120_000})),
        json!({"timeout": "5m"}),
    );
    let yard = UnrulyProject::new(&json!(["asked", "slow"]), &[asked, slow], &[]);
    let mut server = yard.serve();
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "go", "arguments": {}}}),
    ];
    for message in messages {
        writeln!(input, "{message}").unwrap();
    }
    let run = yard.run_id();
    let checkpoint = yard.until_shown(&run, |shown| {
        let steps = shown["steps"].as_array()?;
        steps.iter().find(|step| step["node"] == "slow")?;
        Some(shown["pauses"][0]["checkpoint"].as_str()?.to_owned())
    });
    assert!(yard.log().is_empty());
    let said = yard.say(&["runs", "resume", &run]);
    assert_eq!(said.exit, 1, "{said:?}");
    let said = yard.say(&["runs", "answer", &checkpoint, "--yes"]);
    assert_eq!(said.exit, 0, "{said:?}");
    let reply = lines
        .by_ref()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .find(|message| message["id"] == 2)
        .unwrap();
    assert_eq!(
        reply["result"]["structuredContent"]["result"], "recorded",
        "{reply}"
    );
    drop(input);
    assert!(server.wait().unwrap().success());
    wait_until_gone(&yard.mark, SOON).unwrap();
    let log = yard.log();
    assert_eq!(log[0]["arguments"]["node"], "asked", "{log:?}");
    assert_eq!(log[1]["cancelled"], "sleep", "{log:?}");
    yard.is_sound();
}

#[test]
fn runs_are_listed_while_others_write() {
    const VISITS: u64 = 25;
    let count = json!({"var": "$executionCount('step')"});
    let again = json!({
        "id": "again", "type": "switch", "next": "exit",
        "conditions": [{"rule": {"<": [count, VISITS]}, "next": "step"}],
    });
    let yard = UnrulyProject::new(&json!("step"), &[record("step", "again"), again], &[]);
    let writers = [(); 3].map(|()| yard.start(&["run", "yard.yaml", "go"]));
    let mut known: Vec<(String, u64)> = Vec::new();
    loop {
        let said = yard.say(&["runs"]);
        assert_eq!(said.exit, 0, "{said:?}");
        let runs = said.json["runs"].as_array().unwrap();
        let text = |run: &Value, name: &str| run[name].as_str().unwrap().to_owned();
        let now: Vec<_> = runs
            .iter()
            .map(|run| (text(run, "run_id"), run["events"].as_u64().unwrap()))
            .collect();
        assert!(now.is_sorted_by(|a, b| a.0 > b.0), "newest first: {now:?}");
        for (run, events) in &known {
            let later = now.iter().find(|(id, _)| id == run).unwrap();
            assert!(later.1 >= *events, "{run} went from {events} to {later:?}");
        }
        for (run, events) in &now {
            assert!(yard.shown(run)["events"].as_u64().unwrap() >= *events);
        }
        known = now;
        let done = runs.iter().filter(|run| run["status"] == "completed");
        if done.count() == writers.len() {
            break;
        }
    }
    for writer in writers {
        assert_eq!(writer.ended().exit, 0);
    }
    assert_eq!(yard.log().len() as u64, 3 * VISITS);
    yard.is_sound();
}
