//! Workflows as markdown: a title, inputs, steps and outputs under headings, prose that says what
//! each is for, parameters as list items, long texts as fenced blocks.
//!
//! Such a document says the same as an IR, so it is read into that shape, each part with its place
//! in the markdown file, and the reader of IRs does the rest.

use super::document::{self, Grafting, Span, Tree};
use super::pflow_ir;
use super::yaml_graph::Document;
use super::{Flaws, Hint};
use crate::flaw::{Code, Flaw};
use lines::{Lines, heading};
use outline::{Outline, Section};

mod lines;
mod outline;
mod parts;
pub(super) mod patch;
mod write;

pub use write::write;

/// Reads a document from the bytes of its file.
pub(super) fn read(bytes: &[u8], hint: Hint<'_>) -> Result<Document, Vec<Flaw>> {
    let text = document::decode(bytes).map_err(|flaw| vec![*flaw])?;
    let mut flaws = Flaws::default();
    let tree = tree(text, &mut flaws);
    let read = tree.map(|tree| pflow_ir::read_tree(&tree, hint));
    match read {
        Some(Ok(mut document)) if !flaws.fatal() => {
            for flaw in std::mem::take(&mut document.warnings) {
                flaws.push(flaw);
            }
            document.warnings = flaws.sorted();
            Ok(document)
        }
        Some(Ok(_)) | None => Err(flaws.sorted()),
        Some(Err(more)) => {
            more.into_iter().for_each(|flaw| flaws.push(flaw));
            Err(flaws.sorted())
        }
    }
}

/// Whether a text is such a document, by the headings that one must have.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let mut steps = false;
    for line in text.lines() {
        match heading(line) {
            Some((2, words)) => {
                steps |= Section::named(&line[words]) == Some(Section::Steps);
            }
            Some((3, _)) if steps => return true,
            Some(_) | None => {}
        }
    }
    false
}

/// The document in the shape of an IR.
pub(super) fn tree(text: &str, flaws: &mut Flaws) -> Option<Tree> {
    let lines = Lines::of(text);
    let outline = Outline::of(&lines, flaws);
    let has = |section| outline.entities.iter().any(|one| one.section == section);
    if !has(Section::Steps) {
        let (message, span) = match outline
            .sections
            .iter()
            .find(|(one, _)| *one == Section::Steps)
        {
            Some((_, at)) => ("there are no steps", lines.whole(*at)),
            None => ("there is no section `Steps`", Span::at(1, 1)),
        };
        let hint = "write `## Steps`, and under it `### name` for each step";
        let place = document::marks::place(span, String::new());
        flaws.add(Code::Missing, place, message, hint);
        return None;
    }
    let grafting = Grafting::new(text, flaws);
    parts::Parts {
        lines: &lines,
        grafting,
    }
    .put_together(&outline)
}
