//! The calling agent as planner: what it is asked, and the question kept until it answers.
//!
//! A question is a document of the store, so that any process takes the answer.

use super::Terms;
use super::course::Course;
use super::response::{Response, Standing, StepResult};
use crate::clock;
use crate::fault::Fault;
use crate::planner::Plan;
use crate::seams::{Store, Tool};
use std::sync::Arc;
use tramline_core::ids::RunId;
use tramline_core::text::shown;
use tramline_core::{Map, Str, Value};

/// Under what questions are kept.
const KIND: &str = "plan_requests";
/// So many open questions are kept; the oldest go first.
const QUESTIONS_MAX: usize = 1_000;
/// A question is open so long, in milliseconds: an agent that has not answered in a day will not.
const OPEN_MS: i64 = 24 * 60 * 60 * 1_000;
/// How handles begin.
const PREFIX: &str = "plan_";
/// A plan may have so many steps.
pub(super) const STEPS_MAX: u64 = 64;
/// What a step gave is shown to whoever mends its plan, so far in characters; all of it is in the
/// results.
const GAVE_CHARS_MAX: usize = 2_000;

/// What a handle asks for.
#[derive(Debug)]
pub enum Asked {
    /// The plan of a loop.
    Loop(Box<Course>),
    /// The plan of a front end's own, in its words.
    Else(Value),
}

/// What an agent is asked that is to plan.
#[derive(Debug)]
pub struct PlanRequest {
    response: Response,
}

/// The JSON Schema of a plan.
pub fn plan_schema() -> Value {
    let schema = r#"{"type":"object","properties":{"plan":{"type":"array","maxItems":64,"items":{"type":"object","properties":{
        "id":{"type":"string","description":"How later steps refer to it: $OUTPUT[id].field"},
        "tool":{"type":"string","description":"server:tool"},
        "args":{"type":"object"}},"required":["tool","args"],"additionalProperties":false}}},
        "required":["plan"],"additionalProperties":false}"#;
    Value::from_json(schema).unwrap_or_default()
}

/// Tools as a planner reads them.
pub fn tools_told(tools: &[Arc<Tool>]) -> Value {
    Value::array(tools.iter().map(|tool| {
        let mut told = Map::new();
        told.insert("name", tool.name.to_string().into());
        if let Some(says) = &tool.description {
            told.insert("description", says.clone().into());
        }
        told.insert("argsSchema", tool.input_schema.clone());
        told.into()
    }))
}

/// What the calling agent is asked. It is shown some of the tools there are.
pub(super) fn request(course: &Course, guess: &Plan, shown: &[Arc<Tool>]) -> PlanRequest {
    let missing = guess.missing.iter().map(|missing| {
        let of = |key, value: &tramline_core::Str| (key, Value::from(value.clone()));
        Value::object([of("step", &missing.task), of("argument", &missing.argument)])
    });
    let mut open = Map::new();
    open.insert("missing_arguments", Value::array(missing));
    let unmet = guess
        .unmet
        .iter()
        .map(|clause| Value::from(clause.as_str()));
    open.insert("unmet", Value::array(unmet));
    open.insert(
        "suggested_plan",
        super::think::steps(&guess.tasks).to_value(),
    );
    let message = "No complete plan was found here. Make one out of these tools and give it to \
                   submit_plan with the handle.";
    asked(course, message, shown, [("open", open.into())])
}

/// What the calling agent is asked after a step of a plan failed: to plan what is left.
pub(super) fn mend(course: &Course, shown: &[Arc<Tool>]) -> PlanRequest {
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
    let steps = ("steps", Value::array(left));
    let parts = [
        ("done", Value::array(done.into_iter().map(gave))),
        ("failed", Value::array(failed)),
        ("open", Value::object([steps])),
    ];
    asked(course, message, shown, parts)
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

fn asked<const N: usize>(
    course: &Course,
    message: &str,
    shown: &[Arc<Tool>],
    parts: [(&'static str, Value); N],
) -> PlanRequest {
    let mut asks = Map::new();
    asks.insert("message", message.into());
    asks.insert("request", course.request.last().into());
    asks.insert("tools", tools_told(shown));
    asks.insert("plan_schema", plan_schema());
    for (name, part) in parts {
        asks.insert(name, part);
    }
    let mut response = Response::new(course, Vec::new(), Standing::PlanRequest);
    response.asks = Some(asks.into());
    PlanRequest { response }
}

impl PlanRequest {
    pub(super) fn into_response(self, handle: &str) -> Response {
        self.response.with_handle(handle)
    }
}

/// Keeps a question, and gives the handle it is answered by.
pub(super) async fn keep(
    store: &Arc<dyn Store>,
    asked: Asked,
    terms: &Terms,
) -> Result<String, Fault> {
    let at_ms = clock::now_ms();
    let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
    let id = RunId::new(at_ms, chance);
    let handle = id.as_str().replacen("run_", PREFIX, 1);
    let mut body = Map::new();
    body.insert("at_ms", at_ms.into());
    let owner = terms.owner.clone().map_or(Value::Null, Value::from);
    body.insert("owner", owner);
    match asked {
        Asked::Loop(course) => body.insert("course", course.to_value()),
        Asked::Else(about) => body.insert("about", about),
    };
    let body = Value::from(body).to_json().into_bytes();
    store.put(KIND, &handle, body).await?;
    trim(store).await?;
    Ok(handle)
}

/// Forgets the oldest questions beyond the bound: handles sort by birth.
async fn trim(store: &Arc<dyn Store>) -> Result<(), Fault> {
    let mut keys = store.list(KIND).await?;
    keys.truncate(keys.len().saturating_sub(QUESTIONS_MAX));
    if !keys.is_empty() {
        store.forget(KIND, &keys).await?;
    }
    Ok(())
}

/// What a handle asks for. Another owner's handle is none.
pub(super) async fn take(
    store: &Arc<dyn Store>,
    handle: &str,
    terms: &Terms,
) -> Result<Asked, Fault> {
    let none = || {
        let handle = shown(handle);
        let message = format!("`{handle}` asks for no plan, or not any more; ask for one again");
        Fault::Refused(message)
    };
    if !handle.starts_with(PREFIX) || handle.len() > 64 {
        return Err(none());
    }
    let body = store.get(KIND, handle).await?.ok_or_else(none)?;
    let text = String::from_utf8(body).map_err(|_| none())?;
    let value = Value::from_json(&text).map_err(|_| none())?;
    let at_ms = value.get("at_ms").and_then(Value::as_i64).unwrap_or(0);
    let owner = value.get("owner").and_then(Value::as_str);
    if owner != terms.owner.as_deref() || clock::now_ms() - at_ms > OPEN_MS {
        return Err(none());
    }
    match (value.get("course"), value.get("about")) {
        (Some(course), _) => {
            let course = Course::read(course).ok_or_else(none)?;
            Ok(Asked::Loop(Box::new(course)))
        }
        (None, Some(about)) => Ok(Asked::Else(about.clone())),
        (None, None) => Err(none()),
    }
}

/// Forgets a question that was answered.
pub(super) async fn forget(store: &Arc<dyn Store>, handle: &str) -> Result<(), Fault> {
    Ok(store.forget(KIND, &[handle.to_owned()]).await?)
}
