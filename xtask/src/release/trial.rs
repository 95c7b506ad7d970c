//! What every installed package must do: print its version, create and run a workflow, and serve it
//! to an MCP client over stdio.

use super::process;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take for one reply, and to exit.
const REPLY_MAX: Duration = Duration::from_secs(20);
/// How often an exit is looked for.
const EXIT_POLL: Duration = Duration::from_millis(5);

/// An installed program: its command, and the empty home it runs in.
pub(super) struct Installed {
    /// The program and its leading arguments.
    pub(super) words: Vec<String>,
    pub(super) home: PathBuf,
    /// Variables beyond the clean environment.
    pub(super) env: Vec<(String, String)>,
}

impl Installed {
    /// A program that is started by its path.
    pub(super) fn at(program: &Path, home: &Path) -> Self {
        Self {
            words: vec![program.display().to_string()],
            home: home.to_path_buf(),
            env: Vec::new(),
        }
    }

    /// The command with these arguments, in the clean environment.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut words = self.words.iter();
        let mut command = process::command(words.next().map_or("", String::as_str));
        command.args(words).args(arguments);
        self.prepare(&mut command);
        command
    }

    /// The command without a time limit, whose process is the program itself.
    fn direct(&self, arguments: &[&str]) -> Command {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).args(arguments);
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        process::clean(command, &self.home);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
    }

    /// Runs the first commands of a new user. Returns what was shown to work.
    pub(super) fn first_commands(&self, version: &str) -> Result<String> {
        let printed = process::output(&mut self.command(&["--version"]))?;
        if printed.trim() != format!("tramline {version}") {
            bail!("--version printed {:?}", printed.trim());
        }
        process::output(&mut self.command(&["init", "hello"]))?;
        let printed = process::output(&mut self.command(&["run", "hello/hello.yaml", "name=Ada"]))?;
        if !printed.contains("Hello, Ada!") {
            bail!("`run` printed {printed:?}");
        }
        let mut server = StdioServer::start(self.direct(&["serve", "hello/hello.yaml"]))?;
        let tools = server.tools()?;
        if tools != ["hello"] {
            bail!("tools/list returned {tools:?}");
        }
        let call = json!({"name": "hello", "arguments": {"name": "Ada"}});
        let reply = server.request("tools/call", &call)?;
        if !reply.to_string().contains("Hello, Ada!") {
            bail!("tools/call returned {reply}");
        }
        let code = server.close()?;
        if code != Some(0) {
            bail!("the server exited with {code:?} after its input was closed");
        }
        Ok("version, init, run, tools/list, tools/call".to_owned())
    }

    /// The exit code after SIGTERM while serving.
    pub(super) fn code_after_sigterm(&self) -> Result<Option<i32>> {
        let mut server = StdioServer::start(self.direct(&["serve", "hello/hello.yaml"]))?;
        server.tools()?;
        let pid = server.child.id().to_string();
        process::output(Command::new("kill").args(["-TERM", &pid]))?;
        server.wait()
    }

    /// The exit code of a command.
    pub(super) fn code(&self, arguments: &[&str]) -> Result<Option<i32>> {
        Ok(process::finish(&mut self.command(arguments))?.status.code())
    }

    /// Starts a server over HTTP and waits until it accepts connections.
    pub(super) fn serve_http(&self, arguments: &[&str], address: &str) -> Result<HttpServer> {
        let mut command = self.direct(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut server = HttpServer(command.spawn()?);
        let deadline = Instant::now() + REPLY_MAX;
        while TcpStream::connect(address).is_err() {
            if Instant::now() > deadline || server.0.try_wait()?.is_some() {
                bail!("the server at {address} did not start");
            }
            thread::sleep(EXIT_POLL);
        }
        Ok(server)
    }

    /// The tools that a server with these arguments lists.
    pub(super) fn served_tools(&self, arguments: &[&str]) -> Result<Vec<String>> {
        let mut server = StdioServer::start(self.direct(arguments))?;
        let tools = server.tools()?;
        server.close()?;
        Ok(tools)
    }
}

/// A server over HTTP, which is ended when this is dropped.
pub(super) struct HttpServer(Child);

impl Drop for HttpServer {
    fn drop(&mut self) {
        // Fails if it has exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An MCP server behind pipes, and the little of a client that is needed to list and call tools.
struct StdioServer {
    child: Child,
    lines: Receiver<String>,
    last_id: u64,
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        // Fails if it has exited, which is the usual case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl StdioServer {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {:?}", command.get_program()))?;
        let stdout = child.stdout.take().context("no standard output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut server = Self {
            child,
            lines,
            last_id: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "xtask", "version": env!("CARGO_PKG_VERSION")},
        });
        server.request("initialize", &hello)?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    /// The names of all tools.
    fn tools(&mut self) -> Result<Vec<String>> {
        let reply = self.request("tools/list", &json!({}))?;
        let tools = reply["tools"].as_array().context("no list of tools")?;
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let deadline = Instant::now() + REPLY_MAX;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.with_context(|| format!("no reply to {method}"))?;
            let reply: Value = serde_json::from_str(&line).context("a line that is not JSON")?;
            if reply["id"] == id && reply.get("method").is_none() {
                return match reply.get("error") {
                    Some(error) => bail!("{method} failed: {error}"),
                    None => Ok(reply["result"].clone()),
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.child.stdin.as_mut().context("the input is closed")?;
        writeln!(stdin, "{message}")?;
        Ok(stdin.flush()?)
    }

    /// Closes the input, which ends a server, and returns its exit code.
    fn close(&mut self) -> Result<Option<i32>> {
        drop(self.child.stdin.take());
        self.wait()
    }

    fn wait(&mut self) -> Result<Option<i32>> {
        let deadline = Instant::now() + REPLY_MAX;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code());
            }
            thread::sleep(EXIT_POLL);
        }
        bail!("the server did not exit")
    }
}

/// A fresh home for a trial.
pub(super) fn home(work: &Path, name: &str) -> Result<PathBuf> {
    let home = super::files::fresh(&work.join(name))?;
    fs::canonicalize(&home).with_context(|| format!("resolving {}", home.display()))
}
