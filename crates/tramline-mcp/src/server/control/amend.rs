//! `replan`: more tasks for a workflow that waits or runs.

use super::super::toolset::Means;
use super::attend::{self, Came};
use super::wrong::Wrong;
use super::{intent, read};
use rmcp::model::CallToolResponse;
use tramline_core::{Map, Value};
use tramline_engine::{Loaded, over};

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let came = amend(&means, &arguments).await;
    attend::reply(came)
}

pub(super) async fn amend(means: &Means, arguments: &Value) -> Result<Came, Wrong> {
    let loaded = read::load(means, arguments).await?;
    let run = &loaded.run;
    means.shared.desk.admit(&run.id)?;
    if run.outcome.is_some() {
        return Err(over(run).into());
    }
    let mut plan = None;
    let tasks = match arguments.get("new_tasks") {
        Some(tasks) => tasks.clone(),
        None => match proposed(means, arguments, &loaded).await? {
            Ok((tasks, why)) => {
                plan = Some(why);
                tasks
            }
            Err(told) => return Ok(Came::Stands(told)),
        },
    };
    let growth = read::tasks(means, &tasks, &run.graph).await?;
    let by = means.caller().by(&means.context);
    let amended = means.engine.amend(&run.id, growth.patch, by).await;
    amended.map_err(|fault| Wrong::from(fault).of(&run.id))?;
    let mut told = Map::new();
    told.insert("status", "replanned".into());
    told.insert("workflow_id", run.id.as_str().into());
    told.insert("new_tasks", tasks);
    if let Some(plan) = plan {
        told.insert("plan", plan.into());
    }
    told.insert(
        "options",
        Value::array(["continue", "abort"].map(Value::from)),
    );
    Ok(Came::Stands(told))
}

/// Tasks that do what is required, if nothing about them is open; else what is to be told.
async fn proposed(
    means: &Means,
    arguments: &Value,
    loaded: &Loaded,
) -> Result<Result<(Value, Map), Map>, Wrong> {
    let wish = read::text(arguments, "new_requirement").unwrap_or_default();
    let context = arguments.get("available_context");
    intent::tasks(means, wish, context, loaded, arguments).await
}
