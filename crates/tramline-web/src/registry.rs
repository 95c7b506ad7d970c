//! The registry: everything a document can call, searchable by name, with schemas on request.

use crate::AppState;
use crate::extract::QueryParams;
use crate::response::{ApiError, to_json};
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Map, Value as Told, json};
use tramline_catalog::registry::UnknownName;
use tramline_catalog::search::{DocumentKind, HITS_MAX};
use tramline_engine::Engine;
use tramline_engine::ports::Tool;
use tramline_expr::Value;

/// Descriptions in the list are truncated to this many characters; the single tool has all of it.
const SHORT_CHARS_MAX: usize = 200;

/// The search request.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegistryQuery {
    #[serde(default)]
    text: String,
    most: Option<usize>,
}

pub(crate) async fn list(
    State(desk): State<AppState>,
    QueryParams(sought): QueryParams<RegistryQuery>,
) -> Result<Json<Told>, ApiError> {
    let most = sought.most.unwrap_or(50).clamp(1, HITS_MAX);
    let (list, found) = desk
        .catalog
        .registry()
        .find_by_pattern(&sought.text, most)
        .await?;
    let tools = found.tools.iter().map(|tool| tool_row(&desk.engine, tool));
    let silent = list.unavailable.iter().map(|(server, failure)| {
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
    Ok(Json(redact(&desk.engine, told)))
}

pub(crate) async fn one(
    State(desk): State<AppState>,
    Path(name): Path<String>,
) -> Result<Json<Told>, ApiError> {
    let found = desk.catalog.registry().find(&name).await;
    let tool = found.map_err(|unknown| missing(&unknown))?;
    let mut told = tool_fields(&desk.engine, &tool);
    let hints = tool.hints;
    let also = [
        ("description", tool.description.as_ref().map(|it| json!(it))),
        ("input_schema", Some(to_json(&tool.input_schema))),
        ("output_schema", tool.output_schema.as_ref().map(to_json)),
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
    Ok(Json(redact(&desk.engine, told.into())))
}

/// A tool in the list.
fn tool_row(engine: &Engine, tool: &Tool) -> Told {
    let mut told = tool_fields(engine, tool);
    if let Some(description) = &tool.description {
        let cut = match description.char_indices().nth(SHORT_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &description[..at]),
            None => description.to_string(),
        };
        told.insert("description".to_owned(), cut.into());
    }
    told.into()
}

/// The fields of a tool in the list and on its own.
fn tool_fields(engine: &Engine, tool: &Tool) -> Map<String, Told> {
    let mut told = Map::new();
    let mut add = |key: &str, value: Told| told.insert(key.to_owned(), value);
    add("name", json!(tool.name.to_string()));
    add("kind", json!(DocumentKind::of(&tool.name).as_str()));
    add("server", json!(tool.name.server));
    add("tool", json!(tool.name.tool));
    add("asks", json!(engine.needs_approval(&tool.name)));
    if let Some(title) = &tool.title {
        add("title", json!(title));
    }
    told
}

/// Redacts known secrets: servers write their own descriptions.
fn redact(engine: &Engine, told: Told) -> Told {
    match engine.settings() {
        None => told,
        Some(settings) => to_json(&settings.redact(Value::from(told))),
    }
}

fn missing(unknown: &UnknownName) -> ApiError {
    let near = match unknown.suggestions.as_slice() {
        [] => "`GET /api/registry` lists all tools".to_owned(),
        near => format!("did you mean `{}`?", near.join("` or `")),
    };
    ApiError::not_found(format!("{}; {near}", unknown.message))
}
