//! `tramline graph`: a picture of a workflow.

use super::{Done, Exit, Stopped, documents, output};
use std::path::PathBuf;
use tramline_core::picture::{Picture, dot, layout, mermaid, svg};

/// Draw a workflow as Mermaid, DOT or SVG.
#[derive(clap::Args)]
pub(super) struct Graph {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tool, where the document has several
    #[arg(value_name = "TOOL")]
    tool: Option<String>,
    #[command(flatten)]
    form: Form,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How it is drawn: one of them, and Mermaid if none is named.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Form {
    /// A Mermaid flowchart [default]
    #[arg(long)]
    mermaid: bool,
    /// DOT, for Graphviz
    #[arg(long)]
    dot: bool,
    /// A picture that any browser shows
    #[arg(long)]
    svg: bool,
}

pub(super) fn main(verb: &Graph, json: bool) -> Done {
    let read = documents::read_to_show(&verb.file, json)?;
    let graph = match &verb.tool {
        Some(name) => documents::tool(&read.document, name)?,
        None => documents::only_tool(&read.document)?,
    };
    let picture = Picture::of(&graph.workflow);
    let (form, drawn) = if verb.form.svg {
        let places = layout(&picture).map_err(|large| Stopped::bad(large.to_string()))?;
        ("svg", svg(&picture, &places))
    } else if verb.form.dot {
        ("dot", dot(&picture))
    } else {
        ("mermaid", mermaid(&picture))
    };
    if let Some(path) = &verb.out {
        output::write_file(path, &drawn)?;
    }
    if json {
        let mut said = serde_json::json!({ "tool": graph.workflow.name, "form": form });
        match &verb.out {
            Some(path) => said["out"] = path.display().to_string().into(),
            None => said["text"] = drawn.into(),
        }
        output::line(&said);
    } else if verb.out.is_none() {
        output::result(drawn.trim_end());
    }
    Ok(Exit::Done)
}
