//! A part of a document that is being read: its value together with its place.

use super::marks::{Marks, Style};
use super::{Tree, line_and_column};
use crate::flaw::Place;
use crate::formats::scalar;
use std::ops::Range;
use tramline_expr::{Str, Value};

/// One value of a document and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct At<'t> {
    tree: &'t Tree,
    /// The value.
    pub value: &'t Value,
    mark: u32,
}

impl<'t> At<'t> {
    pub(super) fn new(tree: &'t Tree, value: &'t Value, mark: u32) -> Self {
        Self { tree, value, mark }
    }

    fn marks(&self) -> &'t Marks {
        &self.tree.marks
    }

    /// Its place in the file.
    pub fn place(&self) -> Place {
        self.marks().place(self.mark)
    }

    /// The place of the key it stands under, where it has one.
    pub fn under(&self) -> Option<Place> {
        let (parent, slot) = self.marks().get(self.mark).parent?;
        let is_field = self.marks().get(parent).style == Style::Mapping;
        is_field.then(|| self.marks().key_place(parent, slot as usize))
    }

    /// How it was written.
    pub fn style(&self) -> Style {
        self.marks().get(self.mark).style
    }

    /// What stands under a key.
    pub fn get(&self, key: &str) -> Option<At<'t>> {
        let value = self.value.get(key)?;
        let parts = &self.marks().get(self.mark).parts;
        let part = parts.iter().find(|part| part.key == key)?;
        Some(At::new(self.tree, value, part.mark))
    }

    /// The characters of the text that it was read from: all of a text, the first of a list or an
    /// object.
    pub(in crate::formats) fn span(&self) -> Range<usize> {
        let span = self.marks().get(self.mark).span;
        span.start.index as usize..span.end.index as usize
    }

    /// The text that it was read from, as it stands in the file.
    pub(in crate::formats) fn written(&self) -> String {
        let span = self.span();
        let text = self.tree.text().chars().skip(span.start);
        text.take(span.len()).collect()
    }

    /// The characters of a key of this object, by its place in the order of keys.
    pub(in crate::formats) fn key_span(&self, slot: usize) -> Option<Range<usize>> {
        let part = self.marks().get(self.mark).parts.get(slot)?;
        Some(part.key_span.start.index as usize..part.key_span.end.index as usize)
    }

    /// The fields of an object in order: key, and what stands there.
    pub fn fields(&self) -> impl Iterator<Item = (&'t Str, At<'t>)> + use<'t> {
        let tree = self.tree;
        let parts = &tree.marks.get(self.mark).parts;
        let map = self.value.as_object();
        map.into_iter()
            .flat_map(|map| map.iter())
            .zip(parts)
            .map(move |((key, value), part)| (key, At::new(tree, value, part.mark)))
    }

    /// The place of a key of this object, by its place in the order of keys.
    pub fn key_place(&self, slot: usize) -> Place {
        self.marks().key_place(self.mark, slot)
    }

    /// The items of a list in order.
    pub fn items(&self) -> impl ExactSizeIterator<Item = At<'t>> + use<'t> {
        let tree = self.tree;
        let parts = &tree.marks.get(self.mark).parts;
        let items = self.value.as_array().unwrap_or_default();
        items
            .iter()
            .zip(parts)
            .map(move |(value, part)| At::new(tree, value, part.mark))
    }

    /// What stands at a JSON pointer below this; as far as the pointer leads.
    pub fn find(&self, pointer: &str) -> At<'t> {
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

    /// The place of some bytes of this text, in the file. Where that cannot be told exactly, the
    /// place of the whole text.
    pub fn inside(&self, bytes: &Range<usize>) -> Place {
        let whole = self.place();
        let (Some(value), Some((start, end))) = (self.value.as_str(), self.source(bytes)) else {
            return whole;
        };
        let (line, column) = line_and_column(self.tree.text(), start);
        let empty = bytes.start >= bytes.end || bytes.start >= value.len();
        let (end_line, end_column) = if empty {
            (line, column + 1)
        } else {
            line_and_column(self.tree.text(), end.max(start + 1))
        };
        Place {
            line,
            column,
            end_line,
            end_column,
            pointer: whole.pointer,
        }
    }

    /// The bytes of the file that hold some bytes of this text.
    pub(in crate::formats) fn source(&self, bytes: &Range<usize>) -> Option<(usize, usize)> {
        let value = self.value.as_str()?;
        let text = self.tree.text();
        let span = self.marks().get(self.mark).span;
        let byte_of = |index: u32| {
            text.char_indices()
                .nth(index as usize)
                .map_or(text.len(), |(at, _)| at)
        };
        let written = byte_of(span.start.index)..byte_of(span.end.index);
        let layout = scalar::Layout::of(text, written, self.style(), value)?;
        Some((layout.start(bytes.start), layout.end(bytes.end)))
    }
}
