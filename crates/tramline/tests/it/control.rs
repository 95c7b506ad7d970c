//! The control tools over MCP, with the server restarted between every two calls.

use crate::support::Tramline;
use crate::test_servers::{Http, StdioClient, serve};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

mod commands;
mod learning;
mod many;
mod racing_answers;

const PATIENCE: Duration = Duration::from_secs(60);

/// A data directory with servers next to it, and how a server on it is reached.
pub(super) struct ControlProject {
    pub(super) place: Tramline,
    pub(super) over: TestTransport,
    pub(super) flags: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestTransport {
    Stdio,
    Http,
}

impl ControlProject {
    pub(super) fn new(over: TestTransport) -> Self {
        let place = Tramline::new();
        let unruly = tramline_test_server::program::test_server().unwrap();
        let servers = json!({"mcpServers": {"u": {"command": unruly}}});
        std::fs::write(place.data.path().join("mcp.json"), servers.to_string()).unwrap();
        Self {
            place,
            over,
            flags: Vec::new(),
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.place.data.path().join(name)
    }

    pub(super) fn command(&self) -> std::process::Command {
        let mut command = serve(&[], &self.place.data_dir());
        command
            .args(["--toolsets", "control,debug", "--mcp-config"])
            .arg(self.file("mcp.json"))
            .args(&self.flags);
        command
    }

    /// Calls a tool of a server that is started for this call and ended after it.
    pub(super) fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        match self.over {
            TestTransport::Stdio => {
                let child = self
                    .command()
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                let mut talk = StdioClient::start(child);
                let result = talk.call(tool, &params["arguments"]);
                talk.close();
                result["structuredContent"].clone()
            }
            TestTransport::Http => post(&Http::start(self.command()), &params, None),
        }
    }
}

/// Calls a tool over HTTP like clients of the newest revision: one request, no session.
pub(crate) fn post(server: &Http, params: &Value, token: Option<&str>) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let name = params["name"].as_str().unwrap();
    let token = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{token}\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let line = answer
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .find(|line| line.starts_with("{\"jsonrpc\""));
    let line = line.unwrap_or_else(|| panic!("{answer}"));
    let answer: Value = serde_json::from_str(line).unwrap();
    answer["result"]["structuredContent"].clone()
}

pub(super) fn layered(tasks: Value) -> Value {
    json!({"workflow": {"tasks": tasks}, "config": {"per_layer_validation": true}})
}

/// Two layers of calls that only read.
pub(super) fn two() -> Value {
    json!([
        {"id": "task-1", "tool": "u:echo", "arguments": {"files": ["data.xml"]}, "depends_on": []},
        {"id": "task-2", "tool": "u:echo", "arguments": {"first": "$OUTPUT[task-1].files[0]"}, "depends_on": ["task-1"]}
    ])
}

/// Removes ids and times, so that transcripts can be compared.
fn plain(mut reply: Value) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    match key.as_str() {
                        "workflow_id" | "checkpoint_id" | "expires_at" => *value = json!("…"),
                        "duration_ms" => *value = json!(0),
                        _ => clean(value),
                    }
                }
            }
            Value::Array(list) => list.iter_mut().for_each(clean),
            _ => {}
        }
    }
    clean(&mut reply);
    reply
}

/// Validation after each layer, with tasks added in between, to the end.
fn discovery(desk: &ControlProject) -> Vec<Value> {
    let first = desk.call("execute_dag", layered(two()));
    let id = &first["workflow_id"];
    let parser = json!([{"id": "task-xml-parser", "tool": "u:echo", "arguments": {"file": "$OUTPUT[task-1].files[0]"}}]);
    let more = json!({"workflow_id": id, "new_requirement": "Add XML parser - discovered data.xml file",
        "available_context": {"discovered_files": ["data.xml"]}, "new_tasks": parser});
    let replanned = desk.call("replan", more);
    let done = desk.call(
        "continue",
        json!({"workflow_id": id, "reason": "Validation passed"}),
    );
    vec![first, replanned, done]
}

/// An abort after the first layer, and what follows.
fn ending(desk: &ControlProject) -> Vec<Value> {
    let first = desk.call("execute_dag", layered(two()));
    let id = &first["workflow_id"];
    let aborted = desk.call(
        "abort",
        json!({"workflow_id": id, "reason": "User cancelled operation"}),
    );
    let late = desk.call("continue", json!({"workflow_id": id}));
    let late = json!({"code": late["error"]["code"], "status": late["error"]["data"]["status"]});
    vec![first, aborted, late]
}

/// A gate that is rejected, and one that is approved.
fn gates(desk: &ControlProject) -> Vec<Value> {
    let mut said = Vec::new();
    for approved in [true, false] {
        let tasks = json!([
            {"id": "look", "tool": "u:echo"},
            {"id": "deploy", "tool": "u:echo", "arguments": {"to": "production"}, "depends_on": ["look"], "approval": "it is production"}
        ]);
        let first = desk.call("execute_dag", layered(tasks));
        let asked = desk.call("continue", json!({"workflow_id": first["workflow_id"]}));
        assert_eq!(asked["checkpoint_type"], "approval_required", "{asked}");
        let stale = json!({"workflow_id": first["workflow_id"], "checkpoint_id": first["checkpoint_id"], "approved": true});
        let stale = desk.call("approval_response", stale);
        assert_eq!(
            stale["error"]["data"]["checkpoint_id"],
            asked["checkpoint_id"]
        );
        let answer = json!({"workflow_id": first["workflow_id"], "checkpoint_id": asked["checkpoint_id"],
            "approved": approved, "feedback": "Too risky for production"});
        said.extend([first, asked, desk.call("approval_response", answer)]);
    }
    said
}

#[test]
fn transcripts_are_the_same_over_every_transport_and_across_restarts() {
    for script in [discovery, ending, gates] {
        let both = [TestTransport::Stdio, TestTransport::Http].map(|over| {
            let said = script(&ControlProject::new(over));
            said.into_iter().map(plain).collect::<Vec<_>>()
        });
        assert_eq!(both[0], both[1]);
    }
}

#[test]
fn the_patterns_of_the_guide_give_what_they_promise() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let said = discovery(&desk);
    assert_eq!(said[0]["status"], "layer_complete");
    assert_eq!(said[0]["layer_results"][0]["task_id"], "task-1");
    assert_eq!(said[0]["options"], json!(["continue", "replan", "abort"]));
    assert_eq!(said[1]["status"], "replanned");
    assert_eq!(said[1]["options"], json!(["continue", "abort"]));
    assert_eq!(said[2]["status"], "complete", "{}", said[2]);
    assert_eq!(said[2]["results"][2]["output"], json!({"file": "data.xml"}));
    let said = ending(&desk);
    assert_eq!(
        (&said[1]["status"], &said[1]["completed_layers"]),
        (&json!("aborted"), &json!(1))
    );
    assert_eq!(said[2], json!({"code": -32602, "status": "aborted"}));
    let said = gates(&desk);
    assert_eq!(
        (&said[2]["status"], &said[5]["status"]),
        (&json!("complete"), &json!("rejected"))
    );
    assert_eq!(said[5]["feedback"], "Too risky for production");
    let unknown = desk.call(
        "execute_dag",
        json!({"workflow": [{"id": "a", "tool": "u:ehco"}]}),
    );
    assert!(
        unknown["error"]["data"]["details"][0]["suggestion"]
            .as_str()
            .unwrap()
            .contains("echo"),
        "{unknown}"
    );
}

#[test]
fn an_expired_workflow_is_not_found_and_says_so() {
    let mut desk = ControlProject::new(TestTransport::Stdio);
    let config = desk.file("tramline.yaml");
    std::fs::write(&config, "control: { ttl: 50ms }\n").unwrap();
    desk.flags = vec!["--config".into(), config.display().to_string()];
    let first = desk.call("execute_dag", layered(two()));
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..2 {
        let late = desk.call("continue", json!({"workflow_id": first["workflow_id"]}));
        assert_eq!(late["error"]["code"], -32001, "{late}");
        assert!(
            late["error"]["message"]
                .as_str()
                .unwrap()
                .contains("expired"),
            "{late}"
        );
    }
}

#[test]
fn policy_of_the_configuration_holds_for_every_caller() {
    let mut desk = ControlProject::new(TestTransport::Http);
    let config = desk.file("tramline.yaml");
    std::fs::write(
        &config,
        "policy:\n  ask: ['u:echo']\n  deny: ['u:a*']\nquota: { open_runs: 1 }\n",
    )
    .unwrap();
    desk.flags = vec!["--config".into(), config.display().to_string()];
    let asked = desk.call("execute_dag", json!({"workflow": two()}));
    assert_eq!(asked["status"], "approval_required");
    let full = desk.call("execute_dag", json!({"workflow": two()}));
    assert!(
        full["error"]["message"].as_str().unwrap().contains("quota"),
        "{full}"
    );
    desk.call(
        "abort",
        json!({"workflow_id": asked["workflow_id"], "reason": "r"}),
    );
    let denied = desk.call(
        "execute_dag",
        json!({"workflow": [{"id": "a", "tool": "u:add", "arguments": {"a": 1, "b": 2}}]}),
    );
    assert_eq!(denied["results"][0]["status"], "error", "{denied}");
    std::fs::write(&config, "policy:\n  aks: ['u:echo']\n").unwrap();
    let stopped = desk.command().output().unwrap();
    let said = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert_eq!(stopped.status.code(), Some(2));
    assert!(
        said.contains("tramline.yaml:2:3") && said.contains("did you mean `ask`"),
        "{said}"
    );
}

#[test]
fn callers_with_names_see_their_own_workflows_only() {
    let mut desk = ControlProject::new(TestTransport::Http);
    let tokens = desk.file("tokens");
    std::fs::write(&tokens, "# callers\nann=first\nbob=second\n").unwrap();
    desk.flags = vec!["--token-file".into(), tokens.display().to_string()];
    let server = Http::start(desk.command());
    let start = json!({"name": "execute_dag", "arguments": layered(two())});
    let first = post(&server, &start, Some("first"));
    let go = json!({"name": "continue", "arguments": {"workflow_id": first["workflow_id"]}});
    assert_eq!(post(&server, &go, Some("second"))["error"]["code"], -32001);
    drop(server);
    let server = Http::start(desk.command());
    assert_eq!(post(&server, &go, Some("second"))["error"]["code"], -32001);
    assert_eq!(post(&server, &go, Some("first"))["status"], "complete");
}

#[test]
fn a_layer_that_was_cut_off_is_finished_by_the_next_server() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let tasks = json!([
        {"id": "slow", "tool": "u:sleep", "arguments": {"ms": 1500}},
        {"id": "after", "tool": "u:echo", "depends_on": ["slow"]}
    ]);
    let child = desk
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut talk = StdioClient::start(child);
    talk.send_call("execute_dag", &layered(tasks));
    let id = loop {
        let listed = desk.place.run(&["runs", "--json"]).out();
        if let Some(at) = listed.find("run_0") {
            break listed[at..at + 30].to_owned();
        }
    };
    talk.kill();
    let told = desk.call("continue", json!({"workflow_id": id}));
    assert_eq!(told["status"], "layer_complete", "{told}");
    assert_eq!(told["layer_results"][0]["task_id"], "slow");
    let done = desk.call("continue", json!({"workflow_id": id}));
    assert_eq!(done["status"], "complete", "{done}");
}
