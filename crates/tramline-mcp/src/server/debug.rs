//! The debug toolset: what ran and why, runs under control, expressions tried out.

use super::toolset::{ACTS, LOOKS, Own, plain};
use super::{control, reply};
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::Pause;
use tramline_core::run::Run;
use tramline_core::{Map, Value, question, trace};
use tramline_engine::{At, Fault, Loaded, status};

mod answer;
mod branch;
mod expression;
mod runs;
mod steer;

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[
    Own {
        name: "runs_list",
        title: "List runs",
        description: "Lists recent workflow runs, newest first: run_id, workflow, status, started, \
                      updated. Use it to find a run to look at or one that waits for an answer.",
        input: r#"{
            "type": "object",
            "properties": {
                "status": {
                    "type": "string",
                    "enum": ["running", "paused", "completed", "failed", "rejected", "aborted", "expired"],
                    "description": "Only runs that stand so"
                },
                "workflow": { "type": "string", "description": "Only runs of this workflow" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 200, "default": 20 },
                "session_id": { "type": "string" }
            },
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(runs::list(means, arguments)),
    },
    Own {
        name: "run_read",
        title: "Read a run",
        description: "Tells a run step by step: input, expression, output, error, time. With \
                      at_step, the outputs of all nodes as they stood after that step instead.",
        input: r#"{
            "type": "object",
            "properties": {
                "run_id": { "type": "string" },
                "at_step": { "type": "integer", "minimum": 1 },
                "from_step": { "type": "integer", "minimum": 1, "default": 1 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 500, "default": 50 },
                "session_id": { "type": "string" }
            },
            "required": ["run_id"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(runs::read(means, arguments)),
    },
    Own {
        name: "run_debug",
        title: "Run under control",
        description: "Runs a workflow with breakpoints, or steers a run: start (workflow, input), \
                      step, continue, pause, watch (set breakpoints), stop. Gives where it halted \
                      and the outputs so far. Breakpoints replace those set before.",
        input: r#"{
            "type": "object",
            "properties": {
                "command": { "enum": ["start", "step", "continue", "pause", "watch", "stop"] },
                "workflow": { "type": "string", "description": "To start" },
                "input": { "type": "object", "description": "To start with" },
                "run_id": { "type": "string", "description": "To steer" },
                "breakpoints": {
                    "type": "array",
                    "maxItems": 1000,
                    "items": {
                        "type": ["string", "object"],
                        "properties": {
                            "node": { "type": "string" },
                            "condition": { "description": "JSONata text or JSON Logic rule" }
                        },
                        "required": ["node"]
                    },
                    "description": "Node ids, or {node, condition}"
                },
                "step": { "type": "boolean", "description": "Halt before every node" },
                "why": { "type": "string" },
                "session_id": { "type": "string" }
            },
            "required": ["command"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| plain(steer::debug(means, arguments)),
    },
    Own {
        name: "run_answer",
        title: "Answer a run",
        description: "Answers what a run waits for, by its checkpoint_id, with one of the options \
                      it gave; skip takes the output to use instead of a call. The run goes on.",
        input: r#"{
            "type": "object",
            "properties": {
                "checkpoint_id": { "type": "string" },
                "answer": { "enum": ["approve", "proceed", "retry", "skip", "extend", "reject"] },
                "output": { "description": "With skip" },
                "budget": { "type": "object", "description": "With extend: what is added" },
                "wait_seconds": { "type": "integer", "minimum": 0, "maximum": 600, "description": "If a person must answer: wait so long for it" },
                "why": { "type": "string", "description": "For whoever reads the run later" },
                "session_id": { "type": "string" }
            },
            "required": ["checkpoint_id", "answer"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| Box::pin(answer::answer(means, arguments)),
    },
    Own {
        name: "run_fork",
        title: "Fork a run",
        description: "Starts a new run that shares a run's past up to a step, with another output \
                      of that step if given. Calls with effects that the run made later are asked \
                      about before they are made again, and listed.",
        input: r#"{
            "type": "object",
            "properties": {
                "run_id": { "type": "string" },
                "at_step": { "type": "integer", "minimum": 1, "description": "Default: the start" },
                "output": { "description": "What that step is taken to have given" },
                "repeat_effects": { "type": "boolean", "default": false },
                "breakpoints": { "type": "array", "maxItems": 1000 },
                "session_id": { "type": "string" }
            },
            "required": ["run_id"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| plain(branch::fork(means, arguments)),
    },
    Own {
        name: "run_replay",
        title: "Replay a run",
        description: "Does a run again with its calls answered from its record, with the workflow \
                      as it is now if named, and tells what differs. Nothing is really called.",
        input: r#"{
            "type": "object",
            "properties": {
                "run_id": { "type": "string" },
                "workflow": { "type": "string", "description": "Default: as it was then" },
                "session_id": { "type": "string" }
            },
            "required": ["run_id"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(branch::replay(means, arguments)),
    },
    Own {
        name: "runs_compare",
        title: "Compare two runs",
        description: "Tells which steps of two runs differ, where, and what each has there.",
        input: r#"{
            "type": "object",
            "properties": {
                "first": { "type": "string" },
                "second": { "type": "string" },
                "session_id": { "type": "string" }
            },
            "required": ["first", "second"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(branch::side_by_side(means, arguments)),
    },
    Own {
        name: "expression_test",
        title: "Try an expression",
        description: "Evaluates JSONata (expression) or JSON Logic (rule) over a context, or over a \
                      run as it stood after a step. Gives the value or the error with its \
                      position; with explain, how it came about.",
        input: r#"{
            "type": "object",
            "properties": {
                "expression": { "type": "string" },
                "rule": { "type": ["object", "array", "boolean", "number", "string", "null"] },
                "context": { "description": "What it sees: node outputs by id" },
                "run_id": { "type": "string" },
                "at_step": { "type": "integer", "minimum": 1 },
                "explain": { "type": "boolean", "default": false },
                "session_id": { "type": "string" }
            },
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(expression::test(means, arguments)),
    },
];

/// The run that an argument names.
fn run_id(arguments: &Value, key: &str) -> Result<RunId, Fault> {
    let text = arguments.get(key).and_then(Value::as_str);
    let text = text.ok_or_else(|| Fault::Refused(format!("`{key}` is missing: name a run")))?;
    text.parse()
        .map_err(|bad: tramline_core::ids::BadId| Fault::Refused(bad.to_string()))
}

/// The moment that the arguments name, if they do.
fn at(arguments: &Value) -> Option<At> {
    let step = arguments.get("at_step")?.as_u64()?;
    Some(At::Step(u32::try_from(step).unwrap_or(u32::MAX)))
}

/// How a run stands: its status, its end, what it waits for.
fn standing(loaded: &Loaded) -> Map {
    let run = &loaded.run;
    let mut told = Map::new();
    told.insert("run_id", run.id.as_str().into());
    told.insert("workflow", run.graph.workflow.name.clone().into());
    told.insert("status", status(run).as_str().into());
    told.insert("steps_taken", run.steps.into());
    if let Some(outcome) = &run.outcome {
        let how = trace::outcome(&run.graph, outcome);
        for key in ["result", "error"] {
            if let Some(value) = how.get(key) {
                told.insert(key, value.clone());
            }
        }
    }
    if !run.pauses.is_empty() {
        told.insert("waiting", Value::array(run.pauses.iter().map(waiting(run))));
    }
    if let Some(at_ms) = run.expires_ms() {
        told.insert("expires_at", reply::moment(at_ms).into());
    }
    told
}

/// A question as data, also in the words of the control tools.
fn waiting(run: &Run) -> impl Fn((&Seq, &Pause)) -> Value {
    |(seq, pause)| {
        let told = question::value(&run.graph, &run.id, *seq, pause);
        let mut told = told.as_object().cloned().unwrap_or_default();
        told.insert("checkpoint_type", control::checkpoint_type(pause).into());
        let says = question::says(&run.graph, pause);
        told.insert("decision_context", says.into());
        told.insert("answers", control::answers(pause));
        told.into()
    }
}
