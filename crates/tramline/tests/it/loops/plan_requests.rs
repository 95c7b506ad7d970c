//! An agent that is asked for a plan, over stdio with the server restarted in between.

use super::host::Host;
use serde_json::{Value, json};

/// Calls a tool of a server that is started for this call.
fn call(host: &Host, tool: &str, arguments: Value) -> Value {
    let mut client = host.serve(None);
    let told = client.call(tool, &arguments);
    client.close();
    told
}

#[test]
fn an_intent_that_nobody_could_plan_is_planned_by_the_agent() {
    let Some(host) = Host::new() else { return };
    let told = call(
        &host,
        "execute_dag",
        json!({"intent": "paint the fence and sum it up"}),
    );
    let told = &told["structuredContent"];
    assert_eq!(told["status"], "suggestion", "{told}");
    let asks = &told["plan_request"];
    let tools = asks["tools"].as_array().unwrap();
    assert!(!tools.is_empty() && tools.len() <= 20, "{asks}");
    assert!(tools.iter().all(|tool| tool["argsSchema"].is_object()));
    assert!(asks["plan_schema"]["properties"]["plan"].is_object());
    let give = |plan: Value| {
        let given = json!({"handle": told["handle"], "plan": plan});
        call(&host, "submit_plan", given)
    };
    let refused = give(json!([{"tool": "all:get-sun", "args": {}}]));
    assert_eq!(refused["isError"], true);
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["data"]["handle"], told["handle"], "{error}");
    assert!(
        error.to_string().contains("did you mean `get-sum`?"),
        "{error}"
    );
    let steps = json!([{"id": "a", "tool": "all:get-sum", "args": {"a": 20, "b": 22}},
        {"id": "b", "tool": "all:echo", "args": {"message": "it is $OUTPUT[a]"}}]);
    let done = give(steps.clone());
    let done = &done["structuredContent"];
    assert_eq!(done["status"], "complete", "{done}");
    assert!(
        done["results"][1]["output"].to_string().contains("42"),
        "{done}"
    );
    assert_eq!(give(steps)["isError"], true, "a question is answered once");
}

#[test]
fn an_intent_planned_by_the_agent_stops_after_each_layer_as_was_asked() {
    let Some(host) = Host::new() else { return };
    let config = json!({"per_layer_validation": true});
    let told = call(
        &host,
        "execute_dag",
        json!({"intent": "paint the fence", "config": config}),
    );
    let handle = told["structuredContent"]["handle"].clone();
    let tasks = json!([{"id": "a", "tool": "all:get-sum", "arguments": {"a": 1, "b": 2}, "depends_on": []},
        {"id": "b", "tool": "all:echo", "arguments": {"message": "$OUTPUT[a]"}, "depends_on": ["a"]}]);
    let first = call(
        &host,
        "submit_plan",
        json!({"handle": handle, "plan": tasks}),
    );
    let first = &first["structuredContent"];
    assert_eq!(first["status"], "layer_complete", "{first}");
    let id = first["workflow_id"].clone();
    let wish = json!({"workflow_id": id, "new_requirement": "paint the fence green"});
    let asked = call(&host, "replan", wish);
    let handle = asked["structuredContent"]["handle"].clone();
    let more = json!([{"id": "c", "tool": "all:echo", "args": {"message": "green"}}]);
    let added = call(
        &host,
        "submit_plan",
        json!({"handle": handle, "plan": more}),
    );
    assert_eq!(added["structuredContent"]["status"], "replanned", "{added}");
    let mut last = call(&host, "continue", json!({"workflow_id": id}));
    while last["structuredContent"]["status"] == "layer_complete" {
        last = call(&host, "continue", json!({"workflow_id": id}));
    }
    let results = &last["structuredContent"]["results"];
    assert_eq!(results.as_array().map(Vec::len), Some(3), "{last}");
}

#[test]
fn a_loop_that_failed_is_mended_after_a_restart() {
    let Some(host) = Host::new() else { return };
    std::fs::write(host.path.join("note.txt"), "seven").unwrap();
    let read = |id: &str, name: &str| json!({"id": id, "tool": "files:read_text_file", "args": {"path": host.path.join(name)}});
    let plan = json!([read("r", "note.txt"), read("q", "none.txt"), {"tool": "finalize_summary", "args": {}}]);
    let request = json!({"messages": [{"role": "user", "content": "read my notes"}], "plan": plan});
    let asked = call(&host, "run_loop", request);
    let asked = &asked["structuredContent"];
    assert_eq!(asked["status"], "plan_request", "{asked}");
    let asks = &asked["plan_request"];
    assert_eq!(
        (&asks["done"][0]["id"], &asks["failed"][0]["id"]),
        (&json!("r"), &json!("q"))
    );
    assert_eq!(asks["open"]["steps"][0]["tool"], "finalize_summary");
    let patch = json!([{"id": "e", "tool": "all:echo", "args": {"message": "$OUTPUT[r].content"}},
        {"tool": "finalize_summary", "args": {}}]);
    let done = call(
        &host,
        "submit_plan",
        json!({"handle": asked["handle"], "plan": patch}),
    );
    let done = &done["structuredContent"];
    assert_eq!(done["status"], "complete", "{done}");
    assert!(
        done["data"]["context"]["e"].to_string().contains("seven"),
        "{done}"
    );
    let summary = done["data"]["summaryMessage"].as_str().unwrap();
    assert!(summary.contains("seven"), "{summary}");
}
