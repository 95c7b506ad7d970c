//! The debug toolset: inspect runs, run with breakpoints, test expressions.

use crate::pause_reply::{answer_options, checkpoint_type};
use crate::reply;
use crate::tool::{PLAIN_RULES, READS_ONLY, RUNS_TOOLS, ToolDef, without_elicitation};
use std::sync::Arc;
use tramline_engine::{Engine, Fault, JournalPoint, LoadedRun, QuestionReader, run_status};
use tramline_expr::{Map, Value};
use tramline_views::{pause_view, trace};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::Pause;
use tramline_workflow::run::Run;

mod expression_test;
mod fork;
mod run_answer;
mod runs;
mod stepping;

pub(crate) use runs::visible_runs;

/// Answers a waiting run; also part of the runs toolset.
pub(super) const RUN_ANSWER: ToolDef = ToolDef {
    name: "run_answer",
    title: "Answer a run",
    description: "Answers a waiting run at checkpoint_id with one of the answers it lists, \
                      and resumes it; skip takes the output to use instead of a call, submit the content of a form.",
    input_schema: r#"{
            "type": "object",
            "properties": {
                "checkpoint_id": { "type": "string" },
                "answer": { "enum": ["approve", "proceed", "retry", "skip", "extend", "reject", "submit", "decline", "cancel"] },
                "content": { "type": "object", "description": "The fields of a form" },
                "output": { "description": "With skip" },
                "budget": { "type": "object", "description": "With extend: how much more" },
                "wait_seconds": {
                    "type": "integer", "minimum": 0, "maximum": 600,
                    "description": "How long to wait for a person's answer"
                },
                "why": { "type": "string", "description": "Recorded in the run" },
                "session_id": { "type": "string" }
            },
            "required": ["checkpoint_id", "answer"],
            "additionalProperties": false
        }"#,
    hints: RUNS_TOOLS,
    rules: PLAIN_RULES,
    call: |means, arguments| Box::pin(run_answer::call(means, arguments)),
};

/// The tools of this toolset.
pub(crate) const TOOLS: &[ToolDef] = &[
    ToolDef {
        name: "runs_list",
        title: "List runs",
        description: "Lists recent workflow runs, newest first: run_id, workflow, status, started, \
                      updated. Use it to find a run to inspect or one that waits for an answer.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "status": {
                    "type": "string",
                    "enum": ["running", "paused", "completed", "failed", "rejected", "aborted", "expired"],
                    "description": "Only runs with this status"
                },
                "workflow": { "type": "string", "description": "Only runs of this workflow" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 200, "default": 20 },
                "session_id": { "type": "string" }
            },
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(runs::runs_list(means, arguments)),
    },
    ToolDef {
        name: "run_read",
        title: "Read a run",
        description: "Returns a run step by step: input, expression, output, error, time. With \
                      at_step, the outputs of all nodes after that step instead.",
        input_schema: r#"{
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
        hints: READS_ONLY,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(runs::run_read(means, arguments)),
    },
    ToolDef {
        name: "run_debug",
        title: "Run under control",
        description: "Runs a workflow with breakpoints, or controls a run: start (workflow, input), \
                      step, continue, pause, watch (set breakpoints), stop. Returns where it halted \
                      and the outputs so far. New breakpoints replace the old ones.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "command": { "enum": ["start", "step", "continue", "pause", "watch", "stop"] },
                "workflow": { "type": "string", "description": "For start" },
                "input": { "type": "object", "description": "For start" },
                "run_id": { "type": "string", "description": "For all other commands" },
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
        hints: RUNS_TOOLS,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(stepping::run_debug(means, arguments)),
    },
    RUN_ANSWER,
    ToolDef {
        name: "run_fork",
        title: "Fork a run",
        description: "Starts a new run that shares a run's history up to a step, with another \
                      output of that step if given. Later calls with effects are listed, and need \
                      approval before they are repeated.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "run_id": { "type": "string" },
                "at_step": { "type": "integer", "minimum": 1, "description": "Default: the start" },
                "output": { "description": "Replaces the output of that step" },
                "repeat_effects": { "type": "boolean", "default": false },
                "breakpoints": { "type": "array", "maxItems": 1000 },
                "session_id": { "type": "string" }
            },
            "required": ["run_id"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(fork::run_fork(means, arguments)),
    },
    ToolDef {
        name: "run_replay",
        title: "Replay a run",
        description: "Replays a run with its recorded call results, against the current version of \
                      workflow if named, and returns the differences. Calls no tools.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "run_id": { "type": "string" },
                "workflow": { "type": "string", "description": "Default: the recorded version" },
                "session_id": { "type": "string" }
            },
            "required": ["run_id"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(fork::run_replay(means, arguments)),
    },
    ToolDef {
        name: "runs_compare",
        title: "Compare two runs",
        description: "Returns which steps of two runs differ, where, and both values.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "first": { "type": "string" },
                "second": { "type": "string" },
                "session_id": { "type": "string" }
            },
            "required": ["first", "second"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(fork::runs_compare(means, arguments)),
    },
    ToolDef {
        name: "expression_test",
        title: "Test an expression",
        description: "Evaluates JSONata (expression) or JSON Logic (rule) over a context, or over a \
                      run after a step. Returns the value, or the error with its position; \
                      with explain, how it was evaluated.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "expression": { "type": "string" },
                "rule": { "type": ["object", "array", "boolean", "number", "string", "null"] },
                "context": { "description": "Node outputs by id" },
                "run_id": { "type": "string" },
                "at_step": { "type": "integer", "minimum": 1 },
                "explain": { "type": "boolean", "default": false },
                "session_id": { "type": "string" }
            },
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(expression_test::call(means, arguments)),
    },
];

/// The run that an argument names.
pub(super) fn run_id(arguments: &Value, key: &str) -> Result<RunId, Fault> {
    let text = arguments.get(key).and_then(Value::as_str);
    let text =
        text.ok_or_else(|| Fault::Rejected(format!("`{key}` is required: pass a run id")))?;
    text.parse()
        .map_err(|bad: tramline_workflow::ids::InvalidId| Fault::Rejected(bad.to_string()))
}

/// The position that the arguments name, if any.
fn position(arguments: &Value) -> Option<JournalPoint> {
    let step = arguments.get("at_step")?.as_u64()?;
    Some(JournalPoint::Step(u32::try_from(step).unwrap_or(u32::MAX)))
}

/// The state of a run: status, outcome, open pauses.
fn run_state(loaded: &LoadedRun) -> Map {
    let run = &loaded.run;
    let mut told = Map::new();
    told.insert("run_id", run.id.as_str().into());
    told.insert("workflow", run.graph.workflow.name.clone().into());
    told.insert("status", run_status(run).as_str().into());
    told.insert("steps_taken", run.step_count.into());
    if let Some(outcome) = &run.outcome {
        let how = trace::outcome_value(&run.graph, outcome);
        for key in ["result", "error"] {
            if let Some(value) = how.get(key) {
                told.insert(key, value.clone());
            }
        }
    }
    if !run.pauses.is_empty() {
        told.insert(
            "waiting",
            Value::array(run.pauses.iter().map(pause_value(run))),
        );
    }
    if let Some(at_ms) = run.expires_ms() {
        told.insert("expires_at", reply::timestamp(at_ms).into());
    }
    told
}

/// The current state of a run, including the questions of the children that it waits for.
pub(crate) async fn current_state(engine: &Engine, loaded: &LoadedRun) -> Map {
    let mut told = run_state(loaded);
    let pauses = &loaded.run.pauses;
    if !pauses
        .values()
        .any(|pause| matches!(pause, Pause::Child { .. }))
    {
        return told;
    }
    let mut waiting = Vec::new();
    for (seq, pause) in pauses {
        let mut shown = pause_value(&loaded.run)((seq, pause));
        if let (Pause::Child { run: child, .. }, Value::Object(map)) = (pause, &mut shown)
            && let Some(questions) = engine.child_questions(child, QuestionReader::Agent).await
        {
            Arc::make_mut(map).insert("child", questions);
        }
        waiting.push(shown);
    }
    told.insert("waiting", Value::array(waiting));
    told
}

/// A pause as data, including the fields of the control toolset.
fn pause_value(run: &Run) -> impl Fn((&Seq, &Pause)) -> Value {
    |(seq, pause)| {
        let told = pause_view::pause_value(&run.graph, &run.id, *seq, pause);
        let mut told = told.as_object().cloned().unwrap_or_default();
        told.insert("checkpoint_type", checkpoint_type(pause).into());
        let says = pause_view::message(&run.graph, pause);
        told.insert("decision_context", says.into());
        told.insert("answers", answer_options(pause));
        told.into()
    }
}
