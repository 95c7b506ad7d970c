//! Everything that a document can call: found by a part of its name, told with its schemas when asked.

use crate::Desk;
use crate::asked::Given;
use crate::told::{Wrong, plain};
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Map, Value as Told, json};
use tramline_core::Value;
use tramline_engine::Engine;
use tramline_engine::registry::Unknown;
use tramline_engine::seams::Tool;
use tramline_engine::search::{HITS_MAX, Kind};

/// A description in the list has so many characters; the whole is told with the tool.
const SHORT_CHARS_MAX: usize = 200;

/// What is looked for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sought {
    #[serde(default)]
    text: String,
    most: Option<usize>,
}

pub(crate) async fn list(
    State(desk): State<Desk>,
    Given(sought): Given<Sought>,
) -> Result<Json<Told>, Wrong> {
    let most = sought.most.unwrap_or(50).clamp(1, HITS_MAX);
    let (list, found) = desk.engine.registry().fitting(&sought.text, most).await?;
    let tools = found.tools.iter().map(|tool| short(&desk.engine, tool));
    let silent = list.silent.iter().map(|(server, failure)| {
        let message = failure.to_string();
        json!({"server": server, "message": message})
    });
    let mut told = json!({
        "tools": tools.collect::<Vec<_>>(),
        "total": found.total,
        "silent": silent.collect::<Vec<_>>(),
    });
    if let Some(near) = found.did_you_mean {
        told["did_you_mean"] = json!(near);
    }
    Ok(Json(discreet(&desk.engine, told)))
}

pub(crate) async fn one(
    State(desk): State<Desk>,
    Path(name): Path<String>,
) -> Result<Json<Told>, Wrong> {
    let found = desk.engine.registry().find(&name).await;
    let tool = found.map_err(|unknown| missing(&unknown))?;
    let mut told = brief(&desk.engine, &tool);
    let hints = tool.hints;
    let also = [
        ("description", tool.description.as_ref().map(|it| json!(it))),
        ("input_schema", Some(plain(&tool.input_schema))),
        ("output_schema", tool.output_schema.as_ref().map(plain)),
        ("read_only", hints.read_only.map(Told::from)),
        ("destructive", hints.destructive.map(Told::from)),
        ("idempotent", hints.idempotent.map(Told::from)),
        ("open_world", hints.open_world.map(Told::from)),
    ];
    for (key, value) in also {
        if let Some(value) = value {
            told.insert(key.to_owned(), value);
        }
    }
    Ok(Json(discreet(&desk.engine, told.into())))
}

/// A tool in the list.
fn short(engine: &Engine, tool: &Tool) -> Told {
    let mut told = brief(engine, tool);
    if let Some(description) = &tool.description {
        let cut = match description.char_indices().nth(SHORT_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &description[..at]),
            None => description.to_string(),
        };
        told.insert("description".to_owned(), cut.into());
    }
    told.into()
}

/// What is told of a tool in the list and by itself.
fn brief(engine: &Engine, tool: &Tool) -> Map<String, Told> {
    let mut told = Map::new();
    let mut add = |key: &str, value: Told| told.insert(key.to_owned(), value);
    add("name", json!(tool.name.to_string()));
    add("kind", json!(Kind::of(&tool.name).as_str()));
    add("server", json!(tool.name.server));
    add("tool", json!(tool.name.tool));
    add("asks", json!(engine.asks_before(&tool.name)));
    if let Some(title) = &tool.title {
        add("title", json!(title));
    }
    told
}

/// Without known secrets: servers describe themselves in words of their own.
fn discreet(engine: &Engine, told: Told) -> Told {
    match engine.settings() {
        None => told,
        Some(settings) => plain(&settings.redact(Value::from(told))),
    }
}

fn missing(unknown: &Unknown) -> Wrong {
    let near = match unknown.near.as_slice() {
        [] => "`GET /api/registry` tells what there is".to_owned(),
        near => format!("did you mean `{}`?", near.join("` or `")),
    };
    Wrong::missing(format!("{}; {near}", unknown.message))
}
