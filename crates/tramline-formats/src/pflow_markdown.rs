//! Markdown workflows: title, inputs, steps and outputs under headings, prose for descriptions,
//! parameters as list items, long values as fenced blocks.
//!
//! Such a document is equivalent to an IR. It is parsed into that shape, with source locations in the
//! markdown file, and then read by the IR reader.

use super::ReadOptions;
use super::pflow_ir;
use super::yaml_graph::GraphDocument;
use markdown_lines::{MarkdownLines, heading};
use outline::{MarkdownSection, WorkflowOutline};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::{self, EmbeddedBuilder, SourceRange, SourceTree};
use tramline_workflow::flaw::{Flaw, FlawCode};

mod ir_assembler;
mod markdown_lines;
mod outline;
pub(super) mod patch;
mod write;

pub use write::write;

/// Reads a document from the bytes of its file.
pub(super) fn read(bytes: &[u8], hint: ReadOptions<'_>) -> Result<GraphDocument, Vec<Flaw>> {
    let text = document::decode(bytes).map_err(|flaw| vec![*flaw])?;
    let mut flaws = FlawCollector::new(hint.mistyped_fields);
    let tree = parse_tree(text, &mut flaws);
    let read = tree.map(|tree| pflow_ir::read_tree(&tree, hint));
    match read {
        Some(Ok(mut document)) if !flaws.has_errors() => {
            for flaw in std::mem::take(&mut document.warnings) {
                flaws.push(flaw);
            }
            document.warnings = flaws.into_sorted();
            Ok(document)
        }
        Some(Ok(_)) | None => Err(flaws.into_sorted()),
        Some(Err(more)) => {
            more.into_iter().for_each(|flaw| flaws.push(flaw));
            Err(flaws.into_sorted())
        }
    }
}

/// Whether a text is a markdown workflow, judged by its required headings.
pub(super) fn is_markdown_workflow(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let mut steps = false;
    for line in text.lines() {
        match heading(line) {
            Some((2, words)) => {
                steps |= MarkdownSection::named(&line[words]) == Some(MarkdownSection::Steps);
            }
            Some((3, _)) if steps => return true,
            Some(_) | None => {}
        }
    }
    false
}

/// Parses the document into the shape of an IR.
pub(super) fn parse_tree(text: &str, flaws: &mut FlawCollector) -> Option<SourceTree> {
    let lines = MarkdownLines::of(text);
    let outline = WorkflowOutline::of(&lines, flaws);
    let has = |section| outline.entities.iter().any(|one| one.section == section);
    if !has(MarkdownSection::Steps) {
        let (message, span) = match outline
            .sections
            .iter()
            .find(|(one, _)| *one == MarkdownSection::Steps)
        {
            Some((_, at)) => ("there are no steps", lines.line_span(*at)),
            None => (
                "there is no section `Steps`",
                SourceRange::single_char(1, 1),
            ),
        };
        let hint = "write `## Steps`, and under it `### name` for each step";
        let place = document::spans::place(span, String::new());
        flaws.add(FlawCode::MissingField, place, message, hint);
        return None;
    }
    let grafting = EmbeddedBuilder::new(text, flaws);
    ir_assembler::IrAssembler {
        lines: &lines,
        builder: grafting,
    }
    .assemble(&outline)
}
