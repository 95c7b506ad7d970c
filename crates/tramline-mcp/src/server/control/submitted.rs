//! An intent that nothing here may act on alone: the calling agent is asked for a plan, and gives it.

use super::super::toolset::Means;
use super::attend::{self, Came};
use super::wrong::{Code, Wrong};
use super::{amend, execute, read};
use rmcp::model::CallToolResponse;
use tramline_core::formats::tool_plan::Plan;
use tramline_core::{Map, Value};
use tramline_engine::Fault;
use tramline_engine::loop_runner::{Intent, LoopRunner, Terms};
use tramline_engine::planner::Plan as Guess;

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

/// A question for a plan, and what the plan is for.
pub(super) struct Question<'a> {
    /// The tool that was called, and to which the plan is given.
    pub(super) command: &'static str,
    /// What it was called with: kept, so that the plan runs with the same config, budget and session.
    pub(super) arguments: &'a Value,
    pub(super) wish: &'a str,
    pub(super) context: Option<&'a Value>,
    /// What words alone made of it.
    pub(super) guess: &'a Guess,
    /// What else the agent is told, by name.
    pub(super) more: Map,
}

impl Question<'_> {
    /// Keeps the question, and adds it to what is told.
    pub(super) async fn put(self, means: &Means, told: &mut Map) -> Result<(), Wrong> {
        let mut about = Map::new();
        about.insert("command", self.command.into());
        about.insert("arguments", self.arguments.clone());
        let intent = Intent {
            wish: self.wish,
            context: self.context,
            guess: self.guess,
            about: about.into(),
            more: self.more,
        };
        let asked = runner(means).ask_agent(intent, &terms(means)).await;
        let (handle, asks) = asked?;
        told.insert("handle", handle.into());
        told.insert("plan_request", asks);
        let options: &[&str] = match self.command {
            "replan" => &[TOOL, "replan", "continue", "abort"],
            _ => &[TOOL, "execute_dag"],
        };
        let options = options.iter().map(|name| Value::from(*name));
        told.insert("options", Value::array(options));
        Ok(())
    }
}

/// Does what was asked with the plan that the agent gave for it. If it cannot be used, the question
/// stays open.
pub(in super::super) async fn submitted(
    means: &Means,
    arguments: &Value,
    about: &Value,
) -> CallToolResponse {
    let handle = read::text(arguments, "handle").unwrap_or_default();
    let came = take(means, arguments, about).await;
    if came.is_ok()
        && let Err(fault) = runner(means).forget_question(handle).await
    {
        return Wrong::from(fault).into();
    }
    attend::reply(came.map_err(|wrong| wrong.with("handle", handle)))
}

/// Refuses a handle that asks for nothing.
pub(in super::super) fn no_question(arguments: &Value, fault: Fault) -> CallToolResponse {
    let wrong = match fault {
        Fault::Refused(says) => Wrong::new(Code::NotFound, says),
        fault => Wrong::from(fault),
    };
    let handle = arguments.get("handle").cloned().unwrap_or_default();
    attend::reply(Err(wrong.with("handle", handle)))
}

/// Goes on with a workflow about which the client brings an answer.
pub(in super::super) async fn brought_back(means: &Means) -> Option<CallToolResponse> {
    let came = attend::brought(means, TOOL).await.transpose()?;
    Some(attend::reply(came))
}

async fn take(means: &Means, given: &Value, about: &Value) -> Result<Came, Wrong> {
    let arguments = about.get("arguments").and_then(Value::as_object);
    let mut arguments = arguments.cloned().unwrap_or_default();
    let session = arguments.get("session_id").and_then(Value::as_str);
    if read::text(given, "session_id").is_some_and(|given| Some(given) != session) {
        let says = "the handle belongs to another session; leave session_id out, or give the same";
        return Err(Wrong::new(Code::NotFound, says));
    }
    let plan = given.get("plan").cloned().unwrap_or_default();
    let tasks = tasks(&plan)?;
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

/// The tasks of what an agent gave: tasks of a DAG, or steps one after the other.
fn tasks(plan: &Value) -> Result<Value, Wrong> {
    let keys = ["plan", "tasks", "steps"];
    let list = keys.iter().find_map(|key| plan.get(key)).unwrap_or(plan);
    let items = list.as_array().unwrap_or_default();
    if items.is_empty() {
        return Err(Wrong::params("the plan has no step; give at least one"));
    }
    let has = |item: &Value, marks: &[&str]| marks.iter().any(|key| item.get(key).is_some());
    let is_task = |item: &Value| has(item, &["arguments", "depends_on", "dependsOn", "approval"]);
    if !items.iter().any(is_task) {
        let steps = Plan::from_value(list).map_err(|wrong| {
            let details = wrong.iter().map(|one| Value::from(one.as_str()));
            let message = format!("the plan cannot be used: {}", wrong.join("; "));
            Wrong::params(message).with("details", Value::array(details))
        })?;
        return Ok(steps.tasks());
    }
    let waits = items
        .iter()
        .any(|item| has(item, &["depends_on", "dependsOn"]));
    let chained = !waits && items.iter().any(|item| has(item, &["args"]));
    let mut before: Option<Value> = None;
    let tasks = (1..).zip(items).map(|(number, item)| {
        let Some(fields) = item.as_object() else {
            return item.clone();
        };
        let mut task: Map = fields.clone();
        if !task.contains_key("arguments")
            && let Some(args) = task.remove("args")
        {
            task.insert("arguments", args);
        }
        if !task.contains_key("id") {
            task.insert("id", format!("step_{number}").into());
        }
        let waits_for = std::mem::replace(&mut before, task.get("id").cloned());
        if chained {
            task.insert("depends_on", Value::array(waits_for));
        }
        task.into()
    });
    Ok(Value::array(tasks))
}
