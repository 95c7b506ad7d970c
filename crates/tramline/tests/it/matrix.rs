//! Third-party clients against `tramline serve`: each lists and calls the same tools, over both
//! transports and in every era of the protocol that it supports, and sees the same. Clients that
//! support elicitation let their user decide.

use crate::clients::examples;
use crate::support::root;
use crate::test_servers::{Http, installed, node, serve, tools};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod inspector;

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
const TOKEN: &str = "secret";

/// How the server is reached.
enum TestedServer<'a> {
    Stdio(&'a Path),
    Http(&'a str),
}

/// The server of the examples, which may read here and write next to its data.
fn serving(data: &Path) -> Command {
    let mut command = serve(&examples(), &data.join("runs"));
    command.arg("--root").arg(root()).arg("--root").arg(data);
    command
}

/// The same over HTTP, with a token.
fn serving_http(data: &Path) -> Http {
    let mut command = serving(data);
    command.env("TRAMLINE_TOKEN", TOKEN);
    Http::start(command)
}

/// The JSON that a command prints.
fn output(command: &mut Command) -> Value {
    let output = command
        .env("TRAMLINE_TOOLS", tools())
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let told = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {command:?}\n{told}")
    })
}

/// What every client calls.
fn calls() -> Value {
    json!([
        {"tool": "choose_shipping", "arguments": {"weight_kg": 25}},
        {"tool": "read_lines", "arguments": {"path": "no-such-file.txt"}},
        {"tool": "choose_shipping", "arguments": {"weight_kg": "heavy"}},
        {"tool": "write_note", "arguments": {"path": "target/never-written.txt", "text": "x"}},
        {"tool": "summarize", "arguments": {"numbers": [1, 2, 3]}},
    ])
}

/// What every client must see, however it is connected.
fn check(said: &Value) {
    let tools = said["tools"].as_array().unwrap();
    let shipping = tools
        .iter()
        .find(|tool| tool["name"] == "choose_shipping")
        .unwrap();
    assert_eq!(shipping["inputSchema"]["required"], json!(["weight_kg"]));
    assert_eq!(
        shipping["outputSchema"]["required"],
        json!(["service", "price"])
    );
    let [chosen, failed, refused, paused, summary] = said["results"].as_array().unwrap().as_slice()
    else {
        panic!("{said}");
    };
    assert_eq!(chosen["is_error"], false);
    assert_eq!(
        chosen["structured"],
        json!({"service": "freight", "price": 77.5})
    );
    assert_eq!(text(chosen), chosen["structured"]);

    let error = &text(failed)["error"];
    assert_eq!(failed["is_error"], true, "{failed}");
    assert_eq!(error["node"], "read");
    assert!(error["run_id"].as_str().unwrap().starts_with("run_"));
    assert_eq!(refused["is_error"], true);
    let message = text(refused)["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains("weight_kg"), "{message}");

    assert_eq!(paused["is_error"], true);
    let waits = &text(paused)["error"]["waiting"][0];
    assert_eq!(waits["kind"], "approval", "{paused}");
    assert!(waits["checkpoint_id"].as_str().unwrap().starts_with("chk_"));
    assert_eq!(summary["is_error"], false, "{summary}");
}

/// The text of a result, read as JSON.
fn text(result: &Value) -> Value {
    serde_json::from_str(result["text"][0].as_str().unwrap()).unwrap()
}

/// The steps in the progress notifications of a call.
fn steps(result: &Value) -> Vec<&str> {
    let told = result["progress"].as_array().unwrap();
    told.iter()
        .map(|told| told["message"].as_str().unwrap())
        .collect()
}

/// Every step of every call was reported, for clients that wait for notifications.
fn check_progress(said: &Value) {
    let results = &said["results"];
    let whole = [
        "entry is done",
        "choose is done",
        "freight is done",
        "exit is done",
    ];
    assert_eq!(steps(&results[0]), whole);
    assert!(steps(&results[1]).contains(&"read started (builtin:read-file)"));
    assert!(steps(&results[3]).contains(&"compose is done"));
}

/// What a user decides through the client, and whether it is done then.
const DECISIONS: [(&str, bool); 2] = [("approve", true), ("reject", false)];

/// How a script reaches a server in an era.
fn reach(server: &TestedServer<'_>, protocol: &str) -> Value {
    let mode = if protocol == LEGACY {
        "legacy"
    } else {
        protocol
    };
    match server {
        TestedServer::Http(url) => json!({"mode": mode, "http": url, "token": TOKEN}),
        TestedServer::Stdio(data) => {
            let command = serving(data);
            let words = command.get_args().map(|word| word.to_str().unwrap());
            let args: Vec<_> = words.collect();
            let program = env!("CARGO_BIN_EXE_tramline");
            json!({"mode": mode, "stdio": {"command": program, "args": args, "cwd": root()}})
        }
    }
}

/// The output of a script over one transport in one era: the common calls, then the decisions.
fn talks(server: &TestedServer<'_>, protocol: &str, folder: &Path) -> Vec<Value> {
    let mut plain = reach(server, protocol);
    plain["calls"] = calls();
    let mut talks = vec![plain];
    for (decide, _) in DECISIONS {
        let over = match server {
            TestedServer::Stdio(_) => "stdio",
            TestedServer::Http(_) => "http",
        };
        let note = folder.join(format!("{decide}-{over}.txt"));
        let mut talk = reach(server, protocol);
        talk["decide"] = json!(decide);
        talk["calls"] =
            json!([{"tool": "write_note", "arguments": {"path": note, "text": "Nine."}}]);
        talks.push(talk);
    }
    let mut form = reach(server, protocol);
    form["fill"] = json!({"name": "Ada", "size": "large", "copies": 2, "fragile": true});
    form["calls"] = json!([{"tool": "order_label", "arguments": {"order": 7}}]);
    talks.push(form);
    talks
}

/// The user approved, and it was done; or rejected, and it was not.
fn check_decision(talk: &Value, said: &Value, done: bool) {
    assert_eq!(said["results"][0]["is_error"], !done, "{said}");
    let note = talk["calls"][0]["arguments"]["path"].as_str().unwrap();
    let written = std::fs::read_to_string(note).ok();
    assert_eq!(written.as_deref(), done.then_some("Nine.\n"), "{said}");
    let _ = std::fs::remove_file(note);
}

/// Runs a script over both transports in each of these eras, all in one process.
fn both(runtime: Option<PathBuf>, script: &str, protocols: &[&str], also: fn(&Value)) {
    let Some(runtime) = runtime else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let http = serving_http(data.path());
    let url = http.url();
    for protocol in protocols {
        let servers = [TestedServer::Http(&url), TestedServer::Stdio(data.path())];
        let talks: Vec<_> = servers
            .iter()
            .flat_map(|server| talks(server, protocol, data.path()))
            .collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let mut command = Command::new(&runtime);
        let said = output(command.arg(path.join(script)).arg(json!(talks).to_string()));
        let said = said.as_array().unwrap();
        assert_eq!(said.len(), talks.len());
        for (talk, said) in talks.iter().zip(said) {
            assert_eq!(said["protocol"], *protocol);
            if talk["fill"].is_object() {
                let label = json!({"label": "2 x large: Ada (fragile), order 7"});
                assert_eq!(said["results"][0]["structured"], label, "{said}");
                continue;
            }
            match DECISIONS
                .iter()
                .find(|(decide, _)| talk["decide"] == *decide)
            {
                Some((_, done)) => check_decision(talk, said, *done),
                None => {
                    check(said);
                    also(said);
                }
            }
        }
    }
}

fn python() -> Option<PathBuf> {
    installed("venv/bin/python")
}

#[test]
fn the_python_sdk() {
    both(python(), "python_sdk.py", &[LEGACY, MODERN], check_progress);
}

#[test]
fn fastmcp() {
    both(
        python(),
        "fastmcp_client.py",
        &[LEGACY, MODERN],
        check_progress,
    );
}

#[test]
fn the_typescript_sdk_of_2025() {
    both(node(), "typescript_v1.cjs", &[LEGACY], |_| ());
}

#[test]
fn the_typescript_sdk_of_2026() {
    both(node(), "typescript_v2.cjs", &[LEGACY, MODERN], |_| ());
}
