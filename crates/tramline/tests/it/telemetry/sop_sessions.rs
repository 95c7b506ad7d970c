//! SOP sessions: the calls that passed the gate, and those that did not.

use super::spans::attribute;
use super::{Otlp, SPAN, TRACE};
use crate::support::Tramline;
use crate::test_servers::StdioClient;
use serde_json::{Value, json};
use std::process::Stdio;
use tramline_test_server::program;

const SOP: &str = "---
enforce_tools: true
---

## SOP Flowchart

```mermaid
flowchart TD
  START --> LOOK[Look] --> END([End])
```

## Node Prompts

### LOOK

```yaml
tools: [u:meta, u:fail]
```

Look.
";

fn talk(home: &Tramline, to: &Otlp) -> StdioClient {
    let dir = home.data.path();
    let servers = json!({"mcpServers": {"u": {"command": program::test_server().unwrap()}}});
    std::fs::write(dir.join("mcp.json"), servers.to_string()).unwrap();
    std::fs::write(dir.join("desk.md"), SOP).unwrap();
    let mut command = home.command(&["serve", "--toolsets", "sop", "--mcp-config"]);
    to.set(&mut command);
    let child = command
        .arg(dir.join("mcp.json"))
        .arg("--root")
        .arg(dir)
        .env("OTEL_METRICS_EXPORTER", "otlp")
        .env("OTEL_METRIC_EXPORT_INTERVAL", "200")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    StdioClient::start(child.unwrap())
}

fn call(talk: &mut StdioClient, tool: &str) -> Value {
    talk.call("sop_call", &json!({"tool": tool, "arguments": {}}))
}

#[test]
fn calls_that_pass_the_gate_are_told_and_what_is_refused_is_not() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let mut talk = talk(&home, &otlp);
    let file = home.data.path().join("desk.md");
    let loaded = talk.call("load_graph", &json!({"sop_file": file}));
    let session = loaded["structuredContent"]["session_id"].clone();
    assert!(session.is_string(), "{loaded}");
    for node in ["START", "LOOK"] {
        talk.call("goto_node", &json!({"node_id": node}));
    }
    let refused = call(&mut talk, "u:echo");
    assert!(refused.to_string().contains("LOOK"), "{refused}");
    let seen = call(&mut talk, "u:meta");
    call(&mut talk, "u:fail");
    let look = otlp.one("tools/call meta");
    let fail = otlp.one("tools/call fail");
    for span in [&look, &fail] {
        assert_eq!(
            (&span["kind"], &span["parent"]),
            (&json!("CLIENT"), &json!(""))
        );
        assert_eq!(span["trace"], look["trace"], "one session is one trace");
        assert_eq!(attribute(span, "tramline.run.id"), &session);
        for (name, value) in [
            ("mcp.method.name", "tools/call"),
            ("gen_ai.operation.name", "execute_tool"),
            ("network.transport", "pipe"),
            ("tramline.server", "u"),
        ] {
            assert_eq!(attribute(span, name), value);
        }
    }
    assert_eq!(
        (&look["status"], &fail["status"]),
        (&json!("UNSET"), &json!("ERROR"))
    );
    assert_eq!(attribute(&fail, "error.type"), "tool_error");
    // The server received our span.
    let (trace, span) = (
        look["trace"].as_str().unwrap(),
        look["span"].as_str().unwrap(),
    );
    assert!(
        seen.to_string().contains(&format!("00-{trace}-{span}-01")),
        "{seen}"
    );
    let took = otlp.metric("mcp.client.operation.duration");
    let counts: Vec<u64> = serde_json::from_value(took["counts"].clone()).unwrap();
    assert!(counts.iter().sum::<u64>() >= 1, "{took}");
    talk.close();
    let told = |tool: &str| {
        otlp.got
            .iter()
            .any(|it| it["name"] == format!("tools/call {tool}"))
    };
    assert!(!told("echo"), "what was refused did not happen");
}

#[test]
fn a_call_in_a_conversation_joins_the_trace_of_whoever_asked_for_it() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let mut talk = talk(&home, &otlp);
    let file = home.data.path().join("desk.md");
    talk.call("load_graph", &json!({"sop_file": file}));
    for node in ["START", "LOOK"] {
        talk.call("goto_node", &json!({"node_id": node}));
    }
    let meta = json!({"traceparent": format!("00-{TRACE}-{SPAN}-01"), "tracestate": "a=1", "baggage": "who=me"});
    let params = json!({"name": "sop_call", "arguments": {"tool": "u:meta", "arguments": {}}, "_meta": meta});
    let seen = talk.request("tools/call", &params).to_string();
    let look = otlp.one("tools/call meta");
    assert_eq!(
        (&look["trace"], &look["parent"], &look["state"]),
        (&json!(TRACE), &json!(SPAN), &json!("a=1"))
    );
    let ours = format!("00-{TRACE}-{}-01", look["span"].as_str().unwrap());
    assert!(seen.contains(&ours) && seen.contains("who=me"), "{seen}");
    talk.close();
}
