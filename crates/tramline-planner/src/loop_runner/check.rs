//! Checks a plan against the tools: whether they exist and accept the arguments.

use super::plan_request::placeholder_problem;
use super::request::OnFailure;
use super::response::StepResult;
use super::run_plan::is_summary;
use super::state::LoopState;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use tramline_engine::long_work;
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::{Map, Str, Value};
use tramline_formats::tool_plan::{PlannedStep, ToolPlan};
use tramline_workflow::ids::{BUILTIN, ToolName};
use tramline_workflow::schema::Checker;
use tramline_workflow::text::{display_name, nearest};

/// The result of checking a plan.
pub(super) struct CheckedPlan {
    /// The steps that can run, with fully qualified tool names.
    pub(super) runnable: ToolPlan,
    /// The steps that cannot run, as results.
    pub(super) failed: Vec<StepResult>,
    /// All problems, as text for the planner.
    pub(super) problems: Vec<String>,
}

/// Checks a plan against the tools.
pub(super) fn check(plan: &ToolPlan, course: &LoopState, tools: &[Arc<Tool>]) -> CheckedPlan {
    let mut checked = CheckedPlan {
        runnable: ToolPlan::default(),
        failed: Vec::new(),
        problems: Vec::new(),
    };
    let gave = earlier_outputs(plan, course);
    let mut lost = BTreeSet::<&Str>::new();
    let mut over = false;
    for step in &plan.steps {
        let found = find(step, tools).map_err(|says| match course.request.excludes(&step.tool) {
            true => format!("`{}` is not in `availableTools`", display_name(&step.tool)),
            false => says,
        });
        let settled = step.with_outputs(&gave);
        let (unknown, error) = match (&found, &settled) {
            (Err(says), _) => (true, Some(says.clone())),
            (Ok(_), Err(says)) => (false, Some(says.clone())),
            (Ok(tool), Ok(step)) => (
                false,
                depends_on_failed(step, &lost)
                    .or_else(|| placeholder_problem(&step.args))
                    .or_else(|| argument_problem(step, tool)),
            ),
        };
        if let Some(error) = error {
            checked
                .problems
                .push(format!("step `{}`: {error}", step.id));
            lost.insert(&step.id);
            if !over {
                checked.failed.push(failed(step, unknown, error));
            }
            // The steps after a failed one do not start, unless `on_error` is `continue`.
            over |= !unknown && course.request.on_error != OnFailure::Continue;
        } else if let (false, Ok(tool), Ok(step)) = (over, found, settled) {
            let args = match is_summary(&step.tool) {
                true => summary_arguments(
                    &step,
                    course.request.last_message(),
                    &course.earlier,
                    &checked.runnable,
                ),
                false => step.args.clone(),
            };
            checked.runnable.steps.push(PlannedStep {
                id: step.id,
                tool: tool.name.to_string().into(),
                args,
            });
        }
    }
    checked
}

/// The outputs of earlier plans' steps. If an id is used again, it refers to the plan's own step.
fn earlier_outputs(plan: &ToolPlan, course: &LoopState) -> Map {
    let own = |id: &Str| plan.steps.iter().any(|step| step.id == *id);
    let did = course
        .earlier
        .iter()
        .filter(|one| one.error.is_none() && !own(&one.id));
    did.map(|one| (one.id.clone(), one.output.clone()))
        .collect()
}

fn failed(step: &PlannedStep, unknown: bool, error: String) -> StepResult {
    StepResult {
        id: step.id.clone(),
        tool: step.tool.clone(),
        input: step.args.clone(),
        output: Value::Null,
        error: Some(error),
        unknown,
    }
}

/// The question that a plan may ask: a form, although no server has such a tool.
static ASK: LazyLock<Arc<Tool>> = LazyLock::new(|| {
    Arc::new(Tool {
        name: ToolName::new(BUILTIN, "ask"),
        title: None,
        description: None,
        input_schema: tramline_formats::ask_input_schema(),
        output_schema: None,
        hints: ToolHints::default(),
    })
});

/// The tool that a step names, with or without its server.
fn find<'t>(step: &PlannedStep, tools: &'t [Arc<Tool>]) -> Result<&'t Arc<Tool>, String> {
    let name = step.tool.as_str();
    if let Some(tool) = tools.iter().find(|tool| tool.name.to_string() == name) {
        return Ok(tool);
    }
    let same: Vec<_> = tools.iter().filter(|tool| tool.name.tool == name).collect();
    match same.as_slice() {
        [only] => Ok(only),
        [] if name == ASK.name.to_string() || name == ASK.name.tool => Ok(&ASK),
        [] => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
            let own = tools.iter().map(|tool| tool.name.tool.as_str());
            let near = nearest(name, names.iter().map(String::as_str).chain(own));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Err(format!("there is no tool `{}`{near}", display_name(name)))
        }
        several => {
            let names: Vec<_> = several.iter().map(|tool| tool.name.to_string()).collect();
            let name = display_name(name);
            Err(format!(
                "`{name}` is ambiguous: {}; name one of them",
                names.join(", ")
            ))
        }
    }
}

/// Why a step cannot run whose arguments refer to a step that cannot run.
fn depends_on_failed(step: &PlannedStep, lost: &BTreeSet<&Str>) -> Option<String> {
    if lost.is_empty() {
        return None;
    }
    let text = step.args.to_json();
    let from = lost
        .iter()
        .find(|id| text.contains(&format!("$OUTPUT[{id}]")))?;
    Some(format!("it uses the output of `{from}`, which cannot run"))
}

/// Why a tool does not accept the arguments. References to other steps are checked when they are resolved.
fn argument_problem(step: &PlannedStep, tool: &Tool) -> Option<String> {
    let checker = Checker::new(&tool.input_schema).ok()?;
    let faults = checker
        .check_with(&unwrap_literals(&step.args), long_work)
        .err()?;
    let open = |pointer: &str| {
        let name = pointer.trim_start_matches('/').split('/').next();
        let value = name.and_then(|name| step.args.get(name));
        value.is_some_and(has_references)
    };
    let told = faults.into_iter().filter(|(pointer, _)| !open(pointer));
    let told: Vec<_> = told
        .map(|(pointer, says)| match pointer.as_str() {
            "" => says,
            pointer => format!("{pointer}: {says}"),
        })
        .collect();
    (!told.is_empty()).then(|| format!("invalid arguments for {}: {}", tool.name, told.join("; ")))
}

/// Whether a value contains references that are resolved when the step starts.
fn has_references(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("$OUTPUT["),
        Value::Array(items) => items.iter().any(has_references),
        Value::Object(map) => {
            let kind = map.get("type").and_then(Value::as_str);
            let refers = matches!(kind, Some("reference" | "parameter"));
            refers || map.contains_key("expr") || map.values().any(has_references)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The value with `literal` objects replaced by their data.
fn unwrap_literals(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(unwrap_literals)),
        Value::Object(map) => {
            let is_data = map.get("type").and_then(Value::as_str) == Some("literal");
            match map.get("value").filter(|_| is_data && map.len() == 2) {
                Some(data) => data.clone(),
                None => Value::object(
                    map.iter()
                        .map(|(key, one)| (key.clone(), unwrap_literals(one))),
                ),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The arguments of a summary step, with the message and the outputs of the steps before it.
pub(super) fn summary_arguments(
    step: &PlannedStep,
    message: &str,
    earlier: &[StepResult],
    before: &ToolPlan,
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
