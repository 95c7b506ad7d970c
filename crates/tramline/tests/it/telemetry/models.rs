//! Models: plans and chats as spans, below their caller, and their usage as counts.

use super::spans::attribute;
use super::{Otlp, SPAN, TRACE};
use crate::loops::stub::{StubModel, StubReply};
use crate::support::Tramline;
use crate::test_servers::StdioClient;
use serde_json::{Value, json};
use std::process::Stdio;
use tramline_test_server::program;

/// `tramline serve` with the planner loop, a server and this model, sending to a receiver.
fn talk(home: &Tramline, to: &Otlp, model: &StubModel, more: &[&str]) -> StdioClient {
    let dir = home.data.path();
    let servers = json!({"mcpServers": {"u": {"command": program::test_server().unwrap()}}});
    std::fs::write(dir.join("mcp.json"), servers.to_string()).unwrap();
    let config = format!(
        "model: {{ name: m, url: '{}' }}\nmcp_config: mcp.json\n",
        model.url
    );
    std::fs::write(dir.join("tramline.yaml"), config).unwrap();
    let mut command = home.command(&["serve"]);
    to.set(&mut command);
    let child = command
        .args(more)
        .arg("--config")
        .arg(dir.join("tramline.yaml"))
        .env("OTEL_METRICS_EXPORTER", "otlp")
        .env("OTEL_METRIC_EXPORT_INTERVAL", "200")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    StdioClient::start(child.unwrap())
}

fn params(tool: &str, arguments: &Value) -> Value {
    let meta = json!({"traceparent": format!("00-{TRACE}-{SPAN}-01"), "tracestate": "a=1"});
    json!({"name": tool, "arguments": arguments, "_meta": meta})
}

fn wish() -> Value {
    json!({"messages": [{"role": "user", "content": "say hello"}]})
}

#[test]
fn a_plan_and_the_model_that_made_it_stand_in_the_caller_s_trace() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let steps = json!({"plan": [{"id": "hello", "tool": "u:echo", "args": {"say": "hello"}}]});
    let model = StubModel::start(vec![StubReply::Text(steps.to_string())]);
    let mut talk = talk(&home, &otlp, &model, &["--toolsets", "loop"]);
    let told = talk.request("tools/call", &params("run_loop", &wish()));
    assert_eq!(told["structuredContent"]["success"], true, "{told}");
    let plan = otlp.one("plan tramline");
    let chat = otlp.one("chat m");
    let call = otlp.one("tools/call echo");
    for span in [&plan, &chat, &call] {
        assert_eq!(
            (&span["trace"], &span["state"]),
            (&json!(TRACE), &json!("a=1"))
        );
        assert_eq!(span["status"], "UNSET", "{span}");
    }
    assert_eq!(
        (&plan["parent"], &plan["kind"]),
        (&json!(SPAN), &json!("INTERNAL"))
    );
    assert_eq!(
        (&chat["parent"], &chat["kind"]),
        (&plan["span"], &json!("CLIENT"))
    );
    for (span, name, value) in [
        (&plan, "gen_ai.operation.name", json!("plan")),
        (&plan, "gen_ai.agent.name", json!("tramline")),
        (&plan, "tramline.planner", json!("model")),
        (&plan, "tramline.tokens", json!(9)),
        (&chat, "gen_ai.operation.name", json!("chat")),
        (&chat, "gen_ai.request.model", json!("m")),
        (&chat, "gen_ai.provider.name", json!("openai")),
        (&chat, "tramline.tokens", json!(9)),
    ] {
        assert_eq!(attribute(span, name), &value, "{name}");
    }
    // The planned calls are siblings of the plan, below the caller.
    let runs = |otlp: &Otlp| {
        let run = |it: &&Value| {
            let name = it["name"].as_str().unwrap_or_default();
            name.starts_with("invoke_workflow")
        };
        otlp.got.iter().find(run).cloned()
    };
    let run = loop {
        match runs(&otlp) {
            Some(run) => break run,
            None => otlp.next("invoke_workflow"),
        }
    };
    assert_eq!(
        (&run["trace"], &run["parent"]),
        (&json!(TRACE), &json!(SPAN))
    );
    let took = otlp.metric("gen_ai.client.operation.duration");
    assert_eq!((&took["unit"], &took["counts"]), (&json!("s"), &json!([1])));
    assert_eq!(otlp.metric("tramline.model.tokens")["counts"], json!([9]));
    talk.close();
}

#[test]
fn a_plan_for_an_intent_stands_in_the_caller_s_trace_too() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let steps = json!({"plan": [{"id": "hello", "tool": "u:echo", "args": {"say": "hello"}}]});
    let model = StubModel::start(vec![StubReply::Text(steps.to_string())]);
    let mut talk = talk(&home, &otlp, &model, &["--toolsets", "control"]);
    let wish = json!({"intent": "greet whoever is there, in whatever way pleases"});
    talk.request("tools/call", &params("execute_dag", &wish));
    let plan = otlp.one("plan tramline");
    let chat = otlp.one("chat m");
    assert_eq!(
        (&plan["trace"], &plan["parent"], &chat["parent"]),
        (&json!(TRACE), &json!(SPAN), &plan["span"])
    );
    talk.close();
}

#[test]
fn a_model_that_gives_no_plan_is_told_as_that() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let model = StubModel::start(vec![StubReply::Text("I would rather not.".to_owned())]);
    let mut client = talk(&home, &otlp, &model, &["--toolsets", "loop"]);
    client.request("tools/call", &params("run_loop", &wish()));
    let plan = otlp.one("plan tramline");
    assert_eq!(plan["status"], "ERROR", "{plan}");
    assert_eq!(attribute(&plan, "error.type"), "no_plan");
    // The model was asked again, with the problem: each request is a chat below the plan.
    let chats = otlp.named("chat m");
    let asked = model.requests().len();
    assert!(asked > 1, "{asked}");
    assert_eq!(chats.len(), asked);
    assert!(chats.iter().all(|chat| chat["parent"] == plan["span"]));
    assert_eq!(attribute(&plan, "tramline.tokens"), &json!(9 * asked));
    client.close();
    let busy = StubModel::start(vec![StubReply::Busy]);
    let mut client = talk(&home, &otlp, &busy, &["--toolsets", "loop"]);
    client.request("tools/call", &params("run_loop", &wish()));
    let failed = loop {
        let failed = |it: &&Value| it["name"] == "chat m" && it["status"] == "ERROR";
        match otlp.got.iter().find(failed).cloned() {
            Some(failed) => break failed,
            None => otlp.next("a chat that failed"),
        }
    };
    assert_eq!(attribute(&failed, "error.type"), "unavailable", "{failed}");
    client.close();
}

#[test]
fn a_prompt_in_a_workflow_is_a_chat_below_its_step() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let document = json!({
        "version": "1.0",
        "server": {"name": "asks", "version": "1.0.0"},
        "tools": [{"name": "ask", "description": "Asks.", "inputSchema": {"type": "object"}, "nodes": [
            {"id": "entry", "type": "entry", "next": "prompt"},
            {"id": "prompt", "type": "mcp", "server": "builtin", "tool": "llm", "args": {"prompt": "hello"}, "next": "exit"},
            {"id": "exit", "type": "exit"},
        ]}],
    });
    let path = home.data.path().join("asks.yaml");
    std::fs::write(&path, document.to_string()).unwrap();
    let model = StubModel::start(vec![StubReply::Text("Hello.".to_owned())]);
    let mut client = talk(&home, &otlp, &model, &[path.to_str().unwrap()]);
    let told = client.request("tools/call", &params("ask", &json!({})));
    assert!(!told["isError"].as_bool().unwrap_or_default(), "{told}");
    let step = otlp.one("tramline.call prompt");
    let call = otlp.one("execute_tool llm");
    let chat = otlp.one("chat m");
    assert_eq!(
        (&call["parent"], &chat["parent"]),
        (&step["span"], &call["span"])
    );
    for span in [&step, &call, &chat] {
        assert_eq!(span["trace"], TRACE);
    }
    client.close();
}
