//! Builds a document from parser events: limits depth and size, checks keys.

use super::spans::{SourceRange, SpanPart, SpanTree, YamlStyle, place};
use super::{DEPTH_MAX, VALUES_MAX};
use crate::FlawCollector;
use std::collections::HashMap;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::text::display_name;

/// The finished document: the root value, its mark, and all marks.
pub(super) type BuiltTree = (Value, u32, SpanTree);

/// Reading stopped early; the reason is among the flaws.
#[derive(Debug)]
pub(super) struct LimitReached;

/// Builds a document from parser events.
pub(super) struct TreeBuilder<'f> {
    pub(super) flaws: &'f mut FlawCollector,
    marks: SpanTree,
    frames: Vec<OpenContainer>,
    root: Option<(Value, u32)>,
    /// The number of values so far; aliased values count at each use.
    count: usize,
    anchors: HashMap<usize, AnchoredValue>,
}

/// A list or an object that is still open.
struct OpenContainer {
    mark: u32,
    anchor: usize,
    counted_before: usize,
    contents: ContainerContents,
}

enum ContainerContents {
    List(Vec<Value>),
    Object {
        map: Map,
        key: PendingKey,
        /// The objects merged by `<<`; they are applied on close, because explicit keys win.
        merged: Vec<(Value, u32)>,
    },
}

/// The key for the next value.
enum PendingKey {
    Awaited,
    Set(Str, SourceRange),
    /// A rejected key: its value is dropped.
    Rejected,
    Merge(SourceRange),
}

#[derive(Clone)]
struct AnchoredValue {
    value: Value,
    mark: u32,
    count: usize,
}

impl<'f> TreeBuilder<'f> {
    pub(super) fn new(flaws: &'f mut FlawCollector) -> Self {
        Self {
            flaws,
            marks: SpanTree::default(),
            frames: Vec::new(),
            root: None,
            count: 0,
            anchors: HashMap::new(),
        }
    }

    /// The finished document, unless nothing was read.
    pub(super) fn finish(self) -> Option<BuiltTree> {
        self.root.map(|(value, mark)| (value, mark, self.marks))
    }

    /// Whether the next event is a key.
    pub(super) fn awaits_key(&self) -> bool {
        matches!(
            self.frames.last().map(|frame| &frame.contents),
            Some(ContainerContents::Object {
                key: PendingKey::Awaited,
                ..
            })
        )
    }

    /// Records a flaw at a span, with the JSON pointer of the value being read.
    pub(super) fn report(
        &mut self,
        code: FlawCode,
        span: SourceRange,
        message: String,
        suggestion: &str,
    ) {
        let place = self.span_here(span);
        self.flaws.add(code, place, message, suggestion);
    }

    fn span_here(&self, span: SourceRange) -> SourceSpan {
        let pointer = self
            .frames
            .last()
            .map_or_else(String::new, |frame| self.marks.pointer(frame.mark));
        place(span, pointer)
    }

    fn count_values(&mut self, more: usize, span: SourceRange) -> Result<(), LimitReached> {
        self.count = self.count.saturating_add(more);
        if self.count > VALUES_MAX {
            self.report(
                FlawCode::TooMany,
                span,
                format!("more than {VALUES_MAX} values; aliased values count at each use"),
                "split the document, and do not nest aliases in aliases",
            );
            return Err(LimitReached);
        }
        Ok(())
    }

    /// Begins a list or an object.
    pub(super) fn open(
        &mut self,
        style: YamlStyle,
        span: SourceRange,
        anchor: usize,
    ) -> Result<(), LimitReached> {
        if self.frames.len() >= DEPTH_MAX {
            self.report(
                FlawCode::Unreadable,
                span,
                format!("nested deeper than {DEPTH_MAX} levels"),
                "flatten it",
            );
            return Err(LimitReached);
        }
        self.count_values(1, span)?;
        let mark = self.marks.add(span, style);
        self.attach_to_parent(mark);
        self.frames.push(OpenContainer {
            mark,
            anchor,
            counted_before: self.count - 1,
            contents: match style {
                YamlStyle::Mapping => ContainerContents::Object {
                    map: Map::new(),
                    key: PendingKey::Awaited,
                    merged: Vec::new(),
                },
                YamlStyle::Sequence
                | YamlStyle::Plain
                | YamlStyle::Single
                | YamlStyle::Double
                | YamlStyle::Literal
                | YamlStyle::Folded => ContainerContents::List(Vec::new()),
            },
        });
        Ok(())
    }

    /// Ends the innermost list or object.
    pub(super) fn close(&mut self, span: SourceRange) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        self.marks.0[frame.mark as usize].span.end = span.end;
        let value = match frame.contents {
            ContainerContents::List(items) => Value::from(items),
            ContainerContents::Object {
                mut map, merged, ..
            } => {
                for (from, mark) in merged {
                    self.merge(&mut map, frame.mark, &from, mark);
                }
                Value::from(map)
            }
        };
        if frame.anchor > 0 {
            let anchored = AnchoredValue {
                value: value.clone(),
                mark: frame.mark,
                count: self.count - frame.counted_before,
            };
            self.anchors.insert(frame.anchor, anchored);
        }
        let whole = self.marks.get(frame.mark).span;
        self.add_value(value, frame.mark, whole);
    }

    fn merge(&mut self, map: &mut Map, into: u32, from: &Value, mark: u32) {
        let parts = self.marks.get(mark).parts.clone();
        let fields = from.as_object().into_iter().flat_map(Map::iter);
        for ((key, value), part) in fields.zip(parts) {
            if !map.contains_key(key) {
                map.insert(key.clone(), value.clone());
                self.marks.attach(into, part);
            }
        }
    }

    /// Adds a string, number, boolean or null.
    pub(super) fn scalar(
        &mut self,
        value: Value,
        style: YamlStyle,
        span: SourceRange,
        anchor: usize,
    ) -> Result<(), LimitReached> {
        self.count_values(1, span)?;
        let mark = self.marks.add(span, style);
        if anchor > 0 {
            let anchored = AnchoredValue {
                value: value.clone(),
                mark,
                count: 1,
            };
            self.anchors.insert(anchor, anchored);
        }
        // An anchored key also arrives here; its mark is then used only by its aliases.
        self.attach_to_parent(mark);
        self.add_value(value, mark, span);
        Ok(())
    }

    /// Adds the value that an alias refers to.
    pub(super) fn alias(&mut self, anchor: usize, span: SourceRange) -> Result<(), LimitReached> {
        let Some(anchored) = self.anchors.get(&anchor).cloned() else {
            self.report(
                FlawCode::Syntax,
                span,
                "an alias refers to the value that contains it".to_owned(),
                "write the value out",
            );
            return Err(LimitReached);
        };
        self.count_values(anchored.count, span)?;
        self.attach_to_parent(anchored.mark);
        self.add_value(anchored.value, anchored.mark, span);
        Ok(())
    }

    /// Sets the key for the next value.
    pub(super) fn key(&mut self, name: Str, span: SourceRange, may_merge: bool) {
        let next = if may_merge && name == "<<" {
            PendingKey::Merge(span)
        } else if let Some(line) = self.line_of(&name) {
            self.report(
                FlawCode::Duplicate,
                span,
                format!(
                    "the key `{}` is set twice, first in line {line}",
                    display_name(&name)
                ),
                "remove or rename one of them",
            );
            PendingKey::Rejected
        } else {
            PendingKey::Set(name, span)
        };
        self.set_key(next);
    }

    /// The line of an existing key of the innermost object.
    fn line_of(&self, name: &str) -> Option<u32> {
        let frame = self.frames.last()?;
        let ContainerContents::Object { map, .. } = &frame.contents else {
            return None;
        };
        // Look the key up by hash first; scan the list only for a duplicate.
        map.get(name)?;
        let mut parts = self.marks.get(frame.mark).parts.iter();
        parts
            .find(|part| part.key == name)
            .map(|part| part.key_span.start.line)
    }

    fn set_key(&mut self, next: PendingKey) {
        if let Some(OpenContainer {
            contents: ContainerContents::Object { key, .. },
            ..
        }) = self.frames.last_mut()
        {
            *key = next;
        }
    }

    /// Rejects a key that is not a string.
    pub(super) fn reject_key(&mut self, span: SourceRange, found: &str) {
        self.report(
            FlawCode::WrongType,
            span,
            format!("a key must be text, not {found}"),
            "quote it",
        );
        self.set_key(PendingKey::Rejected);
    }

    /// Attaches a value to the innermost list or object. Lists and objects are attached when they open,
    /// because flaws inside them need the pointer.
    fn attach_to_parent(&mut self, mark: u32) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let (key, key_span) = match &frame.contents {
            ContainerContents::List(_) => (Str::default(), SourceRange::default()),
            ContainerContents::Object {
                key: PendingKey::Set(name, span),
                ..
            } => (name.clone(), *span),
            ContainerContents::Object { .. } => return,
        };
        let part = SpanPart {
            key,
            key_span,
            mark,
        };
        self.marks.attach(frame.mark, part);
    }

    /// Adds a finished value to its parent.
    fn add_value(&mut self, value: Value, mark: u32, span: SourceRange) {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some((value, mark));
            return;
        };
        let (map, key, merged) = match &mut frame.contents {
            ContainerContents::List(items) => return items.push(value),
            ContainerContents::Object { map, key, merged } => (map, key, merged),
        };
        match std::mem::replace(key, PendingKey::Awaited) {
            PendingKey::Set(name, _) => {
                map.insert(name, value);
            }
            PendingKey::Rejected => {}
            PendingKey::Awaited => match value {
                Value::String(name) => self.key(name, span, false),
                other => self.reject_key(span, other.kind()),
            },
            PendingKey::Merge(at) => match merge_sources(&value, mark, &self.marks) {
                Some(more) => merged.extend(more),
                None => self.report(
                    FlawCode::WrongType,
                    at,
                    format!(
                        "`<<` takes an object or a list of them, not {}",
                        value.kind()
                    ),
                    "name an object by its alias: `<<: *name`",
                ),
            },
        }
    }
}

/// Builds a document from an existing value.
pub(super) fn build_from_value(value: &Value, flaws: &mut FlawCollector) -> Option<BuiltTree> {
    let mut builder = TreeBuilder::new(flaws);
    match add_unspanned(&mut builder, value) {
        Ok(()) => builder.finish(),
        Err(LimitReached) => None,
    }
}

/// Adds a value. The builder checks the depth before the recursion.
fn add_unspanned(builder: &mut TreeBuilder<'_>, value: &Value) -> Result<(), LimitReached> {
    let nowhere = SourceRange::default();
    match value {
        Value::Array(items) => {
            builder.open(YamlStyle::Sequence, nowhere, 0)?;
            items
                .iter()
                .try_for_each(|item| add_unspanned(builder, item))?;
            builder.close(nowhere);
            Ok(())
        }
        Value::Object(map) => {
            builder.open(YamlStyle::Mapping, nowhere, 0)?;
            for (key, value) in map.iter() {
                builder.key(key.clone(), nowhere, false);
                add_unspanned(builder, value)?;
            }
            builder.close(nowhere);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            builder.scalar(value.clone(), YamlStyle::Double, nowhere, 0)
        }
    }
}

/// The objects merged by `<<`; the first one wins.
fn merge_sources(value: &Value, mark: u32, marks: &SpanTree) -> Option<Vec<(Value, u32)>> {
    match value {
        Value::Object(_) => Some(vec![(value.clone(), mark)]),
        Value::Array(items) => items
            .iter()
            .zip(&marks.get(mark).parts)
            .map(|(item, part)| item.as_object().map(|_| (item.clone(), part.mark)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
