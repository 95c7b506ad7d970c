//! Workflows that can be run: listing them, and starting a run.

use crate::AppState;
use crate::answers::{self, RequestAuthor};
use crate::extract::{CallerTrace, JsonBody};
use crate::response::{ApiError, to_json};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use futures_util::future::{Either, select};
use serde::Deserialize;
use serde_json::{Map, Value as Told, json};
use std::pin::pin;
use tramline_catalog::library::{LibraryError, parse_workflow};
use tramline_engine::ports::Callable;
use tramline_engine::{Engine, RunHandle, RunOwner, RunStart};
use tramline_syntax::relative_path;
use tramline_views::diagram::DiagramJson;
use tramline_workflow::journal::{BreakpointSet, NodeBreakpoint};
use tramline_workflow::text::nearest;

/// A node before which a run halts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Breakpoint {
    node: String,
    /// JSONata as text, or a JSON Logic rule.
    when: Option<Told>,
    /// The output to use instead of halting; `null` is an output too.
    #[serde(default, deserialize_with = "pinned_output")]
    output: Option<Told>,
}

/// Reads a pinned output; a `null` is an output too.
fn pinned_output<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Told>, D::Error> {
    Told::deserialize(from).map(Some)
}

/// A request to start a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartRunRequest {
    #[serde(default)]
    input: Map<String, Told>,
    #[serde(default)]
    breakpoints: Vec<Breakpoint>,
    #[serde(default)]
    pause_at_start: bool,
    session_id: Option<String>,
}

/// Breakpoints in the journal's format.
pub(crate) fn journal_breakpoints(given: Vec<Breakpoint>) -> Vec<NodeBreakpoint> {
    let read = |one: Breakpoint| {
        let is_empty = |when: &Told| when.as_str().is_some_and(|text| text.trim().is_empty());
        let when = one.when.filter(|when| !when.is_null() && !is_empty(when));
        NodeBreakpoint {
            output: one.output.map(Into::into),
            ..NodeBreakpoint::new(one.node, when.map(Into::into))
        }
    };
    given.into_iter().map(read).collect()
}

pub(crate) async fn list(State(desk): State<AppState>) -> Result<Json<Told>, ApiError> {
    desk.catalog.library().refresh().await?;
    let workflows = desk.engine.workflows();
    let names = workflows.names().into_iter();
    let found = names.filter_map(|name| workflows.find(&name));
    let tools: Vec<_> = found.filter_map(|one| tool(&desk, &one)).collect();
    Ok(Json(json!({"tools": tools})))
}

/// A workflow in the list. Documents called by path are part of their caller and not listed.
fn tool(desk: &AppState, callable: &Callable) -> Option<Told> {
    let workflow = &callable.graph.workflow;
    let from_document = !callable.origin.is_null();
    if from_document && relative_path::is_path(&workflow.name) {
        return None;
    }
    let mut told = json!({
        "name": workflow.name,
        "input_schema": workflow.input_schema.as_ref().map_or_else(|| json!({"type": "object"}), to_json),
        "source": if from_document { "document" } else { "library" },
    });
    let mut add = |key: &str, value: Option<Told>| {
        if let Some(value) = value {
            told[key] = value;
        }
    };
    add("title", workflow.title.as_ref().map(|it| json!(it)));
    add(
        "description",
        workflow.description.as_ref().map(|it| json!(it)),
    );
    add(
        "output_schema",
        workflow.output_schema.as_ref().map(to_json),
    );
    let path = callable
        .origin
        .get("document")
        .and_then(|path| path.as_str());
    add(
        "document",
        path.and_then(|path| desk.studio.id_of(path))
            .map(Told::from),
    );
    Some(told)
}

pub(crate) async fn start(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(name): Path<String>,
    CallerTrace(upstream): CallerTrace,
    JsonBody(order): JsonBody<StartRunRequest>,
) -> Result<(StatusCode, Json<Told>), ApiError> {
    desk.catalog.library().refresh().await?;
    let Some(callable) = desk.engine.workflows().find(&name) else {
        return Err(unknown_workflow(&desk, &name));
    };
    let mut start = RunStart::new(callable.graph, Told::from(order.input).into());
    start.origin = match callable.origin.is_null() {
        true => desk.studio.origin.clone(),
        false => callable.origin,
    };
    start.session = order.session_id.map(Into::into);
    start.owner = owner.0.clone();
    start.by = Some(answers::respondent(&owner, None, &speaker).name);
    start.upstream = upstream;
    let watch = BreakpointSet {
        breaks: journal_breakpoints(order.breakpoints),
        stepping: order.pause_at_start,
    };
    start.watch = (watch != BreakpointSet::default()).then_some(watch);
    let handle = desk.engine.start(start).await?;
    let run = handle.run.clone();
    wait_until_stored(&desk.engine, handle).await?;
    Ok((StatusCode::CREATED, Json(json!({"run_id": run}))))
}

/// The graph of a workflow.
pub(crate) async fn graph(
    State(desk): State<AppState>,
    Path(name): Path<String>,
) -> Result<Json<Told>, ApiError> {
    desk.catalog.library().refresh().await?;
    let Some(callable) = desk.engine.workflows().find(&name) else {
        return Err(unknown_workflow(&desk, &name));
    };
    let drawing = DiagramJson::of(&callable.graph);
    Ok(Json(serde_json::to_value(drawing).unwrap_or_default()))
}

/// Versions in one reply; more graphs are not compared by hand.
const VERSIONS_MAX: u64 = 50;

/// The latest versions of a saved workflow with their graphs. A workflow of a document has none:
/// its versions are those of the file.
pub(crate) async fn versions(
    State(desk): State<AppState>,
    Path(name): Path<String>,
) -> Result<Json<Told>, ApiError> {
    let library = desk.catalog.library();
    let latest = match library.get(&name, None).await {
        Ok(latest) => latest,
        Err(LibraryError::NotFound { .. }) if desk.engine.workflows().find(&name).is_some() => {
            return Ok(Json(json!({"versions": [], "more": false})));
        }
        Err(error) => return Err(library_error(error)),
    };
    let first = latest.version.saturating_sub(VERSIONS_MAX) + 1;
    let mut all = Vec::new();
    for version in (first..=latest.version).rev() {
        let saved = library.get(&name, Some(version)).await;
        let saved = saved.map_err(library_error)?;
        let parsed = parse_workflow(
            &saved.text,
            &saved.name,
            saved.tool.as_deref(),
            &saved.description,
        );
        let mut told = json!({
            "version": saved.version,
            "description": saved.description,
            "by": saved.by,
            "at_ms": saved.at_ms,
            "format": saved.format,
            "text": saved.text,
        });
        // An old version may not be valid any more; its text is still of use.
        if let Ok(parsed) = parsed {
            told["graph"] =
                serde_json::to_value(DiagramJson::of(&parsed.graph)).unwrap_or_default();
        }
        all.push(told);
    }
    Ok(Json(json!({"versions": all, "more": first > 1})))
}

fn library_error(error: LibraryError) -> ApiError {
    match error {
        LibraryError::Store(fault) => fault.into(),
        LibraryError::NotFound { .. } | LibraryError::NoVersion { .. } => {
            ApiError::not_found(error.to_string())
        }
        other => ApiError::refused(other.to_string()),
    }
}

/// Waits until a run's start is in the store, so that the next request finds it.
pub(crate) async fn wait_until_stored(engine: &Engine, handle: RunHandle) -> Result<(), ApiError> {
    let mut follow = engine.subscribe(handle.run.clone(), 0);
    let first = pin!(follow.next());
    let ended = pin!(handle.wait());
    match select(first, ended).await {
        Either::Left((first, _)) => first.map(|_| ()).map_err(Into::into),
        Either::Right((ended, _)) => ended.map(|_| ()).map_err(Into::into),
    }
}

fn unknown_workflow(desk: &AppState, name: &str) -> ApiError {
    let names = desk.engine.workflows().names();
    let near = nearest(name, names.iter().map(|name| name.as_str()));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    ApiError::not_found(format!("unknown workflow `{name}`{near}"))
}
