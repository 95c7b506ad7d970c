//! Commands as child processes, with a graph that calls the unruly server.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tramline_test_server::processes::{self, MARK, wait_until, wait_until_gone};
use tramline_test_server::program;

/// Longer than anything here takes on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A data directory, a document with one graph, and a log of the calls that arrived.
pub(crate) struct UnrulyProject {
    dir: TempDir,
    pub(crate) mark: String,
}

/// How a command ended and what it printed.
#[derive(Debug)]
pub(crate) struct CommandOutcome {
    pub(crate) exit: i32,
    pub(crate) json: Value,
}

/// A running command; killed if the test ends first.
pub(crate) struct RunningCommand(Option<Child>);

impl UnrulyProject {
    /// A yard with a graph of these nodes between `entry` and `exit`; the entry leads to the first
    /// of them. The server `u` behaves unless asked otherwise; `v` is started with its own
    /// arguments.
    pub(crate) fn new(first: &Value, nodes: &[Value], arguments_of_v: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mark = processes::mark();
        let server = |arguments: &[&str]| {
            json!({
                "command": program::test_server().unwrap(),
                "args": arguments,
                "env": {MARK: mark, "UNRULY_LOG": dir.path().join("calls.log")},
            })
        };
        let mut all = vec![json!({"id": "entry", "type": "entry", "next": first})];
        all.extend_from_slice(nodes);
        all.push(json!({"id": "exit", "type": "exit"}));
        let document = json!({
            "version": "1.0",
            "server": {"name": "yard", "version": "1.0.0"},
            "mcpServers": {"u": server(&[]), "v": server(arguments_of_v)},
            "tools": [
                {
                    "name": "go", "description": "Goes.",
                    "inputSchema": {"type": "object"}, "nodes": all,
                },
                {
                    "name": "sound", "description": "Shows that all is well.",
                    "inputSchema": {"type": "object"},
                    "nodes": [
                        {"id": "entry", "type": "entry", "next": "echo"},
                        call("echo", "echo", json!({"all": "well"})),
                        {"id": "exit", "type": "exit"},
                    ],
                },
            ],
        });
        let yard = Self { dir, mark };
        std::fs::write(yard.document(), document.to_string()).unwrap();
        yard
    }

    /// The document, in JSON, which is also YAML.
    pub(crate) fn document(&self) -> PathBuf {
        self.dir.path().join("yard.yaml")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tramline"));
        command
            .args(arguments)
            .arg("--data-dir")
            .arg(self.dir.path().join("data"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a command.
    pub(crate) fn start(&self, arguments: &[&str]) -> RunningCommand {
        let child = self.command(arguments).arg("--json").spawn().unwrap();
        RunningCommand(Some(child))
    }

    /// Starts the MCP server, with its streams as pipes.
    pub(crate) fn serve(&self) -> Child {
        self.command(&["serve", "yard.yaml"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs a command to its end.
    pub(crate) fn say(&self, arguments: &[&str]) -> CommandOutcome {
        self.start(arguments).ended()
    }

    /// Runs the graph to its end.
    pub(crate) fn go(&self) -> CommandOutcome {
        self.say(&["run", "yard.yaml", "go"])
    }

    /// Whatever came before: the next run works, and no child is left afterwards.
    pub(crate) fn is_sound(&self) {
        let said = self.say(&["run", "yard.yaml", "sound"]);
        assert_eq!(
            (said.exit, &said.json["result"]),
            (0, &json!({"all": "well"}))
        );
        wait_until_gone(&self.mark, SOON).unwrap();
    }

    /// The lines that the server has logged.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join("calls.log")).unwrap_or_default();
        // The last line may be incomplete.
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The nodes whose calls were logged, in order.
    pub(crate) fn logged_nodes(&self) -> Vec<String> {
        let node = |line: &Value| Some(line["arguments"]["node"].as_str()?.to_owned());
        self.log().iter().filter_map(node).collect()
    }

    /// Waits until the server has logged this many lines.
    pub(crate) fn until_logged(&self, lines: usize) {
        wait_until(SOON, || self.log().len() >= lines)
            .unwrap_or_else(|late| panic!("{lines} calls: {late}, came {:?}", self.log()));
    }

    /// The only run, once it exists.
    pub(crate) fn run_id(&self) -> String {
        let mut found = None;
        wait_until(SOON, || {
            let said = self.say(&["runs"]);
            assert_eq!(said.exit, 0, "{said:?}");
            found = said.json["runs"][0]["run_id"].as_str().map(str::to_owned);
            found.is_some()
        })
        .unwrap();
        found.unwrap()
    }

    /// The run as `runs show` prints it.
    pub(crate) fn shown(&self, run: &str) -> Value {
        let said = self.say(&["runs", "show", run]);
        assert_eq!(said.exit, 0, "{said:?}");
        said.json
    }

    /// Waits until the run as printed contains something.
    pub(crate) fn until_shown<T>(&self, run: &str, see: impl Fn(&Value) -> Option<T>) -> T {
        let mut seen = None;
        wait_until(SOON, || {
            seen = see(&self.shown(run));
            seen.is_some()
        })
        .unwrap_or_else(|late| panic!("{late}: {}", self.shown(run)));
        seen.unwrap()
    }
}

impl RunningCommand {
    /// The process's id.
    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> CommandOutcome {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        said(&output)
    }

    /// Kills it without warning.
    pub(crate) fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn said(output: &Output) -> CommandOutcome {
    let text = String::from_utf8_lossy(&output.stdout);
    let json = serde_json::from_str(text.trim()).unwrap_or_else(|_| panic!("{output:?}"));
    CommandOutcome {
        exit: output.status.code().unwrap(),
        json,
    }
}

/// A node that calls a tool of `u` and leads to the exit.
pub(crate) fn call(id: &str, tool: &str, args: Value) -> Value {
    json!({"id": id, "type": "mcp", "server": "u", "tool": tool, "args": args, "next": "exit"})
}

/// The same with additional or other fields.
pub(crate) fn with(mut node: Value, fields: Value) -> Value {
    let (Value::Object(node), Value::Object(fields)) = (&mut node, fields) else {
        panic!("a node and its fields are objects");
    };
    node.extend(fields);
    Value::Object(node.clone())
}
