//! A wish that no planner here could fulfil: the calling agent is asked for a plan, and gives it.

use super::super::toolset::{Means, Toolset};
use super::attend::{self, Came};
use super::wrong::Wrong;
use super::{amend, execute};
use rmcp::model::CallToolResponse;
use tramline_core::formats::tool_plan::Plan;
use tramline_core::{Map, Value};
use tramline_engine::loop_runner::{LoopRunner, Terms, plan_schema};

/// The tool that takes plans.
const TOOL: &str = "submit_plan";

/// The loop of a server, with its model if it has one.
pub(in super::super) fn runner(means: &Means) -> LoopRunner {
    let runner = LoopRunner::new(means.engine.clone());
    match &means.shared.conduct.model {
        Some(model) => runner.with_model(model.clone()),
        None => runner,
    }
}

/// On whose behalf a call is made.
pub(in super::super) fn terms(means: &Means) -> Terms {
    Terms {
        owner: means.caller().name,
        by: Some(means.caller().by(&means.context)),
        origin: means.shared.conduct.origin.clone(),
        ttl_ms: means.shared.conduct.ttl_ms(),
        cancel: means.context.ct.clone(),
        upstream: means.upstream(),
    }
}

/// Adds the question for a plan to a suggestion, where there is a tool to answer it by.
pub(super) async fn ask(
    means: &Means,
    command: &'static str,
    wish: &str,
    arguments: &Value,
    told: &mut Map,
) -> Result<(), Wrong> {
    if !means.shared.toolsets.contains(&Toolset::Loop) {
        return Ok(());
    }
    let runner = runner(means);
    let mut about = Map::new();
    about.insert("command", command.into());
    about.insert("arguments", arguments.clone());
    let handle = runner.keep_question(about.into(), &terms(means)).await?;
    let mut asks = Map::new();
    let message = "Make a plan out of these tools and give it to submit_plan with the handle: steps \
                   {tool, args, id?} one after the other, or tasks {id, tool, arguments, depends_on}.";
    asks.insert("message", message.into());
    asks.insert("tools", runner.candidates(wish).await?);
    asks.insert("plan_schema", plan_schema());
    told.insert("handle", handle.into());
    told.insert("plan_request", asks.into());
    Ok(())
}

/// Does what was asked with the plan that the agent gave for it. If it cannot be used, the question
/// stays open.
pub(in super::super) async fn submitted(
    means: &Means,
    handle: &str,
    about: &Value,
    plan: &Value,
) -> CallToolResponse {
    let came = take(means, about, plan).await;
    if came.is_ok()
        && let Err(fault) = runner(means).forget_question(handle).await
    {
        return Wrong::from(fault).into();
    }
    attend::reply(came.map_err(|wrong| wrong.with("handle", handle)))
}

/// Goes on with a workflow about which the client brings an answer.
pub(in super::super) async fn brought_back(means: &Means) -> Option<CallToolResponse> {
    let came = attend::brought(means, TOOL).await.transpose()?;
    Some(attend::reply(came))
}

async fn take(means: &Means, about: &Value, plan: &Value) -> Result<Came, Wrong> {
    let tasks = tasks(plan)?;
    let arguments = about.get("arguments").and_then(Value::as_object);
    let mut arguments = arguments.cloned().unwrap_or_default();
    match about.get("command").and_then(Value::as_str) {
        Some("replan") => {
            arguments.insert("new_tasks", tasks);
            amend::amend(means, &arguments.into()).await
        }
        Some(_) | None => {
            let dag = Value::object([("tasks", tasks)]);
            arguments.insert("workflow", dag);
            execute::execute(means, TOOL, &arguments.into()).await
        }
    }
}

/// The tasks of what an agent gave: tasks already, or steps one after the other.
fn tasks(plan: &Value) -> Result<Value, Wrong> {
    let keys = ["plan", "tasks", "steps"];
    let list = keys.iter().find_map(|key| plan.get(key)).unwrap_or(plan);
    let is_task = |item: &Value| {
        let marks = ["arguments", "depends_on", "dependsOn"];
        marks.iter().any(|key| item.get(key).is_some())
    };
    if list.as_array().unwrap_or_default().iter().any(is_task) {
        return Ok(list.clone());
    }
    let steps = Plan::from_value(list).map_err(|wrong| {
        let details = wrong.iter().map(|one| Value::from(one.as_str()));
        let message = format!("the plan cannot be used: {}", wrong.join("; "));
        Wrong::params(message).with("details", Value::array(details))
    })?;
    Ok(steps.tasks())
}
