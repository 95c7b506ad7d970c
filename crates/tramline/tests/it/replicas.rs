//! Several replicas on one PostgreSQL: any of them answers any call, and they continue each other's runs.

use crate::support::{CommandResult, Tramline};
use crate::test_servers::StdioClient;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tramline_test_server::postgres_server::PostgresServer;
use tramline_test_server::processes::wait_until;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A database, and a folder with what all replicas have.
struct SharedDatabase {
    place: Tramline,
    server: PostgresServer,
    url: String,
}

impl SharedDatabase {
    fn new() -> Self {
        let place = Tramline::new();
        let server = PostgresServer::start().unwrap();
        let url = server.database("runs").unwrap();
        let this = Self { place, server, url };
        let unruly = tramline_test_server::program::test_server().unwrap();
        let log = this.file("calls.log");
        let servers = json!({"mcpServers": {"u": {"command": unruly, "env": {"UNRULY_LOG": log}}}});
        std::fs::write(this.file("mcp.json"), servers.to_string()).unwrap();
        let key = this.file("settings.key").display().to_string();
        let made = this.place.run(&["settings", "new-key", &key]);
        assert_eq!(made.code(), 0, "{}", made.err());
        this
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.data.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(words);
        command
            .env("TRAMLINE_STORE", &self.url)
            .env("TRAMLINE_KEY_FILE", self.file("settings.key"))
            .env("TRAMLINE_LEASE", "2s");
        command
    }

    fn run(&self, words: &[&str]) -> CommandResult {
        CommandResult(self.command(words).output().unwrap())
    }

    fn replica(&self, name: &str) -> StdioClient {
        let servers = self.file("mcp.json").display().to_string();
        let mut command =
            self.command(&["serve", "--toolsets", "control", "--mcp-config", &servers]);
        command.env("TRAMLINE_REPLICA", name);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        StdioClient::start(child.unwrap())
    }

    fn shown(&self, run: &str) -> Value {
        let done = self.run(&["runs", "show", run, "--json"]);
        assert_eq!(done.code(), 0, "{}", done.err());
        serde_json::from_str(&done.out()).unwrap()
    }

    fn calls(&self) -> usize {
        let text = std::fs::read_to_string(self.file("calls.log"));
        text.unwrap_or_default().lines().count()
    }

    fn runs(&self) -> Vec<String> {
        let done = self.run(&["runs", "--json"]);
        let listed: Value = serde_json::from_str(&done.out()).unwrap();
        let runs = listed["runs"].as_array().unwrap().iter();
        runs.map(|run| run["run_id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn task(id: &str, delay_ms: u64, approval: bool) -> Value {
    json!({"id": id, "tool": "u:record", "approval": approval,
        "arguments": {"node": id, "delay_ms": delay_ms}})
}

#[test]
fn any_replica_answers_and_a_dead_ones_runs_go_on() {
    let place = SharedDatabase::new();
    let (mut a, mut b) = (place.replica("a"), place.replica("b"));
    let asks = json!({"workflow": {"tasks": [task("t0", 0, true)]}});
    let told = a.call("execute_dag", &asks)["structuredContent"].clone();
    assert_eq!(told["status"], "approval_required", "{told}");
    let point = &told["checkpoint_id"];
    let yes = json!({"workflow_id": told["workflow_id"], "checkpoint_id": point, "approved": true});
    let told = b.call("approval_response", &yes)["structuredContent"].clone();
    assert_eq!(told["status"], "complete", "{told}");
    assert_eq!(place.calls(), 1);

    let replicas = place.run(&["replicas", "--json"]);
    let replicas: Value = serde_json::from_str(&replicas.out()).unwrap();
    let alive = replicas.as_array().unwrap().iter();
    let alive = alive.filter(|one| one["alive"] == true);
    let names: Vec<_> = alive.map(|one| &one["name"]).collect();
    assert!(
        names.contains(&&json!("a")) && names.contains(&&json!("b")),
        "{replicas}"
    );

    // A call that must not be repeated is under way when its replica dies: the other one asks.
    let slow = json!({"workflow": {"tasks": [task("t1", 600_000, false)]}});
    a.send_call("execute_dag", &slow);
    wait_until(SOON, || place.calls() == 2).unwrap();
    let run = place.runs().remove(0);
    a.kill();
    wait_until(SOON, || place.shown(&run)["status"] == "paused").unwrap();
    let shown = place.shown(&run);
    let pauses = shown["pauses"].as_array().unwrap();
    assert_eq!(pauses[0]["kind"], "in-doubt", "{shown}");
    assert_eq!(place.calls(), 2, "nothing was repeated");
    place.server.restart().unwrap();
    assert_eq!(place.shown(&run)["status"], "paused");
}

#[test]
fn a_shared_store_needs_the_same_key_everywhere() {
    let place = SharedDatabase::new();
    let set = place.run(&["settings", "set", "greeting", "hello", "--plain"]);
    assert_eq!(set.code(), 0, "{}", set.err());
    let refused = |command: &mut Command, says: &str| {
        let done = CommandResult(command.output().unwrap());
        assert_eq!(done.code(), 2, "{}", done.err());
        assert!(done.err().contains(says), "{}", done.err());
    };
    let mut keyless = place.command(&["runs"]);
    refused(
        keyless.env_remove("TRAMLINE_KEY_FILE"),
        "name its file with --key-file",
    );
    let missing = place.file("missing.key");
    refused(
        place.command(&["runs"]).env("TRAMLINE_KEY_FILE", &missing),
        "does not exist",
    );
    assert!(!missing.exists(), "no key is made");
    let other = place.file("other.key");
    let made = place.run(&["settings", "new-key", &other.display().to_string()]);
    assert_eq!(made.code(), 0, "{}", made.err());
    refused(
        place.command(&["runs"]).env("TRAMLINE_KEY_FILE", &other),
        "not the one that the other replicas",
    );
    let again = place.run(&["settings", "new-key", &other.display().to_string()]);
    assert_eq!(again.code(), 2, "a key is never replaced");
    let gone = place
        .command(&["runs"])
        .env(
            "TRAMLINE_STORE",
            "postgres://u:secretpassword@127.0.0.1:1/x",
        )
        .output()
        .unwrap();
    let gone = CommandResult(gone);
    assert_eq!(gone.code(), 1);
    assert!(
        gone.err().contains("cannot open postgres://127.0.0.1/x"),
        "{}",
        gone.err()
    );
    assert!(!gone.err().contains("secretpassword"), "{}", gone.err());
}
