//! The planner loop at the prompt, in a program, and with widely used servers.

use crate::support::{CommandResult, Tramline as Binary};
use crate::test_servers::{StdioClient, installed, serve};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;
use tramline::{Config, LoopRequest, Tool, Tramline};
use tramline::{LoopStatus, OnFailure};
use tramline_test_server::processes::wait_until;

mod host;
mod model_failures;
mod plan_requests;
mod scenarios;
pub(crate) mod stub;
mod tiny;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

fn told(done: &CommandResult) -> Value {
    serde_json::from_str(&done.out()).unwrap_or_else(|_| panic!("{} {}", done.out(), done.err()))
}

/// The binary with one of our servers behind it.
fn place() -> (Binary, String) {
    let place = Binary::new();
    let unruly = tramline_test_server::program::test_server().unwrap();
    let file = place.data.path().join("mcp.json");
    let servers = json!({"mcpServers": {"u": {"command": unruly}}});
    std::fs::write(&file, servers.to_string()).unwrap();
    (place, file.to_string_lossy().into_owned())
}

#[test]
fn a_plan_runs_at_the_prompt_and_is_summed_up() {
    let (place, servers) = place();
    let plan = r#"[{"tool": "u:add", "args": {"a": 2, "b": 3}}, {"tool": "finalize_summary", "args": {}}]"#;
    let words = ["loop", "add", "--plan", plan, "--mcp-config", &servers];
    let done = place.run(&words);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert!(done.out().starts_with("u:add: "), "{}", done.out());
    let done = place.run(&[&words[..], &["--json"]].concat());
    let told = told(&done);
    assert_eq!(told["success"], true);
    assert!(told["data"]["summaryMessage"].is_string(), "{told}");
}

#[test]
fn a_plan_is_asked_for_and_given_by_another_process() {
    let (place, servers) = place();
    let asked = place.run(&[
        "loop",
        "paint the fence",
        "--json",
        "--mcp-config",
        &servers,
    ]);
    assert_eq!(asked.code(), 2, "{}", asked.err());
    let handle = told(&asked)["handle"].as_str().unwrap().to_owned();
    let with = |plan: &str| {
        let words = [
            "loop",
            "x",
            "--handle",
            &handle,
            "--plan",
            plan,
            "--json",
            "--mcp-config",
            &servers,
        ];
        place.run(&words)
    };
    let refused = with(r#"[{"tool": "u:ecko", "args": {}}]"#);
    assert_eq!(refused.code(), 2);
    assert!(
        refused.out().contains("did you mean `u:echo`?"),
        "{}",
        refused.out()
    );
    let done = with(r#"[{"tool": "u:echo", "args": {"x": 1}}]"#);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert_eq!(told(&done)["data"]["context"]["step_1"], json!({"x": 1}));
}

#[test]
fn a_loop_that_was_killed_goes_on_where_it_was() {
    let (place, servers) = place();
    let plan = r#"[{"id": "first", "tool": "u:echo", "args": {"n": 1}}, {"id": "slow", "tool": "u:sleep", "args": {"ms": 3000}},
        {"id": "last", "tool": "u:echo", "args": {"n": "$OUTPUT[first].n"}}]"#;
    let words = [
        "loop",
        "x",
        "--session",
        "s",
        "--plan",
        plan,
        "--mcp-config",
        &servers,
    ];
    let mut child = place
        .command(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut run = String::new();
    let under_way = || {
        let runs = told(&place.run(&["runs", "--json"]));
        let Some(id) = runs["runs"][0]["run_id"].as_str() else {
            return false;
        };
        run = id.to_owned();
        let shown = told(&place.run(&["runs", "show", id, "--json"]));
        shown["steps"]
            .as_array()
            .is_some_and(|steps| steps.len() == 2)
    };
    wait_until(SOON, under_way).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let done = place.run(&["loop", "--run", &run, "--json", "--mcp-config", &servers]);
    assert_eq!(done.code(), 0, "{} {}", done.out(), done.err());
    let told = told(&done);
    assert_eq!(told["data"]["context"]["last"], json!({"n": 1}));
    assert_eq!(
        told["data"]["intermediateResults"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(told["runId"], run.as_str());
}

#[test]
fn a_configured_model_plans_and_its_key_is_shown_nowhere() {
    let (place, servers) = place();
    let says = r#"{"plan": [{"tool": "u:echo", "args": {"x": "planned"}}]}"#;
    let stub = stub::StubModel::start(vec![stub::StubReply::Text(says.to_owned())]);
    let url = &stub.url;
    let config = place.data.path().join("tramline.yaml");
    let text = format!(
        "model: {{ name: m, url: '{url}', key: '${{LOOP_TEST_KEY}}', record: said.jsonl }}\nmcp_config: {servers}\n"
    );
    std::fs::write(&config, text).unwrap();
    let config = config.to_string_lossy().into_owned();
    let words = ["loop", "paint the fence", "--json", "--config", &config];
    let unset = place.run(&words);
    assert_eq!(unset.code(), 2, "{}", unset.out());
    assert!(unset.out().contains("LOOP_TEST_KEY"), "{}", unset.out());
    let done = CommandResult(
        place
            .command(&words)
            .env("LOOP_TEST_KEY", "sesame")
            .output()
            .unwrap(),
    );
    assert_eq!(done.code(), 0, "{} {}", done.out(), done.err());
    let told = told(&done);
    assert_eq!(told["planner"], "model", "{told}");
    assert_eq!(told["usage"]["tokens"], 9);
    assert!(stub.requests()[0].contains("Bearer sesame"));
    let said = std::fs::read_to_string(place.data.path().join("said.jsonl")).unwrap();
    let kept = std::fs::read(place.data_dir().join("tramline.db")).unwrap_or_default();
    for shown in [
        done.out(),
        said,
        String::from_utf8_lossy(&kept).into_owned(),
    ] {
        assert!(!shown.contains("sesame"));
    }
}

#[test]
fn a_real_server_is_planned_over() {
    let Some(program) = installed("node_modules/.bin/mcp-server-filesystem") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let servers = path.join("mcp.json");
    let entry = json!({"mcpServers": {"files": {"command": program, "args": [path]}}});
    std::fs::write(&servers, entry.to_string()).unwrap();
    let mut command = serve(&[], &path.join("data"));
    command
        .args(["--toolsets", "loop", "--mcp-config"])
        .arg(&servers);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut client = StdioClient::start(child);
    let note = path.join("note.txt");
    let plan = json!([{"tool": "files:write_file", "args": {"path": note, "content": "seven"}},
        {"id": "back", "tool": "files:read_text_file", "args": {"path": note}}, {"tool": "finalize_summary", "args": {}}]);
    let request = json!({"messages": [{"role": "user", "content": "write it down"}], "plan": plan, "sessionId": "s"});
    let first = client.call("run_loop", &request)["structuredContent"].clone();
    // Writing is annotated as destructive: a person is asked.
    assert_eq!(first["status"], "paused", "{first}");
    let run = first["runId"].as_str().unwrap().to_owned();
    let data = path.join("data");
    let approve = std::process::Command::new(env!("CARGO_BIN_EXE_tramline"))
        .args(["runs", "approve", &run, "--data-dir"])
        .arg(&data)
        .output()
        .unwrap();
    assert!(approve.status.success(), "{approve:?}");
    let done =
        client.call("run_loop", &json!({"runId": run, "sessionId": "s"}))["structuredContent"]
            .clone();
    assert_eq!(done["success"], true, "{done}");
    assert!(
        done["data"]["summaryMessage"]
            .as_str()
            .unwrap()
            .contains("seven"),
        "{done}"
    );
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "seven");
    let hidden = client.call("run_loop", &json!({"runId": run}));
    assert_eq!(hidden["isError"], true, "its session is not named");
    client.close();
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

#[tokio::test]
async fn a_programs_own_tools_are_planned_over() {
    let greet = Tool::new(
        "greet",
        "Greets somebody by name.",
        |greet: Greet| async move { Ok::<_, String>(format!("Hello, {}!", greet.name)) },
    );
    let tramline = Tramline::open(Config::in_memory().tool(greet.read_only())).unwrap();
    let plan = json!([{"tool": "greet", "args": {"name": "Ada"}}]);
    let request = LoopRequest::new("greet Ada").plan(plan);
    let response = tramline.run_loop(request).await.unwrap();
    assert!(response.success());
    assert_eq!(response.results[0].output, "Hello, Ada!".into());
    let words = tramline
        .run_loop(LoopRequest::new("greet somebody by name 'Bo'"))
        .await
        .unwrap();
    assert_eq!(words.status, LoopStatus::Complete, "{words:?}");
    assert_eq!(words.results[0].output, "Hello, Bo!".into());
    let bad = LoopRequest::new("greet").plan(json!([{"tool": "greet", "args": {"nam": 1}}]));
    let asks = tramline.run_loop(bad.clone()).await.unwrap();
    assert_eq!(
        asks.status,
        LoopStatus::PlanRequest,
        "the agent is asked to repair it"
    );
    let stopped = tramline
        .run_loop(bad.on_error(OnFailure::Stop))
        .await
        .unwrap();
    assert_eq!(stopped.status, LoopStatus::Failed);
    tramline.close().await;
}

#[tokio::test]
async fn tools_are_registered_listed_and_fetched_after_opening() {
    let tramline = Tramline::open(Config::in_memory()).unwrap();
    let names = |tools: &[tramline::ToolInfo]| -> Vec<String> {
        tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let before = tramline.callable_tools().await.unwrap();
    assert!(names(&before).contains(&"builtin:read-file".to_owned()));
    assert!(tramline.callable_tool("app:greet").await.unwrap().is_none());
    let greet = |name: &str| {
        Tool::new(
            name.to_owned(),
            "Greets somebody by name.",
            |greet: Greet| async move { Ok::<_, String>(format!("Hello, {}!", greet.name)) },
        )
        .read_only()
    };
    tramline.register(greet("greet")).unwrap();
    tramline.register_of("crm", greet("welcome")).unwrap();
    assert!(
        tramline.register(greet("greet")).is_err(),
        "the name is taken"
    );
    assert!(tramline.register_of("builtin", greet("x")).is_err());
    let after = names(&tramline.callable_tools().await.unwrap());
    assert!(after.contains(&"app:greet".to_owned()) && after.contains(&"crm:welcome".to_owned()));
    let tool = tramline
        .callable_tool("crm:welcome")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(tool.input_schema.unwrap()["required"], json!(["name"]));
    let plan = json!([{"tool": "crm:welcome", "args": {"name": "Ada"}}, {"tool": "greet", "args": {"name": "Bo"}}]);
    let response = tramline
        .run_loop(LoopRequest::new("greet both").plan(plan))
        .await
        .unwrap();
    assert!(response.success(), "{response:?}");
    assert_eq!(response.results[1].output, "Hello, Bo!".into());
    tramline.close().await;
}

#[tokio::test]
async fn a_plan_of_which_nothing_can_run_has_failed() {
    let tramline = Tramline::open(Config::in_memory()).unwrap();
    let plan = json!([{"tool": "teleport", "args": {}}]);
    for way in [OnFailure::Stop, OnFailure::Continue] {
        let request = LoopRequest::new("go").plan(plan.clone()).on_error(way);
        let response = tramline.run_loop(request).await.unwrap();
        assert_eq!(response.status, LoopStatus::Failed, "{way:?}");
        let open = response.to_value().get("open").unwrap().to_json();
        assert!(open.contains("there is no tool `teleport`"), "{open}");
    }
    let asked = tramline
        .run_loop(LoopRequest::new("go").plan(plan))
        .await
        .unwrap();
    assert_eq!(asked.status, LoopStatus::PlanRequest);
    let nothing = LoopRequest::new("go").plan(json!([]));
    assert!(
        tramline.run_loop(nothing).await.unwrap().success(),
        "no steps, no failure"
    );
    tramline.close().await;
}

#[tokio::test]
async fn a_tool_outside_the_available_ones_is_named_as_such() {
    let mut config = Config::in_memory();
    config.roots = vec![std::env::temp_dir()];
    let tramline = Tramline::open(config).unwrap();
    let mut request = LoopRequest::new("read")
        .on_error(OnFailure::Stop)
        .plan(json!([
            {"tool": "builtin:read-file", "args": {"path": "x"}},
            {"tool": "list-directory", "args": {"path": "."}},
            {"tool": "builtin:list-directroy", "args": {"path": "."}}
        ]));
    request.available_tools = Some(vec!["builtin:list-directory".into()]);
    let response = tramline.run_loop(request).await.unwrap();
    let errors: Vec<_> = response
        .results
        .iter()
        .map(|result| result.error.clone())
        .collect();
    let outside = "`builtin:read-file` is not in `availableTools`";
    assert_eq!(errors[0].as_deref(), Some(outside), "{errors:?}");
    assert_eq!(errors[1], None);
    tramline.close().await;
}

#[tokio::test]
async fn a_message_for_which_a_plan_is_requested_is_remembered() {
    let tramline = Tramline::open(Config::in_memory()).unwrap();
    let ask = |text: &str| LoopRequest::new(text.to_owned()).session("s");
    let asked = tramline
        .run_loop(ask("arrange the archive of the museum"))
        .await
        .unwrap();
    assert_eq!(asked.status, LoopStatus::PlanRequest);
    let next = tramline
        .run_loop(ask("and now?").plan(json!([])))
        .await
        .unwrap();
    let context = next
        .to_value()
        .get("data")
        .unwrap()
        .get("context")
        .unwrap()
        .to_json();
    assert!(
        context.contains("arrange the archive of the museum"),
        "{context}"
    );
    assert!(context.contains("no `embedder` is configured"), "{context}");
    // The plan comes later, and its message is not remembered twice.
    let runner = tramline.loop_runner();
    let handle = asked.handle.unwrap();
    let plan = json!({"plan": [{"tool": "builtin:list-directory", "args": {"path": "."}}]});
    let plan = plan.into();
    runner
        .submit(&handle, &plan, &tramline::CallerContext::default())
        .await
        .unwrap();
    let last = tramline
        .run_loop(ask("well?").plan(json!([])))
        .await
        .unwrap();
    let context = last
        .to_value()
        .get("data")
        .unwrap()
        .get("context")
        .unwrap()
        .to_json();
    let recent = context.split("semanticMatches").next().unwrap();
    assert_eq!(recent.matches("arrange the archive").count(), 1, "{recent}");
    tramline.close().await;
}
