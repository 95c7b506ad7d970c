//! What a calling agent is asked that is to plan: the tools it can use, what is open, and how its answer
//! must look.

use super::candidates::Offered;
use super::course::Course;
use super::response::{Response, Standing, StepResult};
use crate::engine::Engine;
use crate::planner::Plan;
use crate::seams::{Hints, Tool};
use std::sync::Arc;
use tramline_core::formats::tool_plan;
use tramline_core::{Map, Str, Value};

/// A plan may have so many steps.
pub(super) const STEPS_MAX: u64 = 64;
/// What a step gave is shown to whoever mends its plan, so far in characters; all of it is in the
/// results.
const GAVE_CHARS_MAX: usize = 2_000;
/// A failure is shown so far, in characters.
const FAILURE_CHARS_MAX: usize = 300;
/// So many servers are named that cannot be reached.
const UNREACHABLE_MAX: usize = 20;

/// What an agent is asked that is to plan for a loop.
#[derive(Debug)]
pub struct PlanRequest {
    response: Response,
    asks: Map,
    example: Value,
}

/// The JSON Schema of a plan whose steps run one after the other.
pub fn plan_schema() -> Value {
    schema(&[])
}

/// The JSON Schema of a plan whose steps may say what they wait for.
pub fn dag_schema() -> Value {
    let waits = r#"{"type":"array","items":{"type":"string"},
        "description":"Ids that must be done first. If no step has it, each waits for the one before"}"#;
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
            r#"{"type":"object","description":"As the tool's argsSchema says"}"#,
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

/// Tools as a planner reads them.
pub fn tools_told(tools: &[Arc<Tool>]) -> Value {
    Value::array(tools.iter().map(|tool| told(tool).into()))
}

fn told(tool: &Tool) -> Map {
    let mut told = Map::new();
    told.insert("name", tool.name.to_string().into());
    if let Some(says) = &tool.description {
        told.insert("description", says.clone().into());
    }
    told.insert("argsSchema", tool.input_schema.clone());
    told
}

/// The same with what they do to the world, and whether a person is asked before.
fn tools_offered(engine: &Engine, tools: &[Arc<Tool>]) -> Value {
    Value::array(tools.iter().map(|tool| {
        let mut told = told(tool);
        told.insert("effects", effects(tool.hints).into());
        if engine.asks_before(&tool.name) {
            told.insert("needs_approval", true.into());
        }
        told.into()
    }))
}

fn effects(hints: Hints) -> &'static str {
    match (hints.read_only, hints.destructive) {
        (_, Some(true)) => "destructive",
        (Some(true), _) => "read-only",
        (Some(false), _) => "writes",
        (None, _) => "unknown",
    }
}

/// What every request for a plan has.
pub(super) fn asks(engine: &Engine, message: &str, wish: &str, offered: &Offered) -> Map {
    let mut asks = Map::new();
    asks.insert("message", message.into());
    asks.insert("request", wish.into());
    asks.insert("tools", tools_offered(engine, &offered.tools));
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

/// What is open about a plan that words gave.
pub(super) fn open(guess: &Plan) -> Map {
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
    open.insert("unmet", texts(&guess.unmet));
    open.insert("why_not_run", texts(&guess.objections));
    open
}

/// A call of `submit_plan` as it could look: the plan that words gave, as far as it is known, or the
/// first of the tools.
pub(super) fn example(
    guess: Option<&tool_plan::Plan>,
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

/// A value that shows what kind of thing belongs there.
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

/// What the calling agent is asked for a message. It is shown some of the tools there are.
pub(super) fn request(
    engine: &Engine,
    course: &Course,
    guess: &Plan,
    offered: &Offered,
) -> PlanRequest {
    let mut open = open(guess);
    let suggested = super::think::steps(&guess.tasks);
    open.insert("suggested_plan", suggested.to_value());
    let message = "Words alone are not enough to act on. Make a plan out of these tools and give it \
                   to submit_plan with the handle.";
    let mut asks = asks(engine, message, course.request.last(), offered);
    asks.insert("open", open.into());
    asked(course, asks, Some(&suggested), offered)
}

/// What the calling agent is asked after a step of a plan failed: to plan what is left.
pub(super) fn mend(engine: &Engine, course: &Course, offered: &Offered) -> PlanRequest {
    let (done, failed): (Vec<_>, Vec<_>) = course
        .earlier
        .iter()
        .partition(|result| result.error.is_none());
    let failed = failed.into_iter().map(|result| {
        let mut told = about(&result.id, &result.tool);
        told.insert("args", result.input.clone());
        let error = result.error.as_deref().unwrap_or_default();
        told.insert("error", error.into());
        told.into()
    });
    let begun = |id: &Str| course.earlier.iter().any(|result| result.id == *id);
    let left = course.plan.steps.iter().filter(|step| !begun(&step.id));
    let left = left.map(|step| {
        let mut told = about(&step.id, &step.tool);
        told.insert("args", step.args.clone());
        told.into()
    });
    let message = "A step failed. Plan what is left, another way, and give that to submit_plan with \
                   the handle. Steps that are done are not repeated; $OUTPUT[id] takes what they gave.";
    let mut asks = asks(engine, message, course.request.last(), offered);
    asks.insert("done", Value::array(done.into_iter().map(gave)));
    asks.insert("failed", Value::array(failed));
    let steps = ("steps", Value::array(left));
    asks.insert("open", Value::object([steps]));
    asked(course, asks, None, offered)
}

fn about(id: &Str, tool: &Str) -> Map {
    let mut told = Map::new();
    told.insert("id", id.clone().into());
    told.insert("tool", tool.clone().into());
    told
}

/// A step that is done, with what it gave as far as that is short.
fn gave(result: &StepResult) -> Value {
    let mut told = about(&result.id, &result.tool);
    let text = result.output.to_json();
    match text.char_indices().nth(GAVE_CHARS_MAX) {
        None => told.insert("output", result.output.clone()),
        Some((at, _)) => told.insert("output_begins", text[..at].into()),
    };
    told.into()
}

fn asked(
    course: &Course,
    mut asks: Map,
    guess: Option<&tool_plan::Plan>,
    offered: &Offered,
) -> PlanRequest {
    asks.insert("plan_schema", plan_schema());
    PlanRequest {
        response: Response::new(course, Vec::new(), Standing::PlanRequest),
        asks,
        example: example(guess, &offered.tools, ""),
    }
}

impl PlanRequest {
    pub(super) fn into_response(mut self, handle: &str) -> Response {
        self.asks
            .insert("example", with_handle(self.example, handle));
        self.response.asks = Some(self.asks.into());
        self.response.with_handle(handle)
    }
}

/// An example with the handle that was not known when it was made.
pub(super) fn with_handle(example: Value, handle: &str) -> Value {
    let mut example = example.as_object().cloned().unwrap_or_default();
    let arguments = example.get("arguments").and_then(Value::as_object);
    let mut arguments = arguments.cloned().unwrap_or_default();
    arguments.insert("handle", handle.into());
    example.insert("arguments", arguments.into());
    example.into()
}
