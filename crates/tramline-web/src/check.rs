//! Texts that need not be files: checked, drawn, and what their schemas are.

use crate::Desk;
use crate::asked::Body;
use crate::told::{Wrong, plain};
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value as Told, json};
use tramline_core::formats::checked::{self, Form};
use tramline_core::formats::{
    Elsewhere, Format, Hint, json_dag, pflow_ir, sop_markdown, yaml_graph,
};
use tramline_core::picture::{Picture, dot, layout, mermaid, svg};

/// A text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    text: String,
    format: Option<String>,
    name: Option<String>,
}

/// A text that is to be drawn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drawn {
    text: String,
    format: Option<String>,
    name: Option<String>,
    workflow: Option<String>,
    #[serde(rename = "as")]
    kind: Picturing,
}

/// How it is to be drawn.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Picturing {
    Svg,
    Mermaid,
    Dot,
}

/// The form that somebody names, or that name and text tell.
pub(crate) fn form(word: Option<&str>, name: &str, text: &str) -> Result<Option<Form>, Wrong> {
    match word {
        None => Ok(Form::of(name, text)),
        Some(word) => Form::parse(word).map(Some).ok_or_else(|| {
            let all = Form::ALL.map(Form::word).join(", ");
            Wrong::request(format!("`{word}` is no format; there are {all}"))
        }),
    }
}

pub(crate) async fn check(
    State(desk): State<Desk>,
    Body(given): Body<Text>,
) -> Result<Json<Told>, Wrong> {
    let name = given.name.as_deref().unwrap_or("workflow");
    let form = form(given.format.as_deref(), name, &given.text)?;
    let hint = hint(name, &desk);
    let checked = checked::check(&given.text, form, hint);
    Ok(Json(serde_json::to_value(checked).unwrap_or_default()))
}

/// What readers are told of a text with this name.
pub(crate) fn hint<'a>(name: &'a str, desk: &'a Desk) -> Hint<'a> {
    let (_, stem) = Format::of_file(name);
    Hint {
        name: stem,
        elsewhere: Elsewhere::Configured(&desk.studio.elsewhere),
        ..Hint::default()
    }
}

pub(crate) async fn render(Body(given): Body<Drawn>) -> Result<Json<Told>, Wrong> {
    let name = given.name.as_deref().unwrap_or("workflow");
    let form = form(given.format.as_deref(), name, &given.text)?;
    let (picture, chart) = match form {
        Some(Form::Procedure) => {
            let read = sop_markdown::read(given.text.as_bytes(), name).map_err(Wrong::flawed)?;
            (Picture::of_sop(&read.sop), Some(read.sop.chart))
        }
        Some(Form::Workflows(_)) | None => (pictured(&given, name, form)?, None),
    };
    let text = match (given.kind, chart) {
        (Picturing::Svg, _) => {
            let places = layout(&picture).map_err(|large| Wrong::request(large.to_string()))?;
            svg(&picture, &places)
        }
        (Picturing::Dot, _) => dot(&picture),
        // Who wrote the drawing keeps it.
        (Picturing::Mermaid, Some(chart)) => chart.to_string(),
        (Picturing::Mermaid, None) => mermaid(&picture),
    };
    Ok(Json(json!({"text": text})))
}

fn pictured(given: &Drawn, name: &str, form: Option<Form>) -> Result<Picture, Wrong> {
    let format = match form {
        Some(Form::Workflows(format)) => Some(format),
        Some(Form::Procedure) | None => None,
    };
    let hint = Hint {
        format,
        name: Format::of_file(name).1,
        elsewhere: Elsewhere::Any,
        ..Hint::default()
    };
    let read = tramline_core::formats::read(given.text.as_bytes(), hint).map_err(Wrong::flawed)?;
    let graph = match &given.workflow {
        None => read.document.workflows.first(),
        Some(name) => read.document.workflow(name),
    };
    match graph {
        Some(graph) => Ok(Picture::of(&graph.workflow)),
        None => Err(Wrong::missing("the text has no such workflow")),
    }
}

pub(crate) async fn schema(Path(format): Path<String>) -> Result<Json<Told>, Wrong> {
    let schema = match Form::parse(&format) {
        Some(Form::Workflows(Format::Yaml)) => yaml_graph::json_schema(),
        Some(Form::Workflows(Format::Dag)) => json_dag::json_schema(),
        Some(Form::Workflows(Format::Ir)) => pflow_ir::json_schema(),
        Some(Form::Workflows(Format::Markdown) | Form::Procedure) | None => {
            let message = format!("there is no schema for `{format}`; there are yaml, dag, ir");
            return Err(Wrong::missing(message));
        }
    };
    Ok(Json(plain(&schema)))
}
