//! `replan`: more tasks for a workflow that waits or runs.

use super::super::toolset::Means;
use super::attend::{self, Came};
use super::intent::{self, Suggested};
use super::read;
use super::wrong::Wrong;
use super::{seen, told};
use rmcp::model::CallToolResponse;
use tramline_core::{Map, Value};
use tramline_engine::{Fault, over};

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let came = amend(&means, &arguments).await;
    attend::reply(came)
}

pub(super) async fn amend(means: &Means, arguments: &Value) -> Result<Came, Wrong> {
    let arrival = means.shared.desk.arrive(&read::workflow_id(arguments)?);
    let loaded = read::load(means, arguments).await?;
    let run = &loaded.run;
    means.shared.desk.admit(&run.id).await?;
    if run.outcome.is_some() {
        return Err(over(run).into());
    }
    let seen = seen::checkpoint(&loaded, arguments, &arrival)?;
    let mut plan = None;
    let tasks = match arguments.get("new_tasks") {
        Some(tasks) => tasks.clone(),
        None => match intent::tasks(means, &loaded, arguments).await? {
            Suggested::Ready(tasks, why, _) => {
                plan = Some(why);
                tasks
            }
            Suggested::Told(told) => return Ok(Came::Stands(told)),
        },
    };
    let growth = read::tasks(means, &tasks, &run.graph).await?;
    let by = means.caller().by(&means.context);
    let amended = means.engine.amend_at(&run.id, growth.patch, by, seen).await;
    amended.map_err(|fault| match fault {
        Fault::Refused(_) => Wrong::from(fault).about(run),
        other => Wrong::from(other).of(&run.id),
    })?;
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
    if let Some(at) = told::expires_at(means, run).await? {
        told.insert("expires_at", at.into());
    }
    Ok(Came::Stands(told))
}
