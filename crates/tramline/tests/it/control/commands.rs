//! The same from the command line: continue, replan, approve, reject, abort, fork, audit.

use super::{ControlProject, TestTransport, layered, two};
use crate::test_servers::StdioClient;
use serde_json::{Value, json};
use std::process::Stdio;

fn ran(desk: &ControlProject, words: &[&str]) -> (i32, Value, String) {
    let done = desk.place.run(words);
    let printed = serde_json::from_str(&done.out()).unwrap_or(Value::Null);
    (done.code(), printed, done.err())
}

#[test]
fn a_workflow_goes_on_from_the_command_line() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let first = desk.call("execute_dag", layered(two()));
    let id = first["workflow_id"].as_str().unwrap();
    let shown = desk.place.run(&["runs", "show", id]);
    assert!(
        shown
            .out()
            .contains(first["checkpoint_id"].as_str().unwrap()),
        "{}",
        shown.out()
    );
    let tasks =
        r#"[{"id": "more", "tool": "u:echo", "arguments": {"n": 1}, "depends_on": ["task-2"]}]"#;
    let (code, told, err) = ran(
        &desk,
        &[
            "runs", "replan", id, "--tasks", tasks, "--why", "closer", "--json",
        ],
    );
    assert_eq!((code, &told["status"]), (0, &json!("replanned")), "{err}");
    let (code, told, err) = ran(&desk, &["runs", "continue", id, "--json"]);
    assert_eq!(
        (code, &told["status"]),
        (4, &json!("paused")),
        "{told} {err}"
    );
    let (code, told, err) = ran(&desk, &["runs", "continue", id, "--json"]);
    assert_eq!(
        (code, &told["status"]),
        (0, &json!("completed")),
        "{told} {err}"
    );
    let flawed = r#"[{"id": "x", "tool": "u:echo", "depends_on": ["nowhere"]}]"#;
    let (code, _, err) = ran(&desk, &["runs", "replan", id, "--tasks", flawed]);
    assert!(code == 2 && err.contains("nowhere"), "{err}");
    let point = first["checkpoint_id"].as_str().unwrap();
    let (code, forked, err) = ran(&desk, &["runs", "fork", id, "--at", point, "--json"]);
    assert_eq!(
        (code, &forked["status"]),
        (4, &json!("paused")),
        "{forked} {err}"
    );
    let again = forked["run_id"].as_str().unwrap();
    let (code, told, err) = ran(&desk, &["runs", "continue", again, "--json"]);
    assert_eq!(
        (code, &told["status"]),
        (0, &json!("completed")),
        "{told} {err}"
    );
}

#[test]
fn decisions_are_made_and_all_of_it_is_in_the_audit() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let risky = || json!({"workflow": [{"id": "a", "tool": "u:echo", "approval": true}]});
    let asked = desk.call("execute_dag", risky());
    let id = asked["workflow_id"].as_str().unwrap();
    let (code, told, err) = ran(&desk, &["runs", "approve", id, "--why", "fine", "--json"]);
    assert_eq!((code, &told["status"]), (0, &json!("completed")), "{err}");
    let asked = desk.call("execute_dag", risky());
    let second = asked["workflow_id"].as_str().unwrap();
    let point = asked["checkpoint_id"].as_str().unwrap();
    let (code, ..) = ran(&desk, &["runs", "reject", point, "--why", "no"]);
    assert_eq!(code, 0);
    let (code, _, err) = ran(&desk, &["runs", "approve", point]);
    assert!(code == 2, "{err}");
    desk.call("continue", json!({"workflow_id": "run_unknown"}));
    let audit = desk.place.run(&["audit"]).out();
    let notes: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = notes
        .iter()
        .map(|note| {
            (
                note["command"].as_str().unwrap(),
                note["result"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("execute_dag", "approval_required"),
            ("approve", "answered"),
            ("execute_dag", "approval_required"),
            ("reject", "answered"),
            ("approve", "refused"),
            ("continue", "refused"),
        ]
    );
    assert_eq!(notes[1]["why"], "fine");
    assert!(notes[1]["by"].is_string() && notes[1]["at_ms"].is_number());
    let of_second = desk
        .place
        .run(&["audit", "--run", second, "--since", "1h"])
        .out();
    assert_eq!(of_second.lines().count(), 3);
    assert_eq!(desk.place.run(&["audit", "--since", "soon"]).code(), 2);
}

/// Commands that start or resume runs are in the audit, and so are refused ones, with what they asked for.
#[test]
fn every_command_on_the_command_line_is_in_the_audit() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let unknown = "run_01m7p65xffqb849x7dtybs7qzf";
    let tasks = r#"[{"id": "more", "tool": "u:echo", "arguments": {"n": 1}}]"#;
    for words in [
        vec!["runs", "approve", unknown],
        vec!["runs", "continue", unknown],
        vec!["runs", "resume", unknown],
        vec!["runs", "replan", unknown, "--tasks", tasks],
        vec!["runs", "fork", unknown, "--at", "1"],
        vec!["registry", "run", "none:none"],
    ] {
        let (code, _, err) = ran(&desk, &words);
        assert_ne!(code, 0, "{words:?} {err}");
    }
    ran(&desk, &["learn", "forget", "--all"]);
    let audit = desk.place.run(&["audit"]).out();
    let notes: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = notes
        .iter()
        .map(|note| {
            let text = |key: &str| note[key].as_str().unwrap_or_default();
            (text("command"), text("result"), text("run_id"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("approve", "refused", unknown),
            ("continue", "refused", unknown),
            ("runs resume", "refused", unknown),
            ("replan", "refused", unknown),
            ("runs fork", "refused", unknown),
            ("registry run", "refused", ""),
            ("learn forget", "done", ""),
        ]
    );
    assert_eq!(notes[3]["arguments"]["new_tasks"][0]["id"], "more");
    assert!(notes[4]["arguments"]["at"].is_string(), "{}", notes[4]);
    assert_eq!(notes[5]["arguments"]["node"], "none:none");
    assert_eq!(notes[6]["arguments"], json!(["--all"]));
}

/// Who took a run over last, according to its trace.
fn driven_by(desk: &ControlProject, run: &str) -> String {
    let (_, shown, _) = ran(desk, &["runs", "show", run, "--json"]);
    let resumed = shown["resumed"].as_array().unwrap();
    resumed.last().unwrap()["by"].as_str().unwrap().to_owned()
}

#[test]
fn an_approval_at_the_command_line_gets_the_run_going_where_its_servers_are() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let risky = || json!({"workflow": [{"id": "a", "tool": "u:echo", "approval": true}]});
    // No other process exists: it continues here.
    let asked = desk.call("execute_dag", risky());
    let id = asked["workflow_id"].as_str().unwrap();
    let (code, told, err) = ran(&desk, &["runs", "approve", id, "--json"]);
    assert_eq!((code, &told["status"]), (0, &json!("completed")), "{err}");
    // The server is alive: it continues there, and the command waits for it.
    let mut command = desk.command();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut talk = StdioClient::start(child.stderr(Stdio::null()).spawn().unwrap());
    let asked = talk.call("execute_dag", &risky())["structuredContent"].clone();
    let id = asked["workflow_id"].as_str().unwrap();
    let (code, told, err) = ran(&desk, &["runs", "approve", id, "--json"]);
    assert_eq!((code, &told["status"]), (0, &json!("completed")), "{err}");
    let by = driven_by(&desk, id);
    assert!(by.contains(&talk.id().to_string()), "{by}, {}", talk.id());
    // A rejection ends it at once, which is the expected outcome.
    let asked = talk.call("execute_dag", &risky())["structuredContent"].clone();
    let id = asked["workflow_id"].as_str().unwrap();
    let (code, told, err) = ran(&desk, &["runs", "reject", id, "--json"]);
    assert_eq!((code, &told["status"]), (0, &json!("rejected")), "{err}");
    talk.close();
    let asked = desk.call("execute_dag", risky());
    let id = asked["workflow_id"].as_str().unwrap();
    let (code, told, err) = ran(&desk, &["runs", "approve", id, "--no-wait", "--json"]);
    assert_eq!((code, &told["status"]), (0, &json!("answered")), "{err}");
}

#[test]
fn what_expired_is_called_so_everywhere_and_rates_outlive_the_server() {
    let mut desk = ControlProject::new(TestTransport::Stdio);
    let config = desk.file("tramline.yaml");
    let written = "control: { ttl: 1ms, commands_per_minute: 2 }\n";
    std::fs::write(&config, written).unwrap();
    desk.flags = vec!["--config".into(), config.display().to_string()];
    let first = desk.call("execute_dag", layered(two()));
    assert!(first["expires_at"].is_string(), "{first}");
    let id = first["workflow_id"].as_str().unwrap();
    let go = json!({"workflow_id": id});
    let late = loop {
        let late = desk.call("continue", go.clone());
        if late["error"]["data"]["name"] != "RATE_LIMITED" {
            break late;
        }
    };
    assert_eq!(late["error"]["data"]["status"], "expired", "{late}");
    let (_, shown, _) = ran(&desk, &["runs", "show", id, "--json"]);
    assert_eq!(shown["status"], "expired");
    let (_, listed, _) = ran(&desk, &["runs", "--status", "expired", "--json"]);
    assert_eq!(listed["runs"][0]["run_id"], id, "{listed}");
    let limited = [(); 3].map(|()| desk.call("continue", go.clone()));
    assert_eq!(
        limited[2]["error"]["data"]["name"], "RATE_LIMITED",
        "{limited:?}"
    );
}

/// A person deciding on the command line sees the call and can edit it, and both are recorded.
#[test]
fn an_approver_sees_the_call_and_changes_it_on_the_command_line() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let risky = json!({"workflow": [{"id": "a", "tool": "u:add", "arguments": {"a": 1, "b": 2}, "approval": "may it be added?"}]});
    let asked = desk.call("execute_dag", risky);
    let id = asked["workflow_id"].as_str().unwrap();
    let shown = desk.place.run(&["runs", "show", id]).out();
    let point = asked["checkpoint_id"].as_str().unwrap();
    for words in ["may it be added?", "u:add", "a: 1", "b: 2", point] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let (code, _, err) = ran(&desk, &["runs", "reject", id, "--set", "a=3"]);
    assert!(code != 0 && err.contains("runs approve"), "{err}");
    let (code, told, err) = ran(
        &desk,
        &[
            "runs",
            "approve",
            id,
            "--set",
            "a=40",
            "--why",
            "too small",
            "--json",
        ],
    );
    assert_eq!(
        (code, &told["status"]),
        (0, &json!("completed")),
        "{told} {err}"
    );
    let shown = desk.place.run(&["runs", "show", id]).out();
    assert!(shown.contains("40") && shown.contains("42"), "{shown}");
    let notes = desk.place.run(&["audit", "--run", id]).out();
    let last = notes
        .lines()
        .rfind(|line| line.contains("too small"))
        .unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    let decision = &last["decisions"][0];
    assert_eq!(decision["arguments"], json!({"a": 1, "b": 2}), "{last}");
    assert_eq!(
        decision["edited_arguments"],
        json!({"a": 40, "b": 2}),
        "{last}"
    );
    // The table shows the arguments that the call got.
    let table = desk.place.run(&["audit", "--table", "--run", id]).out();
    let edited = r#"{"a":40,"b":2} (edited; proposed: {"a":1,"b":2})"#;
    assert!(table.contains(edited), "{table}");
}
