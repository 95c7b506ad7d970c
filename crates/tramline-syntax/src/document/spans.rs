//! Source locations of a document's values: one mark per value, linked to its parent.

use tramline_expr::Str;
use tramline_workflow::flaw::SourceSpan;

/// A position in the text: character offset, line and column (from 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// The character offset.
    pub index: u32,
    /// Its line.
    pub line: u32,
    /// Its column.
    pub column: u32,
}

/// A range of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceRange {
    /// Its first character.
    pub start: SourcePosition,
    /// The position after its last character.
    pub end: SourcePosition,
}

impl SourceRange {
    /// A single character whose offset does not matter.
    pub fn single_char(line: u32, column: u32) -> Self {
        first_char(SourcePosition {
            index: 0,
            line,
            column,
        })
    }
}

/// How a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlStyle {
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

/// The location and style of one value.
#[derive(Clone, Debug)]
pub(super) struct SpanNode {
    pub(super) span: SourceRange,
    pub(super) style: YamlStyle,
    /// The parent value, and the index in its parts.
    pub(super) parent: Option<(u32, u32)>,
    pub(super) parts: Vec<SpanPart>,
}

/// One part of a list or an object.
#[derive(Clone, Debug)]
pub(super) struct SpanPart {
    /// Its key, if the parent is an object.
    pub(super) key: Str,
    pub(super) key_span: SourceRange,
    pub(super) mark: u32,
}

/// The marks of a document.
#[derive(Debug, Default)]
pub struct SpanTree(pub(super) Vec<SpanNode>);

impl SpanTree {
    pub(super) fn add(&mut self, span: SourceRange, style: YamlStyle) -> u32 {
        self.0.push(SpanNode {
            span,
            style,
            parent: None,
            parts: Vec::new(),
        });
        self.0.len() as u32 - 1
    }

    pub(super) fn get(&self, at: u32) -> &SpanNode {
        &self.0[at as usize]
    }

    /// Attaches a value to its parent. An aliased value keeps its original parent.
    pub(super) fn attach(&mut self, parent: u32, part: SpanPart) {
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
                YamlStyle::Mapping => escape_pointer_token(&parent_mark.parts[slot as usize].key),
                YamlStyle::Sequence
                | YamlStyle::Plain
                | YamlStyle::Single
                | YamlStyle::Double
                | YamlStyle::Literal
                | YamlStyle::Folded => slot.to_string(),
            });
            at = parent;
        }
        steps
            .iter()
            .rev()
            .fold(String::new(), |pointer, step| pointer + "/" + step)
    }

    /// The location of a value: all of a scalar, the start of a list, an object or a block.
    pub(super) fn source_span(&self, at: u32) -> SourceSpan {
        let mark = self.get(at);
        let span = match (mark.style, mark.parts.first()) {
            (YamlStyle::Mapping, Some(first)) if first.key_span.start == mark.span.start => {
                first.key_span
            }
            (YamlStyle::Mapping | YamlStyle::Sequence, _) => first_char(mark.span.start),
            (YamlStyle::Literal | YamlStyle::Folded, _) => first_char(mark.span.start),
            (YamlStyle::Plain | YamlStyle::Single | YamlStyle::Double, _) => mark.span,
        };
        place(span, self.pointer(at))
    }

    /// The location of a part's key.
    pub(super) fn key_source_span(&self, at: u32, slot: usize) -> SourceSpan {
        let part = &self.get(at).parts[slot];
        let pointer = self.pointer(at) + "/" + &escape_pointer_token(&part.key);
        place(part.key_span, pointer)
    }
}

/// The first character only: highlighting many lines is not helpful.
fn first_char(start: SourcePosition) -> SourceRange {
    let end = SourcePosition {
        index: start.index + 1,
        line: start.line,
        column: start.column + 1,
    };
    SourceRange { start, end }
}

/// Converts a span to a location.
pub fn place(span: SourceRange, pointer: String) -> SourceSpan {
    SourceSpan {
        line: span.start.line as usize,
        column: span.start.column as usize,
        end_line: span.end.line as usize,
        end_column: span.end.column as usize,
        pointer,
    }
}

/// Escapes a key for a JSON pointer.
pub(super) fn escape_pointer_token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
