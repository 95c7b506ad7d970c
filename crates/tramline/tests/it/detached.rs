//! Workflows that outlast their callers: clients with a short time limit get the result, and a start that is repeated
//! while servers are killed is one run.

use crate::support::root;
use crate::test_servers::{StdioClient, installed, node, serve, tools};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How long the workflow lasts, and the time limit of the clients for one call.
const WORKFLOW_SECONDS: u64 = 6;
const CLIENT_LIMIT_MS: u64 = 3_000;
/// How long the server lets a call wait.
const CALL_WAIT: &str = "1";

/// Starts of one run, while servers are killed.
const STARTS: usize = 1_000;
/// Starts after which a server is killed.
const STARTS_PER_SERVER: usize = 50;

fn document(folder: &Path, wait: &str) -> PathBuf {
    let file = folder.join("slow.yaml");
    let text = format!(
        "version: '1.0'\nserver: {{ name: slow, version: '1' }}\ntools:\n  - name: slow\n    description: Takes its time.\n    \
         inputSchema: {{ type: object, properties: {{ n: {{ type: number }} }} }}\n    nodes:\n      \
         - {{ id: entry, type: entry, next: rest }}\n      - {{ id: rest, type: wait, for: {wait}, next: sum }}\n      \
         - {{ id: sum, type: transform, transform: {{ expr: entry.n + 1 }}, next: exit }}\n      - {{ id: exit, type: exit }}\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

/// What a client script prints about two ways to run the workflow.
fn said(mut client: Command) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = document(folder.path(), &format!("{WORKFLOW_SECONDS}s"));
    let data = folder.path().join("data");
    let args = json!([
        "serve",
        file,
        "--toolsets",
        "graphs,runs",
        "--call-wait",
        CALL_WAIT,
        "--data-dir",
        data
    ]);
    let asked = json!({
        "command": env!("CARGO_BIN_EXE_tramline"), "args": args, "limit_ms": CLIENT_LIMIT_MS,
    });
    let output = client
        .arg(asked.to_string())
        .env("TRAMLINE_TOOLS", tools())
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

fn check(said: &Value) {
    for way in ["started", "called"] {
        assert_eq!(said[way]["status"], "completed", "{way}: {said}");
        assert_eq!(said[way]["result"], 2, "{way}: {said}");
        // One wait is shorter than the workflow.
        assert!(said[way]["waits"].as_u64().unwrap() > 1, "{way}: {said}");
    }
}

#[test]
fn the_first_typescript_sdk_outlasts_its_time_limit() {
    let (Some(node), Some(_)) = (node(), installed("node_modules/@modelcontextprotocol/sdk"))
    else {
        return;
    };
    let mut client = Command::new(node);
    client.arg(root().join("crates/tramline/tests/clients/patient.cjs"));
    check(&said(client));
}

#[test]
fn the_first_python_sdk_outlasts_its_time_limit() {
    let Some(python) = installed("old-venv/bin/python") else {
        return;
    };
    let mut client = Command::new(python);
    client.arg(root().join("crates/tramline/tests/clients/patient.py"));
    check(&said(client));
}

#[test]
fn a_start_repeated_while_servers_are_killed_is_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = document(folder.path(), "1h");
    let data = folder.path().join("data");
    let asked = json!({"workflow": "slow", "arguments": {"n": 1}, "key": "the one"});
    let left = AtomicUsize::new(STARTS);
    let runs = thread::scope(|scope| {
        // Two servers at a time on one data directory.
        let starting = || {
            let mut runs: Vec<String> = Vec::new();
            while left.load(Ordering::SeqCst) > 0 {
                let mut client = client(&file, &data);
                for _ in 0..STARTS_PER_SERVER {
                    let started = &client.call("run_start", &asked)["structuredContent"];
                    runs.push(started["run_id"].as_str().unwrap().to_owned());
                    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                        Some(left.saturating_sub(1))
                    })
                    .unwrap();
                }
                // Killed with a start on its way.
                client.send_call("run_start", &asked);
                client.kill();
            }
            runs
        };
        let both = [scope.spawn(starting), scope.spawn(starting)];
        both.map(|thread| thread.join().unwrap()).concat()
    });
    assert!(runs.len() >= STARTS);
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
    let mut client = client(&file, &data);
    let listed = client.call("runs_list", &json!({}));
    let listed = listed["structuredContent"]["runs"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    let mut other = asked;
    other["arguments"]["n"] = json!(2);
    let refused = client.call("run_start", &other);
    assert_eq!(refused["isError"], true);
    let named = &refused["structuredContent"]["error"]["data"]["run_id"];
    assert_eq!(named, runs[0].as_str(), "{refused}");
}

#[test]
fn a_session_with_a_channel_gets_a_message_when_its_run_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = document(folder.path(), "300ms");
    let mut command = serve(&[file], &folder.path().join("data"));
    command.args(["--toolsets", "graphs,runs", "--claude-channel"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = StdioClient::start(piped.spawn().unwrap());
    let started = client.call(
        "run_start",
        &json!({"workflow": "slow", "arguments": {"n": 1}}),
    );
    let run = &started["structuredContent"]["run_id"];
    let told = client.notification("notifications/claude/channel");
    assert_eq!(
        (&told["meta"]["run_id"], &told["meta"]["status"]),
        (run, &json!("completed")),
        "{told}"
    );
    assert!(
        told["content"].as_str().unwrap().contains("run_await"),
        "{told}"
    );
}

fn client(file: &Path, data: &Path) -> StdioClient {
    let mut command = serve(&[file.to_owned()], data);
    command.args(["--toolsets", "graphs,runs,debug"]);
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    StdioClient::start(piped.spawn().unwrap())
}
