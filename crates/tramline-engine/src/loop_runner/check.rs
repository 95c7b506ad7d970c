//! A plan held against the tools: which are there, and whether their arguments fit.

use super::course::Course;
use super::perform::is_summary;
use super::request::Mend;
use super::response::StepResult;
use crate::long_work::long_work;
use crate::seams::Tool;
use std::collections::BTreeSet;
use std::sync::Arc;
use tramline_core::formats::tool_plan::{Plan, Planned};
use tramline_core::schema::Checker;
use tramline_core::text::{nearest, shown};
use tramline_core::{Map, Str, Value};

/// A plan that was held against the tools.
pub(super) struct Checked {
    /// What can be run, with every tool named with its server.
    pub(super) runs: Plan,
    /// What cannot, as results.
    pub(super) failed: Vec<StepResult>,
    /// Everything that is wrong, for whoever made the plan.
    pub(super) wrong: Vec<String>,
}

/// Holds a plan against the tools.
pub(super) fn check(plan: &Plan, course: &Course, tools: &[Arc<Tool>]) -> Checked {
    let mut checked = Checked {
        runs: Plan::default(),
        failed: Vec::new(),
        wrong: Vec::new(),
    };
    let gave = gave(plan, course);
    let mut lost = BTreeSet::<&Str>::new();
    let mut over = false;
    for step in &plan.steps {
        let found = find(step, tools);
        let settled = step.settled(&gave);
        let (unknown, error) = match (&found, &settled) {
            (Err(says), _) => (true, Some(says.clone())),
            (Ok(_), Err(says)) => (false, Some(says.clone())),
            (Ok(tool), Ok(step)) => (false, refers(step, &lost).or_else(|| misfit(step, tool))),
        };
        if let Some(error) = error {
            checked.wrong.push(format!("step `{}`: {error}", step.id));
            lost.insert(&step.id);
            if !over {
                checked.failed.push(failed(step, unknown, error));
            }
            // What stands behind a step that fails does not begin, unless that is wanted.
            over |= !unknown && course.request.on_error != Mend::Continue;
        } else if let (false, Ok(tool), Ok(step)) = (over, found, settled) {
            let args = match is_summary(&step.tool) {
                true => summed_up(&step, course.request.last(), &course.earlier, &checked.runs),
                false => step.args.clone(),
            };
            checked.runs.steps.push(Planned {
                id: step.id,
                tool: tool.name.to_string().into(),
                args,
            });
        }
    }
    checked
}

/// What the steps of earlier plans gave. An id that is used again means the plan's own step.
fn gave(plan: &Plan, course: &Course) -> Map {
    let own = |id: &Str| plan.steps.iter().any(|step| step.id == *id);
    let did = course
        .earlier
        .iter()
        .filter(|one| one.error.is_none() && !own(&one.id));
    did.map(|one| (one.id.clone(), one.output.clone()))
        .collect()
}

fn failed(step: &Planned, unknown: bool, error: String) -> StepResult {
    StepResult {
        id: step.id.clone(),
        tool: step.tool.clone(),
        input: step.args.clone(),
        output: Value::Null,
        error: Some(error),
        unknown,
    }
}

/// The tool that a step names, with its server or without.
fn find<'t>(step: &Planned, tools: &'t [Arc<Tool>]) -> Result<&'t Arc<Tool>, String> {
    let name = step.tool.as_str();
    if let Some(tool) = tools.iter().find(|tool| tool.name.to_string() == name) {
        return Ok(tool);
    }
    let same: Vec<_> = tools.iter().filter(|tool| tool.name.tool == name).collect();
    match same.as_slice() {
        [only] => Ok(only),
        [] => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
            let own = tools.iter().map(|tool| tool.name.tool.as_str());
            let near = nearest(name, names.iter().map(String::as_str).chain(own));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Err(format!("there is no tool `{}`{near}", shown(name)))
        }
        several => {
            let names: Vec<_> = several.iter().map(|tool| tool.name.to_string()).collect();
            let name = shown(name);
            Err(format!(
                "`{name}` is one of {}; say which",
                names.join(", ")
            ))
        }
    }
}

/// Why a step cannot run whose arguments come from one that does not.
fn refers(step: &Planned, lost: &BTreeSet<&Str>) -> Option<String> {
    if lost.is_empty() {
        return None;
    }
    let text = step.args.to_json();
    let from = lost
        .iter()
        .find(|id| text.contains(&format!("$OUTPUT[{id}]")))?;
    Some(format!("it takes what `{from}` gives, which cannot run"))
}

/// Why arguments do not fit their tool. What comes from other steps is seen when it is there.
fn misfit(step: &Planned, tool: &Tool) -> Option<String> {
    let checker = Checker::new(&tool.input_schema).ok()?;
    let faults = checker.check_by(&as_meant(&step.args), long_work).err()?;
    let open = |pointer: &str| {
        let name = pointer.trim_start_matches('/').split('/').next();
        let value = name.and_then(|name| step.args.get(name));
        value.is_some_and(is_open)
    };
    let told = faults.into_iter().filter(|(pointer, _)| !open(pointer));
    let told: Vec<_> = told
        .map(|(pointer, says)| match pointer.as_str() {
            "" => says,
            pointer => format!("{pointer}: {says}"),
        })
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "the arguments do not fit {}: {}",
            tool.name,
            told.join("; ")
        )
    })
}

/// Whether a value is known only when the step begins.
fn is_open(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("$OUTPUT["),
        Value::Array(items) => items.iter().any(is_open),
        Value::Object(map) => {
            let kind = map.get("type").and_then(Value::as_str);
            let refers = matches!(kind, Some("reference" | "parameter"));
            refers || map.contains_key("expr") || map.values().any(is_open)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A value with what is marked as data standing for itself.
fn as_meant(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(as_meant)),
        Value::Object(map) => {
            let is_data = map.get("type").and_then(Value::as_str) == Some("literal");
            match map.get("value").filter(|_| is_data && map.len() == 2) {
                Some(data) => data.clone(),
                None => Value::object(map.iter().map(|(key, one)| (key.clone(), as_meant(one)))),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The arguments of a summary, with what was asked and what the steps before it gave.
pub(super) fn summed_up(
    step: &Planned,
    message: &str,
    earlier: &[StepResult],
    before: &Plan,
) -> Value {
    let mut args: Map = step.args.as_object().cloned().unwrap_or_default();
    if !args.contains_key("message") {
        args.insert("message", message.into());
    }
    if !args.contains_key("results") {
        let quoted = |text: &Str| Value::from(text.clone()).to_json();
        let earlier = earlier.iter().map(|result| result.to_value().to_json());
        let results = before.steps.iter().map(|step| {
            let (id, tool) = (quoted(&step.id), quoted(&step.tool));
            format!("{{\"id\": {id}, \"tool\": {tool}, \"output\": $lookup($$, {id})}}")
        });
        let all: Vec<_> = earlier.chain(results).collect();
        let expression = format!("[{}]", all.join(", "));
        args.insert("results", Value::object([("expr", expression.into())]));
    }
    args.into()
}
