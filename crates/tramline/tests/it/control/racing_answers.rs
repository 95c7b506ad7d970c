//! One question, answered from several places at once: the first answer wins, the others are told
//! so.

use super::{ControlProject, PATIENCE, TestTransport, layered, post};
use crate::test_servers::Http;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

/// Without a token the API does not accept answers that a person should give.
const TOKEN: &str = "a token of this test alone";

fn start(desk: &ControlProject) -> Http {
    let mut command = desk.command();
    command.env("TRAMLINE_TOKEN", TOKEN);
    Http::start(command)
}

/// A request to the studio's API: the status and the reply.
fn api(server: &Http, path: &str, body: Option<&Value>) -> (u16, Value) {
    let body = body.map(Value::to_string).unwrap_or_default();
    let verb = if body.is_empty() { "GET" } else { "POST" };
    let request = format!(
        "{verb} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {TOKEN}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn gate(server: &Http) -> Value {
    let tasks = json!([{"id": "deploy", "tool": "u:echo", "approval": "it is production"}]);
    let params = json!({"name": "execute_dag", "arguments": layered(tasks)});
    let asked = post(server, &params, Some(TOKEN));
    assert_eq!(asked["checkpoint_type"], "approval_required", "{asked}");
    asked
}

#[test]
fn the_studio_answers_what_the_tools_ask() {
    let desk = ControlProject::new(TestTransport::Http);
    let server = start(&desk);
    let asked = gate(&server);
    let (status, listed) = api(&server, "/api/approvals", None);
    assert_eq!(status, 200);
    assert_eq!(
        listed["approvals"][0]["checkpoint_id"],
        asked["checkpoint_id"]
    );
    let point = asked["checkpoint_id"].as_str().unwrap();
    let yes = json!({"answer": "proceed", "why": "seen it", "by": "ann"});
    let (status, told) = api(&server, &format!("/api/approvals/{point}"), Some(&yes));
    assert_eq!(status, 200, "{told}");
    let late =
        json!({"workflow_id": asked["workflow_id"], "checkpoint_id": point, "approved": false});
    let late = post(
        &server,
        &json!({"name": "approval_response", "arguments": late}),
        Some(TOKEN),
    );
    assert!(
        late["error"]["code"].is_i64() || late["error"]["code"].is_string(),
        "{late}"
    );
    let notes = desk.place.run(&["audit"]).out();
    assert!(
        notes.contains("http ann") && notes.contains("seen it"),
        "{notes}"
    );
    assert_eq!(api(&server, "/studio", None).0, 200);
}

#[test]
fn of_answers_from_all_places_at_once_one_counts() {
    let desk = ControlProject::new(TestTransport::Http);
    let server = start(&desk);
    for _ in 0..5 {
        let asked = gate(&server);
        let point = asked["checkpoint_id"].as_str().unwrap().to_owned();
        let (server, desk, asked) = (&server, &desk, &asked);
        let counted: Vec<bool> = thread::scope(|scope| {
            let path = format!("/api/approvals/{point}");
            let studio = scope.spawn(move || {
                let (status, told) = api(server, &path, Some(&json!({"answer": "proceed"})));
                assert!(matches!(status, 200 | 409), "{status} {told}");
                status == 200
            });
            let named = point.clone();
            let tool = scope.spawn(move || {
                let said = json!({"workflow_id": asked["workflow_id"], "checkpoint_id": named, "approved": true});
                let said = json!({"name": "approval_response", "arguments": said});
                post(server, &said, Some(TOKEN))["error"].is_null()
            });
            let line =
                scope.spawn(move || desk.place.run(&["runs", "approve", &point]).code() == 0);
            [studio, tool, line].map(|one| one.join().unwrap()).to_vec()
        });
        let winners = counted.iter().filter(|counted| **counted).count();
        assert_eq!(winners, 1, "{counted:?}");
    }
}
