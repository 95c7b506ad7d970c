//! A wish as tasks: what the planner makes of it, and whether that can be run as it is.

use super::super::toolset::Means;
use super::layers::{End, Layers};
use super::wrong::Wrong;
use super::{read, submitted, why};
use std::time::Duration;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::ids::ToolName;
use tramline_core::workflow::Action;
use tramline_core::{Map, Value};
use tramline_engine::Loaded;
use tramline_engine::planner::{Done, Plan};

/// Servers get so long to say what tools they have.
const ASK_MAX: Duration = Duration::from_secs(15);

/// What became of a wish.
pub(super) enum Suggested {
    /// A DAG with nothing open about it, and why it is so.
    Ready(Box<Document>, Map),
    /// A suggestion for the caller to complete.
    Told(Map),
}

/// A DAG for a wish.
pub(super) async fn suggest(
    means: &Means,
    wish: &str,
    arguments: &Value,
) -> Result<Suggested, Wrong> {
    let mut plan = planned(means, wish, None, &|_| false, &[]).await;
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
    let document = read::dag(means, &dag).await?;
    Ok(Suggested::Ready(Box::new(document), why::of(&plan)))
}

/// What a model makes of a wish, if there is one and nothing about its plan is open.
async fn thought(
    means: &Means,
    wish: &str,
    context: Option<&Value>,
    taken: impl Fn(&str) -> bool,
) -> Option<Plan> {
    let steps = submitted::runner(means)
        .propose(wish, context, means.upstream())
        .await?;
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
    loaded: &Loaded,
    arguments: &Value,
) -> Result<Result<(Value, Map), Map>, Wrong> {
    let run = &loaded.run;
    let taken = |id: &str| run.graph.find(id).is_some();
    let mut plan = planned(means, wish, context, &taken, &done(loaded)).await;
    if !plan.is_complete()
        && let Some(better) = thought(means, wish, context, taken).await
    {
        plan = better;
    }
    if plan.is_complete() {
        let why = why::of(&plan);
        return Ok(Ok((plan.tasks, why)));
    }
    let mut told = told(&plan);
    told.insert("workflow_id", run.id.as_str().into());
    told.insert("new_tasks", plan.tasks);
    let options = ["replan", "continue", "abort"].map(Value::from);
    told.insert("options", Value::array(options));
    submitted::ask(means, "replan", wish, arguments, &mut told).await?;
    Ok(Err(told))
}

/// The plan of the planner without a model; an empty one if servers take too long to say what they
/// have.
async fn planned(
    means: &Means,
    wish: &str,
    context: Option<&Value>,
    taken: &(dyn Fn(&str) -> bool + Sync),
    done: &[Done],
) -> Plan {
    let planning = means.engine.plan(wish, context, &|_| true, taken, done);
    match tokio::time::timeout(ASK_MAX, planning).await {
        Ok(Ok(plan)) => plan,
        Ok(Err(_)) | Err(_) => Plan {
            tasks: Value::array([]),
            explanation: "what can be called could not be listed in time".to_owned(),
            ..Plan::default()
        },
    }
}

/// The tasks of a run that ended well, with what they gave.
fn done(loaded: &Loaded) -> Vec<Done> {
    let graph = &loaded.run.graph;
    let tasks = Layers::of(loaded).tasks.into_iter();
    let done = tasks.filter_map(|task| {
        let node = &graph.workflow.nodes[task.node.at()];
        match (task.end, &node.action) {
            (Some(End::Success(output)), Action::Call { tool, .. }) => Some(Done {
                id: node.id.clone(),
                tool: tool.tool.clone(),
                output,
            }),
            _ => None,
        }
    });
    done.collect()
}

/// Whether a plan may run without anybody having seen it.
fn is_ready(means: &Means, plan: &Plan) -> bool {
    let asks = |tool: &ToolName| means.engine.asks_before(tool);
    plan.is_complete() && !plan.tools.iter().any(asks)
}

fn told(plan: &Plan) -> Map {
    let mut told = Map::new();
    told.insert("status", "suggestion".into());
    let dag = Value::object([("tasks", plan.tasks.clone())]);
    told.insert("suggested_dag", dag);
    for (key, value) in why::of(plan).iter() {
        told.insert(key.clone(), value.clone());
    }
    told
}
