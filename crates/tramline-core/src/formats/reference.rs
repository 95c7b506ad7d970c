//! References to a part of an earlier output, as other formats write them, into JSONata and back.
//!
//! What a reference does not find is a failure that names what there is, so each becomes an
//! expression of one exact form. That form is known again when a workflow is written out.

use std::fmt::Write;
use tramline_expr::{Str, Value};

mod parse;

pub(super) use parse::{path_of, pieces_of, reference_of, steps};

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To what stands under a key.
    Key(Str),
    /// To an item, from the end if negative.
    Index(i64),
}

/// The way to a part of a node's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The node's id, or the name of a variable.
    pub(super) root: Str,
    /// Whether it is a variable: the item of a call that is spread over many.
    pub(super) variable: bool,
    /// From its output to the part.
    pub(super) steps: Vec<Step>,
}

/// What a reference takes if nothing before it is there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// A part of an output.
    Path(Path),
    /// A value as it stands.
    Literal(Value),
    /// What an expression gives, which is always something.
    Source(Str),
}

/// A reference: the first of its operands that is there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    /// The operands; at least one.
    pub(super) operands: Vec<Operand>,
    /// Whether the node itself is sure to have run. Thousands of such references may stand in a
    /// document that a program made, so what they become is kept short.
    pub(super) sure: bool,
}

/// A piece of a text with references in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// Text as it stands.
    Text(String),
    /// A reference, in whose place its value is put.
    Reference(Reference),
}

impl Path {
    /// The way to a part of the output of the node with this id.
    pub(super) fn new(root: impl Into<Str>, steps: Vec<Step>) -> Self {
        Self {
            root: root.into(),
            variable: false,
            steps,
        }
    }

    /// The path as JSONata.
    pub(super) fn jsonata(&self) -> String {
        let source = if self.variable {
            format!("${}", self.root)
        } else if is_quotable(&self.root) {
            quoted(&self.root)
        } else {
            format!("$lookup($, {})", text(&self.root))
        };
        into(&source, &self.steps)
    }

    /// The last words of an evaluation in which nothing was found; told at length, they name what
    /// there is instead.
    fn failure(&self, at_length: bool) -> String {
        match self.steps.split_last().filter(|_| at_length) {
            None => {
                let shown = text(&format!("there is no {}", self.jsonata()));
                format!("$error({shown})")
            }
            Some((_, before)) => {
                let parent = Self {
                    root: self.root.clone(),
                    variable: self.variable,
                    steps: before.to_vec(),
                };
                let has = text(&format!(
                    "there is no {}; {} has ",
                    self.jsonata(),
                    parent.jsonata()
                ));
                format!("$error({has} & $join($keys({}), \", \"))", parent.jsonata())
            }
        }
    }
}

impl Reference {
    /// A reference to one part of the output of a node that is sure to have run.
    pub(super) fn sure(path: Path) -> Self {
        Self {
            operands: vec![Operand::Path(path)],
            sure: true,
        }
    }

    /// The reference as JSONata.
    pub(super) fn jsonata(&self) -> String {
        let mut source = String::new();
        for operand in &self.operands {
            if !source.is_empty() {
                source.push_str(" ?? ");
            }
            match operand {
                Operand::Path(path) => source.push_str(&path.jsonata()),
                Operand::Literal(value) => source.push_str(&value.to_json()),
                Operand::Source(other) => source.push_str(other),
            }
        }
        let sure = |path: &Path| self.sure && path.steps.is_empty();
        match self.operands.last() {
            Some(Operand::Path(path)) if !sure(path) => {
                source.push_str(" ?? ");
                source.push_str(&path.failure(!self.sure));
            }
            Some(Operand::Path(_) | Operand::Literal(_) | Operand::Source(_)) | None => {}
        }
        source
    }
}

/// A part of what an expression gives.
pub(super) fn into(source: &str, steps: &[Step]) -> String {
    let mut source = source.to_owned();
    for step in steps {
        match step {
            Step::Key(key) if is_quotable(key) => {
                source.push('.');
                source.push_str(&quoted(key));
            }
            Step::Key(key) => source = format!("$lookup({source}, {})", text(key)),
            Step::Index(at) => {
                let _ = write!(source, "[{at}]");
            }
        }
    }
    source
}

/// A text with references in it as JSONata. Text stays; objects and lists become JSON.
pub(super) fn joined(pieces: &[Piece]) -> String {
    let parts = pieces.iter().map(|piece| match piece {
        Piece::Text(part) => text(part),
        Piece::Reference(reference) => format!("$string({})", reference.jsonata()),
    });
    parts.collect::<Vec<_>>().join(" & ")
}

/// A text as JSONata has it.
pub(super) fn text(text: &str) -> String {
    Value::from(text).to_json()
}

/// Whether backticks can hold a name.
fn is_quotable(name: &str) -> bool {
    !name.is_empty() && !name.contains('`')
}

/// A name as a step of a path.
fn quoted(name: &str) -> String {
    let mut letters = name.chars();
    let plain = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    // These mean something else in an expression.
    let word = matches!(
        name,
        "and" | "or" | "in" | "true" | "false" | "null" | "function"
    );
    if plain && !word {
        name.to_owned()
    } else {
        format!("`{name}`")
    }
}
