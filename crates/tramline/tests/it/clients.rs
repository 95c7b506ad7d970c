//! Clients of another make against `tramline serve`: the Python SDK, and bare HTTP for what it
//! would not do.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The script that talks through the Python SDK.
const TALK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/talk.py");
const TRAMLINE: &str = env!("CARGO_BIN_EXE_tramline");
/// What is waited for comes within this, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Python that has the SDK, or nothing after saying so.
fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("TRAMLINE_TOOLS")
        .map_or_else(|| root().join("target/tools"), PathBuf::from);
    let program = folder.join("venv/bin/python");
    if program.exists() {
        return Some(program);
    }
    let missing = format!("{} is not installed", program.display());
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    println!("not run: {missing}");
    None
}

/// The arguments of `serve` with every example.
fn serve(data: &Path) -> Vec<String> {
    let mut arguments = vec!["serve".to_owned()];
    for name in ["switch", "errors", "approval", "loop", "parallel"] {
        arguments.push(format!("examples/graphs/{name}.yaml"));
    }
    arguments.extend(["--data-dir".into(), data.display().to_string()]);
    arguments
}

fn calls() -> Value {
    json!([
        {"tool": "choose_shipping", "arguments": {"weight_kg": 25}},
        {"tool": "read_lines", "arguments": {"path": "no-such-file.txt"}},
        {"tool": "choose_shipping", "arguments": {"weight_kg": "heavy"}},
        {"tool": "write_note", "arguments": {"path": "target/never-written.txt", "text": "x"}},
        {"tool": "summarize", "arguments": {"numbers": [1, 2, 3]}},
    ])
}

fn talk(python: &Path, spec: &Value) -> Value {
    let output = Command::new(python)
        .arg(TALK)
        .arg(spec.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{spec}\n{told}");
    serde_json::from_slice(&output.stdout).unwrap()
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
    let text = chosen["text"][0].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        chosen["structured"]
    );
    let steps: Vec<_> = chosen["progress"]
        .as_array()
        .unwrap()
        .iter()
        .map(|told| told["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        steps,
        [
            "entry is done",
            "choose is done",
            "freight is done",
            "exit is done"
        ]
    );

    let error = &failed["structured"]["error"];
    assert_eq!(failed["is_error"], true, "{failed}");
    assert_eq!(error["node"], "read");
    assert!(error["run_id"].as_str().unwrap().starts_with("run_"));
    let progress = failed["progress"].to_string();
    assert!(
        progress.contains("read begins (builtin:read-file)"),
        "{progress}"
    );

    assert_eq!(refused["is_error"], true);
    let text = refused["text"][0].as_str().unwrap();
    assert!(text.contains("weight_kg"), "{text}");

    let error = &paused["structured"]["error"];
    let waits = &error["waiting"][0];
    assert_eq!(waits["kind"], "approval", "{paused}");
    assert!(waits["checkpoint_id"].as_str().unwrap().starts_with("chk_"));
    assert!(paused["progress"].to_string().contains("compose is done"));

    assert_eq!(summary["is_error"], false, "{summary}");
}

#[test]
fn the_python_client_over_standard_streams() {
    let Some(python) = python() else { return };
    let data = tempfile::tempdir().unwrap();
    for (mode, protocol) in [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")] {
        let stdio = json!({"command": TRAMLINE, "args": serve(data.path()), "cwd": root()});
        let spec = json!({"stdio": stdio, "mode": mode, "calls": calls()});
        let said = talk(&python, &spec);
        assert_eq!(said["protocol"], protocol);
        check(&said);
    }
}

#[test]
fn the_python_client_over_http() {
    let Some(python) = python() else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Http::start(data.path(), "127.0.0.1:0", Some("secret"));
    for mode in ["legacy", "2026-07-28"] {
        let spec = json!({"http": server.url(), "token": "secret", "mode": mode, "calls": calls()});
        check(&talk(&python, &spec));
    }
}

/// `tramline serve --http`, ended when dropped.
struct Http {
    child: Child,
    address: String,
}

impl Http {
    fn start(data: &Path, address: &str, token: Option<&str>) -> Self {
        let mut command = Command::new(TRAMLINE);
        command
            .args(serve(data))
            .args(["--http", address])
            .current_dir(root())
            .env_remove("TRAMLINE_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(token) = token {
            command.env("TRAMLINE_TOKEN", token);
        }
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = stderr.lines().map_while(Result::ok);
        let said = lines
            .find_map(|line| Some(line.split_once("http://")?.1.to_owned()))
            .unwrap();
        let address = said.strip_suffix("/mcp").unwrap().to_owned();
        // Nobody waits for a reader that has gone.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The status of a bare request with these headers.
    fn post(&self, headers: &[(&str, &str)]) -> u16 {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}})
        .to_string();
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n\
             Content-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
            .write_all(format!("{request}\r\n{body}").as_bytes())
            .unwrap();
        // The first line says it; a stream of events may stay open.
        let mut line = [0; 12];
        stream.read_exact(&mut line).unwrap();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn foreign_origins_and_wrong_tokens_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let open = Http::start(data.path(), "127.0.0.1:0", None);
    let own = format!("http://{}", open.address);
    assert_eq!(open.post(&[]), 200);
    assert_eq!(open.post(&[("Origin", &own)]), 200);
    assert_eq!(open.post(&[("Origin", "http://evil.example")]), 403);
    drop(open);
    let closed = Http::start(data.path(), "127.0.0.1:0", Some("secret"));
    assert_eq!(closed.post(&[]), 401);
    assert_eq!(closed.post(&[("Authorization", "Bearer secreT")]), 401);
    assert_eq!(closed.post(&[("Authorization", "Basic secret")]), 401);
    assert_eq!(closed.post(&[("Authorization", "Bearer secret")]), 200);
    let foreign = [
        ("Authorization", "Bearer secret"),
        ("Origin", "http://evil.example"),
    ];
    assert_eq!(closed.post(&foreign), 403);
}

#[test]
fn beyond_loopback_a_token_is_needed() {
    let data = tempfile::tempdir().unwrap();
    let output = Command::new(TRAMLINE)
        .args(serve(data.path()))
        .args(["--http", "0.0.0.0:0"])
        .current_dir(root())
        .env_remove("TRAMLINE_TOKEN")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("TRAMLINE_TOKEN"), "{said}");
}

#[test]
fn a_killed_servers_run_is_listed_and_answered_afterwards() {
    let data = tempfile::tempdir().unwrap();
    let mut child = Command::new(TRAMLINE)
        .args(serve(data.path()))
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "write_note", "arguments": {"path": "target/never-written.txt", "text": "x"}}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    writeln!(stdin, "{hello}\n{ready}\n{call}").unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let answer = stdout
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains("chk_"))
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let error = &answer["result"]["structuredContent"]["error"];
    let (run, asked) = (&error["run_id"], &error["waiting"][0]["checkpoint_id"]);
    let listed = tramline(data.path(), &["runs"]);
    assert_eq!(listed["runs"][0]["run_id"], *run);
    assert_eq!(listed["runs"][0]["status"], "paused");
    let answer = ["runs", "answer", asked.as_str().unwrap(), "--no"];
    tramline(data.path(), &answer);
    let began = Instant::now();
    while tramline(data.path(), &["runs"])["runs"][0]["status"] == "paused" {
        assert!(began.elapsed() < PATIENCE);
    }
}

/// What a command prints.
fn tramline(data: &Path, words: &[&str]) -> Value {
    let output = Command::new(TRAMLINE)
        .args(words)
        .args(["--json", "--data-dir"])
        .arg(data)
        .current_dir(root())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}
