//! `tramline convert`: a document in another format, and what that format cannot express.

use super::{CliError, CliResult, Exit, documents, output, sop};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_formats::yaml_graph::{self, GraphDocument};
use tramline_formats::{
    ConvertedDocument, Format, KnownServers, ReadOptions, json_dag, pflow_ir, pflow_markdown,
};
use tramline_views::diagram::{WorkflowDiagram, mermaid};
use tramline_workflow::flaw::{Flaw, Severity};
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
    /// Also write a document that does something else because of what was lost
    #[arg(long)]
    lossy: bool,
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
    if let Some(chart) = procedure_chart(verb, json)? {
        return write(verb, json, "procedure", chart);
    }
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
        Target::Mermaid => diagram_only(mermaid(&WorkflowDiagram::of(&only()?.workflow))),
    };
    let mut written = written;
    written.losses.extend(flaws_of(verb.to, &written.text));
    write(verb, json, read.format.name(), written)
}

/// A drawing of a document.
fn diagram_only(text: String) -> ConvertedDocument {
    ConvertedDocument {
        text,
        losses: vec!["everything but the diagram".to_owned()],
        is_different: false,
    }
}

fn with_newline(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

/// The chart of a procedure or a flowchart; `None` for a document with workflows.
fn procedure_chart(verb: &Convert, json: bool) -> Result<Option<ConvertedDocument>, CliError> {
    if !sop::is_procedure(&verb.file)? {
        return Ok(None);
    }
    if verb.to != Target::Mermaid {
        return Err(CliError::bad_input(format!(
            "{} is a procedure: it guides an agent and cannot be run as a workflow; `--to mermaid` writes its flowchart",
            verb.file.display()
        )));
    }
    Ok(Some(diagram_only(with_newline(
        &sop::read_valid(&verb.file, json)?.chart,
    ))))
}

/// The errors that the written document has when it is read again. There should be none.
fn flaws_of(target: Target, text: &str) -> Vec<String> {
    let (format, name) = match target {
        Target::Yaml => (Format::Yaml, "converted.yaml"),
        Target::Dag => (Format::Dag, "converted.json"),
        Target::Ir => (Format::Ir, "converted.json"),
        Target::PflowMd => (Format::Markdown, "converted.pflow.md"),
        Target::Mermaid => return Vec::new(),
    };
    let options = ReadOptions {
        format: Some(format),
        name,
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    match tramline_formats::read(text.as_bytes(), options) {
        Ok(_) => Vec::new(),
        Err(flaws) => {
            let is_error = |flaw: &&Flaw| flaw.code.severity() == Severity::Error;
            let errors = flaws.iter().filter(is_error);
            errors.map(|flaw| format!("{INVALID}{flaw}")).collect()
        }
    }
}

/// How a flaw of the written document begins.
const INVALID: &str = "the written document is invalid: ";

/// Writes the document, unless it would do something else, and lists what was lost.
fn write(verb: &Convert, json: bool, from: &str, written: ConvertedDocument) -> CliResult {
    let is_invalid = written.losses.iter().any(|loss| loss.starts_with(INVALID));
    // Without a part that the format cannot express, something required may be missing.
    let is_incomplete = !written.losses.iter().all(|loss| loss.starts_with(INVALID));
    let is_written = !is_invalid && (verb.lossy || !written.is_different);
    if let Some(path) = verb.out.as_ref().filter(|_| is_written) {
        output::write_file(path, &written.text)?;
    }
    let exit = match written.losses.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    };
    if json {
        let mut said = serde_json::json!({
            "from": from,
            "lost": written.losses,
            "written": is_written,
        });
        match &verb.out {
            _ if !is_written => {}
            Some(path) => said["out"] = path.display().to_string().into(),
            None => said["text"] = written.text.into(),
        }
        output::line(&said);
        return Ok(exit);
    }
    if verb.out.is_none() && is_written {
        output::result(written.text.trim_end());
    }
    for what in &written.losses {
        output::status_line(&format!("lost in conversion: {what}"));
    }
    if is_invalid && is_incomplete {
        output::print_error(
            "nothing was written, because the document would not work without what is lost",
        );
    } else if is_invalid {
        output::print_error(
            "nothing was written, because the document would be invalid; please report this",
        );
    } else if !is_written {
        output::print_error(
            "nothing was written, because the document would do something else; `--lossy` writes it all the same",
        );
    }
    Ok(exit)
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
