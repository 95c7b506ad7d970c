//! Explanation of a plan: reasons for each task and edge, open points, alternatives.

use tramline_expr::{Map, Value};
use tramline_planner::planner::{
    AlternativePlan, EdgeReason, MissingArgument, TaskPlan, TaskReason,
};

/// Everything in a plan reply except the tasks.
pub(super) fn explain(plan: &TaskPlan) -> Map {
    let mut told = Map::new();
    told.insert("confidence", plan.confidence.into());
    told.insert("explanation", plan.explanation.as_str().into());
    told.insert(
        "missing_arguments",
        Value::array(plan.missing.iter().map(missing_argument)),
    );
    let unmet = plan.uncovered.iter().chain(&plan.unused_values);
    let unmet = unmet.map(|part| Value::from(part.as_str()));
    told.insert("unmet", Value::array(unmet));
    told.insert("nodes", Value::array(plan.reasons.iter().map(node_reasons)));
    told.insert("edges", Value::array(plan.links.iter().map(edge_reason)));
    told.insert(
        "alternatives",
        Value::array(plan.alternatives.iter().map(alternative)),
    );
    told
}

fn missing_argument(missing: &MissingArgument) -> Value {
    let mut told = Map::new();
    told.insert("task_id", missing.task.clone().into());
    told.insert("argument", missing.argument.clone().into());
    if let Some(says) = &missing.description {
        told.insert("description", says.clone().into());
    }
    told.into()
}

fn node_reasons(reason: &TaskReason) -> Value {
    let why = reason.reasons.iter().map(|why| Value::from(why.as_str()));
    let instead = reason.alternatives.iter().map(|(tool, score)| {
        let tool = Value::from(tool.to_string());
        Value::object([("tool", tool), ("score", (*score).into())])
    });
    Value::object([
        ("task_id", reason.task.clone().into()),
        ("why", Value::array(why)),
        ("vote_share", reason.vote.into()),
        ("alternatives", Value::array(instead)),
    ])
}

fn edge_reason(link: &EdgeReason) -> Value {
    Value::object([
        ("from", link.from.clone().into()),
        ("to", link.to.clone().into()),
        ("why", link.reason.as_str().into()),
    ])
}

fn alternative(other: &AlternativePlan) -> Value {
    let tools = other.tools.iter().map(|tool| Value::from(tool.to_string()));
    Value::object([
        ("tools", Value::array(tools)),
        ("confidence", other.confidence.into()),
    ])
}
