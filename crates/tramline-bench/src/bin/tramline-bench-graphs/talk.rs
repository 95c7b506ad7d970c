//! A server process and a client of it over stdio.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server and its client.
pub(crate) struct StdioClient {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
    id: u64,
}

impl StdioClient {
    /// Starts a server and initializes the connection.
    #[allow(dead_code, reason = "a benchmark with a timeout does both itself")]
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut talk = Self::spawn(command)?;
        talk.initialize()?;
        Ok(talk)
    }

    /// Starts a server.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {command:?}"))?;
        let stdin = child.stdin.take().context("stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("stdout")?);
        Ok(Self {
            child,
            stdin,
            stdout,
            line: String::new(),
            id: 0,
        })
    }

    /// Initializes the connection.
    pub(crate) fn initialize(&mut self) -> Result<()> {
        self.ask(
            "initialize",
            &json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}}),
        )?;
        writeln!(
            self.stdin,
            r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#
        )?;
        Ok(())
    }

    /// The id of its process.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.stdin, "{request}")?;
        loop {
            self.line.clear();
            ensure!(
                self.stdout.read_line(&mut self.line)? > 0,
                "the server is gone"
            );
            if !self.line.contains("\"id\"") {
                continue;
            }
            let mut answer: Value = serde_json::from_str(&self.line)?;
            if answer["id"] == self.id {
                ensure!(answer.get("error").is_none(), "{answer}");
                return Ok(answer["result"].take());
            }
        }
    }

    /// Sends `times` requests before it waits for all answers.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn ask_many(&mut self, method: &str, params: &Value, times: usize) -> Result<()> {
        for _ in 0..times {
            self.id += 1;
            let request =
                json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
            writeln!(self.stdin, "{request}")?;
        }
        let mut answered = 0;
        while answered < times {
            self.line.clear();
            ensure!(
                self.stdout.read_line(&mut self.line)? > 0,
                "the server is gone"
            );
            let answer: Value = serde_json::from_str(&self.line)?;
            if answer.get("id").is_some() && answer.get("method").is_none() {
                ensure!(answer.get("result").is_some(), "{answer}");
                answered += 1;
            }
        }
        Ok(())
    }

    /// Calls a tool with a number; returns the number in the answer, and the time it took.
    pub(crate) fn call(&mut self, tool: &str, n: u64) -> Result<(u64, Duration)> {
        let params = json!({"name": tool, "arguments": {"n": n}});
        let began = Instant::now();
        let result = self.ask("tools/call", &params)?;
        let took = began.elapsed();
        let given = result["structuredContent"]["n"].as_f64();
        let given = given.with_context(|| format!("no number in {result}"))?;
        Ok((given as u64, took))
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
