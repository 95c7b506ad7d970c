//! Readers and writers: each turns one kind of document into workflows or back.
//!
//! They share the parsers of `tramline-syntax`, which produce values with source locations, and the
//! error type ([`Flaw`]). The crate must not know runs or journals.

use tramline_expr::Str;
use tramline_syntax::{MistypedFields, document};
use tramline_workflow::flaw::Flaw;
use tramline_workflow::tool_schema::{BuiltinSchemas, ToolSchemas};
use yaml_graph::GraphDocument;

mod ask_form;
pub mod call_sites;
pub mod control_nodes;
mod conversion_loss;
mod detect;
pub mod edit;
pub mod guide;
pub mod json_dag;
pub mod node_spans;
pub mod pflow_ir;
pub mod pflow_markdown;
mod reference;
mod reference_places;
pub mod sop_markdown;
mod source_kind;
pub mod tool_plan;
mod workflow_builder;
pub mod yaml_graph;

pub use ask_form::tool_input_schema as ask_input_schema;
pub use conversion_loss::ConvertedDocument;
pub(crate) use conversion_loss::LossCollector;
pub use source_kind::{SourceKind, detect_kind_name};

/// The supported document formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// YAML graphs; JSON is accepted too.
    Yaml,
    /// DAGs of tasks in JSON.
    Dag,
    /// pflow IR in JSON.
    Ir,
    /// Workflows in markdown (`.pflow.md`).
    Markdown,
}

impl Format {
    /// The format implied by a file name, if any, and the default name for a workflow that does not
    /// declare one.
    pub fn of_file(name: &str) -> (Option<Self>, &str) {
        if let Some(name) = name.strip_suffix(".pflow.md") {
            return (Some(Self::Markdown), name);
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        (None, if stem.is_empty() { name } else { stem })
    }

    /// The display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML graph",
            Self::Dag => "DAG",
            Self::Ir => "IR",
            Self::Markdown => "markdown workflow",
        }
    }
}

/// The servers that a document may use without declaring them.
#[derive(Clone, Copy, Debug)]
pub enum KnownServers<'a> {
    /// The configured servers: a call to any other server is a flaw.
    Configured(&'a [Str]),
    /// Any server, for callers that do not run the document.
    Any,
}

/// Options for reading a document.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// The format, if known; otherwise it is detected from the content.
    pub format: Option<Format>,
    /// The name for a workflow that does not declare one.
    pub name: &'a str,
    /// The servers configured outside the document.
    pub known_servers: KnownServers<'a>,
    /// What an unknown field that resembles a known one means.
    pub mistyped_fields: MistypedFields,
    /// The document's folder relative to the root document's directory; empty for the root document.
    pub folder: &'a str,
    /// The schemas of the tools that the document may call.
    pub tools: &'a dyn ToolSchemas,
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self {
            format: None,
            name: "workflow",
            known_servers: KnownServers::Configured(&[]),
            mistyped_fields: MistypedFields::Warn,
            folder: "",
            tools: &BuiltinSchemas,
        }
    }
}

/// A parsed document.
#[derive(Debug)]
pub struct ParsedDocument {
    /// The format it was read as.
    pub format: Format,
    /// Its contents.
    pub document: GraphDocument,
}

/// Reads a document in any format.
pub fn read(bytes: &[u8], hint: ReadOptions<'_>) -> Result<ParsedDocument, Vec<Flaw>> {
    let by_content = hint.format.is_none() && pflow_markdown::is_markdown_workflow(bytes);
    if by_content || hint.format == Some(Format::Markdown) {
        let document = pflow_markdown::read(bytes, hint)?;
        return Ok(ParsedDocument {
            format: Format::Markdown,
            document,
        });
    }
    let tree = document::read(bytes)?;
    let format = match hint.format {
        Some(format) => format,
        None => detect::detect_format(tree.root())?,
    };
    let document = match format {
        Format::Yaml => yaml_graph::read_tree(&tree, hint)?,
        Format::Dag => json_dag::read_tree(&tree, hint)?,
        Format::Ir => pflow_ir::read_tree(&tree, hint)?,
        Format::Markdown => pflow_markdown::read(bytes, hint)?,
    };
    Ok(ParsedDocument { format, document })
}
