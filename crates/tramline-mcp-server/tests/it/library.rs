//! Workflows that an agent writes: checked with all flaws at once, run without saving.

use super::support::{ERAS, connect, pure, serving, structured};
use serde_json::{Value as Json, json};
use tramline_mcp_server::Toolset;

mod finding;
mod saving;

const GOOD: &str = "
version: '1.0'
server: { name: s, version: '1' }
tools:
  - name: look_twice
    description: d
    inputSchema: { type: object, required: [n] }
    nodes:
      - { id: entry, type: entry, next: look }
      - { id: look, type: mcp, server: t, tool: look, args: { n: $.entry.n }, next: sum }
      - { id: sum, type: transform, transform: { expr: '{\"n\": look.n * 2}' }, next: exit }
      - { id: exit, type: exit }
";

async fn validate(workflow: impl Into<Json>) -> Json {
    let server = serving(&[Toolset::Library], vec![pure("same")]);
    let client = connect(&server, ERAS[1]).await;
    let result = client
        .call("workflow_validate", json!({"workflow": workflow.into()}))
        .await;
    structured(&result).clone()
}

async fn execute(arguments: Json) -> (bool, Json) {
    let server = serving(&[Toolset::Library], vec![pure("same")]);
    let client = connect(&server, ERAS[0]).await;
    let result = client.call("workflow_execute", arguments).await;
    (result.is_error == Some(true), structured(&result).clone())
}

#[tokio::test]
async fn every_flaw_is_told_at_once_with_its_place_and_what_to_write() {
    let flawed = GOOD
        .replace("tool: look,", "tool: lok,")
        .replace("look.n * 2", "look.n *")
        .replace("next: sum", "next: smu");
    let told = validate(flawed).await;
    assert_eq!(told["success"], true);
    assert_eq!(told["data"]["valid"], false);
    let errors = told["data"]["errors"].as_array().unwrap();
    for (line, code) in [(10, "T0017"), (10, "T0008"), (11, "T0014")] {
        let at = |error: &&Json| error["line"] == line && error["code"] == code;
        let found = errors.iter().find(at);
        let error = found.unwrap_or_else(|| panic!("no {code} at {line}: {errors:?}"));
        assert!(error["suggestion"].is_string(), "{error}");
    }
    let mended = validate(GOOD.replace("tool: look,", "tool: lok,")).await;
    assert_eq!(mended["data"]["valid"], false, "{mended}");
    assert_eq!(
        mended["data"]["errors"][0]["suggestion"],
        "did you mean `look`?"
    );
}

#[tokio::test]
async fn a_sound_workflow_is_valid_and_its_interface_told() {
    let told = validate(GOOD).await;
    assert_eq!(told["data"]["valid"], true, "{told}");
    assert_eq!(told["data"]["workflows"][0]["name"], "look_twice");
    let dag = json!({"tasks": [{"id": "a", "tool": "t:look", "arguments": {"n": 1}}]});
    assert_eq!(validate(dag).await["data"]["valid"], true);
}

#[tokio::test]
async fn a_document_runs_without_being_saved() {
    let (wrong, done) = execute(json!({"workflow": GOOD, "parameters": {"n": 4}})).await;
    assert!(!wrong, "{done}");
    assert_eq!(done["data"]["outputs"], json!({"n": 8}));
    let trace = done["trace_path"].as_str().unwrap();
    assert!(trace.starts_with("tramline://runs/run_"), "{trace}");
}

#[tokio::test]
async fn what_cannot_run_is_told_in_one_shape() {
    for (arguments, kind) in [
        (json!({"workflow": GOOD, "parameters": {}}), "validation"),
        (json!({"workflow": "no_such"}), "not_found"),
        (
            json!({"workflow": GOOD.replace("tool: look,", "tool: lok,"), "parameters": {"n": 1}}),
            "validation",
        ),
        (
            json!({"workflow": GOOD, "parameters": {"n": "x"}}),
            "execution",
        ),
    ] {
        let (wrong, told) = execute(arguments).await;
        assert!(wrong, "{told}");
        assert_eq!(
            (&told["success"], &told["error"]["type"]),
            (&json!(false), &json!(kind)),
            "{told}"
        );
    }
}

#[tokio::test]
async fn an_agent_starts_no_servers_of_its_own() {
    let sneaky = GOOD.replace(
        "tools:\n",
        "mcpServers: { mine: { command: touch, args: [/tmp/never] } }\ntools:\n",
    );
    let sneaky = sneaky.replace("server: t,", "server: mine,");
    let (wrong, told) = execute(json!({"workflow": sneaky, "parameters": {"n": 1}})).await;
    assert!(wrong, "{told}");
    assert_eq!(told["error"]["details"][0]["code"], "T0016", "{told}");
}

#[tokio::test]
async fn a_dag_with_failed_tasks_is_no_success() {
    let place = super::control::ControlFixture::new();
    let server = super::support::over(place.services(), &[Toolset::Library], vec![]);
    let client = connect(&server, ERAS[1]).await;
    let dag = json!({"tasks": [
        {"id": "a", "tool": "t:echo", "arguments": {"n": 1}},
        {"id": "b", "tool": "t:fail", "arguments": {}, "depends_on": []},
        {"id": "c", "tool": "t:echo", "arguments": {}, "depends_on": ["b"]},
    ]});
    let result = client
        .call("workflow_execute", json!({"workflow": dag}))
        .await;
    let told = structured(&result);
    assert_eq!(result.is_error, Some(true), "{told}");
    assert_eq!(told["success"], false, "{told}");
    assert_eq!(told["data"]["status"], "completed_with_failures", "{told}");
    let details = &told["error"]["details"];
    assert_eq!(details["failed_tasks"][0]["task_id"], "b", "{told}");
    assert_eq!(details["failed_tasks"][0]["tool"], "t:fail", "{told}");
    assert_eq!(details["skipped_tasks"], json!(["c"]), "{told}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("`b`: no such thing"), "{message}");
    assert!(told["trace_path"].is_string(), "{told}");
}
