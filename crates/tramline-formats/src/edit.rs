//! Applies graph edits to a document's text and preserves comments, order and spacing.
//!
//! An edit is first computed on the document's value (`plan`), then written into the text
//! (`writing`), and the text is parsed again. If the result differs from the computed value, the edit
//! is rejected, so an edit never changes anything else.

use super::{Format, SourceKind, detect, pflow_markdown};
use apply::EditableText;
use op::{ValueOp, ValueStep, key_step};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use text_patch::PatchedText;
use tramline_expr::Value;
use tramline_syntax::{FlawCollector, document};
use tramline_workflow::flaw::Flaw;

mod apply;
mod expression_references;
mod flowchart;
mod lower;
mod op;
mod template_references;
#[cfg(test)]
mod tests;
mod text_patch;

/// Most edits in one request: each edit parses the document again.
pub const EDITS_MAX: usize = 200;

/// An edit of a graph.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum GraphEdit {
    /// Adds a node, inserted after another node if one is given.
    AddNode {
        /// The node to insert it after.
        after: Option<String>,
        /// The node: `id`, `kind` and the fields of its format.
        node: serde_json::Map<String, serde_json::Value>,
    },
    /// Removes a node; its incoming edges are redirected to its successor.
    RemoveNode {
        /// The node to remove.
        id: String,
    },
    /// Renames a node and all references to it.
    RenameNode {
        /// The node to rename.
        id: String,
        /// Its new id.
        to: String,
    },
    /// Adds an edge.
    Connect {
        /// The source node.
        from: String,
        /// The target node.
        to: String,
        /// `error`, or the rule of a switch branch as JSON.
        label: Option<String>,
    },
    /// Removes an edge.
    Disconnect {
        /// The source node.
        from: String,
        /// The target node.
        to: String,
    },
    /// Sets a field of a node; null removes it.
    SetField {
        /// The node to change.
        id: String,
        /// The path to the field: keys and indexes.
        path: Vec<serde_json::Value>,
        /// The new value.
        value: serde_json::Value,
    },
}

/// A text change: a character range and its replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextChange {
    /// The first replaced character.
    pub from: usize,
    /// The character after the last replaced one.
    pub to: usize,
    /// The replacement.
    pub insert: String,
}

impl TextChange {
    fn new(stretch: Range<usize>, insert: String) -> Self {
        Self {
            from: stretch.start,
            to: stretch.end,
            insert,
        }
    }
}

/// An edited text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedText {
    /// The new text.
    pub text: String,
    /// The changes in order, in character offsets of the old text.
    pub changes: Vec<TextChange>,
}

/// Applies the edits in order. Either all of them are applied, or the error says why not.
pub fn apply_edits(
    text: &str,
    form: Option<SourceKind>,
    workflow: Option<&str>,
    edits: &[GraphEdit],
) -> Result<EditedText, String> {
    if edits.len() > EDITS_MAX {
        return Err(format!("more than {EDITS_MAX} edits in one request"));
    }
    // Offsets are counted without the byte order mark.
    let mark = text.starts_with('\u{feff}');
    let mut spliced = PatchedText::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    for edit in edits {
        let text = spliced.text();
        if form == Some(SourceKind::Procedure) {
            let changes = flowchart::flowchart_changes(&text, edit)?;
            changes.iter().for_each(|change| spliced.splice(change));
            continue;
        }
        let (mut tree, format) = match form {
            Some(SourceKind::Workflows(Format::Markdown)) => {
                (read_markdown(&text)?, Format::Markdown)
            }
            form => {
                let tree = read(&text)?;
                let format = resolve_format(form, &tree)?;
                (tree, format)
            }
        };
        for op in lower::lower_edit(tree.root().value, format, workflow, edit)? {
            tree = apply_op(&mut spliced, &tree, &op, format)?;
        }
    }
    let mut changes = spliced.changes();
    if mark {
        for change in &mut changes {
            change.from += 1;
            change.to += 1;
        }
    }
    let text = spliced.text();
    Ok(EditedText {
        text: if mark {
            format!("\u{feff}{text}")
        } else {
            text
        },
        changes,
    })
}

fn read(text: &str) -> Result<document::SourceTree, String> {
    document::read(text.as_bytes()).map_err(|flaws| fix_first_message(&flaws))
}

fn fix_first_message(flaws: &[Flaw]) -> String {
    let first = flaws.first().map(ToString::to_string);
    format!("fix the text first: {}", first.unwrap_or_default())
}

/// Parses a markdown workflow into the shape of an IR.
fn read_markdown(text: &str) -> Result<document::SourceTree, String> {
    let mut flaws = FlawCollector::default();
    let tree = pflow_markdown::parse_tree(text, &mut flaws);
    match (tree, flaws.has_errors()) {
        (Some(tree), false) => Ok(tree),
        (Some(_) | None, _) => Err(fix_first_message(&flaws.into_sorted())),
    }
}

fn resolve_format(form: Option<SourceKind>, tree: &document::SourceTree) -> Result<Format, String> {
    let format = match form {
        Some(SourceKind::Workflows(format)) => format,
        Some(SourceKind::Procedure) | None => detect::detect_format(tree.root())
            .map_err(|_| "cannot detect the document's format".to_owned())?,
    };
    Ok(format)
}

/// Writes one op into the text and checks that the text then parses to the expected value.
fn apply_op(
    spliced: &mut PatchedText,
    tree: &document::SourceTree,
    op: &ValueOp,
    format: Format,
) -> Result<document::SourceTree, String> {
    let refuse = || "this syntax cannot be edited here; change the text instead".to_owned();
    let meant: Value = op.apply_to(tree.root().value).ok_or_else(refuse)?;
    let mut changes = EditableText::new(tree).changes(op);
    if format == Format::Markdown {
        changes.splice(0..0, markdown_change(tree, op));
    }
    for change in changes {
        let mut tried = spliced.clone();
        tried.splice(&change);
        let after = match format {
            Format::Markdown => read_markdown(&tried.text()),
            Format::Yaml | Format::Dag | Format::Ir => read(&tried.text()),
        };
        if let Ok(after) = after
            && *after.root().value == meant
        {
            *spliced = tried;
            return Ok(after);
        }
    }
    Err(refuse())
}

/// The change for adding or removing a markdown step or one of its parameters.
fn markdown_change(tree: &document::SourceTree, op: &ValueOp) -> Option<TextChange> {
    let sheet = pflow_markdown::patch::MarkdownPatcher::of(tree.text());
    let nodes = key_step("nodes");
    let (stretch, insert) = match op {
        ValueOp::Insert(at, place, node) if *at == [nodes.clone()] => {
            sheet.insert_step(*place, node)
        }
        ValueOp::Remove(at) => match at.as_slice() {
            [first, ValueStep::Index(place)] if *first == nodes => sheet.remove_step(*place),
            [first, ValueStep::Index(place), .., ValueStep::Key(name)] if *first == nodes => {
                sheet.remove_parameter(*place, name)
            }
            _ => None,
        },
        ValueOp::Set(at, value) => match at.as_slice() {
            [first, ValueStep::Index(place), .., ValueStep::Key(name)]
                if *first == nodes && op::value_at(tree.root().value, at).is_none() =>
            {
                sheet.add_parameter(*place, name, value)
            }
            _ => None,
        },
        ValueOp::Insert(..) => None,
    }?;
    Some(TextChange::new(stretch, insert))
}
