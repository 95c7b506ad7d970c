//! Intents with widely used servers: the tools an agent is offered, the plans it submits, and the
//! workflow patterns that agents are taught. The agent here knows nothing but the replies.

use crate::test_servers::{StdioClient, installed, serve};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod offered;
mod patterns;
mod seed;

/// A project in a folder with a repository, a database and a memory, and the servers that reach
/// them.
pub(super) struct Workspace {
    _folder: tempfile::TempDir,
    pub(super) path: PathBuf,
}

impl Workspace {
    /// `None` if the servers are not installed.
    pub(super) fn new() -> Option<Self> {
        let node = |name: &str| installed(&format!("node_modules/.bin/mcp-server-{name}"));
        let (files, memory) = (node("filesystem")?, node("memory")?);
        let git = installed("venv/bin/mcp-server-git")?;
        let sqlite = installed("old-venv/bin/mcp-server-sqlite")?;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let house = Self {
            _folder: folder,
            path,
        };
        house.fill();
        let servers = json!({"mcpServers": {
            "files": {"command": files, "args": [house.project()]},
            "git": {"command": git},
            "memory": {"command": memory, "env": {"MEMORY_FILE_PATH": house.path.join("memory.jsonl")}},
            "sqlite": {"command": sqlite, "args": ["--db-path", house.path.join("shop.db")]}}});
        house.write("mcp.json", &servers.to_string());
        Some(house)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.path.join("project")
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path.join(name), text).unwrap();
    }

    fn fill(&self) {
        std::fs::create_dir_all(self.project().join("src")).unwrap();
        self.write(
            "project/src/line.ts",
            "const line: number = 'seven'; // delay in minutes\n",
        );
        self.write("project/data.xml", "<line number=\"7\"/>\n");
        self.write("project/config.xml", "<stops>12</stops>\n");
        for words in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Tester"],
            &["config", "user.email", "tester@example.com"],
        ] {
            git(&self.project(), words);
        }
    }

    /// A client of a server on it, with only the control toolset.
    pub(super) fn serve(&self, model: Option<&str>) -> StdioClient {
        let model = model.map_or_else(String::new, |url| {
            format!("model: {{ name: m, url: '{url}', timeout: 10s }}\n")
        });
        self.write("tramline.yaml", &format!("{model}mcp_config: mcp.json\n"));
        let mut command = serve(&[], &self.path.join("data"));
        command
            .args(["--toolsets", "control", "--config"])
            .arg(self.path.join("tramline.yaml"))
            .args(["--root", "."])
            .current_dir(&self.path);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        StdioClient::start(child)
    }
}

pub(super) fn git(repository: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    let output = command.arg("-C").arg(repository).args(words).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Calls a tool and returns its reply.
pub(super) fn call(client: &mut StdioClient, tool: &str, arguments: Value) -> Value {
    let told = client.call(tool, &arguments);
    told["structuredContent"].clone()
}

/// The first of some tools that a reply offers, by the names of the servers' own tools.
pub(super) fn offered(reply: &Value, wanted: &[&str]) -> Value {
    let tools = reply["plan_request"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("{reply}"));
    let own = |tool: &Value| {
        let name = tool["name"].as_str().unwrap().to_owned();
        name.split_once(':').unwrap().1.to_owned()
    };
    let found = wanted
        .iter()
        .find_map(|name| tools.iter().find(|tool| own(tool) == *name));
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    found
        .unwrap_or_else(|| panic!("{wanted:?} is not among {names:?}"))
        .clone()
}

/// A step with an offered tool; its arguments must be in the tool's schema.
pub(super) fn step(reply: &Value, id: &str, wanted: &[&str], args: Value) -> Value {
    let tool = offered(reply, wanted);
    let known = tool["argsSchema"]["properties"].as_object().unwrap();
    for name in args.as_object().unwrap().keys() {
        assert!(known.contains_key(name), "{name}: {tool}");
    }
    json!({"id": id, "tool": tool["name"], "args": args})
}

/// Submits a plan for a reply's plan request.
pub(super) fn submit(client: &mut StdioClient, reply: &Value, plan: Value) -> Value {
    assert_eq!(reply["status"], "suggestion", "{reply}");
    call(
        client,
        "submit_plan",
        json!({"handle": reply["handle"], "plan": plan}),
    )
}
