//! Converts references to earlier outputs, in the syntax of several formats, to JSONata and back.
//!
//! A reference that finds nothing must fail with a message that names what exists, so each reference
//! becomes an expression of one exact form. Writers recognise that form.

use std::fmt::Write;
use tramline_expr::{Str, Value};

mod parse;

pub(super) use parse::{parse_steps, path_of, pieces_of, reference_of};

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReferenceStep {
    /// To the value of a key.
    Key(Str),
    /// To an item, from the end if negative.
    Index(i64),
}

/// A path to a part of a node's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReferencePath {
    /// The node's id, or the name of a variable.
    pub(super) root: Str,
    /// Whether the root is a variable: the item of a fan-out.
    pub(super) is_variable: bool,
    /// The steps from the output to the part.
    pub(super) steps: Vec<ReferenceStep>,
}

/// One alternative of a reference; they are tried in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReferenceOperand {
    /// A part of an output.
    Path(ReferencePath),
    /// A literal value.
    Literal(Value),
    /// An expression that always has a value.
    Source(Str),
}

/// A reference: the first of its operands that has a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutputReference {
    /// The operands; at least one.
    pub(super) operands: Vec<ReferenceOperand>,
    /// Whether the node is certain to have run. Generated documents may contain thousands of such
    /// references, so their expressions are kept short.
    pub(super) is_certain: bool,
}

/// A piece of a string with references.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TextPart {
    /// Literal text.
    Text(String),
    /// A reference, replaced by its value.
    Reference(OutputReference),
}

impl ReferencePath {
    /// A path into the output of the node with this id.
    pub(super) fn new(root: impl Into<Str>, steps: Vec<ReferenceStep>) -> Self {
        Self {
            root: root.into(),
            is_variable: false,
            steps,
        }
    }

    /// The path as JSONata.
    pub(super) fn jsonata(&self) -> String {
        let source = if self.is_variable {
            format!("${}", self.root)
        } else if is_quotable(&self.root) {
            jsonata_name(&self.root)
        } else {
            format!("$lookup($, {})", jsonata_string(&self.root))
        };
        append_steps(&source, &self.steps)
    }

    /// The `$error` call for a path that has no value; the long form also lists the keys that exist.
    fn error_call(&self, at_length: bool) -> String {
        match self.steps.split_last().filter(|_| at_length) {
            None => {
                let shown = jsonata_string(&format!("there is no {}", self.jsonata()));
                format!("$error({shown})")
            }
            Some((_, before)) => {
                let parent = Self {
                    root: self.root.clone(),
                    is_variable: self.is_variable,
                    steps: before.to_vec(),
                };
                let has = jsonata_string(&format!(
                    "there is no {}; {} has ",
                    self.jsonata(),
                    parent.jsonata()
                ));
                format!("$error({has} & $join($keys({}), \", \"))", parent.jsonata())
            }
        }
    }
}

impl OutputReference {
    /// A reference to a part of the output of a node that is certain to have run.
    pub(super) fn certain(path: ReferencePath) -> Self {
        Self {
            operands: vec![ReferenceOperand::Path(path)],
            is_certain: true,
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
                ReferenceOperand::Path(path) => source.push_str(&path.jsonata()),
                ReferenceOperand::Literal(value) => source.push_str(&value.to_json()),
                ReferenceOperand::Source(other) => source.push_str(other),
            }
        }
        let sure = |path: &ReferencePath| self.is_certain && path.steps.is_empty();
        match self.operands.last() {
            Some(ReferenceOperand::Path(path)) if !sure(path) => {
                source.push_str(" ?? ");
                source.push_str(&path.error_call(!self.is_certain));
            }
            Some(
                ReferenceOperand::Path(_)
                | ReferenceOperand::Literal(_)
                | ReferenceOperand::Source(_),
            )
            | None => {}
        }
        source
    }
}

/// A path into the value of an expression.
pub(super) fn append_steps(source: &str, steps: &[ReferenceStep]) -> String {
    let mut source = source.to_owned();
    for step in steps {
        match step {
            ReferenceStep::Key(key) if is_quotable(key) => {
                source.push('.');
                source.push_str(&jsonata_name(key));
            }
            ReferenceStep::Key(key) => {
                source = format!("$lookup({source}, {})", jsonata_string(key))
            }
            ReferenceStep::Index(at) => {
                let _ = write!(source, "[{at}]");
            }
        }
    }
    source
}

/// A string with references as JSONata. Objects and lists become JSON.
pub(super) fn concat_expression(pieces: &[TextPart]) -> String {
    let parts = pieces.iter().map(|piece| match piece {
        TextPart::Text(part) => jsonata_string(part),
        TextPart::Reference(reference) => format!("$string({})", reference.jsonata()),
    });
    parts.collect::<Vec<_>>().join(" & ")
}

/// A JSONata string literal.
pub(super) fn jsonata_string(text: &str) -> String {
    Value::from(text).to_json()
}

/// Whether a name can be written in backticks.
fn is_quotable(name: &str) -> bool {
    !name.is_empty() && !name.contains('`')
}

/// A name as a step of a path, in backticks if necessary.
fn jsonata_name(name: &str) -> String {
    let mut letters = name.chars();
    let plain = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    // These are operators or literals in an expression.
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
