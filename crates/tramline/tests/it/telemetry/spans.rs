//! Spans: their names, parents and attributes, and that a trace stays one.

use super::{Otlp, SPAN, TRACE, document, run, talk};
use crate::support::Tramline;
use serde_json::{Value, json};

pub(super) fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    &span["attributes"][name]
}

/// A text result parsed as JSON.
pub(super) fn inside(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{result}"))
}

#[test]
fn a_caller_s_trace_goes_through_to_the_server_that_is_called() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let path = document(home.data.path());
    let mut talk = talk(&home, &otlp, &path);
    let meta = json!({
        "traceparent": format!("00-{TRACE}-{SPAN}-01"), "tracestate": "a=1", "baggage": "who=me",
    });
    let params = json!({"name": "look", "arguments": {}, "_meta": meta});
    let answer = talk.request("tools/call", &params);
    let seen = inside(&answer);
    talk.close();
    let run = otlp.one("invoke_workflow look");
    let step = otlp.one("tramline.call look");
    let call = otlp.one("tools/call meta");
    for span in [&run, &step, &call] {
        assert_eq!(span["trace"], TRACE);
        assert_eq!(span["state"], "a=1");
        assert_eq!(span["status"], "UNSET");
        assert_eq!(span["resource"]["service.name"], "trams");
    }
    assert_eq!(run["parent"], SPAN);
    assert_eq!(step["parent"], run["span"]);
    assert_eq!(call["parent"], step["span"]);
    assert_eq!(
        (&run["kind"], &call["kind"]),
        (&json!("INTERNAL"), &json!("CLIENT"))
    );
    // The server received our span, not the caller's.
    let ours = format!("00-{TRACE}-{}-01", call["span"].as_str().unwrap());
    assert_eq!(seen["traceparent"], ours);
    assert_eq!(
        (&seen["tracestate"], &seen["baggage"]),
        (&json!("a=1"), &json!("who=me"))
    );
    for (name, value) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "meta"),
        ("network.transport", "pipe"),
        ("tramline.server", "u"),
    ] {
        assert_eq!(attribute(&call, name), value);
    }
    assert_eq!(attribute(&run, "gen_ai.operation.name"), "invoke_workflow");
    assert_eq!(attribute(&run, "gen_ai.workflow.name"), "look");
    assert!(attribute(&call, "gen_ai.tool.call.result").is_null());
}

#[test]
fn without_a_caller_s_trace_a_run_has_its_own_and_nothing_empty_is_sent() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let path = document(home.data.path());
    let mut talk = talk(&home, &otlp, &path);
    let meta = json!({"traceparent": "nonsense", "tracestate": "a=1"});
    let params = json!({"name": "look", "arguments": {}, "_meta": meta});
    let seen = inside(&talk.request("tools/call", &params));
    talk.close();
    let run = otlp.one("invoke_workflow look");
    assert_eq!(run["parent"], "");
    let parent = seen["traceparent"].as_str().unwrap();
    assert!(parent.contains(run["trace"].as_str().unwrap()));
    assert!(seen["tracestate"].is_null() && seen["baggage"].is_null());
}

#[test]
fn a_failure_and_a_retry_are_told_apart() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let path = document(home.data.path());
    let path = path.to_str().unwrap();
    assert_eq!(
        run(&home, &otlp, &["run", path, "breaks", "--json"]).code(),
        1
    );
    let failed = otlp.one("invoke_workflow breaks");
    let call = otlp.one("tools/call fail");
    assert_eq!(
        (&failed["status"], &call["status"]),
        (&json!("ERROR"), &json!("ERROR"))
    );
    assert_eq!(attribute(&call, "error.type"), "tool_error");
    assert_eq!(attribute(&failed, "tramline.run.status"), "failed");
    assert!(
        call["says"].as_str().unwrap().contains("it broke"),
        "{call}"
    );

    assert_eq!(
        run(&home, &otlp, &["run", path, "again", "--json"]).code(),
        0
    );
    otlp.one("invoke_workflow again");
    let step = otlp.one("tramline.call again");
    let calls = otlp.named("tools/call flaky");
    let states: Vec<_> = calls.iter().map(|call| &call["status"]).collect();
    assert_eq!(states, ["ERROR", "UNSET"]);
    assert!(calls.iter().all(|call| call["parent"] == step["span"]));
    assert_eq!(attribute(&step, "tramline.attempts"), 2);
    assert_eq!(step["status"], "UNSET");
}

#[test]
fn a_called_workflow_is_a_span_below_its_step() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let path = document(home.data.path());
    let done = run(
        &home,
        &otlp,
        &["run", path.to_str().unwrap(), "outer", "--json"],
    );
    assert_eq!(done.code(), 0, "{}", done.err());
    let outer = otlp.one("invoke_workflow outer");
    let step = otlp.one("tramline.workflow below");
    let inner = otlp.one("invoke_workflow inner");
    let sum = otlp.one("tramline.compute sum");
    assert_eq!(step["parent"], outer["span"]);
    assert_eq!(inner["parent"], step["span"]);
    assert_eq!(sum["parent"], inner["span"]);
    for span in [&step, &inner, &sum] {
        assert_eq!(span["trace"], outer["trace"]);
    }
}

#[test]
fn an_approval_in_another_process_stays_in_the_trace() {
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let path = document(home.data.path());
    let asked = run(
        &home,
        &otlp,
        &["run", path.to_str().unwrap(), "careful", "--json"],
    );
    assert_eq!(asked.code(), 4, "{}", asked.err());
    let json: Value = serde_json::from_str(&asked.out()).unwrap();
    let checkpoint = json["waiting"][0]["checkpoint_id"].as_str();
    let checkpoint = checkpoint.unwrap_or_else(|| panic!("{json}"));
    let answered = run(&home, &otlp, &["runs", "answer", checkpoint, "--yes"]);
    assert_eq!(answered.code(), 0, "{} {}", answered.out(), answered.err());
    let id = asked.text("run_id");
    let resumed = run(&home, &otlp, &["runs", "resume", &id, "--json"]);
    assert_eq!(resumed.code(), 0, "{}", resumed.err());
    let run = otlp.one("invoke_workflow careful");
    let pause = otlp.one("tramline.pause approval");
    let call = otlp.one("tools/call echo");
    assert_eq!(attribute(&pause, "tramline.pause.answer"), "proceed");
    for span in [&pause, &call] {
        assert_eq!(span["trace"], run["trace"]);
        assert!(span["began"].as_u64() >= run["began"].as_u64());
    }
    assert_eq!(pause["parent"], run["span"]);
    assert!(pause["began"].as_u64() < pause["ended"].as_u64());
}

#[test]
fn what_tools_are_given_is_told_only_when_asked_for_and_never_a_secret() {
    const SECRET: &str = "sk-very-secret-1234567890";
    let Some(mut otlp) = Otlp::start() else {
        return;
    };
    let home = Tramline::new();
    let path = document(home.data.path());
    let mut command = home.command(&["run", path.to_str().unwrap(), "secret", "--json"]);
    otlp.set(&mut command);
    let done = command
        .args(["--log", "trace", "--log-format", "json"])
        .env("TRAMLINE_TELEMETRY_CONTENT", "true")
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20header-secret-42",
        )
        .env("TRAMLINE_SETTING_API_KEY", SECRET)
        .output()
        .unwrap();
    let done = crate::support::CommandResult(done);
    assert_eq!(done.code(), 0, "{}", done.err());
    let call = otlp.one("tools/call echo");
    assert_eq!(call["authorization"], "Bearer header-secret-42");
    let arguments = attribute(&call, "gen_ai.tool.call.arguments");
    assert!(
        arguments.as_str().unwrap().contains("settings.API_KEY"),
        "{arguments}"
    );
    assert!(attribute(&call, "gen_ai.tool.call.result").is_string());
    otlp.one("invoke_workflow secret");
    let all: String = otlp
        .got
        .iter()
        .map(|it| it["attributes"].to_string())
        .collect();
    for (place, text) in [
        ("spans", all),
        ("the log", done.err()),
        ("the result", done.out()),
    ] {
        assert!(!text.contains(SECRET), "{place}: {text}");
        assert!(!text.contains("header-secret-42"), "{place}");
    }
    assert!(done.err().lines().any(|line| line.contains("completed")));
}
