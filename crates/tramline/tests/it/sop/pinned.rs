//! A pinned procedure against an agent that tries to get past it, with the real binary and every
//! toolset.

use super::{Shop, say};
use crate::control::post;
use crate::test_servers::{Http, StdioClient};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DESK: &str = "---\nagent: desk\n---\n```mermaid\nflowchart TD\n  START --> AUTH[Who] --> ROUTE{What} --> WRITE[Write] --> END([End])\n```\n\
                    ## Node Prompts\n### AUTH\n```yaml\ntools: [find_user_id_by_email, find_user_id_by_name_zip]\nmust_call: [[find_user_id_by_email, find_user_id_by_name_zip]]\n```\nAsk.\n\
                    ### WRITE\n```yaml\ntools: [\"builtin:write-file\"]\n```\nWrite.\n";
const LAX: &str = "---\nagent: lax\nenforce_tools: false\n---\n```mermaid\nflowchart TD\n  START --> WRITE[Write]\n```\n";
const ALL: &str = "graphs,control,library,debug,loop,sop";

/// A working directory that is not a root, with a procedure in it; and a root with a laxer one.
struct PinnedServer {
    shop: Shop,
    work: PathBuf,
    root: PathBuf,
}

impl PinnedServer {
    fn new() -> Self {
        let shop = Shop::new();
        let (work, root) = (shop.file("work"), shop.file("place"));
        for folder in [&work, &root] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(work.join("desk.md"), DESK).unwrap();
        std::fs::write(root.join("lax.md"), LAX).unwrap();
        Self { shop, work, root }
    }

    fn command(&self, data: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tramline"));
        command
            .args(["serve", "--data-dir"])
            .arg(data)
            .arg("--mcp-config")
            .arg(self.shop.file("mcp.json"))
            .arg("--root")
            .arg(&self.root)
            .args(["--toolsets", ALL])
            .args(more)
            .env_remove("TRAMLINE_TOKEN")
            .current_dir(&self.work);
        command
    }

    fn talk(&self, more: &[&str]) -> StdioClient {
        let child = self
            .command(&self.shop.place.data_dir(), more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        StdioClient::start(child)
    }

    fn written(&self) -> bool {
        self.root.join("out.txt").exists()
    }
}

/// Every way to write a file, as an agent would try it.
fn attempts() -> Vec<(&'static str, Value)> {
    let arguments = json!({"path": "out.txt", "content": "x"});
    let task =
        json!({"id": "a", "tool": "builtin:write-file", "arguments": arguments, "depends_on": []});
    let ir = json!({"nodes": [{"id": "a", "type": "write-file", "params": {"file_path": "out.txt", "content": "x"}}], "edges": []});
    let plan = json!([{"tool": "builtin:write-file", "args": arguments}]);
    vec![
        ("execute_dag", json!({"workflow": {"tasks": [task]}})),
        (
            "registry_run",
            json!({"node_type": "builtin:write-file", "parameters": arguments}),
        ),
        ("workflow_execute", json!({"workflow": ir})),
        ("run_loop", json!({"plan": plan})),
        ("load_graph", json!({"sop_file": "lax.md"})),
        ("load_graph", json!({"sop_file": "../place/lax.md"})),
        ("goto_node", json!({"node_id": "ROUTE"})),
        ("goto_node", json!({"node_id": "WRITE"})),
        (
            "sop_call",
            json!({"tool": "builtin:write-file", "arguments": arguments}),
        ),
    ]
}

#[test]
fn over_pipes_nothing_goes_round_the_gate_and_the_right_way_works() {
    let desk = PinnedServer::new();
    let mut talk = desk.talk(&["--sop", "desk.md"]);
    for (tool, arguments) in attempts() {
        let reply = talk.call(tool, &arguments);
        assert!(!desk.written(), "{tool}: {reply}");
    }
    let loaded = say(&mut talk, "load_graph", json!({}));
    assert_eq!(loaded["agent"], "desk", "{loaded}");
    assert!(
        loaded["system_prompt"]
            .as_str()
            .unwrap()
            .contains("flowchart TD")
    );
    say(&mut talk, "advance", json!({}));
    for (tool, arguments) in attempts() {
        let reply = talk.call(tool, &arguments);
        assert!(!desk.written(), "{tool}: {reply}");
    }
    let known = json!({"tool": "find_user_id_by_email", "arguments": {"email": "a@b"}});
    say(&mut talk, "sop_call", known);
    say(&mut talk, "goto_node", json!({"node_id": "ROUTE"}));
    let there = say(&mut talk, "goto_node", json!({"node_id": "WRITE"}));
    assert_eq!(there["valid"], true, "{there}");
    let arguments = json!({"path": "out.txt", "content": "x"});
    let reply = say(
        &mut talk,
        "sop_call",
        json!({"tool": "builtin:write-file", "arguments": arguments}),
    );
    assert!(desk.written(), "{reply}");
    talk.close();
}

#[test]
fn over_http_callers_are_held_each_by_its_own_conversation() {
    let desk = PinnedServer::new();
    let tokens = desk.shop.file("tokens");
    std::fs::write(
        &tokens,
        "ada=aaaaaaaaaaaaaaaaaaaaaaaa\nbob=bbbbbbbbbbbbbbbbbbbbbbbb\n",
    )
    .unwrap();
    let tokens = tokens.to_str().unwrap().to_owned();
    let data = desk.shop.place.data_dir();
    let server = Http::start(desk.command(&data, &["--sop", "desk.md", "--token-file", &tokens]));
    let (ada, bob) = (
        Some("aaaaaaaaaaaaaaaaaaaaaaaa"),
        Some("bbbbbbbbbbbbbbbbbbbbbbbb"),
    );
    let call = |who, tool: &str, arguments: Value| {
        post(&server, &json!({"name": tool, "arguments": arguments}), who)
    };
    let session = call(ada, "load_graph", json!({}))["session_id"].clone();
    let with = |mut arguments: Value| {
        arguments["session_id"] = session.clone();
        arguments
    };
    call(ada, "advance", with(json!({})));
    let known = json!({"tool": "find_user_id_by_email", "arguments": {"email": "a@b"}});
    call(ada, "sop_call", with(known));
    call(ada, "goto_node", with(json!({"node_id": "ROUTE"})));
    let there = call(ada, "goto_node", with(json!({"node_id": "WRITE"})));
    assert_eq!(there["valid"], true, "{there}");
    // What Ada may do, Bob may not, by whatever name.
    for (tool, arguments) in attempts() {
        let reply = call(bob, tool, arguments.clone());
        assert!(!desk.written(), "{tool}: {reply}");
    }
    let arguments = json!({"path": "out.txt", "content": "x"});
    let theirs = json!({"tool": "builtin:write-file", "arguments": arguments});
    call(bob, "sop_call", with(theirs.clone()));
    assert!(!desk.written());
    // Another process on the same data, for the same caller, at another node.
    let second = Http::start(desk.command(&data, &["--sop", "desk.md", "--token-file", &tokens]));
    let params = json!({"name": "execute_dag", "arguments": attempts()[0].1});
    let reply = post(&second, &params, ada);
    assert!(!desk.written(), "{reply}");
    let reply = call(ada, "sop_call", with(theirs));
    assert!(desk.written(), "{reply}");
}

#[test]
fn a_change_on_disk_is_not_taken_until_the_next_start() {
    let desk = PinnedServer::new();
    let mut talk = desk.talk(&["--sop", "desk.md"]);
    say(&mut talk, "load_graph", json!({}));
    std::fs::write(
        desk.work.join("desk.md"),
        DESK.replace("must_call", "x_call"),
    )
    .unwrap();
    say(&mut talk, "load_graph", json!({"sop_file": "desk.md"}));
    say(&mut talk, "goto_node", json!({"node_id": "START"}));
    let skipped = say(&mut talk, "goto_node", json!({"node_id": "ROUTE"}));
    assert_eq!(skipped["valid"], false, "{skipped}");
    talk.close();
    let mut talk = desk.talk(&["--sop", "desk.md"]);
    say(&mut talk, "load_graph", json!({}));
    let taken = say(&mut talk, "goto_node", json!({"node_id": "ROUTE"}));
    assert_eq!(taken["valid"], true, "{taken}");
    talk.close();
}

/// The operator is told once that a pinned file has changed.
#[test]
fn a_changed_pinned_file_is_told_in_the_log() {
    let desk = PinnedServer::new();
    let mut child = desk
        .command(desk.shop.place.data.path(), &["--sop", "desk.md"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut heard = |words: &str| {
        let mut lines = lines.by_ref().map_while(Result::ok);
        lines.find(|line| line.contains(words))
    };
    assert!(heard("desk of desk.md is pinned").is_some());
    let laxer = DESK.replace("must_call", "x_call");
    std::fs::write(desk.work.join("desk.md"), laxer).unwrap();
    let told = heard("desk.md has changed");
    // It ends when its client has disconnected.
    drop(child.stdin.take());
    child.wait().unwrap();
    let told = told.unwrap();
    assert!(
        told.contains("the pinned version stays in force until the server is restarted"),
        "{told}"
    );
}

#[test]
fn the_start_says_what_the_gate_is_worth() {
    let desk = PinnedServer::new();
    let data = desk.shop.place.data.path();
    let said = |more: &[&str]| {
        let done = desk
            .command(data, more)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(done.stderr).unwrap()
    };
    let loose = said(&[]);
    assert!(loose.contains("is advisory"), "{loose}");
    let held = said(&["--sop", "desk.md", "--sop-free", "retail-tools:get_*"]);
    assert!(
        held.contains("desk of desk.md is pinned") && held.contains("retail-tools:get_*"),
        "{held}"
    );
    let missing = said(&["--sop", "nowhere.md"]);
    assert!(missing.contains("nowhere.md"), "{missing}");
    let lax = said(&["--sop", "lax.md"]);
    assert!(
        lax.contains("lax of lax.md is pinned but does not reject calls"),
        "{lax}"
    );
}
