//! Readers and writers: each turns one kind of document into workflows or back.
//!
//! They share how text becomes a value with places ([`document`]), how a place inside a text
//! value is found in the file ([`scalar`]), and the word for what is wrong ([`Flaw`]).

use crate::flaw::Flaw;
use tramline_expr::Str;
use yaml_graph::Document;

pub mod beside;
pub mod calls;
pub mod checked;
mod detect;
pub mod document;
pub mod edit;
mod flaws;
pub mod json_dag;
mod lost;
pub mod mermaid;
pub mod pflow_ir;
pub mod pflow_markdown;
mod reference;
pub mod scalar;
mod sketch;
pub mod sop_markdown;
pub mod tool_plan;
mod whereabouts;
pub mod yaml_graph;
mod yaml_text;

pub(crate) use flaws::Flaws;
pub(crate) use lost::Lost;
pub use lost::Written;

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// YAML graphs, also written as JSON.
    Yaml,
    /// DAGs of tasks as JSON.
    Dag,
    /// Workflows as an IR in JSON.
    Ir,
    /// Workflows as markdown.
    Markdown,
}

impl Format {
    /// The format that the name of a file tells, where it does, and what a workflow in it is
    /// called that says no name of its own.
    pub fn of_file(name: &str) -> (Option<Self>, &str) {
        if let Some(name) = name.strip_suffix(".pflow.md") {
            return (Some(Self::Markdown), name);
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        (None, if stem.is_empty() { name } else { stem })
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML graph",
            Self::Dag => "DAG",
            Self::Ir => "IR",
            Self::Markdown => "markdown workflow",
        }
    }
}

/// The servers that a document may use without naming them.
#[derive(Clone, Copy, Debug)]
pub enum Elsewhere<'a> {
    /// Those that are configured: a call to any other is a flaw.
    Configured(&'a [Str]),
    /// Any, where nothing is going to be called.
    Any,
}

/// What a reader is told beside the document.
#[derive(Clone, Copy, Debug)]
pub struct Hint<'a> {
    /// The format, where it is known; otherwise the document itself tells.
    pub format: Option<Format>,
    /// What a workflow is called that says no name of its own.
    pub name: &'a str,
    /// The servers that are configured elsewhere.
    pub elsewhere: Elsewhere<'a>,
    /// Where it lies, from the directory of the document that names it; empty if it is the first.
    pub folder: &'a str,
}

impl Default for Hint<'_> {
    fn default() -> Self {
        Self {
            format: None,
            name: "workflow",
            elsewhere: Elsewhere::Configured(&[]),
            folder: "",
        }
    }
}

/// A document read.
#[derive(Debug)]
pub struct Read {
    /// In which format it was.
    pub format: Format,
    /// What it holds.
    pub document: Document,
}

/// Reads a document in any format.
pub fn read(bytes: &[u8], hint: Hint<'_>) -> Result<Read, Vec<Flaw>> {
    let by_content = hint.format.is_none() && pflow_markdown::is_one(bytes);
    if by_content || hint.format == Some(Format::Markdown) {
        let document = pflow_markdown::read(bytes, hint)?;
        return Ok(Read {
            format: Format::Markdown,
            document,
        });
    }
    let tree = document::read(bytes)?;
    let format = match hint.format {
        Some(format) => format,
        None => detect::format(tree.root())?,
    };
    let document = match format {
        Format::Yaml => yaml_graph::read_tree(&tree, hint.elsewhere)?,
        Format::Dag => json_dag::read_tree(&tree, hint)?,
        Format::Ir => pflow_ir::read_tree(&tree, hint)?,
        Format::Markdown => pflow_markdown::read(bytes, hint)?,
    };
    Ok(Read { format, document })
}
