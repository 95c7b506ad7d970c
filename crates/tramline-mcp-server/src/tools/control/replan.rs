//! `replan`: adds tasks to a workflow that waits or runs.

use super::error::ControlError;
use super::intent::{self, PlannedIntent};
use super::read;
use super::status::{checkpoint_id, needs_decision};
use super::wait::{self, ControlReply};
use super::{plan_request, seen_checkpoint, status};
use crate::pause_reply::checkpoint_type;
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use tramline_engine::{Fault, ended_fault};
use tramline_expr::{Map, Value};

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResponse {
    let came = replan(&means, &arguments, None).await;
    wait::tool_response(came)
}

/// Adds tasks for a call of this tool, or of another tool that received them for a plan handle.
pub(super) async fn replan(
    means: &CallContext,
    arguments: &Value,
    handle: Option<&str>,
) -> Result<ControlReply, ControlError> {
    let arrival = means
        .shared
        .toolset_state
        .control
        .arrive(&read::workflow_id(arguments)?);
    let loaded = read::load_workflow(means, arguments).await?;
    let run = &loaded.run;
    means.shared.toolset_state.control.admit(&run.id).await?;
    if run.outcome.is_some() {
        return Err(ended_fault(run).into());
    }
    let seen = seen_checkpoint::find(&loaded, arguments, &arrival)?;
    let mut plan = None;
    let tasks = match arguments.get("new_tasks") {
        Some(tasks) => tasks.clone(),
        None => match intent::plan_new_tasks(means, &loaded, arguments).await? {
            PlannedIntent::Tasks(tasks, why, _) => {
                plan = Some(why);
                tasks
            }
            PlannedIntent::Suggestion(told) => return Ok(ControlReply::Status(told)),
        },
    };
    let growth = read::read_tasks(means, &tasks, &run.graph).await?;
    let by = means.caller().journal_name(&means.request);
    let claim = plan_request::claim_handle(means, handle, run.id.clone()).await?;
    let amended = means.engine.amend_at(&run.id, growth.patch, by, seen).await;
    if let Err(fault) = amended {
        // A store that failed may have stored the tasks all the same.
        if !matches!(fault, Fault::Store(_)) {
            plan_request::release_handle(means, claim).await?;
        }
        return Err(match fault {
            Fault::Rejected(_) => ControlError::from(fault).with_run_state(run),
            other => ControlError::from(other).with_workflow(&run.id),
        });
    }
    let mut told = Map::new();
    told.insert("status", "replanned".into());
    told.insert("workflow_id", run.id.as_str().into());
    told.insert("new_tasks", tasks);
    if let Some(plan) = plan {
        told.insert("plan", plan.into());
    }
    let grown = means.engine.load(&run.id).await?.run;
    let decision = grown.pauses.iter().find(|(_, pause)| needs_decision(pause));
    let next = match decision {
        // `continue` cannot make the decision that the workflow waits for.
        Some((seq, pause)) => {
            told.insert("checkpoint_id", checkpoint_id(&grown, *seq).into());
            told.insert("checkpoint_type", checkpoint_type(pause).into());
            "approval_response"
        }
        None => "continue",
    };
    told.insert("options", Value::array([next, "abort"].map(Value::from)));
    if let Some(at) = status::expires_at(means, run).await? {
        told.insert("expires_at", at.into());
    }
    let came = Ok(ControlReply::Status(told));
    read::add_warnings(came, &growth.document.warnings)
}
