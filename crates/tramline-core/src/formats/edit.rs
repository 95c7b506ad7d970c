//! Edits in a graph as changes of its text: comments, order and spacing stay as they are.
//!
//! An edit is first worked out on the value of the document (`plan`), then written into the text
//! (`writing`), and the text is read again: unless it reads as the value that was meant, the edit
//! is refused. So nothing is ever changed but what was asked for.

use super::checked::Form;
use super::{Flaws, Format, detect, document, pflow_markdown};
use crate::flaw::Flaw;
use op::{Op, Step, key};
use serde::{Deserialize, Serialize};
use splice::Spliced;
use std::ops::Range;
use tramline_expr::Value;
use writing::Page;

mod chart;
mod op;
mod plan;
mod references;
mod rename;
mod splice;
#[cfg(test)]
mod tests;
mod writing;

/// More edits at once are refused.
pub const EDITS_MAX: usize = 200;

/// An edit in a graph.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// Adds a node, between another and what comes after it where one is named.
    AddNode {
        /// The node it comes after.
        after: Option<String>,
        /// The node: `id`, `kind` and the fields of its format.
        node: serde_json::Map<String, serde_json::Value>,
    },
    /// Takes a node away; what led to it leads to what came after it.
    RemoveNode {
        /// Which one.
        id: String,
    },
    /// Gives a node another id, wherever it is named.
    RenameNode {
        /// Which one.
        id: String,
        /// Its new id.
        to: String,
    },
    /// Leads from one node to another.
    Connect {
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// `error`, or the rule of a choice as JSON.
        label: Option<String>,
    },
    /// Leads there no more.
    Disconnect {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// Sets a field of a node; null takes it away.
    SetField {
        /// Which node.
        id: String,
        /// The way to the field: keys and places.
        path: Vec<serde_json::Value>,
        /// What it is set to.
        value: serde_json::Value,
    },
}

/// A stretch of a text, in characters, and what is put in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The first character that goes.
    pub from: usize,
    /// The character after the last that goes.
    pub to: usize,
    /// What comes instead.
    pub insert: String,
}

impl Change {
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
pub struct Edited {
    /// The new text.
    pub text: String,
    /// What has changed, in places of the old one, in order.
    pub changes: Vec<Change>,
}

/// Makes edits, each on what the one before left. Either all of them are made, or it is told why
/// not.
pub fn edit(
    text: &str,
    form: Option<Form>,
    workflow: Option<&str>,
    edits: &[Edit],
) -> Result<Edited, String> {
    if edits.len() > EDITS_MAX {
        return Err(format!("more than {EDITS_MAX} edits at once"));
    }
    // Places count from the first character that is shown.
    let mark = text.starts_with('\u{feff}');
    let mut spliced = Spliced::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    for edit in edits {
        let text = spliced.text();
        if form == Some(Form::Procedure) {
            let changes = chart::changes(&text, edit)?;
            changes.iter().for_each(|change| spliced.splice(change));
            continue;
        }
        let (mut tree, format) = match form {
            Some(Form::Workflows(Format::Markdown)) => (read_steps(&text)?, Format::Markdown),
            form => {
                let tree = read(&text)?;
                let format = format(form, &tree)?;
                (tree, format)
            }
        };
        for op in plan::plan(tree.root().value, format, workflow, edit)? {
            tree = write(&mut spliced, &tree, &op, format)?;
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
    Ok(Edited {
        text: if mark {
            format!("\u{feff}{text}")
        } else {
            text
        },
        changes,
    })
}

fn read(text: &str) -> Result<document::Tree, String> {
    document::read(text.as_bytes()).map_err(|flaws| mend(&flaws))
}

fn mend(flaws: &[Flaw]) -> String {
    let first = flaws.first().map(ToString::to_string);
    format!("mend the text first: {}", first.unwrap_or_default())
}

/// A workflow written as markdown in the shape of an IR.
fn read_steps(text: &str) -> Result<document::Tree, String> {
    let mut flaws = Flaws::default();
    let tree = pflow_markdown::tree(text, &mut flaws);
    match (tree, flaws.fatal()) {
        (Some(tree), false) => Ok(tree),
        (Some(_) | None, _) => Err(mend(&flaws.sorted())),
    }
}

fn format(form: Option<Form>, tree: &document::Tree) -> Result<Format, String> {
    let format = match form {
        Some(Form::Workflows(format)) => format,
        Some(Form::Procedure) | None => {
            detect::format(tree.root()).map_err(|_| "nothing tells its format".to_owned())?
        }
    };
    Ok(format)
}

/// Writes one change; the text must then read as the value that was meant.
fn write(
    spliced: &mut Spliced,
    tree: &document::Tree,
    op: &Op,
    format: Format,
) -> Result<document::Tree, String> {
    let refuse = || "this place is written in a way that only its text can change".to_owned();
    let meant: Value = op.on(tree.root().value).ok_or_else(refuse)?;
    let mut changes = Page::new(tree).changes(op);
    if format == Format::Markdown {
        changes.splice(0..0, in_steps(tree, op));
    }
    for change in changes {
        let mut tried = spliced.clone();
        tried.splice(&change);
        let after = match format {
            Format::Markdown => read_steps(&tried.text()),
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

/// How steps written as markdown come and go, and their parameters.
fn in_steps(tree: &document::Tree, op: &Op) -> Option<Change> {
    let sheet = pflow_markdown::patch::Sheet::of(tree.text());
    let nodes = key("nodes");
    let (stretch, insert) = match op {
        Op::Insert(at, place, node) if *at == [nodes.clone()] => sheet.insert(*place, node),
        Op::Remove(at) => match at.as_slice() {
            [first, Step::Place(place)] if *first == nodes => sheet.remove(*place),
            [first, Step::Place(place), .., Step::Key(name)] if *first == nodes => {
                sheet.drop(*place, name)
            }
            _ => None,
        },
        Op::Set(at, value) => match at.as_slice() {
            [first, Step::Place(place), .., Step::Key(name)]
                if *first == nodes && op::find(tree.root().value, at).is_none() =>
            {
                sheet.add(*place, name, value)
            }
            _ => None,
        },
        Op::Insert(..) => None,
    }?;
    Some(Change::new(stretch, insert))
}
