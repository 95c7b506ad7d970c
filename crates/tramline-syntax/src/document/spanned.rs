//! A value of a document with its source location.

use super::spans::{SpanTree, YamlStyle};
use super::{SourceTree, line_and_column};
use crate::scalar_positions;
use std::ops::Range;
use tramline_expr::{Str, Value};
use tramline_workflow::flaw::SourceSpan;

/// A value of a document with its source location.
#[derive(Clone, Copy, Debug)]
pub struct Spanned<'t> {
    tree: &'t SourceTree,
    /// The value.
    pub value: &'t Value,
    node: u32,
}

impl<'t> Spanned<'t> {
    pub(super) fn new(tree: &'t SourceTree, value: &'t Value, node: u32) -> Self {
        Self { tree, value, node }
    }

    fn marks(&self) -> &'t SpanTree {
        &self.tree.marks
    }

    /// Its location in the file.
    pub fn source_span(&self) -> SourceSpan {
        self.marks().source_span(self.node)
    }

    /// The location of its key, if it is a field.
    pub fn own_key_span(&self) -> Option<SourceSpan> {
        let (parent, slot) = self.marks().get(self.node).parent?;
        let is_field = self.marks().get(parent).style == YamlStyle::Mapping;
        is_field.then(|| self.marks().key_source_span(parent, slot as usize))
    }

    /// Whether it is a field with this key.
    pub fn own_key_is(&self, key: &str) -> bool {
        let own = self.marks().get(self.node).parent;
        own.is_some_and(|(parent, slot)| {
            let parts = &self.marks().get(parent).parts;
            parts.get(slot as usize).is_some_and(|part| part.key == key)
        })
    }

    /// How it was written.
    pub fn style(&self) -> YamlStyle {
        self.marks().get(self.node).style
    }

    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<Spanned<'t>> {
        let value = self.value.get(key)?;
        let parts = &self.marks().get(self.node).parts;
        let part = parts.iter().find(|part| part.key == key)?;
        Some(Spanned::new(self.tree, value, part.mark))
    }

    /// The character range it was read from: all of a scalar, the first character of a list or an
    /// object.
    pub fn char_range(&self) -> Range<usize> {
        let span = self.marks().get(self.node).span;
        span.start.index as usize..span.end.index as usize
    }

    /// The source text of this value.
    pub fn source_text(&self) -> String {
        let span = self.char_range();
        let text = self.tree.text().chars().skip(span.start);
        text.take(span.len()).collect()
    }

    /// The character range of a key of this object, by its index.
    pub fn key_char_range(&self, slot: usize) -> Option<Range<usize>> {
        let part = self.marks().get(self.node).parts.get(slot)?;
        Some(part.key_span.start.index as usize..part.key_span.end.index as usize)
    }

    /// The fields of an object in order: key and value.
    pub fn fields(&self) -> impl Iterator<Item = (&'t Str, Spanned<'t>)> + use<'t> {
        let tree = self.tree;
        let parts = &tree.marks.get(self.node).parts;
        let map = self.value.as_object();
        map.into_iter()
            .flat_map(|map| map.iter())
            .zip(parts)
            .map(move |((key, value), part)| (key, Spanned::new(tree, value, part.mark)))
    }

    /// The location of a key of this object, by its index.
    pub fn key_source_span(&self, slot: usize) -> SourceSpan {
        self.marks().key_source_span(self.node, slot)
    }

    /// The items of a list in order.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Spanned<'t>> + use<'t> {
        let tree = self.tree;
        let parts = &tree.marks.get(self.node).parts;
        let items = self.value.as_array().unwrap_or_default();
        items
            .iter()
            .zip(parts)
            .map(move |(value, part)| Spanned::new(tree, value, part.mark))
    }

    /// The value at a JSON pointer, or its closest existing ancestor.
    pub fn at_pointer(&self, pointer: &str) -> Spanned<'t> {
        let mut here = *self;
        for step in pointer.split('/').skip(1) {
            let below = match here.value {
                Value::Object(_) => here.get(&step.replace("~1", "/").replace("~0", "~")),
                Value::Array(_) => step.parse().ok().and_then(|slot| here.items().nth(slot)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            match below {
                Some(below) => here = below,
                None => break,
            }
        }
        here
    }

    /// The source location of a byte range of this string, or of the whole string if it cannot be
    /// mapped exactly.
    pub fn span_inside(&self, bytes: &Range<usize>) -> SourceSpan {
        let whole = self.source_span();
        let (Some(value), Some((start, end))) = (self.value.as_str(), self.source_bytes(bytes))
        else {
            return whole;
        };
        let (line, column) = line_and_column(self.tree.text(), start);
        let empty = bytes.start >= bytes.end || bytes.start >= value.len();
        let (end_line, end_column) = if empty {
            (line, column + 1)
        } else {
            line_and_column(self.tree.text(), end.max(start + 1))
        };
        SourceSpan {
            line,
            column,
            end_line,
            end_column,
            pointer: whole.pointer,
        }
    }

    /// The byte range of the file that holds a byte range of this string.
    pub fn source_bytes(&self, bytes: &Range<usize>) -> Option<(usize, usize)> {
        let value = self.value.as_str()?;
        let text = self.tree.text();
        let span = self.marks().get(self.node).span;
        let byte_of = |index: u32| {
            text.char_indices()
                .nth(index as usize)
                .map_or(text.len(), |(at, _)| at)
        };
        let written = byte_of(span.start.index)..byte_of(span.end.index);
        let layout = scalar_positions::ScalarLayout::of(text, written, self.style(), value)?;
        Some((layout.start(bytes.start), layout.end(bytes.end)))
    }
}
