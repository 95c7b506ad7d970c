//! `tramline graph`: a diagram of a workflow.

use super::{CliError, CliResult, Exit, documents, output, sop};
use std::path::PathBuf;
use tramline_views::diagram::{WorkflowDiagram, dot, layout, mermaid, svg};

/// Draw a workflow as Mermaid, DOT or SVG.
#[derive(clap::Args)]
pub(super) struct GraphArgs {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tool, if the document has several
    #[arg(value_name = "TOOL")]
    tool: Option<String>,
    #[command(flatten)]
    form: DiagramFormat,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The output format; Mermaid by default.
#[derive(clap::Args)]
#[group(multiple = false)]
struct DiagramFormat {
    /// A Mermaid flowchart [default]
    #[arg(long)]
    mermaid: bool,
    /// DOT, for Graphviz
    #[arg(long)]
    dot: bool,
    /// An SVG image
    #[arg(long)]
    svg: bool,
}

/// The diagram of a workflow, a procedure, or a flowchart in Mermaid.
fn diagram(verb: &GraphArgs, json: bool) -> Result<WorkflowDiagram, CliError> {
    if sop::is_procedure(&verb.file)? {
        let sop = sop::read_valid(&verb.file, json)?;
        return Ok(WorkflowDiagram::of_sop(&sop));
    }
    let read = documents::read_for_display(&verb.file, json)?;
    let graph = match &verb.tool {
        Some(name) => documents::tool(&read.document, name)?,
        None => documents::only_tool(&read.document)?,
    };
    Ok(WorkflowDiagram::of(&graph.workflow))
}

pub(super) fn main(verb: &GraphArgs, json: bool) -> CliResult {
    let picture = diagram(verb, json)?;
    let (form, drawn) = if verb.form.svg {
        let places = layout(&picture).map_err(|large| CliError::bad_input(large.to_string()))?;
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
        let mut said = serde_json::json!({ "tool": picture.name, "form": form });
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
