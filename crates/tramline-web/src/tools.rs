//! Workflows that can be run: the list, and a run begun from it.

use crate::Desk;
use crate::asked::{Body, Traced};
use crate::told::{Wrong, plain};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use futures_util::future::{Either, select};
use serde::Deserialize;
use serde_json::{Map, Value as Told, json};
use std::pin::pin;
use tramline_core::formats::beside;
use tramline_core::journal::{Break, Watch};
use tramline_core::text::nearest;
use tramline_engine::seams::Callable;
use tramline_engine::{Engine, Handle, Owner, Start};

/// A node before which a run is to halt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Breakpoint {
    node: String,
    /// JSONata as text, or a JSON Logic rule.
    when: Option<Told>,
}

/// What a run is begun with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    #[serde(default)]
    input: Map<String, Told>,
    #[serde(default)]
    breakpoints: Vec<Breakpoint>,
    #[serde(default)]
    pause_at_start: bool,
    session_id: Option<String>,
}

/// Breakpoints as a journal keeps them.
pub(crate) fn breaks(given: Vec<Breakpoint>) -> Vec<Break> {
    let read = |one: Breakpoint| {
        let is_empty = |when: &Told| when.as_str().is_some_and(|text| text.trim().is_empty());
        let when = one.when.filter(|when| !when.is_null() && !is_empty(when));
        Break {
            node: one.node.into(),
            condition: when.map(Into::into),
        }
    };
    given.into_iter().map(read).collect()
}

pub(crate) async fn list(State(desk): State<Desk>) -> Result<Json<Told>, Wrong> {
    desk.engine.library().refresh().await?;
    let workflows = desk.engine.workflows();
    let names = workflows.names().into_iter();
    let found = names.filter_map(|name| workflows.find(&name));
    let tools: Vec<_> = found.filter_map(|one| tool(&desk, &one)).collect();
    Ok(Json(json!({"tools": tools})))
}

/// A workflow in the list. What documents call by path is a part of them and no tool of its own.
fn tool(desk: &Desk, callable: &Callable) -> Option<Told> {
    let workflow = &callable.graph.workflow;
    let from_document = !callable.origin.is_null();
    if from_document && beside::is_path(&workflow.name) {
        return None;
    }
    let mut told = json!({
        "name": workflow.name,
        "input_schema": workflow.input_schema.as_ref().map_or_else(|| json!({"type": "object"}), plain),
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
    add("output_schema", workflow.output_schema.as_ref().map(plain));
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
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(name): Path<String>,
    Traced(upstream): Traced,
    Body(order): Body<Order>,
) -> Result<(StatusCode, Json<Told>), Wrong> {
    desk.engine.library().refresh().await?;
    let Some(callable) = desk.engine.workflows().find(&name) else {
        return Err(unknown(&desk, &name));
    };
    let mut start = Start::new(callable.graph, Told::from(order.input).into());
    start.origin = match callable.origin.is_null() {
        true => desk.studio.origin.clone(),
        false => callable.origin,
    };
    start.session = order.session_id.map(Into::into);
    start.owner = owner.0.clone();
    start.upstream = upstream;
    let watch = Watch {
        breaks: breaks(order.breakpoints),
        stepping: order.pause_at_start,
    };
    start.watch = (watch != Watch::default()).then_some(watch);
    let handle = desk.engine.start(start).await?;
    let run = handle.run.clone();
    kept(&desk.engine, handle).await?;
    Ok((StatusCode::CREATED, Json(json!({"run_id": run}))))
}

/// Waits until a run's beginning is in the store, so that whoever asks for it next finds it.
pub(crate) async fn kept(engine: &Engine, handle: Handle) -> Result<(), Wrong> {
    let mut follow = engine.subscribe(handle.run.clone(), 0);
    let first = pin!(follow.next());
    let ended = pin!(handle.ended());
    match select(first, ended).await {
        Either::Left((first, _)) => first.map(|_| ()).map_err(Into::into),
        Either::Right((ended, _)) => ended.map(|_| ()).map_err(Into::into),
    }
}

fn unknown(desk: &Desk, name: &str) -> Wrong {
    let names = desk.engine.workflows().names();
    let near = nearest(name, names.iter().map(|name| name.as_str()));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Wrong::missing(format!("there is no workflow `{name}`{near}"))
}
