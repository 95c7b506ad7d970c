//! Texts that need not be files: checking, rendering, and the schemas of formats.

use crate::AppState;
use crate::extract::JsonBody;
use crate::response::{ApiError, to_json};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value as Told, json};
use tramline_engine::KnownSchemas;
use tramline_formats::SourceKind;
use tramline_formats::{Format, KnownServers, ReadOptions, sop_markdown};
use tramline_views::diagnostics;
use tramline_views::diagram::{
    LayoutRequest, PageLayout, WorkflowDiagram, dot, layout, mermaid, svg,
};
use tramline_views::format_schema::FormatSchema;
use tramline_workflow::tool_schema::StructureOnly;

/// A document as text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckRequest {
    text: String,
    format: Option<String>,
    name: Option<String>,
}

/// A document to render.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenderRequest {
    text: String,
    format: Option<String>,
    name: Option<String>,
    workflow: Option<String>,
    #[serde(rename = "as")]
    kind: ImageFormat,
}

/// The output format.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ImageFormat {
    Svg,
    Mermaid,
    Dot,
}

/// The format that the request names, or that the name and the text imply.
pub(crate) fn parse_format(
    word: Option<&str>,
    name: &str,
    text: &str,
) -> Result<Option<SourceKind>, ApiError> {
    match word {
        None => Ok(SourceKind::detect(name, text)),
        Some(word) => SourceKind::parse(word).map(Some).ok_or_else(|| {
            let all = SourceKind::ALL.map(SourceKind::as_str).join(", ");
            ApiError::bad_request(format!("unknown format `{word}`; known formats: {all}"))
        }),
    }
}

pub(crate) async fn check(
    State(desk): State<AppState>,
    JsonBody(given): JsonBody<CheckRequest>,
) -> Result<Json<Told>, ApiError> {
    let name = given.name.as_deref().unwrap_or("workflow");
    let form = parse_format(given.format.as_deref(), name, &given.text)?;
    let schemas = KnownSchemas(desk.engine.tools().as_ref());
    let hint = read_options(name, &desk, &schemas);
    let checked = diagnostics::check(&given.text, form, hint);
    Ok(Json(serde_json::to_value(checked).unwrap_or_default()))
}

/// The reader options for a text with this name.
pub(crate) fn read_options<'a>(
    name: &'a str,
    desk: &'a AppState,
    tools: &'a KnownSchemas<'a>,
) -> ReadOptions<'a> {
    let (_, stem) = Format::of_file(name);
    ReadOptions {
        name: stem,
        known_servers: KnownServers::Configured(&desk.studio.known_servers),
        tools,
        ..ReadOptions::default()
    }
}

pub(crate) async fn render(
    JsonBody(given): JsonBody<RenderRequest>,
) -> Result<Json<Told>, ApiError> {
    let name = given.name.as_deref().unwrap_or("workflow");
    let form = parse_format(given.format.as_deref(), name, &given.text)?;
    let (picture, chart) = match form {
        Some(SourceKind::Procedure) => {
            let read = sop_markdown::read(given.text.as_bytes(), name).map_err(ApiError::flawed)?;
            (WorkflowDiagram::of_sop(&read.sop), Some(read.sop.chart))
        }
        Some(SourceKind::Workflows(_)) | None => (diagram(&given, name, form)?, None),
    };
    let text = match (given.kind, chart) {
        (ImageFormat::Svg, _) => {
            let places =
                layout(&picture).map_err(|large| ApiError::bad_request(large.to_string()))?;
            svg(&picture, &places)
        }
        (ImageFormat::Dot, _) => dot(&picture),
        // A drawing written by hand is returned as it is.
        (ImageFormat::Mermaid, Some(chart)) => chart.to_string(),
        (ImageFormat::Mermaid, None) => mermaid(&picture),
    };
    Ok(Json(json!({"text": text})))
}

fn diagram(
    given: &RenderRequest,
    name: &str,
    form: Option<SourceKind>,
) -> Result<WorkflowDiagram, ApiError> {
    let format = match form {
        Some(SourceKind::Workflows(format)) => Some(format),
        Some(SourceKind::Procedure) | None => None,
    };
    let hint = ReadOptions {
        format,
        name: Format::of_file(name).1,
        known_servers: KnownServers::Any,
        tools: &StructureOnly,
        ..ReadOptions::default()
    };
    let read = tramline_formats::read(given.text.as_bytes(), hint).map_err(ApiError::flawed)?;
    let graph = match &given.workflow {
        None => read.document.workflows.first(),
        Some(name) => read.document.workflow(name),
    };
    match graph {
        Some(graph) => Ok(WorkflowDiagram::of(&graph.workflow)),
        None => Err(ApiError::not_found("the text has no such workflow")),
    }
}

/// Positions for a graph that the page draws itself. Large graphs take a while, so the work is done
/// off the request threads.
pub(crate) async fn lay_out(
    JsonBody(given): JsonBody<LayoutRequest>,
) -> Result<Json<PageLayout>, ApiError> {
    let placed = tokio::task::spawn_blocking(move || PageLayout::of(&given)).await;
    let placed = placed.map_err(|stopped| {
        ApiError::with_status(StatusCode::INTERNAL_SERVER_ERROR, stopped.to_string())
    })?;
    placed.map(Json).map_err(ApiError::bad_request)
}

pub(crate) async fn schema(Path(format): Path<String>) -> Result<Json<Told>, ApiError> {
    let schema = SourceKind::parse(&format).and_then(FormatSchema::of_kind);
    let schema = schema.ok_or_else(|| {
        ApiError::not_found(format!(
            "no schema for `{format}`; known formats: yaml, dag, ir"
        ))
    })?;
    Ok(Json(to_json(&schema.json_schema())))
}
