//! Several servers and the command line on one data directory: the last to answer knows what the
//! others did, and a call that was in flight in a killed process is asked about, never repeated.

use crate::control::{ControlProject, TestTransport};
use crate::test_servers::StdioClient;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tramline_test_server::processes::wait_until;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A data directory whose servers log the calls that arrive.
struct SharedDirectory {
    desk: ControlProject,
    log: PathBuf,
}

impl SharedDirectory {
    fn new() -> Self {
        let desk = ControlProject::new(TestTransport::Stdio);
        let log = desk.file("calls.log");
        let unruly = tramline_test_server::program::test_server().unwrap();
        let servers = json!({"mcpServers": {"u": {"command": unruly, "env": {"UNRULY_LOG": log}}}});
        std::fs::write(desk.file("mcp.json"), servers.to_string()).unwrap();
        Self { desk, log }
    }

    fn server(&self) -> StdioClient {
        let child = self
            .desk
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        StdioClient::start(child)
    }

    /// The nodes whose calls have arrived, in order.
    fn called(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .filter_map(|line| Some(line["arguments"]["node"].as_str()?.to_owned()))
            .collect()
    }

    fn until_called(&self, node: &str) {
        wait_until(SOON, || self.called().iter().any(|called| called == node)).unwrap();
    }

    fn shown(&self, run: &str) -> Value {
        let done = self.desk.place.run(&["runs", "show", run, "--json"]);
        assert_eq!(done.code(), 0, "{}", done.err());
        serde_json::from_str(&done.out()).unwrap()
    }

    /// The checkpoint of the open question about a node.
    fn question(&self, run: &str, node: &str) -> String {
        let shown = self.shown(run);
        let pauses = shown["pauses"].as_array().unwrap().iter();
        let asked = pauses.filter(|asked| asked["answer"].is_null());
        let asked = asked.clone().find(|asked| asked["node"] == node);
        let asked = asked.unwrap_or_else(|| panic!("no question about {node}: {shown}"));
        asked["checkpoint"].as_str().unwrap().to_owned()
    }

    /// `t0` and `t4` wait for a person in a run of this server.
    fn started_at(&self, server: &mut StdioClient) -> String {
        let task = |id: &str, delay_ms: u64| {
            json!({"id": id, "tool": "u:record", "approval": true,
                "arguments": {"node": id, "delay_ms": delay_ms}})
        };
        let tasks = json!({"workflow": {"tasks": [task("t0", 600_000), task("t4", 0)]}});
        let told = server.call("execute_dag", &tasks)["structuredContent"].clone();
        assert_eq!(told["status"], "approval_required", "{told}");
        told["workflow_id"].as_str().unwrap().to_owned()
    }

    fn yes(&self, run: &str, node: &str) -> Value {
        let checkpoint = self.question(run, node);
        json!({"workflow_id": run, "checkpoint_id": checkpoint, "approved": true})
    }

    /// `t4` was called once, `t0` once and with its own arguments, and the run asks about it.
    fn is_in_doubt(&self, run: &str) {
        let shown = self.shown(run);
        let pauses = shown["pauses"].as_array().unwrap().iter();
        let open: Vec<_> = pauses.filter(|asked| asked["answer"].is_null()).collect();
        let kinds: Vec<_> = open
            .iter()
            .map(|asked| (&asked["kind"], &asked["node"]))
            .collect();
        assert_eq!(kinds, [(&json!("in-doubt"), &json!("t0"))], "{shown}");
        assert_eq!(self.called(), ["t0", "t4"]);
        for step in shown["steps"].as_array().unwrap() {
            if step["kind"] == "call" {
                assert_eq!(step["input"]["node"], step["node"], "{step}");
            }
        }
    }
}

#[test]
fn a_call_that_a_killed_server_left_is_in_doubt_at_the_other() {
    let place = SharedDirectory::new();
    let mut c = place.server();
    let run = place.started_at(&mut c);
    let mut a = place.server();
    a.send_call("approval_response", &place.yes(&run, "t0"));
    place.until_called("t0");
    a.kill();
    let told = c.call("approval_response", &place.yes(&run, "t4"));
    let told = &told["structuredContent"];
    assert_ne!(told["status"], "complete", "{told}");
    place.is_in_doubt(&run);
}

#[test]
fn so_is_one_that_a_killed_resume_left() {
    let place = SharedDirectory::new();
    let mut c = place.server();
    let run = place.started_at(&mut c);
    let checkpoint = place.question(&run, "t0");
    let said = place
        .desk
        .place
        .run(&["runs", "answer", &checkpoint, "--yes"]);
    assert_eq!(said.code(), 0, "{}", said.err());
    let config = place.desk.file("mcp.json").display().to_string();
    let words = ["runs", "resume", run.as_str(), "--mcp-config", &config];
    let resume = place.desk.place.command(&words);
    let mut resume = { resume }
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    place.until_called("t0");
    resume.kill().unwrap();
    resume.wait().unwrap();
    let told = c.call("approval_response", &place.yes(&run, "t4"));
    let told = &told["structuredContent"];
    assert_ne!(told["status"], "complete", "{told}");
    place.is_in_doubt(&run);
}

#[test]
fn and_it_stays_answerable_when_a_third_process_touched_it() {
    let place = SharedDirectory::new();
    let mut c = place.server();
    let run = place.started_at(&mut c);
    let mut a = place.server();
    a.send_call("approval_response", &place.yes(&run, "t0"));
    place.until_called("t0");
    a.kill();
    let config = place.desk.file("mcp.json").display().to_string();
    let touched = place
        .desk
        .place
        .run(&["runs", "resume", &run, "--mcp-config", &config]);
    // The server that waits for the other decision may have been faster.
    let is_driven = touched.code() == 1 && touched.err().contains("is being driven");
    assert!(
        touched.code() == 4 || is_driven,
        "{} {}",
        touched.out(),
        touched.err()
    );
    c.call("approval_response", &place.yes(&run, "t4"));
    place.is_in_doubt(&run);
    let checkpoint = place.question(&run, "t0");
    let words = [
        "runs",
        "answer",
        checkpoint.as_str(),
        "--skip",
        "\"by hand\"",
    ];
    let said = place.desk.place.run(&words);
    assert_eq!(said.code(), 0, "{}", said.err());
    let ended = place
        .desk
        .place
        .run(&["runs", "resume", &run, "--mcp-config", &config]);
    let elsewhere = ["is being driven", "has ended (completed)"];
    let is_elsewhere = elsewhere.iter().any(|says| ended.err().contains(says));
    assert!(
        ended.code() == 0 || is_elsewhere,
        "{} {}",
        ended.out(),
        ended.err()
    );
    let status = loop {
        let status = place.shown(&run)["status"].clone();
        if status != "running" {
            break status;
        }
    };
    assert_eq!(status, "completed");
    assert_eq!(place.called(), ["t0", "t4"]);
}

/// Policy, servers and roots belong to the process that drives a run: the one that answers may have others.
#[test]
fn an_answer_at_a_server_with_another_policy_does_not_lift_the_first_ones() {
    let place = SharedDirectory::new();
    let config = place.desk.file("policy.yaml");
    std::fs::write(&config, "policy: { deny: [\"u:echo\"] }\n").unwrap();
    let mut command = place.desk.command();
    command.arg("--config").arg(&config);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = piped.stderr(Stdio::null()).spawn().unwrap();
    let mut strict = StdioClient::start(child);
    let tasks = json!({"workflow": {"tasks": [
        {"id": "t0", "tool": "u:record", "approval": true, "arguments": {"node": "t0"}},
        {"id": "t1", "tool": "u:echo", "depends_on": ["t0"], "arguments": {"node": "t1"}},
    ]}});
    let told = strict.call("execute_dag", &tasks)["structuredContent"].clone();
    assert_eq!(told["status"], "approval_required", "{told}");
    let run = told["workflow_id"].as_str().unwrap().to_owned();
    // While the first one is alive, and after its end, when the run is resumed with its own configuration.
    for is_alive in [true, false] {
        let mut lax = place.server();
        let run = match is_alive {
            true => run.clone(),
            false => {
                let child = place.desk.command();
                let mut child = { child };
                child.arg("--config").arg(&config);
                let piped = child.stdin(Stdio::piped()).stdout(Stdio::piped());
                let mut other = StdioClient::start(piped.stderr(Stdio::null()).spawn().unwrap());
                let told = other.call("execute_dag", &tasks)["structuredContent"].clone();
                other.kill();
                told["workflow_id"].as_str().unwrap().to_owned()
            }
        };
        lax.call("approval_response", &place.yes(&run, "t0"));
        let is_over =
            || place.shown(&run)["status"] != "running" && place.shown(&run)["status"] != "paused";
        wait_until(SOON, is_over).unwrap();
        let shown = place.shown(&run);
        assert!(!place.called().contains(&"t1".to_owned()), "{shown}");
        assert!(shown.to_string().contains("policy"), "{shown}");
    }
    assert_eq!(place.called(), ["t0", "t0"]);
}
