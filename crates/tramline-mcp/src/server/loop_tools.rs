//! The loop toolset: a message in, a plan made and done, its results out.

use super::control;
use super::reply;
use super::toolset::{ACTS, Means, Own, plain};
use rmcp::model::{CallToolResponse, CallToolResult};
use tramline_core::ids::{BadId, RunId};
use tramline_core::{Map, Value};
use tramline_engine::Fault;
use tramline_engine::loop_runner::{Asked, Request, Response, Standing};

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[
    Own {
        name: "run_loop",
        title: "Plan and do",
        description: "Plans tool calls for the last message and runs them. Gives success, status and \
                      data {context, intermediateResults, plan, semanticMatches, summaryMessage}. \
                      status plan_request: make the plan yourself and give it to submit_plan. status \
                      paused: a person must answer; then call again with runId alone.",
        input: r#"{
            "type": "object",
            "properties": {
                "mode": { "type": "string", "maxLength": 256, "description": "analyst, candidate, hiring, general" },
                "sessionId": { "type": "string", "maxLength": 256, "description": "Its messages are remembered" },
                "messages": { "type": "array", "items": { "type": "object", "properties": {
                    "role": { "type": "string" }, "content": { "type": "string" } }, "required": ["content"] } },
                "context": { "type": "object" },
                "plannerRecommendations": { "type": "array" },
                "availableTools": { "type": "array", "description": "server:tool, or server:*" },
                "plan": { "description": "[{tool, args, id?}] to run as it is; args may use $OUTPUT[id].path" },
                "on_error": { "enum": ["continue", "stop", "replan"], "default": "replan" },
                "strict": { "type": "boolean", "description": "Refuse a plan with anything wrong" },
                "budget": { "type": "object", "description": "calls, active_ms, bytes, tokens" },
                "save_as": { "type": "string", "maxLength": 256, "description": "Gives the plan as a DAG of this name" },
                "runId": { "type": "string", "description": "How an earlier loop stands" }
            },
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| plain(run(means, arguments)),
    },
    Own {
        name: "submit_plan",
        title: "Give a plan",
        description: "Gives the plan that run_loop, execute_dag or replan asked for, by its handle. What \
                      is wrong with it is told all at once; repair it and give it again.",
        input: r#"{
            "type": "object",
            "properties": {
                "handle": { "type": "string", "maxLength": 64 },
                "plan": { "type": ["array", "object"], "description": "[{tool, args, id?}]" }
            },
            "required": ["handle", "plan"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| Box::pin(submit(means, arguments)),
    },
];

async fn run(means: Means, arguments: Value) -> CallToolResult {
    let runner = control::runner(&means);
    let terms = control::terms(&means);
    let response = match arguments.get("runId").and_then(Value::as_str) {
        Some(id) => match admitted(&means, id, &arguments).await {
            Ok(run) => runner.follow(&run, &terms).await,
            Err(fault) => Err(fault),
        },
        None => match Request::read(&arguments) {
            Ok(request) => runner.run_for(request, &terms).await,
            Err(wrong) => Err(Fault::Refused(wrong)),
        },
    };
    told(response)
}

/// The run that a call names, if it is this caller's.
async fn admitted(means: &Means, id: &str, arguments: &Value) -> Result<RunId, Fault> {
    let run = id
        .parse()
        .map_err(|bad: BadId| Fault::Refused(bad.to_string()))?;
    let session = arguments.get("sessionId").and_then(Value::as_str);
    means.caller().load(&means.engine, &run, session).await?;
    Ok(run)
}

async fn submit(means: Means, arguments: Value) -> CallToolResponse {
    let handle = arguments.get("handle").and_then(Value::as_str);
    let handle = handle.unwrap_or_default();
    let plan = arguments.get("plan").cloned().unwrap_or_default();
    let runner = control::runner(&means);
    let terms = control::terms(&means);
    match runner.question(handle, &terms).await {
        Ok(Asked::Loop(_)) => told(runner.submit(handle, &plan, &terms).await).into(),
        Ok(Asked::Else(about)) => control::submitted(&means, handle, &about, &plan).await,
        Err(fault) => told(Err(fault)).into(),
    }
}

/// The response as this toolset gives it. Only what was refused before anything ran is an error.
fn told(response: Result<Response, Fault>) -> CallToolResult {
    let response = match response {
        Ok(response) => response,
        Err(fault) => return reply::fault(&fault, None),
    };
    if response.standing == Standing::Refused {
        let details = response
            .problems
            .iter()
            .map(|one| Value::from(one.as_str()));
        let mut error = Map::new();
        error.insert("message", "the plan cannot be used as it is".into());
        error.insert("details", Value::array(details));
        if let Some(handle) = &response.handle {
            error.insert("handle", handle.as_str().into());
        }
        return reply::errored(error);
    }
    reply::success(&response.to_value())
}
