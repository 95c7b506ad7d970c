//! Where each part of a document stands: one mark for each value, found by its way from the root.

use crate::flaw::Place;
use tramline_expr::Str;

/// A character of the text: its count from the start, its line and its column (from 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::formats) struct Spot {
    /// How many characters come before it.
    pub(in crate::formats) index: u32,
    /// Its line.
    pub(in crate::formats) line: u32,
    /// Its column.
    pub(in crate::formats) column: u32,
}

/// A stretch of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::formats) struct Span {
    /// Its first character.
    pub(in crate::formats) start: Spot,
    /// The character after its last.
    pub(in crate::formats) end: Spot,
}

impl Span {
    /// One character, where its count from the start does not matter.
    pub(in crate::formats) fn at(line: u32, column: u32) -> Self {
        one(Spot {
            index: 0,
            line,
            column,
        })
    }
}

/// How a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text without quotes.
    Plain,
    /// Text in `'…'`.
    Single,
    /// Text in `"…"`.
    Double,
    /// A block after `|`.
    Literal,
    /// A block after `>`.
    Folded,
    /// A list.
    Sequence,
    /// An object.
    Mapping,
}

/// Where one value stands.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) span: Span,
    pub(super) style: Style,
    /// The value it is part of, and as which of its parts.
    pub(super) parent: Option<(u32, u32)>,
    pub(super) parts: Vec<Part>,
}

/// One part of a list or an object.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Its key, where it has one.
    pub(super) key: Str,
    pub(super) key_span: Span,
    pub(super) mark: u32,
}

/// The marks of a whole document.
#[derive(Debug, Default)]
pub struct Marks(pub(super) Vec<Mark>);

impl Marks {
    pub(super) fn add(&mut self, span: Span, style: Style) -> u32 {
        self.0.push(Mark {
            span,
            style,
            parent: None,
            parts: Vec::new(),
        });
        self.0.len() as u32 - 1
    }

    pub(super) fn get(&self, at: u32) -> &Mark {
        &self.0[at as usize]
    }

    /// Hangs a value below another. An aliased value stays where it was written.
    pub(super) fn attach(&mut self, parent: u32, part: Part) {
        let slot = self.get(parent).parts.len() as u32;
        self.0[part.mark as usize]
            .parent
            .get_or_insert((parent, slot));
        self.0[parent as usize].parts.push(part);
    }

    /// The JSON pointer of a value.
    pub(super) fn pointer(&self, mut at: u32) -> String {
        let mut steps = Vec::new();
        while let Some((parent, slot)) = self.get(at).parent {
            let parent_mark = self.get(parent);
            steps.push(match parent_mark.style {
                Style::Mapping => escape(&parent_mark.parts[slot as usize].key),
                Style::Sequence
                | Style::Plain
                | Style::Single
                | Style::Double
                | Style::Literal
                | Style::Folded => slot.to_string(),
            });
            at = parent;
        }
        steps
            .iter()
            .rev()
            .fold(String::new(), |pointer, step| pointer + "/" + step)
    }

    /// The place of a value: all of a text, the beginning of a list or an object.
    pub(super) fn place(&self, at: u32) -> Place {
        let mark = self.get(at);
        let span = match (mark.style, mark.parts.first()) {
            (Style::Mapping, Some(first)) if first.key_span.start == mark.span.start => {
                first.key_span
            }
            (Style::Mapping | Style::Sequence, _) => one(mark.span.start),
            (Style::Literal | Style::Folded, _) => one(mark.span.start),
            (Style::Plain | Style::Single | Style::Double, _) => mark.span,
        };
        place(span, self.pointer(at))
    }

    /// The place of the key under which a part stands.
    pub(super) fn key_place(&self, at: u32, slot: usize) -> Place {
        let part = &self.get(at).parts[slot];
        let pointer = self.pointer(at) + "/" + &escape(&part.key);
        place(part.key_span, pointer)
    }
}

/// The first character alone: a stretch over many lines shows nothing.
fn one(start: Spot) -> Span {
    let end = Spot {
        index: start.index + 1,
        line: start.line,
        column: start.column + 1,
    };
    Span { start, end }
}

/// A stretch of text as a place.
pub(in crate::formats) fn place(span: Span, pointer: String) -> Place {
    Place {
        line: span.start.line as usize,
        column: span.start.column as usize,
        end_line: span.end.line as usize,
        end_column: span.end.column as usize,
        pointer,
    }
}

/// A key as a step of a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
