//! A wish as tasks: what the planner makes of it, and whether that can be run as it is.

use super::super::toolset::Means;
use super::wrong::Wrong;
use super::{read, submitted};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::ids::ToolName;
use tramline_core::run::Run;
use tramline_core::{Map, Value};
use tramline_engine::planner::{Plan, plan};
use tramline_engine::seams::Tool;

/// Servers get so long to say what tools they have.
const ASK_MAX: Duration = Duration::from_secs(15);

/// What became of a wish.
pub(super) enum Suggested {
    /// A DAG with nothing open about it.
    Ready(Document),
    /// A suggestion for the caller to complete.
    Told(Map),
}

/// A DAG for a wish.
pub(super) async fn suggest(
    means: &Means,
    wish: &str,
    arguments: &Value,
) -> Result<Suggested, Wrong> {
    let mut plan = plan(wish, None, &tools(means).await, |_| false);
    if !plan.is_complete()
        && let Some(better) = thought(means, wish, None, |_| false).await
    {
        plan = better;
    }
    if !is_ready(means, &plan) {
        let mut told = told(&plan);
        submitted::ask(means, "execute_dag", wish, arguments, &mut told).await?;
        return Ok(Suggested::Told(told));
    }
    let dag = Value::object([("tasks", plan.tasks.clone())]);
    read::dag(means, &dag).await.map(Suggested::Ready)
}

/// What a model makes of a wish, if there is one and nothing about its plan is open.
async fn thought(
    means: &Means,
    wish: &str,
    context: Option<&Value>,
    taken: impl Fn(&str) -> bool,
) -> Option<Plan> {
    let steps = submitted::runner(means).propose(wish, context).await?;
    if steps.steps.iter().any(|step| taken(&step.id)) {
        return None;
    }
    let tools = steps.steps.iter().map(|step| {
        let (server, tool) = step.tool.split_once(':')?;
        Some(ToolName::new(server, tool))
    });
    Some(Plan {
        tools: tools.collect::<Option<_>>()?,
        tasks: steps.tasks(),
        confidence: 1.0,
        explanation: "planned by the model".to_owned(),
        ..Plan::default()
    })
}

/// Tasks for a wish about a run, or what is to be told if something about them is open.
pub(super) async fn tasks(
    means: &Means,
    wish: &str,
    context: Option<&Value>,
    run: &Run,
    arguments: &Value,
) -> Result<Result<Value, Map>, Wrong> {
    let taken = |id: &str| run.graph.find(id).is_some();
    let mut plan = plan(wish, context, &tools(means).await, taken);
    if !plan.is_complete()
        && let Some(better) = thought(means, wish, context, taken).await
    {
        plan = better;
    }
    if plan.is_complete() {
        return Ok(Ok(plan.tasks));
    }
    let mut told = told(&plan);
    told.insert("workflow_id", run.id.as_str().into());
    told.insert("new_tasks", plan.tasks);
    let options = ["replan", "continue", "abort"].map(Value::from);
    told.insert("options", Value::array(options));
    submitted::ask(means, "replan", wish, arguments, &mut told).await?;
    Ok(Err(told))
}

async fn tools(means: &Means) -> Vec<Arc<Tool>> {
    let listed = tokio::time::timeout(ASK_MAX, means.engine.tools().list()).await;
    let listed = listed.unwrap_or_default().into_iter();
    listed
        .filter_map(|listing| listing.tools.ok())
        .flatten()
        .collect()
}

/// Whether a plan may run without anybody having seen it.
fn is_ready(means: &Means, plan: &Plan) -> bool {
    let asks = |tool: &ToolName| means.engine.asks_before(tool);
    plan.is_complete() && !plan.tools.iter().any(asks)
}

fn told(plan: &Plan) -> Map {
    let missing = plan.missing.iter().map(|missing| {
        let mut told = Map::new();
        told.insert("task_id", missing.task.clone().into());
        told.insert("argument", missing.argument.clone().into());
        if let Some(says) = &missing.description {
            told.insert("description", says.clone().into());
        }
        told.into()
    });
    let mut told = Map::new();
    told.insert("status", "suggestion".into());
    let dag = Value::object([("tasks", plan.tasks.clone())]);
    told.insert("suggested_dag", dag);
    told.insert("confidence", plan.confidence.into());
    told.insert("explanation", plan.explanation.as_str().into());
    told.insert("missing_arguments", Value::array(missing));
    told
}
