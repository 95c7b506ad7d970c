//! Plans: the tools that a planner wants called, one after the other, as it wrote them down.
//!
//! Planners wrap their JSON into prose and code fences, so it is looked for leniently. What was
//! found is then checked strictly, and everything that is wrong with it is told at once.

use super::json_dag;
use super::{Elsewhere, Format, Hint};
use crate::flaw::Flaw;
use crate::graph::Graph;
use crate::workflow::{DEFAULT_LABEL, ERROR_LABEL, Edge, Join, Unhandled};
use std::collections::BTreeSet;
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

mod find;
mod settle;

/// Longer plans are refused: a planner that goes on and on does not know what it wants.
const STEPS_MAX: usize = 64;
/// Longer answers of a planner are not looked at.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// More is not told of what is wrong: a planner repairs what it is shown first.
const COMPLAINTS_MAX: usize = 20;

/// A plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The calls, in order.
    pub steps: Vec<Planned>,
}

/// One call of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What the call is known by in this plan.
    pub id: Str,
    /// The tool, as the planner named it.
    pub tool: Str,
    /// The arguments, an object. They may refer to what earlier calls gave: `$OUTPUT[id].field`.
    pub args: Value,
}

/// What a step does that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// It is told, and the next step begins.
    Continue,
    /// Nothing more begins.
    Stop,
}

impl Plan {
    /// Finds the plan in what a planner said. Gives everything that is wrong with it.
    pub fn read(text: &str) -> Result<Self, Vec<String>> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(vec![format!("a plan may have {TEXT_BYTES_MAX} bytes")]);
        }
        match find::json(text) {
            Some(value) => Self::from_value(&value),
            None => Err(vec!["there is no JSON array in the answer".to_owned()]),
        }
    }

    /// Reads a plan that is JSON already.
    pub fn from_value(value: &Value) -> Result<Self, Vec<String>> {
        let list = ["plan", "steps", "actions"]
            .iter()
            .find_map(|key| value.get(key))
            .unwrap_or(value);
        let Some(items) = list.as_array() else {
            return Err(vec!["a plan is an array of steps".to_owned()]);
        };
        if items.len() > STEPS_MAX {
            let count = items.len();
            return Err(vec![format!(
                "{count} steps are more than the {STEPS_MAX} allowed"
            )]);
        }
        let mut wrong = Vec::new();
        let mut ids = BTreeSet::new();
        let steps = (1..).zip(items.iter());
        let steps: Vec<_> = steps
            .filter_map(|(number, item)| planned(number, item, &mut ids, &mut wrong))
            .collect();
        wrong.truncate(COMPLAINTS_MAX);
        match wrong.is_empty() {
            true => Ok(Self { steps }),
            false => Err(wrong),
        }
    }

    /// The plan as it is told to callers.
    pub fn to_value(&self) -> Value {
        Value::array(self.steps.iter().map(|step| {
            let mut told = Map::new();
            told.insert("id", step.id.clone().into());
            told.insert("tool", step.tool.clone().into());
            told.insert("args", step.args.clone());
            told.into()
        }))
    }

    /// The plan as the tasks of a DAG, each after the one before it.
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

    /// The plan as a graph: a chain of calls. Tools must be named with their servers by now.
    pub fn graph(&self, name: &str, on_error: OnError) -> Result<Arc<Graph>, Vec<Flaw>> {
        let dag = Value::object([("tasks", self.tasks())]);
        let hint = Hint {
            name,
            format: Some(Format::Dag),
            elsewhere: Elsewhere::Any,
            ..Hint::default()
        };
        let document = json_dag::read_value(&dag, hint)?;
        let Some(graph) = document.workflows.into_iter().next() else {
            return Err(Vec::new());
        };
        match on_error {
            OnError::Stop => Ok(graph),
            OnError::Continue => Ok(going_on(&graph)),
        }
    }
}

/// The same chain with a way on from every step that fails.
fn going_on(graph: &Arc<Graph>) -> Arc<Graph> {
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
    workflow.unhandled = Unhandled::SkipsDependents;
    for node in &mut workflow.nodes {
        node.join = Join::Any;
    }
    match Graph::build(workflow) {
        Ok((built, _)) => Arc::new(built),
        // More ways between the same nodes break nothing; the chain itself was sound.
        Err(_) => Arc::clone(graph),
    }
}

fn planned(
    number: usize,
    item: &Value,
    ids: &mut BTreeSet<Str>,
    wrong: &mut Vec<String>,
) -> Option<Planned> {
    let Some(map) = item.as_object() else {
        wrong.push(format!("step {number} is no object with `tool` and `args`"));
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
        wrong.push(format!(
            "step {number} has a field `{key}` that no step has"
        ));
    }
    let tool = item.get("tool").or_else(|| item.get("name"));
    let tool = tool.and_then(Value::as_str).unwrap_or_default().trim();
    if tool.is_empty() {
        wrong.push(format!("step {number} names no tool: `tool` must be text"));
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
        wrong.push(format!("step {number}: another step is called `{id}` too"));
    }
    Some(Planned {
        id,
        tool: tool.into(),
        args,
    })
}

#[cfg(test)]
mod tests;
