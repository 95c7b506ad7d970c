//! A form on the command line and over MCP, with a process that is killed while the form waits.

use crate::clients::examples;
use crate::support::Tramline;
use crate::test_servers::serve;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

const ASK: &str = "examples/graphs/ask.yaml";

/// Starts a run that asks, and returns its id.
fn asked(place: &Tramline) -> String {
    let asked = place.run(&["run", ASK, "order_label", "order=7", "--json"]);
    assert_eq!(asked.code(), 4, "{}", asked.err());
    asked.text("run_id")
}

#[test]
fn fields_are_set_on_the_command_line() {
    let place = Tramline::new();
    let run = asked(&place);
    let wrong = place.run(&[
        "runs",
        "approve",
        &run,
        "--set",
        "name=Ada",
        "--set",
        "copies=20",
    ]);
    assert_ne!(wrong.code(), 0);
    assert!(wrong.err().contains("`copies`"), "{}", wrong.err());
    let unknown = place.run(&["runs", "answer", &run, "--set", "nam=Ada"]);
    assert!(
        unknown.err().contains("did you mean `name`?"),
        "{}",
        unknown.err()
    );
    let words = [
        "--set",
        "name=Ada",
        "--set",
        "copies=2",
        "--set",
        "fragile=yes",
        "--json",
    ];
    let done = place.run(&[&["runs", "approve", &run], &words[..]].concat());
    assert_eq!(done.code(), 0, "{}", done.err());
    assert!(
        done.out().contains("2 x small: Ada (fragile), order 7"),
        "{}",
        done.out()
    );
    let again = place.run(&["runs", "answer", &run, "--content", "{}"]);
    assert_ne!(again.code(), 0);

    let run = asked(&place);
    let answered = place.run(&["runs", "answer", &run, "--content", r#"{"name": "Ada"}"#]);
    assert_eq!(answered.code(), 0, "{}", answered.err());
    let resumed = place.run(&["runs", "resume", &run, "--json"]);
    assert!(
        resumed.out().contains("1 x small: Ada, order 7"),
        "{}",
        resumed.out()
    );

    let run = asked(&place);
    let declined = place.run(&["runs", "reject", &run, "--json"]);
    assert_eq!(declined.code(), 0, "{}", declined.err());
    assert!(
        declined.out().contains("no label for order 7"),
        "{}",
        declined.out()
    );
}

/// The server is killed while the form is open in its client: the question is still there.
#[test]
fn a_form_outlives_the_server_that_asked() {
    for (version, capabilities) in [
        ("2025-11-25", json!({"elicitation": {"form": {}}})),
        ("2025-11-25", json!({})),
    ] {
        let place = Tramline::new();
        let mut server = serve(&examples(), &place.data_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = server.stdin.take().unwrap();
        let mut send = |message: Value| writeln!(input, "{message}").unwrap();
        send(
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"}}}),
        );
        send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "order_label", "arguments": {"order": 7}}}));
        // The question of the form, or the error that names it.
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let asked = lines.find(|line| line.contains("What goes on the label of order 7?"));
        assert!(asked.is_some());
        server.kill().unwrap();
        server.wait().unwrap();
        let runs: Value = serde_json::from_str(&place.run(&["runs", "--json"]).out()).unwrap();
        assert_eq!(runs["runs"][0]["status"], "paused", "{runs}");
        let run = runs["runs"][0]["run_id"].as_str().unwrap().to_owned();
        let words = ["runs", "approve", &run, "--set", "name=Ada", "--json"];
        let done = place.run(&words);
        let label = "1 x small: Ada, order 7";
        assert!(done.out().contains(label), "{} {}", done.out(), done.err());
    }
}
