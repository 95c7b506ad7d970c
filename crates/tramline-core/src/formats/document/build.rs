//! Puts a document together from what a parser tells: bounds depth and size, checks keys.

use super::marks::{Marks, Part, Span, Style, place};
use super::{DEPTH_MAX, VALUES_MAX};
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::text::shown;
use std::collections::HashMap;
use tramline_expr::{Map, Str, Value};

/// A document put together: the value, its mark, and all marks.
pub(super) type Built = (Value, u32, Marks);

/// The document cannot be read on; why is among the flaws.
#[derive(Debug)]
pub(super) struct Stop;

/// A document in the making.
pub(super) struct Builder<'f> {
    pub(super) flaws: &'f mut Flaws,
    marks: Marks,
    frames: Vec<Frame>,
    root: Option<(Value, u32)>,
    /// How many values there are, repeated ones counted each time.
    count: usize,
    anchors: HashMap<usize, Anchored>,
}

/// A list or an object whose end has not come yet.
struct Frame {
    mark: u32,
    anchor: usize,
    counted_before: usize,
    contents: Contents,
}

enum Contents {
    List(Vec<Value>),
    Object {
        map: Map,
        key: Key,
        /// What `<<` brings in: added at the end, where no key of its own is in the way.
        merged: Vec<(Value, u32)>,
    },
}

/// The key whose value comes next.
enum Key {
    Awaited,
    Set(Str, Span),
    /// A key that was refused: its value is dropped.
    Refused,
    Merge(Span),
}

#[derive(Clone)]
struct Anchored {
    value: Value,
    mark: u32,
    count: usize,
}

impl<'f> Builder<'f> {
    pub(super) fn new(flaws: &'f mut Flaws) -> Self {
        Self {
            flaws,
            marks: Marks::default(),
            frames: Vec::new(),
            root: None,
            count: 0,
            anchors: HashMap::new(),
        }
    }

    /// What was built, if anything was.
    pub(super) fn finish(self) -> Option<Built> {
        self.root.map(|(value, mark)| (value, mark, self.marks))
    }

    /// Whether what comes next is a key.
    pub(super) fn awaits_key(&self) -> bool {
        matches!(
            self.frames.last().map(|frame| &frame.contents),
            Some(Contents::Object {
                key: Key::Awaited,
                ..
            })
        )
    }

    /// Notes a flaw at a stretch of the text, with the pointer of what is being read.
    pub(super) fn flaw(&mut self, code: Code, span: Span, message: String, suggestion: &str) {
        let place = self.place(span);
        self.flaws.add(code, place, message, suggestion);
    }

    fn place(&self, span: Span) -> Place {
        let pointer = self
            .frames
            .last()
            .map_or_else(String::new, |frame| self.marks.pointer(frame.mark));
        place(span, pointer)
    }

    fn count(&mut self, more: usize, span: Span) -> Result<(), Stop> {
        self.count = self.count.saturating_add(more);
        if self.count > VALUES_MAX {
            self.flaw(
                Code::TooMany,
                span,
                format!("more than the {VALUES_MAX} values allowed, aliases counted each time"),
                "split the document, and do not nest aliases in aliases",
            );
            return Err(Stop);
        }
        Ok(())
    }

    /// Begins a list or an object.
    pub(super) fn open(&mut self, style: Style, span: Span, anchor: usize) -> Result<(), Stop> {
        if self.frames.len() >= DEPTH_MAX {
            self.flaw(
                Code::Unreadable,
                span,
                format!("nested deeper than the {DEPTH_MAX} levels allowed"),
                "flatten it: no workflow needs so many levels",
            );
            return Err(Stop);
        }
        self.count(1, span)?;
        let mark = self.marks.add(span, style);
        self.hang(mark);
        self.frames.push(Frame {
            mark,
            anchor,
            counted_before: self.count - 1,
            contents: match style {
                Style::Mapping => Contents::Object {
                    map: Map::new(),
                    key: Key::Awaited,
                    merged: Vec::new(),
                },
                Style::Sequence
                | Style::Plain
                | Style::Single
                | Style::Double
                | Style::Literal
                | Style::Folded => Contents::List(Vec::new()),
            },
        });
        Ok(())
    }

    /// Ends the innermost list or object.
    pub(super) fn close(&mut self, span: Span) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        self.marks.0[frame.mark as usize].span.end = span.end;
        let value = match frame.contents {
            Contents::List(items) => Value::from(items),
            Contents::Object {
                mut map, merged, ..
            } => {
                for (from, mark) in merged {
                    self.merge(&mut map, frame.mark, &from, mark);
                }
                Value::from(map)
            }
        };
        if frame.anchor > 0 {
            let anchored = Anchored {
                value: value.clone(),
                mark: frame.mark,
                count: self.count - frame.counted_before,
            };
            self.anchors.insert(frame.anchor, anchored);
        }
        let whole = self.marks.get(frame.mark).span;
        self.put(value, frame.mark, whole);
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

    /// Adds a text, number, boolean or null.
    pub(super) fn scalar(
        &mut self,
        value: Value,
        style: Style,
        span: Span,
        anchor: usize,
    ) -> Result<(), Stop> {
        self.count(1, span)?;
        let mark = self.marks.add(span, style);
        if anchor > 0 {
            let anchored = Anchored {
                value: value.clone(),
                mark,
                count: 1,
            };
            self.anchors.insert(anchor, anchored);
        }
        // With an anchor, a key can come this way too: then the mark serves its aliases alone.
        self.hang(mark);
        self.put(value, mark, span);
        Ok(())
    }

    /// Adds a value that was written elsewhere.
    pub(super) fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        let Some(anchored) = self.anchors.get(&anchor).cloned() else {
            self.flaw(
                Code::Syntax,
                span,
                "an alias inside the value it stands for".to_owned(),
                "write the value out",
            );
            return Err(Stop);
        };
        self.count(anchored.count, span)?;
        self.hang(anchored.mark);
        self.put(anchored.value, anchored.mark, span);
        Ok(())
    }

    /// Sets the key whose value comes next.
    pub(super) fn key(&mut self, name: Str, span: Span, may_merge: bool) {
        let next = if may_merge && name == "<<" {
            Key::Merge(span)
        } else if let Some(line) = self.line_of(&name) {
            self.flaw(
                Code::Duplicate,
                span,
                format!(
                    "the key `{}` is set twice, first in line {line}",
                    shown(&name)
                ),
                "remove one of them, or give one another name",
            );
            Key::Refused
        } else {
            Key::Set(name, span)
        };
        self.set_key(next);
    }

    /// The line of a key that the innermost object already has.
    fn line_of(&self, name: &str) -> Option<u32> {
        let frame = self.frames.last()?;
        let Contents::Object { map, .. } = &frame.contents else {
            return None;
        };
        // The map finds by hash; the list is only scanned when there is something to complain of.
        map.get(name)?;
        let mut parts = self.marks.get(frame.mark).parts.iter();
        parts
            .find(|part| part.key == name)
            .map(|part| part.key_span.start.line)
    }

    fn set_key(&mut self, next: Key) {
        if let Some(Frame {
            contents: Contents::Object { key, .. },
            ..
        }) = self.frames.last_mut()
        {
            *key = next;
        }
    }

    /// Refuses a key that is not text.
    pub(super) fn bad_key(&mut self, span: Span, found: &str) {
        self.flaw(
            Code::WrongType,
            span,
            format!("a key must be text, not {found}"),
            "put it into quotes",
        );
        self.set_key(Key::Refused);
    }

    /// Marks a value as the next part of the innermost list or object: a list or an object as soon
    /// as it begins, since the way to it is needed for flaws inside it.
    fn hang(&mut self, mark: u32) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let (key, key_span) = match &frame.contents {
            Contents::List(_) => (Str::default(), Span::default()),
            Contents::Object {
                key: Key::Set(name, span),
                ..
            } => (name.clone(), *span),
            Contents::Object { .. } => return,
        };
        let part = Part {
            key,
            key_span,
            mark,
        };
        self.marks.attach(frame.mark, part);
    }

    /// Puts a finished value where it belongs.
    fn put(&mut self, value: Value, mark: u32, span: Span) {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some((value, mark));
            return;
        };
        let (map, key, merged) = match &mut frame.contents {
            Contents::List(items) => return items.push(value),
            Contents::Object { map, key, merged } => (map, key, merged),
        };
        match std::mem::replace(key, Key::Awaited) {
            Key::Set(name, _) => {
                map.insert(name, value);
            }
            Key::Refused => {}
            Key::Awaited => match value {
                Value::String(name) => self.key(name, span, false),
                other => self.bad_key(span, other.kind()),
            },
            Key::Merge(at) => match mergeable(&value, mark, &self.marks) {
                Some(more) => merged.extend(more),
                None => self.flaw(
                    Code::WrongType,
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

/// Builds a document out of a value that is there already.
pub(super) fn of_value(value: &Value, flaws: &mut Flaws) -> Option<Built> {
    let mut builder = Builder::new(flaws);
    match add(&mut builder, value) {
        Ok(()) => builder.finish(),
        Err(Stop) => None,
    }
}

/// Adds a value. Its depth is bounded by the builder before it is followed.
fn add(builder: &mut Builder<'_>, value: &Value) -> Result<(), Stop> {
    let nowhere = Span::default();
    match value {
        Value::Array(items) => {
            builder.open(Style::Sequence, nowhere, 0)?;
            items.iter().try_for_each(|item| add(builder, item))?;
            builder.close(nowhere);
            Ok(())
        }
        Value::Object(map) => {
            builder.open(Style::Mapping, nowhere, 0)?;
            for (key, value) in map.iter() {
                builder.key(key.clone(), nowhere, false);
                add(builder, value)?;
            }
            builder.close(nowhere);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            builder.scalar(value.clone(), Style::Double, nowhere, 0)
        }
    }
}

/// The objects that the value of `<<` brings in, the first one winning.
fn mergeable(value: &Value, mark: u32, marks: &Marks) -> Option<Vec<(Value, u32)>> {
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
