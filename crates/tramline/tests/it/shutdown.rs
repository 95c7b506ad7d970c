//! The end of a process: however it is asked to end or dies, it ends in time, and nothing that it
//! started outlives it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tramline_test_server::processes::{
    self, MARK, Signal, marked, send, wait_until, wait_until_gone,
};
use tramline_test_server::program;

/// The longest time an end may take.
const END_MAX: Duration = Duration::from_secs(5);
/// Longer than a start takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A directory with a document whose processes carry a mark.
struct MarkedProject {
    dir: TempDir,
    mark: String,
}

impl MarkedProject {
    /// A document with one graph of one node, and the server `s`, started by a shell.
    fn new(server: &str, node: &Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mark = processes::mark();
        let mut node = node.clone();
        node["id"] = "it".into();
        node["next"] = "exit".into();
        node["timeout"] = "10m".into();
        let document = json!({
            "version": "1.0",
            "server": {"name": "ends", "version": "1.0.0"},
            "mcpServers": {"s": {
                "command": "/bin/sh",
                "args": ["-c", server.replace("UNRULY", program::test_server().unwrap().to_str().unwrap())],
                "env": {MARK: mark, "UNRULY_LOG": dir.path().join("calls.log")},
            }},
            "tools": [{
                "name": "go", "description": "Goes.", "inputSchema": {"type": "object"},
                "nodes": [{"id": "entry", "type": "entry", "next": "it"}, node, {"id": "exit", "type": "exit"}],
            }],
        });
        std::fs::write(dir.path().join("ends.yaml"), document.to_string()).unwrap();
        Self { dir, mark }
    }

    /// One whose call never ends.
    fn hanging(server: &str) -> Self {
        let node = json!({"type": "mcp", "server": "s", "tool": "hang", "args": {"told": 1}});
        Self::new(server, &node)
    }

    /// One that runs a command; `MARK` is in its environment.
    fn shell(command: &str) -> Self {
        let scene = Self::new("true", &json!({"type": "mcp"}));
        let path = scene.dir.path().join("ends.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        let node = &mut document["tools"][0]["nodes"][1];
        node["server"] = "builtin".into();
        node["tool"] = "shell".into();
        node["args"] = json!({"command": command, "env": {MARK: scene.mark}});
        std::fs::write(path, document.to_string()).unwrap();
        scene
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tramline"));
        command
            .args(arguments)
            .arg("--data-dir")
            .arg(self.dir.path().join("data"))
            .current_dir(self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }

    fn run(&self) -> TestProcess {
        let words = ["run", "ends.yaml", "go", "--allow-shell", "--json"];
        TestProcess(self.command(&words).spawn().unwrap())
    }

    /// Waits until the log shows that the call has arrived.
    fn until_called(&self) {
        let log = self.dir.path().join("calls.log");
        wait_until(SOON, || {
            std::fs::read_to_string(&log).is_ok_and(|text| text.contains('\n'))
        })
        .unwrap();
    }

    fn until_file(&self, name: &str) {
        let path = self.dir.path().join(name);
        wait_until(SOON, || path.exists()).unwrap();
    }

    /// Nothing that was started is left.
    fn is_empty_in(&self, patience: Duration) {
        wait_until_gone(&self.mark, patience).unwrap();
    }
}

/// A process that is killed if the test ends first.
struct TestProcess(Child);

impl TestProcess {
    fn send(&self, signal: Signal) {
        send(self.0.id(), signal).unwrap();
    }

    /// Waits for its end, which must be in time.
    fn ended(&mut self, patience: Duration) -> ExitStatus {
        let mut status = None;
        wait_until(patience, || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        })
        .unwrap();
        status.unwrap()
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that ignores the end of its input and `SIGTERM`, with a child that has left its group.
const STUBBORN: &str = "setsid sleep 1000 & trap '' TERM; exec UNRULY --ignore-eof --grandchild";

const REQUESTS: [Signal; 3] = [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGINT];

#[test]
fn a_run_that_is_asked_to_end_does_so_with_all_it_started() {
    for signal in REQUESTS {
        let scene = MarkedProject::hanging(STUBBORN);
        let mut run = scene.run();
        scene.until_called();
        let asked = Instant::now();
        run.send(signal);
        let status = run.ended(END_MAX);
        assert_eq!(status.code(), Some(130), "{signal}: {status}");
        scene.is_empty_in(END_MAX.saturating_sub(asked.elapsed()));
    }
}

#[test]
fn a_server_over_pipes_that_is_asked_to_end_does_so_with_all_it_started() {
    for signal in REQUESTS {
        let scene = MarkedProject::hanging(STUBBORN);
        let mut server = TestProcess(scene.command(&["serve", "ends.yaml"]).spawn().unwrap());
        let mut input = server.0.stdin.take().unwrap();
        writeln!(input, "{}", hello()).unwrap();
        writeln!(
            input,
            "{}",
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "go", "arguments": {}}})
        )
        .unwrap();
        scene.until_called();
        let asked = Instant::now();
        server.send(signal);
        let status = server.ended(END_MAX);
        assert!(status.code().is_some(), "{signal}: {status}");
        scene.is_empty_in(END_MAX.saturating_sub(asked.elapsed()));
        drop(input);
    }
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

#[test]
fn a_server_over_http_that_is_asked_to_end_does_so_with_all_it_started() {
    for signal in REQUESTS {
        let scene = MarkedProject::hanging(STUBBORN);
        let words = ["serve", "ends.yaml", "--http", "127.0.0.1:0"];
        let mut server = TestProcess(
            scene
                .command(&words)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let said = BufReader::new(server.0.stderr.take().unwrap()).lines();
        let said = said
            .map_while(Result::ok)
            .find(|line| line.starts_with("serving at "));
        let address = said.unwrap();
        let address = address
            .trim_start_matches("serving at http://")
            .trim_end_matches("/mcp");
        let mut connection = std::net::TcpStream::connect(address).unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "go", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}}})
        .to_string();
        write!(
            connection,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: tools/call\r\nmcp-name: go\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        scene.until_called();
        let asked = Instant::now();
        server.send(signal);
        let status = server.ended(END_MAX);
        assert!(status.code().is_some(), "{signal}: {status}");
        scene.is_empty_in(END_MAX.saturating_sub(asked.elapsed()));
    }
}

#[test]
fn what_a_killed_process_had_started_ends() {
    let scene = MarkedProject::hanging(STUBBORN);
    let mut run = scene.run();
    scene.until_called();
    // The server, its child, and one that has left its group, besides the supervisors.
    wait_until(SOON, || marked(&scene.mark).len() >= 3).unwrap();
    run.send(Signal::SIGKILL);
    run.ended(END_MAX);
    scene.is_empty_in(END_MAX);
}

#[test]
fn a_command_and_all_it_started_end_with_the_process() {
    for signal in [Signal::SIGKILL, Signal::SIGHUP, Signal::SIGTERM] {
        let scene = MarkedProject::shell(
            "trap '' TERM HUP; setsid sleep 1000 & sleep 1000 & touch here; wait",
        );
        let mut run = scene.run();
        scene.until_file("here");
        let asked = Instant::now();
        run.send(signal);
        run.ended(END_MAX);
        scene.is_empty_in(END_MAX.saturating_sub(asked.elapsed()));
    }
}

#[test]
fn a_command_leaves_nothing_when_it_ends() {
    let scene = MarkedProject::shell("setsid sleep 1000 > /dev/null 2>&1 < /dev/null & echo begun");
    let mut run = scene.run();
    assert!(run.ended(SOON).success());
    // Before the command's result was taken, not later.
    assert_eq!(marked(&scene.mark), [0_u32; 0]);
}

#[test]
fn a_file_that_blocks_does_not_keep_the_process() {
    let scene = MarkedProject::new(
        "true",
        &json!({"type": "mcp", "server": "builtin", "tool": "read-file", "args": {"path": "pipe"}}),
    );
    let made = Command::new("mkfifo")
        .arg(scene.dir.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    let mut run = scene.run();
    until_started(scene.dir.path());
    run.send(Signal::SIGTERM);
    run.ended(END_MAX);
}

/// Waits until the data directory exists: the run has started, or is about to.
fn until_started(dir: &Path) {
    wait_until(SOON, || dir.join("data/tramline.db").exists()).unwrap();
}

#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let scene = MarkedProject::hanging("exec UNRULY");
    let mut command = Command::new("/bin/sh");
    let script = "trap '' HUP; exec \"$0\" run ends.yaml go --data-dir data";
    command.args(["-c", script, env!("CARGO_BIN_EXE_tramline")]);
    command.current_dir(scene.dir.path()).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = TestProcess(command.spawn().unwrap());
    scene.until_called();
    run.send(Signal::SIGHUP);
    // An ignored signal that is not waited for does nothing. Only signals that are waited for are
    // blocked.
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.0.id())).unwrap();
    let mask = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    let hang_up = 1 << (Signal::SIGHUP as i32 - 1);
    assert_eq!(
        (mask("SigIgn:") & hang_up, mask("SigBlk:") & hang_up),
        (hang_up, 0)
    );
    run.send(Signal::SIGTERM);
    assert_eq!(run.ended(END_MAX).code(), Some(130));
    scene.is_empty_in(END_MAX);
}

#[test]
fn a_child_starts_with_no_signal_blocked_and_nothing_of_ours_open() {
    let scene = MarkedProject::shell("grep SigBlk /proc/self/status; ls -l /proc/self/fd");
    let words = ["run", "ends.yaml", "go", "--allow-shell", "--json"];
    let output = scene.command(&words).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let printed = said["result"]["stdout"].as_str().unwrap();
    assert!(
        printed.starts_with("SigBlk:\t0000000000000000\n"),
        "{printed}"
    );
    // What this test was started with is inherited; no handle, socket or file of the process is.
    for ours in ["anon_inode", "socket:", "tramline.db", ".lock"] {
        assert!(!printed.contains(ours), "{ours}: {printed}");
    }
}

#[test]
fn the_end_of_a_child_is_told_as_it_was() {
    for (command, says) in [("exit 3", "exit code 3"), ("kill -9 $$", "exit code 137")] {
        let scene = MarkedProject::shell(command);
        let words = ["run", "ends.yaml", "go", "--allow-shell", "--json"];
        let output = scene.command(&words).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(says), "{said}");
    }
}
