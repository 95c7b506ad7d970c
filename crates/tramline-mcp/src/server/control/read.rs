//! Reading what a command is about: its workflow, its tasks, its checkpoint.

use super::super::codes;
use super::super::library::check_calls;
use super::super::toolset::Means;
use super::told::point;
use super::wrong::{Code, Wrong};
use tramline_core::flaw::{Flaw, Severity};
use tramline_core::formats::yaml_graph::Document;
use tramline_core::formats::{self, Elsewhere, Format, Hint, json_dag};
use tramline_core::graph::Graph;
use tramline_core::ids::{BadId, Checkpoint, RunId};
use tramline_core::run::Run;
use tramline_core::{Str, Value};
use tramline_engine::Loaded;

/// Larger documents are refused before they are read.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;

/// What a DAG is called that has no name of its own.
const NAME: &str = "dag";

/// The text of an argument.
pub(super) fn text<'a>(arguments: &'a Value, key: &str) -> Option<&'a str> {
    arguments.get(key).and_then(Value::as_str)
}

/// The workflow that a command names.
pub(super) fn workflow_id(arguments: &Value) -> Result<RunId, Wrong> {
    let id = text(arguments, "workflow_id").unwrap_or_default();
    id.parse()
        .map_err(|bad: BadId| match codes::is_foreign_id(id) {
            true => Wrong::new(Code::NotFound, codes::no_run(id)).with("workflow_id", id),
            false => Wrong::params(bad.to_string()),
        })
}

/// The checkpoint that a command names, which must be one of its workflow.
pub(super) fn checkpoint(arguments: &Value, run: &Run) -> Result<Option<Checkpoint>, Wrong> {
    let Some(id) = text(arguments, "checkpoint_id") else {
        return Ok(None);
    };
    let point: Checkpoint = id
        .parse()
        .map_err(|bad: BadId| Wrong::params(bad.to_string()).about(run))?;
    if point.run != run.id {
        let message = format!("{point} is no checkpoint of {}{}", run.id, waits(run));
        return Err(Wrong::params(message).about(run));
    }
    Ok(Some(point))
}

/// Where a run waits, as the end of a sentence.
pub(super) fn waits(run: &Run) -> String {
    let points: Vec<_> = run.pauses.keys().map(|seq| point(run, *seq)).collect();
    match points.as_slice() {
        [] => "; it waits for nothing".to_owned(),
        points => format!("; it waits at {}", points.join(", ")),
    }
}

/// The workflow that a command is about, if it is this caller's.
pub(super) async fn load(means: &Means, arguments: &Value) -> Result<Loaded, Wrong> {
    let id = workflow_id(arguments)?;
    let session = text(arguments, "session_id");
    Ok(means.caller().load(&means.engine, &id, session).await?)
}

/// The DAG that a command brings, checked down to its tools.
pub(super) async fn dag(means: &Means, given: &Value) -> Result<Document, Wrong> {
    let hint = Hint {
        name: NAME,
        elsewhere: Elsewhere::Any,
        format: Some(Format::Dag),
        ..Hint::default()
    };
    let read = match given {
        Value::String(written) if written.len() > DOCUMENT_BYTES_MAX => {
            let message = format!("a workflow may have {DOCUMENT_BYTES_MAX} bytes");
            return Err(Wrong::params(message));
        }
        Value::String(written) => formats::read(written.as_bytes(), hint).map(|read| read.document),
        other => json_dag::read_value(other, hint),
    };
    let document = read.map_err(|flaws| Wrong::flaws(&flaws))?;
    if document
        .servers
        .as_object()
        .is_some_and(|map| !map.is_empty())
    {
        let message = "a workflow may not bring servers; they are the operator's to configure";
        return Err(Wrong::params(message));
    }
    tools(means, &document).await?;
    Ok(document)
}

/// The tasks that a command adds to a graph, checked down to their tools.
pub(super) async fn tasks(
    means: &Means,
    given: &Value,
    graph: &Graph,
) -> Result<json_dag::Growth, Wrong> {
    let hint = Hint {
        name: NAME,
        elsewhere: Elsewhere::Any,
        format: Some(Format::Dag),
        ..Hint::default()
    };
    let growth = json_dag::read_patch(given, graph, hint).map_err(|flaws| Wrong::flaws(&flaws))?;
    tools(means, &growth.document).await?;
    Ok(growth)
}

/// Refuses calls of tools that are not there. What is known already is not asked for.
async fn tools(means: &Means, document: &Document) -> Result<(), Wrong> {
    let known =
        |call: &formats::yaml_graph::CallSite| means.engine.tools().known(&call.name).is_some();
    if document.calls.iter().all(known) {
        return Ok(());
    }
    let fatal = |flaw: &Flaw| flaw.code.severity() == Severity::Error;
    let flaws = check_calls(means, document).await;
    let flaws: Vec<_> = flaws.into_iter().filter(fatal).collect();
    if flaws.is_empty() {
        Ok(())
    } else {
        Err(Wrong::flaws(&flaws))
    }
}

/// An object with nothing in it, where none is given.
pub(super) fn object(given: Option<&Value>) -> Value {
    given.cloned().unwrap_or_else(|| Value::object::<Str>([]))
}
