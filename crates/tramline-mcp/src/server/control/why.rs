//! Why a plan is as it is: what speaks for each task and each order, what is open, what else there is.

use tramline_core::{Map, Value};
use tramline_engine::planner::{Link, Missing, Other, Plan, Reason};

/// Everything that is told of a plan beside its tasks.
pub(super) fn of(plan: &Plan) -> Map {
    let mut told = Map::new();
    told.insert("confidence", plan.confidence.into());
    told.insert("explanation", plan.explanation.as_str().into());
    told.insert(
        "missing_arguments",
        Value::array(plan.missing.iter().map(missing)),
    );
    let unmet = plan.unmet.iter().map(|clause| Value::from(clause.as_str()));
    told.insert("unmet", Value::array(unmet));
    told.insert("nodes", Value::array(plan.reasons.iter().map(node)));
    told.insert("edges", Value::array(plan.links.iter().map(edge)));
    told.insert("alternatives", Value::array(plan.others.iter().map(other)));
    told
}

fn missing(missing: &Missing) -> Value {
    let mut told = Map::new();
    told.insert("task_id", missing.task.clone().into());
    told.insert("argument", missing.argument.clone().into());
    if let Some(says) = &missing.description {
        told.insert("description", says.clone().into());
    }
    told.into()
}

fn node(reason: &Reason) -> Value {
    let why = reason.why.iter().map(|why| Value::from(why.as_str()));
    let instead = reason.instead.iter().map(|(tool, score)| {
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

fn edge(link: &Link) -> Value {
    Value::object([
        ("from", link.from.clone().into()),
        ("to", link.to.clone().into()),
        ("why", link.why.as_str().into()),
    ])
}

fn other(other: &Other) -> Value {
    let tools = other.tools.iter().map(|tool| Value::from(tool.to_string()));
    Value::object([
        ("tools", Value::array(tools)),
        ("confidence", other.confidence.into()),
    ])
}
