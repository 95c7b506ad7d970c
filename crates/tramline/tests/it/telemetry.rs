//! Telemetry as operators receive it: a real OTLP receiver, Prometheus' own checker, log lines.

use crate::support::Tramline;
use crate::test_servers::{Http, StdioClient, installed};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tramline_test_server::program;

mod eras;
mod metrics;
mod models;
mod sop_sessions;
mod spans;
mod unreachable;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// The caller's trace and span.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// An OTLP receiver; ended when dropped.
pub(super) struct Otlp {
    child: Child,
    port: String,
    lines: Receiver<Value>,
    got: Vec<Value>,
}

impl Otlp {
    /// Starts one, if its message definitions are installed.
    pub(super) fn start() -> Option<Self> {
        let python = installed("otlp-venv/bin/python")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry/receiver.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg("0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut read = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = read.next().unwrap().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in read.map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).unwrap());
            }
        });
        Some(Self {
            child,
            port,
            lines,
            got: Vec::new(),
        })
    }

    /// The variables that make a command send here.
    pub(super) fn set(&self, command: &mut Command) {
        command
            .env(
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                format!("http://127.0.0.1:{}", self.port),
            )
            .env("OTEL_BSP_SCHEDULE_DELAY", "50")
            .env("OTEL_SERVICE_NAME", "trams");
    }

    /// Waits for a span of this name, and returns all of that name so far.
    pub(super) fn named(&mut self, name: &str) -> Vec<Value> {
        loop {
            let fits = |span: &&Value| span["name"] == name;
            let found: Vec<_> = self.got.iter().filter(fits).cloned().collect();
            if !found.is_empty() {
                return found;
            }
            self.next(name);
        }
    }

    /// Waits for the only span of this name.
    pub(super) fn one(&mut self, name: &str) -> Value {
        let found = self.named(name);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }

    /// Waits for a metric of this name.
    pub(super) fn metric(&mut self, name: &str) -> Value {
        loop {
            if let Some(found) = self.got.iter().find(|it| it["metric"] == name) {
                return found.clone();
            }
            self.next(name);
        }
    }

    fn next(&mut self, wanted: &str) {
        let next = self.lines.recv_timeout(SOON);
        let got: Vec<_> = self.got.iter().map(|it| &it["name"]).collect();
        self.got
            .push(next.unwrap_or_else(|_| panic!("no {wanted} among {got:?}")));
    }
}

impl Drop for Otlp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The graphs that are observed.
pub(super) fn document(dir: &Path) -> std::path::PathBuf {
    let graph = |name: &str, first: &str, nodes: &[Value]| {
        let mut all = vec![json!({"id": "entry", "type": "entry", "next": first})];
        all.extend_from_slice(nodes);
        all.push(json!({"id": "exit", "type": "exit"}));
        json!({"name": name, "description": name, "inputSchema": {"type": "object"}, "nodes": all})
    };
    let call = |id: &str, tool: &str, args: Value| json!({"id": id, "type": "mcp", "server": "u", "tool": tool, "args": args, "next": "exit"});
    let mut again = call(
        "again",
        "flaky",
        json!({"file": dir.join("count"), "fail_times": 1}),
    );
    again["retry"] = json!({"max": 1, "wait_ms": 1, "backoff": 1});
    let mut asked = call("asked", "echo", json!({"all": "well"}));
    asked["approval"] = json!("Somebody should look.");
    let sum =
        json!({"id": "sum", "type": "transform", "transform": {"expr": "1 + 1"}, "next": "exit"});
    let below =
        json!({"id": "below", "type": "workflow", "workflow": "inner", "args": {}, "next": "exit"});
    let document = json!({
        "version": "1.0",
        "server": {"name": "trams", "version": "1.0.0"},
        "mcpServers": {"u": {"command": program::test_server().unwrap()}},
        "tools": [
            graph("look", "look", &[call("look", "meta", json!({}))]),
            graph("breaks", "breaks", &[call("breaks", "fail", json!({"message": "it broke"}))]),
            graph("again", "again", &[again]),
            graph("outer", "below", &[below]),
            graph("inner", "sum", &[sum]),
            graph("careful", "asked", &[asked]),
            graph("secret", "say", &[call("say", "echo", json!({"key": "${settings.API_KEY}"}))]),
        ],
    });
    let path = dir.join("trams.yaml");
    std::fs::write(&path, document.to_string()).unwrap();
    path
}

/// The binary with these words on a document, sending to a receiver.
pub(super) fn run(home: &Tramline, to: &Otlp, words: &[&str]) -> crate::support::CommandResult {
    let mut command = home.command(words);
    to.set(&mut command);
    crate::support::CommandResult(command.output().unwrap())
}

/// `tramline serve` over stdio, sending to a receiver.
pub(super) fn talk(home: &Tramline, to: &Otlp, document: &Path) -> StdioClient {
    let mut command = home.command(&["serve"]);
    to.set(&mut command);
    let child = command
        .arg(document)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    StdioClient::start(child.unwrap())
}

/// `tramline serve --http` with more words.
pub(super) fn http(home: &Tramline, document: &Path, words: &[&str]) -> Http {
    let mut command = home.command(&["serve"]);
    command.arg(document).args(words);
    Http::start(command)
}
