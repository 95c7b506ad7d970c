//! The shapes of replies, a transcript for each toolset. After an intended change, write them again with
//! `INSTA_UPDATE=always cargo test -p tramline-mcp-server reply_shapes` and review the difference.

use super::sop::{DESK, WEEK, serving as serving_sops};
use super::support::{Client, Era, calling, connect, over, pure, services, tools};
use serde_json::{Value as Json, json};
use tramline_engine::testing::MemoryStore;
use tramline_mcp_server::{Server, Toolset};

/// A server with every toolset and two graphs.
fn server() -> Server {
    let graphs = vec![pure("same"), calling("work_once", "work", "")];
    over(
        services(MemoryStore::default(), tools()),
        &Toolset::ALL,
        graphs,
    )
}

/// Calls of one client with their replies.
struct Transcript {
    client: Client,
    lines: Vec<Json>,
    /// The runs, handles and so on, in order of appearance.
    names: Vec<String>,
}

impl Transcript {
    async fn new(server: &Server) -> Self {
        Self {
            client: connect(server, Era::Modern).await,
            lines: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Calls a tool, records the reply, and returns it as it was.
    async fn call(&mut self, tool: &str, arguments: Json) -> Json {
        let reply = self.client.call(tool, arguments.clone()).await;
        let shown = reply.structured_content.clone().unwrap_or_default();
        let line = json!({
            "call": {tool: arguments},
            "is_error": reply.is_error.unwrap_or(false),
            "reply": shown,
        });
        let line = self.stable("", line);
        self.lines.push(line);
        shown
    }

    /// The value without what differs between two runs: ids and times.
    fn stable(&mut self, key: &str, value: Json) -> Json {
        let is_time = key.ends_with("_ms")
            || key.ends_with("_at")
            || ["durationMs", "started", "updated"].contains(&key);
        match value {
            Json::Number(_) if is_time => json!("[time]"),
            Json::String(_) if is_time => json!("[time]"),
            Json::String(text) if key == "handle" => json!(self.name("handle", &text)),
            Json::String(text) => json!(self.without_ids(&text)),
            Json::Array(items) => items.into_iter().map(|it| self.stable(key, it)).collect(),
            Json::Object(map) => {
                let pairs = map.into_iter();
                let pairs = pairs.map(|(key, value)| {
                    let value = self.stable(&key, value);
                    (self.without_ids(&key), value)
                });
                Json::Object(pairs.collect())
            }
            other => other,
        }
    }

    fn name(&mut self, kind: &str, id: &str) -> String {
        let known = self.names.iter().position(|name| name == id);
        let at = known.unwrap_or_else(|| {
            self.names.push(id.to_owned());
            self.names.len() - 1
        });
        format!("[{kind} {}]", at + 1)
    }

    /// The text with the ids of runs and checkpoints replaced.
    fn without_ids(&mut self, text: &str) -> String {
        const ID_LENGTH: usize = 26;
        let (mut shown, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("run_").into_iter().chain(rest.find("chk_")).min() {
            let (before, found) = rest.split_at(at);
            let (prefix, after) = found.split_at("run_".len());
            shown.push_str(before);
            match after.split_at_checked(ID_LENGTH) {
                Some((id, after)) if id.chars().all(|c| c.is_ascii_alphanumeric()) => {
                    let kind = prefix.trim_end_matches('_');
                    shown.push_str(&self.name(kind, id));
                    rest = after;
                }
                Some(_) | None => {
                    shown.push_str(prefix);
                    rest = after;
                }
            }
        }
        shown + rest
    }
}

#[tokio::test]
async fn graphs() {
    let mut seen = Transcript::new(&server()).await;
    seen.call("same", json!({"n": 1})).await;
    seen.call("work_once", json!({"n": 2})).await;
    insta::assert_json_snapshot!(seen.lines);
}

#[tokio::test]
async fn control() {
    let mut seen = Transcript::new(&server()).await;
    let dag = json!({"tasks": [
        {"id": "a", "tool": "t:look", "arguments": {"n": 1}},
        {"id": "b", "tool": "t:look", "arguments": {"n": "$OUTPUT[a].n"}, "depends_on": ["a"]}
    ]});
    let layered = json!({"workflow": dag, "config": {"per_layer_validation": true}});
    let first = seen.call("execute_dag", layered).await;
    let id = first["workflow_id"].clone();
    let more = json!({"workflow_id": id, "new_requirement": "one more", "new_tasks": [
        {"id": "c", "tool": "t:look", "arguments": {"n": 3}, "depends_on": ["b"]}
    ]});
    seen.call("replan", more).await;
    seen.call("continue", json!({"workflow_id": id})).await;
    seen.call("abort", json!({"workflow_id": id, "reason": "enough"}))
        .await;
    seen.call("continue", json!({"workflow_id": id})).await;
    let asks = json!({"workflow": [{"id": "a", "tool": "t:work", "approval": true}]});
    let asked = seen.call("execute_dag", asks).await;
    let answer = json!({
        "workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": true,
    });
    seen.call("approval_response", answer).await;
    seen.call(
        "execute_dag",
        json!({"workflow": {"tasks": []}, "confg": {}}),
    )
    .await;
    insta::assert_json_snapshot!(seen.lines);
}

#[tokio::test]
async fn planner_loop() {
    let mut seen = Transcript::new(&server()).await;
    let plan = json!([{"tool": "t:look", "args": {"n": 1}, "id": "a"}]);
    seen.call(
        "run_loop",
        json!({"messages": [{"content": "look"}], "plan": plan}),
    )
    .await;
    seen.call(
        "run_loop",
        json!({"messages": [{"content": "look"}], "plan": [{"tool": "t:none"}], "strict": true}),
    )
    .await;
    insta::assert_json_snapshot!(seen.lines);
}

#[tokio::test]
async fn library() {
    let mut seen = Transcript::new(&server()).await;
    let dag = json!({"tasks": [{"id": "a", "tool": "t:look", "arguments": {"n": 1}}]});
    seen.call("workflow_validate", json!({"workflow": dag}))
        .await;
    seen.call("workflow_execute", json!({"workflow": dag}))
        .await;
    seen.call("workflow_execute", json!({"workflow": "no_such"}))
        .await;
    seen.call("workflow_list", json!({})).await;
    seen.call("registry_describe", json!({"nodes": ["t:look"]}))
        .await;
    insta::assert_json_snapshot!(seen.lines);
}

#[tokio::test]
async fn sop() {
    let files = vec![
        ("a/desk.md", DESK.to_owned()),
        ("a/sub/week.md", WEEK.to_owned()),
    ];
    let mut seen = Transcript::new(&serving_sops(files)).await;
    seen.call("load_graph", json!({"sop_file": "a/desk.md"}))
        .await;
    seen.call("goto_node", json!({"node_id": "PAY"})).await;
    seen.call("goto_node", json!({"node_id": "START"})).await;
    seen.call("sop_call", json!({"tool": "pay", "arguments": {}}))
        .await;
    seen.call(
        "todo",
        json!({"todos": [{"content": "pay", "status": "in_progress"}]}),
    )
    .await;
    seen.call("advance", json!({})).await;
    seen.call("sop_call", json!({"tool": "pay", "arguments": {"sum": 3}}))
        .await;
    insta::assert_json_snapshot!(seen.lines);
}

#[tokio::test]
async fn debugging() {
    let mut seen = Transcript::new(&server()).await;
    let dag = json!({"workflow": [{"id": "a", "tool": "t:look", "arguments": {"n": 1}}]});
    let run = seen.client.call("execute_dag", dag).await;
    let run = run.structured_content.unwrap()["workflow_id"].clone();
    seen.call("run_read", json!({"run_id": run})).await;
    seen.call("runs_list", json!({})).await;
    seen.call("expression_test", json!({"expression": "1 + 1"}))
        .await;
    seen.call("run_read", json!({"run_id": "run_none"})).await;
    insta::assert_json_snapshot!(seen.lines);
}
