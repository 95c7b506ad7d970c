//! Plans: a sequence of tool calls written by a planner.
//!
//! Planners wrap their JSON in prose and code fences, so it is searched for leniently. The result is
//! then checked strictly, and all problems are reported at once.

use super::json_dag;
use super::{Format, KnownServers, ReadOptions};
use std::collections::BTreeSet;
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::flaw::Flaw;
use tramline_workflow::graph::Graph;
use tramline_workflow::tool_schema::ToolSchemas;
use tramline_workflow::workflow::{DEFAULT_LABEL, ERROR_LABEL, Edge, Join, UnhandledFailure};

mod find_json;
mod substitute;

/// Most steps in a plan: longer ones are a sign that the planner lost track.
const STEPS_MAX: usize = 64;
/// Longest planner response that is parsed, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Most problems reported: a planner fixes the first ones anyway.
const PROBLEMS_MAX: usize = 20;

/// A plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolPlan {
    /// The calls, in order.
    pub steps: Vec<PlannedStep>,
}

/// One call of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedStep {
    /// The id of the call in this plan.
    pub id: Str,
    /// The tool, as the planner named it.
    pub tool: Str,
    /// The arguments, an object. They may refer to outputs of earlier calls: `$OUTPUT[id].field`.
    pub args: Value,
}

/// What happens when a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The failure is reported, and the next step starts.
    Continue,
    /// No further step starts.
    Stop,
}

impl ToolPlan {
    /// Finds the plan in a planner's response, or returns all problems.
    pub fn read(text: &str) -> Result<Self, Vec<String>> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(vec![format!(
                "the response exceeds the limit of {TEXT_BYTES_MAX} bytes"
            )]);
        }
        match find_json::find_json(text) {
            Some(value) => Self::from_value(&value),
            None => Err(vec!["there is no JSON array in the response".to_owned()]),
        }
    }

    /// Reads a plan from a JSON value.
    pub fn from_value(value: &Value) -> Result<Self, Vec<String>> {
        let list = ["plan", "steps", "actions"]
            .iter()
            .find_map(|key| value.get(key))
            .unwrap_or(value);
        let Some(items) = list.as_array() else {
            return Err(vec!["a plan must be an array of steps".to_owned()]);
        };
        if items.len() > STEPS_MAX {
            let count = items.len();
            return Err(vec![format!(
                "{count} steps exceed the limit of {STEPS_MAX}"
            )]);
        }
        let mut wrong = Vec::new();
        let mut ids = BTreeSet::new();
        let steps = (1..).zip(items.iter());
        let steps: Vec<_> = steps
            .filter_map(|(number, item)| read_step(number, item, &mut ids, &mut wrong))
            .collect();
        wrong.truncate(PROBLEMS_MAX);
        match wrong.is_empty() {
            true => Ok(Self { steps }),
            false => Err(wrong),
        }
    }

    /// The plan as JSON, as shown to callers.
    pub fn to_value(&self) -> Value {
        Value::array(self.steps.iter().map(|step| {
            let mut told = Map::new();
            told.insert("id", step.id.clone().into());
            told.insert("tool", step.tool.clone().into());
            told.insert("args", step.args.clone());
            told.into()
        }))
    }

    /// The plan as the tasks of a DAG, each depending on the one before it.
    pub fn tasks(&self) -> Value {
        let mut before: Option<&Str> = None;
        let tasks = self.steps.iter().map(|step| {
            let mut task = Map::new();
            task.insert("id", step.id.clone().into());
            task.insert("tool", step.tool.clone().into());
            task.insert("arguments", step.args.clone());
            let waits_for = before.replace(&step.id).into_iter();
            let waits_for = waits_for.map(|id| Value::from(id.clone()));
            task.insert("depends_on", Value::array(waits_for));
            task.into()
        });
        Value::array(tasks)
    }

    /// The plan as a graph: a chain of calls, checked against the schemas of these tools. Tools must be named with their
    /// servers.
    pub fn graph(
        &self,
        name: &str,
        on_error: OnError,
        tools: &dyn ToolSchemas,
    ) -> Result<Arc<Graph>, Vec<Flaw>> {
        let dag = Value::object([("tasks", self.tasks())]);
        let hint = ReadOptions {
            name,
            format: Some(Format::Dag),
            known_servers: KnownServers::Any,
            tools,
            ..ReadOptions::default()
        };
        let document = json_dag::read_value(&dag, hint)?;
        let Some(graph) = document.workflows.into_iter().next() else {
            return Err(Vec::new());
        };
        match on_error {
            OnError::Stop => Ok(graph),
            OnError::Continue => Ok(continue_on_error(&graph)),
        }
    }
}

/// The same chain with an error edge from every step to the next.
fn continue_on_error(graph: &Arc<Graph>) -> Arc<Graph> {
    let mut workflow = (*graph.workflow).clone();
    let on = |edge: &Edge| Edge {
        label: ERROR_LABEL.into(),
        ..edge.clone()
    };
    let ways = workflow.edges.iter();
    let ways: Vec<_> = ways
        .filter(|edge| edge.label == DEFAULT_LABEL)
        .map(on)
        .collect();
    workflow.edges.extend(ways);
    workflow.unhandled = UnhandledFailure::SkipsDependents;
    for node in &mut workflow.nodes {
        node.join = Join::Any;
    }
    match Graph::build(workflow) {
        Ok((built, _)) => Arc::new(built),
        // More edges between the same nodes cannot invalidate a valid chain.
        Err(_) => Arc::clone(graph),
    }
}

fn read_step(
    number: usize,
    item: &Value,
    ids: &mut BTreeSet<Str>,
    wrong: &mut Vec<String>,
) -> Option<PlannedStep> {
    let Some(map) = item.as_object() else {
        wrong.push(format!(
            "step {number} is not an object with `tool` and `args`"
        ));
        return None;
    };
    let known = [
        "id",
        "tool",
        "name",
        "args",
        "arguments",
        "parameters",
        "reason",
    ];
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        wrong.push(format!("step {number} has the unknown field `{key}`"));
    }
    let tool = item.get("tool").or_else(|| item.get("name"));
    let tool = tool.and_then(Value::as_str).unwrap_or_default().trim();
    if tool.is_empty() {
        wrong.push(format!(
            "step {number} does not name a tool: `tool` must be text"
        ));
    }
    let args = ["args", "arguments", "parameters"];
    let args = args.iter().find_map(|key| item.get(key)).cloned();
    let args = args
        .filter(|args| !args.is_null())
        .unwrap_or_else(|| Value::object::<Str>([]));
    if args.as_object().is_none() {
        wrong.push(format!("step {number}: `args` must be an object"));
    }
    let given = item.get("id").and_then(Value::as_str).map(Str::from);
    let id = given.unwrap_or_else(|| format!("step_{number}").into());
    if !ids.insert(id.clone()) {
        wrong.push(format!("step {number}: the id `{id}` is already used"));
    }
    Some(PlannedStep {
        id,
        tool: tool.into(),
        args,
    })
}

#[cfg(test)]
mod tests;
