//! What kind a file is: workflows in one of the formats, or a procedure.

use super::node_spans::NodeSpans;
use super::{Format, pflow_markdown};

/// The kind of a document: workflows in one of the formats, or a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Workflows.
    Workflows(Format),
    /// A procedure.
    Procedure,
}

impl SourceKind {
    /// All variants.
    pub const ALL: [Self; 5] = [
        Self::Workflows(Format::Yaml),
        Self::Workflows(Format::Dag),
        Self::Workflows(Format::Ir),
        Self::Workflows(Format::Markdown),
        Self::Procedure,
    ];

    /// The identifier used in APIs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflows(Format::Yaml) => "yaml",
            Self::Workflows(Format::Dag) => "dag",
            Self::Workflows(Format::Ir) => "ir",
            Self::Workflows(Format::Markdown) => "markdown",
            Self::Procedure => "sop",
        }
    }

    /// Parses an identifier returned by [`Self::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == word)
    }

    /// The kind implied by a file's name and text; `None` if only its fields can decide.
    pub fn detect(name: &str, text: &str) -> Option<Self> {
        if let (Some(format), _) = Format::of_file(name) {
            return Some(Self::Workflows(format));
        }
        if pflow_markdown::is_markdown_workflow(text.as_bytes()) {
            return Some(Self::Workflows(Format::Markdown));
        }
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        let chart = first.is_some_and(|it| it.starts_with("flowchart") || it.starts_with("graph "));
        let drawn = || {
            text.lines()
                .any(|line| line.trim_start().starts_with("```mermaid"))
        };
        (chart || name.ends_with(".md") || drawn()).then_some(Self::Procedure)
    }
}

/// The identifier of a file's kind, from its name, its text or its fields.
pub fn detect_kind_name(name: &str, text: &str) -> Option<&'static str> {
    let by_fields = || {
        NodeSpans::of(text, None)
            .format()
            .map(SourceKind::Workflows)
    };
    SourceKind::detect(name, text)
        .or_else(by_fields)
        .map(SourceKind::as_str)
}
