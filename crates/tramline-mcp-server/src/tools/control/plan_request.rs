//! Plans requested from the calling agent, for intents that are not safe to run automatically.

use super::error::{ControlError, ReplyCode};
use super::wait::{self, ControlReply};
use super::{execute_dag, read, replan};
use crate::planner;
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use tramline_engine::Fault;
use tramline_expr::{Map, Value};
use tramline_formats::tool_plan::ToolPlan;
use tramline_planner::loop_runner::{Intent, PendingPlan, PlanClaim};
use tramline_planner::planner::TaskPlan as Guess;
use tramline_workflow::ids::RunId;
use tramline_workflow::text::display_name;

/// The tool that receives plans.
const TOOL: &str = "submit_plan";

/// A request for a plan, and what the plan is for.
pub(super) struct PlanQuestion<'a> {
    /// The tool that was called and will run the plan.
    pub(super) command: &'static str,
    /// Its arguments, kept so that the plan runs with the same config, budget and session.
    pub(super) arguments: &'a Value,
    pub(super) intent: &'a str,
    pub(super) context: Option<&'a Value>,
    /// The plan made from words alone.
    pub(super) guess: &'a Guess,
    /// Additional context for the agent, by name.
    pub(super) context_fields: Map,
}

impl PlanQuestion<'_> {
    /// Stores the request and adds it to the reply.
    pub(super) async fn add_to_reply(
        self,
        means: &CallContext,
        told: &mut Map,
    ) -> Result<(), ControlError> {
        let mut about = Map::new();
        about.insert("command", self.command.into());
        about.insert("arguments", self.arguments.clone());
        let intent = Intent {
            request: self.intent,
            context: self.context,
            guess: self.guess,
            about: about.into(),
            more: self.context_fields,
        };
        let asked = planner::loop_runner(means)
            .ask_agent(intent, &planner::caller_context(means))
            .await;
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

/// Runs the command with the plan that the agent submitted. If the plan is invalid, the request stays open.
pub(crate) async fn run_submitted_plan(
    means: &CallContext,
    arguments: &Value,
    about: &Value,
) -> CallToolResponse {
    let handle = read::text(arguments, "handle").unwrap_or_default();
    let came = apply_plan(means, arguments, handle, about).await;
    wait::tool_response(came.map_err(|wrong| wrong.with("handle", handle)))
}

/// The error for a handle whose plan has been submitted before: it names the run of that plan.
pub(crate) fn used_handle(handle: &str, run: &RunId) -> CallToolResponse {
    let wrong = used_error(handle, run).with("handle", handle);
    wait::tool_response(Err(wrong))
}

fn used_error(handle: &str, run: &RunId) -> ControlError {
    let handle = display_name(handle);
    let says = format!(
        "plan handle `{handle}` was already used: its plan belongs to {run}; nothing was executed now"
    );
    ControlError::new(ReplyCode::NotFound, says).with_workflow(run)
}

/// Claims a handle for the run that executes its plan. The claim is made last, when the plan has been checked.
pub(super) async fn claim_handle(
    means: &CallContext,
    handle: Option<&str>,
    run: RunId,
) -> Result<Option<PlanClaim>, ControlError> {
    let Some(handle) = handle else {
        return Ok(None);
    };
    let runner = planner::loop_runner(means);
    if let Some(claim) = runner.claim_plan_request(handle, run).await? {
        return Ok(Some(claim));
    }
    match runner
        .plan_request(handle, &planner::caller_context(means))
        .await
    {
        Ok(PendingPlan::Used(run)) => Err(used_error(handle, &run)),
        Ok(PendingPlan::Loop(_) | PendingPlan::External(_)) | Err(_) => {
            let says = format!("another plan was submitted for `{}`", display_name(handle));
            Err(ControlError::new(ReplyCode::NotFound, says))
        }
    }
}

/// Opens a handle again after its plan was rejected.
pub(super) async fn release_handle(
    means: &CallContext,
    claim: Option<PlanClaim>,
) -> Result<(), ControlError> {
    match claim {
        Some(claim) => Ok(planner::loop_runner(means)
            .release_plan_request(claim)
            .await?),
        None => Ok(()),
    }
}

/// The error for an unknown plan handle.
pub(crate) fn unknown_handle(arguments: &Value, fault: Fault) -> CallToolResponse {
    let wrong = match fault {
        Fault::Rejected(says) => ControlError::new(ReplyCode::NotFound, says),
        fault => ControlError::from(fault),
    };
    let handle = arguments.get("handle").cloned().unwrap_or_default();
    wait::tool_response(Err(wrong.with("handle", handle)))
}

/// Resumes a workflow with an answer from the client.
pub(crate) async fn resume_submitted_plan(means: &CallContext) -> Option<CallToolResponse> {
    let came = wait::resume_with_answer(means, TOOL).await.transpose()?;
    Some(wait::tool_response(came))
}

async fn apply_plan(
    means: &CallContext,
    given: &Value,
    handle: &str,
    about: &Value,
) -> Result<ControlReply, ControlError> {
    let arguments = about.get("arguments").and_then(Value::as_object);
    let mut arguments = arguments.cloned().unwrap_or_default();
    let session = arguments.get("session_id").and_then(Value::as_str);
    if read::text(given, "session_id").is_some_and(|given| Some(given) != session) {
        let says = "the handle belongs to another session; omit session_id or pass the same one";
        return Err(ControlError::new(ReplyCode::NotFound, says));
    }
    let plan = given.get("plan").cloned().unwrap_or_default();
    let tasks = plan_tasks(&plan)?;
    match about.get("command").and_then(Value::as_str) {
        Some("replan") => {
            arguments.insert("new_tasks", tasks);
            replan::replan(means, &arguments.into(), Some(handle)).await
        }
        Some(_) | None => {
            let dag = Value::object([("tasks", tasks)]);
            arguments.insert("workflow", dag);
            execute_dag::execute_dag(means, TOOL, &arguments.into(), Some(handle)).await
        }
    }
}

/// The tasks of a submitted plan: tasks of a DAG, or sequential steps.
fn plan_tasks(plan: &Value) -> Result<Value, ControlError> {
    let keys = ["plan", "tasks", "steps"];
    let list = keys.iter().find_map(|key| plan.get(key)).unwrap_or(plan);
    let items = list.as_array().unwrap_or_default();
    if items.is_empty() {
        return Err(ControlError::invalid_params(
            "the plan has no steps; at least one is required",
        ));
    }
    let has = |item: &Value, marks: &[&str]| marks.iter().any(|key| item.get(key).is_some());
    let is_task = |item: &Value| has(item, &["arguments", "depends_on", "dependsOn", "approval"]);
    if !items.iter().any(is_task) {
        let steps = ToolPlan::from_value(list).map_err(|wrong| {
            let details = wrong.iter().map(|one| Value::from(one.as_str()));
            let message = format!("invalid plan: {}", wrong.join("; "));
            ControlError::invalid_params(message).with("details", Value::array(details))
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
