//! Reads the arguments of a command: its workflow, tasks and checkpoint.

use super::error::{ControlError, ReplyCode};
use super::status::checkpoint_id;
use super::wait::ControlReply;
use crate::document_check::{check_calls, check_known_calls, flaws_value};
use crate::error_codes;
use crate::tool::CallContext;
use tramline_engine::{KnownSchemas, LoadedRun};
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::{CallSite, GraphDocument};
use tramline_formats::{Format, KnownServers, ReadOptions, call_sites, json_dag};
use tramline_planner::loop_runner::placeholder_problem;
use tramline_syntax::MistypedFields;
use tramline_workflow::flaw::{Flaw, Severity};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{BUILTIN, Checkpoint, InvalidId, RunId};
use tramline_workflow::run::Run;
use tramline_workflow::text::display_name;
use tramline_workflow::tool_schema::BuiltinSchemas;

/// Maximum size of a document, in bytes. Larger ones are rejected before parsing.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;

/// Name of a DAG without a name.
const DEFAULT_NAME: &str = "dag";

/// How the documents of commands are read. They run at once, so a misspelled field is an error.
const OPTIONS: ReadOptions<'static> = ReadOptions {
    format: Some(Format::Dag),
    name: DEFAULT_NAME,
    known_servers: KnownServers::Any,
    mistyped_fields: MistypedFields::Reject,
    folder: "",
    tools: &BuiltinSchemas,
};

/// The text of an argument.
pub(super) fn text<'a>(arguments: &'a Value, key: &str) -> Option<&'a str> {
    arguments.get(key).and_then(Value::as_str)
}

/// The workflow that a command names.
pub(super) fn workflow_id(arguments: &Value) -> Result<RunId, ControlError> {
    let id = text(arguments, "workflow_id").unwrap_or_default();
    id.parse()
        .map_err(|bad: InvalidId| match error_codes::is_foreign_id(id) {
            true => ControlError::new(ReplyCode::NotFound, error_codes::run_not_found(id))
                .with("workflow_id", id),
            false => ControlError::invalid_params(bad.to_string()),
        })
}

/// The checkpoint that a command names, which must be one of its workflow.
pub(super) fn checkpoint(arguments: &Value, run: &Run) -> Result<Option<Checkpoint>, ControlError> {
    let Some(id) = text(arguments, "checkpoint_id") else {
        return Ok(None);
    };
    let point: Checkpoint = id.parse().map_err(|bad: InvalidId| {
        ControlError::invalid_params(bad.to_string()).with_run_state(run)
    })?;
    if point.run != run.id {
        let message = format!(
            "{point} is not a checkpoint of {}{}",
            run.id,
            waiting_suffix(run)
        );
        return Err(ControlError::invalid_params(message).with_run_state(run));
    }
    Ok(Some(point))
}

/// Where a run waits, as the end of an error message.
pub(super) fn waiting_suffix(run: &Run) -> String {
    let points: Vec<_> = run
        .pauses
        .keys()
        .map(|seq| checkpoint_id(run, *seq))
        .collect();
    match points.as_slice() {
        [] => "; it is not waiting".to_owned(),
        points => format!("; it waits at {}", points.join(", ")),
    }
}

/// Loads the workflow of a command, if this caller may see it.
pub(super) async fn load_workflow(
    means: &CallContext,
    arguments: &Value,
) -> Result<LoadedRun, ControlError> {
    let id = workflow_id(arguments)?;
    let session = text(arguments, "session_id");
    Ok(means.caller().load_run(&means.engine, &id, session).await?)
}

/// Reads the DAG of a command and checks it, including its tools.
pub(super) async fn read_dag(
    means: &CallContext,
    given: &Value,
) -> Result<GraphDocument, ControlError> {
    if let Value::String(written) = given
        && written.len() > DOCUMENT_BYTES_MAX
    {
        let message = format!("the workflow exceeds the limit of {DOCUMENT_BYTES_MAX} bytes");
        return Err(ControlError::invalid_params(message));
    }
    if !matches!(given, Value::String(_)) {
        reject_placeholders(given)?;
    }
    let read = |options: ReadOptions<'_>| match given {
        Value::String(written) => {
            tramline_formats::read(written.as_bytes(), options).map(|read| read.document)
        }
        other => json_dag::read_value(other, options),
    };
    let document = match read(OPTIONS) {
        Ok(document) => document,
        Err(flaws) => return Err(invalid_document(means, given, flaws).await),
    };
    if document
        .servers
        .as_object()
        .is_some_and(|map| !map.is_empty())
    {
        let message = "a workflow may not define servers; the operator configures them";
        return Err(ControlError::invalid_params(message));
    }
    check_tools(means, &document).await?;
    if !calls_servers(&document) {
        return Ok(document);
    }
    // The schemas of the servers' tools are known now.
    let schemas = KnownSchemas(means.engine.tools().as_ref());
    let options = ReadOptions {
        tools: &schemas,
        ..OPTIONS
    };
    read(options).map_err(|flaws| ControlError::from_flaws(&flaws))
}

/// Whether a document calls tools that are not built in.
fn calls_servers(document: &GraphDocument) -> bool {
    let mut calls = document.calls.iter();
    calls.any(|call| call.name.server != BUILTIN)
}

/// Rejects tasks whose arguments are still the placeholders of a plan request's example. A `literal` is sent as it is.
fn reject_placeholders(given: &Value) -> Result<(), ControlError> {
    let inner = given.get("workflow");
    let listed = [
        given.get("tasks"),
        inner.and_then(|it| it.get("tasks")),
        inner,
    ];
    let lists = listed.into_iter().flatten().chain([given]);
    let tasks = lists.filter_map(Value::as_array).flatten();
    let wrong: Vec<_> = tasks
        .filter_map(|task| {
            let problem = placeholder_problem(task.get("arguments")?)?;
            let id = task.get("id").and_then(Value::as_str).unwrap_or_default();
            Some(format!("task `{}`: {problem}", display_name(id)))
        })
        .collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => {
            let details = wrong.iter().map(|one| Value::from(one.as_str()));
            let message = format!("the plan is not complete: {}", wrong.join("; "));
            Err(ControlError::invalid_params(message).with("details", Value::array(details)))
        }
    }
}

/// Reads the tasks that a command adds to a graph and checks them, including their tools.
pub(super) async fn read_tasks(
    means: &CallContext,
    given: &Value,
    graph: &Graph,
) -> Result<json_dag::DagExtension, ControlError> {
    reject_placeholders(given)?;
    let growth = match json_dag::read_patch(given, graph, OPTIONS) {
        Ok(growth) => growth,
        Err(flaws) => return Err(invalid_document(means, given, flaws).await),
    };
    check_tools(means, &growth.document).await?;
    if !calls_servers(&growth.document) {
        return Ok(growth);
    }
    let schemas = KnownSchemas(means.engine.tools().as_ref());
    let options = ReadOptions {
        tools: &schemas,
        ..OPTIONS
    };
    let read = json_dag::read_patch(given, graph, options);
    read.map_err(|flaws| ControlError::from_flaws(&flaws))
}

/// The error for a document that cannot be read: its flaws, and those of its calls.
async fn invalid_document(
    means: &CallContext,
    given: &Value,
    mut flaws: Vec<Flaw>,
) -> ControlError {
    let calls = match given {
        Value::String(written) => call_sites::find_call_sites(written.as_bytes()),
        other => call_sites::find_call_sites_in_value(other),
    };
    flaws.extend(check_known_calls(means, &calls, Vec::new()).await);
    flaws.sort_by_key(|flaw| (flaw.span.line, flaw.span.column));
    flaws.dedup();
    ControlError::from_flaws(&flaws)
}

/// Rejects calls to tools that do not exist. Servers are asked only about tools that are not known yet.
async fn check_tools(means: &CallContext, document: &GraphDocument) -> Result<(), ControlError> {
    let known = |call: &CallSite| means.engine.tools().known(&call.name).is_some();
    let mut flaws = Vec::new();
    if !document.calls.iter().all(known) {
        let fatal = |flaw: &Flaw| flaw.code.severity() == Severity::Error;
        let found = check_calls(means, document).await;
        flaws.extend(found.into_iter().filter(fatal));
    }
    if flaws.is_empty() {
        Ok(())
    } else {
        Err(ControlError::from_flaws(&flaws))
    }
}

/// Adds the warnings about a document to the reply of a command: parts of it have no effect.
pub(super) fn add_warnings(
    came: Result<ControlReply, ControlError>,
    warnings: &[Flaw],
) -> Result<ControlReply, ControlError> {
    if warnings.is_empty() {
        return came;
    }
    match came {
        Ok(ControlReply::Status(mut told)) => {
            told.insert("warnings", flaws_value(warnings));
            Ok(ControlReply::Status(told))
        }
        Ok(question @ ControlReply::Question(_)) => Ok(question),
        Err(wrong) => Err(wrong.with("warnings", flaws_value(warnings))),
    }
}

/// The given value, or an empty object.
pub(super) fn object_or_empty(given: Option<&Value>) -> Value {
    given.cloned().unwrap_or_else(|| Value::object::<Str>([]))
}
