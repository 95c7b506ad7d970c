//! The content of a plan request to the calling agent: the tools it can use, the open points, and the schema of the
//! answer.

use super::candidates::OfferedTools;
use super::response::{LoopResponse, LoopStatus, StepResult};
use super::state::LoopState;
use crate::planner::TaskPlan;
use std::sync::Arc;
use tramline_engine::Engine;
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::{Map, Str, Value};
use tramline_formats::tool_plan;
use tramline_workflow::text::display_name;

/// Most steps in a plan.
pub(super) const STEPS_MAX: u64 = 64;
/// How much of a step's output is shown to the agent that replans, in characters. The results contain all of it.
const OUTPUT_CHARS_MAX: usize = 2_000;
/// How much of a failure is shown, in characters.
const FAILURE_CHARS_MAX: usize = 300;
/// Number of unreachable servers that are listed.
const UNREACHABLE_MAX: usize = 20;

/// A plan request of a loop to the calling agent.
#[derive(Debug)]
pub struct PlanRequest {
    response: LoopResponse,
    fields: Map,
    example: Value,
}

/// The JSON Schema of a plan whose steps run in sequence.
pub fn plan_schema() -> Value {
    schema(&[])
}

/// The JSON Schema of a plan whose steps may declare dependencies.
pub fn dag_schema() -> Value {
    let waits = r#"{"type":"array","items":{"type":"string"},
        "description":"Ids of steps that must finish first. If no step has it, each step waits for the previous one"}"#;
    let asks = r#"{"type":["boolean","string"],"description":"Ask a person before this step"}"#;
    schema(&[("depends_on", waits), ("approval", asks)])
}

fn schema(more: &[(&'static str, &str)]) -> Value {
    let mut fields = Map::new();
    for (name, says) in [
        (
            "id",
            r#"{"type":"string","description":"How later steps refer to it: $OUTPUT[id].field"}"#,
        ),
        ("tool", r#"{"type":"string","description":"server:tool"}"#),
        (
            "args",
            r#"{"type":"object","description":"Arguments that match the tool's argsSchema"}"#,
        ),
    ]
    .iter()
    .chain(more)
    {
        fields.insert(*name, Value::from_json(says).unwrap_or_default());
    }
    let texts = |all: &[&'static str]| Value::array(all.iter().map(|text| Value::from(*text)));
    let object = |fields: Map, required: &[&'static str]| {
        let mut object = Map::new();
        object.insert("type", "object".into());
        object.insert("properties", fields.into());
        object.insert("required", texts(required));
        object.insert("additionalProperties", false.into());
        Value::from(object)
    };
    let mut steps = Map::new();
    steps.insert("type", "array".into());
    steps.insert("minItems", 1.into());
    steps.insert("maxItems", STEPS_MAX.into());
    steps.insert("items", object(fields, &["tool", "args"]));
    let plan: Map = [("plan", Value::from(steps))].into_iter().collect();
    object(plan, &["plan"])
}

/// The tools in the format for planners.
pub fn tools_json(tools: &[Arc<Tool>]) -> Value {
    Value::array(tools.iter().map(|tool| tool_json(tool).into()))
}

fn tool_json(tool: &Tool) -> Map {
    let mut told = Map::new();
    told.insert("name", tool.name.to_string().into());
    if let Some(says) = &tool.description {
        told.insert("description", says.clone().into());
    }
    told.insert("argsSchema", tool.input_schema.clone());
    told
}

/// The tools with their effects, and whether they need approval.
fn offered_tools_json(engine: &Engine, tools: &[Arc<Tool>]) -> Value {
    Value::array(tools.iter().map(|tool| {
        let mut told = tool_json(tool);
        told.insert("effects", effects(tool.hints).into());
        if engine.needs_approval(&tool.name) {
            told.insert("needs_approval", true.into());
        }
        told.into()
    }))
}

fn effects(hints: ToolHints) -> &'static str {
    match (hints.read_only, hints.destructive) {
        (_, Some(true)) => "destructive",
        (Some(true), _) => "read-only",
        (Some(false), _) => "writes",
        (None, _) => "unknown",
    }
}

/// The part that all plan requests share.
pub(super) fn request_fields(
    engine: &Engine,
    message: &str,
    wish: &str,
    offered: &OfferedTools,
) -> Map {
    let mut asks = Map::new();
    asks.insert("message", message.into());
    asks.insert("request", wish.into());
    asks.insert("tools", offered_tools_json(engine, &offered.tools));
    if !offered.unreachable.is_empty() {
        let servers = offered.unreachable.iter().take(UNREACHABLE_MAX);
        let servers = servers.map(|(server, failure)| {
            let why: String = failure
                .to_string()
                .chars()
                .take(FAILURE_CHARS_MAX)
                .collect();
            Value::object([("server", server.clone().into()), ("error", why.into())])
        });
        asks.insert("unreachable_servers", Value::array(servers));
    }
    asks
}

/// The open points of the guessed plan.
pub(super) fn open_points(guess: &TaskPlan) -> Map {
    let texts = |all: &[String]| Value::array(all.iter().map(|text| text.as_str().into()));
    let missing = guess.missing.iter().map(|missing| {
        let mut told = Map::new();
        told.insert("step", missing.task.clone().into());
        told.insert("argument", missing.argument.clone().into());
        if let Some(says) = &missing.description {
            told.insert("description", says.clone().into());
        }
        told.into()
    });
    let mut open = Map::new();
    open.insert("missing_arguments", Value::array(missing));
    let unmet = guess.uncovered.iter().chain(&guess.unused_values).cloned();
    open.insert("unmet", texts(&unmet.collect::<Vec<_>>()));
    open.insert("why_not_run", texts(&guess.objections));
    open
}

/// An example call of `submit_plan`: the guessed plan as far as it is known, or the first of the tools.
pub(super) fn example(
    guess: Option<&tool_plan::ToolPlan>,
    offered: &[Arc<Tool>],
    handle: &str,
) -> Value {
    let guessed = guess.map(|plan| plan.steps.as_slice()).unwrap_or_default();
    let find = |name: &str| offered.iter().find(|tool| tool.name.to_string() == name);
    let mut steps: Vec<Value> = guessed
        .iter()
        .filter_map(|step| Some(step_example(&step.id, find(&step.tool)?, &step.args)))
        .collect();
    if steps.is_empty()
        && let Some(first) = offered.first()
    {
        steps.push(step_example("first", first, &Value::Null));
    }
    let mut arguments = Map::new();
    arguments.insert("handle", handle.into());
    arguments.insert("plan", Value::array(steps));
    Value::object([
        ("tool", "submit_plan".into()),
        ("arguments", arguments.into()),
    ])
}

fn step_example(id: &str, tool: &Tool, known: &Value) -> Value {
    let mut args = known.as_object().cloned().unwrap_or_default();
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if !args.contains_key(name) {
            let about = tool.input_schema.get("properties");
            let about = about.and_then(|all| all.get(name)).cloned();
            args.insert(name, placeholder(name, &about.unwrap_or_default()));
        }
    }
    Value::object([
        ("id", id.into()),
        ("tool", tool.name.to_string().into()),
        ("args", args.into()),
    ])
}

/// A placeholder of the right type.
fn placeholder(name: &str, about: &Value) -> Value {
    let choices = about.get("enum").and_then(Value::as_array);
    if let Some(first) = choices.and_then(<[Value]>::first) {
        return first.clone();
    }
    match about.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => {
            let items = about.get("items").cloned().unwrap_or_default();
            Value::array([placeholder(name, &items)])
        }
        Some("object") => Value::object::<Str>([]),
        Some(_) | None => format!("<{name}>").into(),
    }
}

/// The arguments of a step, by name, that are still placeholders of an example. Numbers, choices and other placeholders
/// that look like values are not recognized.
fn placeholder_arguments(arguments: &Value) -> Vec<&str> {
    let arguments = arguments.as_object().into_iter().flat_map(Map::iter);
    let left = arguments.filter(|(name, value)| is_placeholder(name, value));
    left.map(|(name, _)| name.as_str()).collect()
}

fn is_placeholder(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let inner = text.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
            inner == Some(name)
        }
        Value::Array(items) => match items.as_slice() {
            [only] => is_placeholder(name, only),
            _ => false,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Why a step with placeholders cannot run, if it has any.
pub fn placeholder_problem(arguments: &Value) -> Option<String> {
    let left = placeholder_arguments(arguments);
    let left: Vec<_> = left.iter().map(|name| display_name(name)).collect();
    match left.as_slice() {
        [] => None,
        [name] => Some(format!(
            "`{name}` still has the example's placeholder `<{name}>`; replace it with a value"
        )),
        names => Some(format!(
            "{} still have the example's placeholders; replace them with values",
            names
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}

/// The plan request for a message, with some of the available tools.
pub(super) fn request(
    engine: &Engine,
    course: &LoopState,
    guess: &TaskPlan,
    offered: &OfferedTools,
) -> PlanRequest {
    let mut open = open_points(guess);
    let suggested = super::plan_step::plan_of_tasks(&guess.tasks);
    open.insert("suggested_plan", suggested.to_value());
    let message = "The request alone is not enough to act on. Plan with these tools and pass the plan \
                   to submit_plan with the handle.";
    let mut asks = request_fields(engine, message, course.request.last_message(), offered);
    asks.insert("open", open.into());
    with_schema(course, asks, Some(&suggested), offered)
}

/// The plan request after a step failed: asks for a plan of the remaining work.
pub(super) fn replan_request(
    engine: &Engine,
    course: &LoopState,
    offered: &OfferedTools,
) -> PlanRequest {
    let (done, failed): (Vec<_>, Vec<_>) = course
        .earlier
        .iter()
        .partition(|result| result.error.is_none());
    let failed = failed.into_iter().map(|result| {
        let mut told = step_fields(&result.id, &result.tool);
        told.insert("args", result.input.clone());
        let error = result.error.as_deref().unwrap_or_default();
        told.insert("error", error.into());
        told.into()
    });
    let begun = |id: &Str| course.earlier.iter().any(|result| result.id == *id);
    let left = course.plan.steps.iter().filter(|step| !begun(&step.id));
    let left = left.map(|step| {
        let mut told = step_fields(&step.id, &step.tool);
        told.insert("args", step.args.clone());
        told.into()
    });
    let message = "A step failed. Plan the remaining work differently and pass it to submit_plan with \
                   the handle. Completed steps are not repeated; $OUTPUT[id] refers to their output.";
    let mut asks = request_fields(engine, message, course.request.last_message(), offered);
    asks.insert("done", Value::array(done.into_iter().map(completed_step)));
    asks.insert("failed", Value::array(failed));
    let steps = ("steps", Value::array(left));
    asks.insert("open", Value::object([steps]));
    with_schema(course, asks, None, offered)
}

fn step_fields(id: &Str, tool: &Str) -> Map {
    let mut told = Map::new();
    told.insert("id", id.clone().into());
    told.insert("tool", tool.clone().into());
    told
}

/// A completed step with its output, cut if it is long.
fn completed_step(result: &StepResult) -> Value {
    let mut told = step_fields(&result.id, &result.tool);
    let text = result.output.to_json();
    match text.char_indices().nth(OUTPUT_CHARS_MAX) {
        None => told.insert("output", result.output.clone()),
        Some((at, _)) => told.insert("output_begins", text[..at].into()),
    };
    told.into()
}

fn with_schema(
    course: &LoopState,
    mut asks: Map,
    guess: Option<&tool_plan::ToolPlan>,
    offered: &OfferedTools,
) -> PlanRequest {
    asks.insert("plan_schema", plan_schema());
    PlanRequest {
        response: LoopResponse::new(course, Vec::new(), LoopStatus::PlanRequest),
        fields: asks,
        example: example(guess, &offered.tools, ""),
    }
}

impl PlanRequest {
    pub(super) fn into_response(mut self, handle: &str) -> LoopResponse {
        self.fields
            .insert("example", with_handle(self.example, handle));
        self.response.plan_request = Some(self.fields.into());
        self.response.with_handle(handle)
    }
}

/// Sets the handle, which was not known when the example was made.
pub(super) fn with_handle(example: Value, handle: &str) -> Value {
    let mut example = example.as_object().cloned().unwrap_or_default();
    let arguments = example.get("arguments").and_then(Value::as_object);
    let mut arguments = arguments.cloned().unwrap_or_default();
    arguments.insert("handle", handle.into());
    example.insert("arguments", arguments.into());
    example.into()
}
