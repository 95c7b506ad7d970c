//! `tramline serve` as a process: what clients receive when files and servers change.

use crate::support::root;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const TRAMLINE: &str = env!("CARGO_BIN_EXE_tramline");
/// The notification about changed tools.
const CHANGED: &str = "notifications/tools/list_changed";
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server process and its only client.
struct ServeProcess {
    child: Child,
    stdin: ChildStdin,
    said: Receiver<Value>,
    shown: Receiver<String>,
    asked: u32,
    /// Notifications received while waiting for something else.
    changes: usize,
}

impl ServeProcess {
    fn start(data: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(TRAMLINE)
            .arg("serve")
            .args(arguments)
            .arg("--data-dir")
            .arg(data)
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (say, said) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = say.send(serde_json::from_str(&line).unwrap());
            }
        });
        let (show, shown) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = show.send(line);
            }
        });
        let stdin = child.stdin.take().unwrap();
        let mut served = Self {
            child,
            stdin,
            said,
            shown,
            asked: 0,
            changes: 0,
        };
        let client = json!({"name": "test", "version": "1"});
        served.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        served.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        served
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    /// Waits for a message for which `wanted` returns something.
    fn hear<T>(&mut self, mut wanted: impl FnMut(&Value) -> Option<T>) -> T {
        loop {
            let message = self.said.recv_timeout(PATIENCE).unwrap();
            if message["method"] == CHANGED {
                self.changes += 1;
            }
            if let Some(found) = wanted(&message) {
                return found;
            }
        }
    }

    /// Sends a request and waits for the response.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.hear(|message| (message["id"] == id).then(|| message["result"].clone()))
    }

    fn tools(&mut self) -> Vec<Value> {
        let listed = self.ask("tools/list", json!({}));
        listed["tools"].as_array().unwrap().clone()
    }

    fn names(&mut self) -> Vec<String> {
        let tools = self.tools();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }

    /// Waits for a change notification after which these are the tools.
    fn changes_to(&mut self, expected: &[&str]) {
        loop {
            while self.changes == 0 {
                self.hear(|message| (message["method"] == CHANGED).then_some(()));
            }
            self.changes = 0;
            if self.names() == expected {
                return;
            }
        }
    }

    /// Waits for a warning and returns its text.
    fn warned(&mut self) -> String {
        self.hear(|message| {
            let is_log = message["method"] == "notifications/message";
            is_log.then(|| {
                message["params"]["data"]["message"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
        })
    }

    /// Waits for a line on standard error.
    fn shows(&self, text: &str) {
        while !self.shown.recv_timeout(PATIENCE).unwrap().contains(text) {}
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A document with these tools, each of which calls `tool` of the server `u`.
fn document(tools: &[&str], tool: &str) -> String {
    let unruly = tramline_test_server::program::test_server().unwrap();
    let mut text = format!(
        "version: '1.0'\nserver: {{ name: s, version: '1' }}\n\
         mcpServers: {{ u: {{ command: {unruly:?} }} }}\ntools:\n"
    );
    for name in tools {
        text.push_str(&format!(
            "  - name: {name}\n    description: d\n    inputSchema: {{ type: object }}\n    nodes:\n\
             \x20     - {{ id: entry, type: entry, next: act }}\n\
             \x20     - {{ id: act, type: mcp, server: u, tool: {tool}, args: $.entry, next: exit }}\n\
             \x20     - {{ id: exit, type: exit }}\n"
        ));
    }
    text
}

/// Writes as editors do: to a temporary file, then renamed.
fn write(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("graphs.yaml");
    (folder, file)
}

#[test]
fn an_edit_is_served_and_a_flawed_one_is_not() {
    let (folder, file) = folder();
    write(&file, &document(&["one"], "echo"));
    let mut served = ServeProcess::start(folder.path(), &[file.to_str().unwrap()]);
    // The tools' server is listed in the background; its tools appear sooner or later.
    while served.tools()[0].get("annotations").is_none() {}
    assert_eq!(served.names(), ["one"]);

    write(&file, &document(&["one", "two"], "echo"));
    served.changes_to(&["one", "two"]);
    let called = served.ask("tools/call", json!({"name": "two", "arguments": {"a": 1}}));
    assert_eq!(called["structuredContent"], json!({"a": 1}));

    write(
        &file,
        &document(&["three"], "echo").replace("next: act", "next: axt"),
    );
    let warned = served.warned();
    assert!(
        warned.contains("T0008") && warned.contains("graphs.yaml"),
        "{warned}"
    );
    served.shows("T0008");
    served.shows("still served");
    assert_eq!(served.names(), ["one", "two"]);

    write(&file, &document(&["three"], "echo"));
    served.changes_to(&["three"]);
}

#[test]
fn a_tool_that_is_not_there_is_told_and_served_all_the_same() {
    let (folder, file) = folder();
    write(&file, &document(&["one"], "ecko"));
    let mut served = ServeProcess::start(folder.path(), &[file.to_str().unwrap(), "--no-reload"]);
    let warned = served.warned();
    assert!(warned.contains("did you mean `echo`"), "{warned}");
    served.shows("T0017");
    assert_eq!(served.names(), ["one"]);
    assert_eq!(served.tools()[0].get("annotations"), None);
}

#[test]
fn toolsets_are_named_or_refused() {
    let (folder, file) = folder();
    write(&file, &document(&["runs_list"], "echo"));
    let path = file.to_str().unwrap();
    let refused = |arguments: &[&str]| {
        let output = Command::new(TRAMLINE)
            .args(["serve", path])
            .args(arguments)
            .arg("--data-dir")
            .arg(folder.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&["--toolsets", "graph"]);
    assert!(said.contains("did you mean `graphs`?"), "{said}");
    let said = refused(&["--toolsets", "graphs,debug"]);
    assert!(said.contains("toolset `debug`"), "{said}");
    let mut served = ServeProcess::start(folder.path(), &["--toolsets", "debug"]);
    let names = served.names();
    assert!(names.contains(&"runs_list".to_owned()), "{names:?}");
}

#[test]
fn a_check_asks_the_servers_unless_told_not_to() {
    let (folder, file) = folder();
    let path = file.to_str().unwrap();
    let check = |arguments: &[&str]| {
        let output = Command::new(TRAMLINE)
            .args(["check", path, "--json", "--trust"])
            .args(arguments)
            .arg("--data-dir")
            .arg(folder.path())
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), found["flaws"].clone())
    };
    write(&file, &document(&["one"], "ecko"));
    let (code, found) = check(&[]);
    assert_eq!(
        (code, &found[0]["code"]),
        (Some(2), &json!("T0017")),
        "{found}"
    );
    assert_eq!(check(&["--offline"]), (Some(0), json!([])));
    write(
        &file,
        &document(&["one"], "echo").replace("command: \"", "command: \"/nowhere"),
    );
    let (code, found) = check(&[]);
    assert_eq!(code, Some(0), "{found}");
    assert_eq!(found[0]["severity"], "warning", "{found}");
}
