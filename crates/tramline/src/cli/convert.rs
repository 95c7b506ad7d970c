//! `tramline convert`: a document in another format, and what that format cannot express.

use super::{CliResult, Exit, documents, output};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_formats::yaml_graph::{self, GraphDocument};
use tramline_formats::{ConvertedDocument, json_dag, pflow_ir, pflow_markdown};
use tramline_views::diagram::{WorkflowDiagram, mermaid};
use tramline_workflow::graph::Graph;

/// Write a document in another format.
#[derive(clap::Args)]
pub(super) struct Convert {
    /// The document, in any format
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tool, if the document has several and the format allows one
    #[arg(value_name = "TOOL")]
    tool: Option<String>,
    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Target,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Target {
    /// A YAML graph
    Yaml,
    /// A DAG of tasks, as JSON
    Dag,
    /// A pflow IR, as JSON
    Ir,
    /// A workflow in markdown
    PflowMd,
    /// A Mermaid flowchart
    Mermaid,
}

pub(super) fn main(verb: &Convert, json: bool) -> CliResult {
    let read = documents::read_for_display(&verb.file, json)?;
    let document = &read.document;
    let named = match &verb.tool {
        Some(name) => Some(documents::tool(document, name)?),
        None => None,
    };
    let only = || {
        named
            .clone()
            .map_or_else(|| documents::only_tool(document), Ok)
    };
    let written = match verb.to {
        Target::Yaml => yaml(document, named.as_ref()),
        Target::Dag => json_dag::write(&document.servers, &only()?.workflow),
        Target::Ir => pflow_ir::write(&document.servers, &only()?.workflow),
        Target::PflowMd => pflow_markdown::write(&document.servers, &only()?.workflow),
        Target::Mermaid => ConvertedDocument {
            text: mermaid(&WorkflowDiagram::of(&only()?.workflow)),
            losses: vec!["everything but the diagram".to_owned()],
        },
    };
    if let Some(path) = &verb.out {
        output::write_file(path, &written.text)?;
    }
    if json {
        let mut said = serde_json::json!({ "from": read.format.name(), "lost": written.losses });
        match &verb.out {
            Some(path) => said["out"] = path.display().to_string().into(),
            None => said["text"] = written.text.into(),
        }
        output::line(&said);
        return Ok(Exit::Done);
    }
    if verb.out.is_none() {
        output::result(written.text.trim_end());
    }
    for what in &written.losses {
        output::status_line(&format!("lost in conversion: {what}"));
    }
    Ok(Exit::Done)
}

/// A YAML graph can contain any number of tools.
fn yaml(document: &GraphDocument, named: Option<&Arc<Graph>>) -> ConvertedDocument {
    let workflows: Vec<_> = match named {
        Some(graph) => vec![&*graph.workflow],
        None => document
            .workflows
            .iter()
            .map(|graph| &*graph.workflow)
            .collect(),
    };
    yaml_graph::write(&document.server, &document.servers, &workflows)
}
