//! Documents put together from pieces of another text: each piece keeps its place in that text.

use super::build::{Builder, Built, Stop};
use super::marks::{Marks, Span, Spot, Style};
use super::{Tree, plain, yaml};
use crate::flaw::Code;
use crate::formats::Flaws;
use std::borrow::Cow;
use tramline_expr::{Str, Value};

/// What stands for each sign that YAML would take for its own inside `${…}`.
const SHIELDS: [(char, char); 7] = [
    ('{', '\u{e000}'),
    ('}', '\u{e001}'),
    ('[', '\u{e002}'),
    (']', '\u{e003}'),
    (',', '\u{e004}'),
    (':', '\u{e005}'),
    ('#', '\u{e006}'),
];

/// A document in the making, out of a text that is not YAML as a whole.
pub(in crate::formats) struct Grafting<'t, 'f> {
    text: &'t str,
    builder: Builder<'f>,
    /// Whether no more fits in; why is among the flaws.
    full: bool,
}

/// A piece of YAML that was read: its value, with where everything in it stands.
pub(in crate::formats) struct Piece(Built);

impl Piece {
    /// Its value.
    pub(in crate::formats) fn value(&self) -> &Value {
        &self.0.0
    }

    /// The fields of the objects that it is a list of, or of the object that it is.
    pub(in crate::formats) fn fields(&self) -> Option<Vec<Field<'_>>> {
        let (value, mark, marks) = &self.0;
        let of = |value: &'_ Value, mark: u32| -> Option<Vec<(Str, Span, u32)>> {
            value.as_object()?;
            let parts = marks.get(mark).parts.iter();
            Some(
                parts
                    .map(|part| (part.key.clone(), part.key_span, part.mark))
                    .collect(),
            )
        };
        let mut found = Vec::new();
        let objects: Vec<(&Value, u32)> = match value {
            Value::Array(items) => {
                let parts = marks.get(*mark).parts.iter().map(|part| part.mark);
                items.iter().zip(parts).collect()
            }
            other => vec![(other, *mark)],
        };
        for (object, mark) in objects {
            for (key, span, mark) in of(object, mark)? {
                let value = object.get(&key)?;
                found.push(Field {
                    key,
                    span,
                    value,
                    mark,
                    marks,
                });
            }
        }
        Some(found)
    }
}

/// A field of a piece.
pub(in crate::formats) struct Field<'p> {
    /// Its key.
    pub(in crate::formats) key: Str,
    /// Where the key stands.
    pub(in crate::formats) span: Span,
    value: &'p Value,
    mark: u32,
    marks: &'p Marks,
}

impl<'t, 'f> Grafting<'t, 'f> {
    /// Nothing yet, over a text.
    pub(in crate::formats) fn new(text: &'t str, flaws: &'f mut Flaws) -> Self {
        Self {
            text,
            builder: Builder::new(flaws),
            full: false,
        }
    }

    /// Begins a list or an object.
    pub(in crate::formats) fn open(&mut self, style: Style, span: Span) {
        if !self.full {
            self.full = self.builder.open(style, span, 0).is_err();
        }
    }

    /// Ends the innermost list or object.
    pub(in crate::formats) fn close(&mut self, end: Span) {
        if !self.full {
            self.builder.close(end);
        }
    }

    /// Sets the key whose value comes next.
    pub(in crate::formats) fn key(&mut self, name: &str, span: Span) {
        if !self.full {
            self.builder.key(name.into(), span, false);
        }
    }

    /// Adds a text or another single value.
    pub(in crate::formats) fn scalar(&mut self, value: Value, style: Style, span: Span) {
        if !self.full {
            self.full = self.builder.scalar(value, style, span, 0).is_err();
        }
    }

    /// Adds a text without quotes, as what YAML would take it for.
    pub(in crate::formats) fn plain(&mut self, text: &str, span: Span) {
        let value = plain::resolve(text).unwrap_or_else(|_| text.into());
        self.scalar(value, Style::Plain, span);
    }

    /// Adds a piece as a value.
    pub(in crate::formats) fn piece(&mut self, piece: &Piece) {
        let (value, mark, marks) = &piece.0;
        self.value(value, *mark, marks);
    }

    /// Adds the value of a field.
    pub(in crate::formats) fn field(&mut self, field: &Field<'_>) {
        self.value(field.value, field.mark, field.marks);
    }

    fn value(&mut self, value: &Value, mark: u32, marks: &Marks) {
        if !self.full {
            self.full = add(&mut self.builder, value, mark, marks).is_err();
        }
    }

    /// Reads some bytes of the text as YAML, the first of them at `start`. `${…}` needs no quotes.
    pub(in crate::formats) fn yaml(
        &mut self,
        bytes: std::ops::Range<usize>,
        start: Spot,
    ) -> Option<Piece> {
        let text = shielded(self.text.get(bytes)?);
        let mut flaws = Flaws::default();
        let built = yaml::parse(&text, &mut flaws);
        let last = text.lines().count().max(1);
        for mut flaw in flaws.sorted() {
            let place = &mut flaw.place;
            if place.line > last {
                // The end of the piece, which the parser takes for a line of its own.
                let length = text.lines().last().unwrap_or_default().chars().count();
                (place.line, place.column) = (last, length.max(1));
                (place.end_line, place.end_column) = (last, length.max(1) + 1);
            }
            for (line, column) in [
                (&mut place.line, &mut place.column),
                (&mut place.end_line, &mut place.end_column),
            ] {
                if *line <= 1 {
                    *column += start.column as usize - 1;
                }
                *line += start.line as usize - 1;
            }
            flaw.message = unshielded(&flaw.message).into_owned();
            self.builder.flaws.push(flaw);
        }
        let (value, mut root, mut marks) = built?;
        if marks.0.is_empty() {
            // Nothing was written there at all.
            root = marks.add(Span::default(), Style::Plain);
        }
        for mark in &mut marks.0 {
            shift(&mut mark.span, start);
            for part in &mut mark.parts {
                shift(&mut part.key_span, start);
                if let Cow::Owned(key) = unshielded(&part.key) {
                    part.key = key.into();
                }
            }
        }
        let was_shielded = matches!(text, Cow::Owned(_));
        let value = if was_shielded { open(&value) } else { value };
        Some(Piece((value, root, marks)))
    }

    /// Notes a flaw at a stretch of the text.
    pub(in crate::formats) fn flaw(&mut self, code: Code, span: Span, message: String, hint: &str) {
        self.builder.flaw(code, span, message, hint);
    }

    /// What was put together.
    pub(in crate::formats) fn finish(self) -> Option<Tree> {
        let (value, root, marks) = self.builder.finish().filter(|_| !self.full)?;
        Some(Tree {
            text: self.text.to_owned(),
            value,
            marks,
            root,
        })
    }
}

fn add(builder: &mut Builder<'_>, value: &Value, at: u32, marks: &Marks) -> Result<(), Stop> {
    let mark = marks.get(at);
    match value {
        Value::Array(items) => {
            builder.open(Style::Sequence, mark.span, 0)?;
            for (item, part) in items.iter().zip(&mark.parts) {
                add(builder, item, part.mark, marks)?;
            }
            builder.close(mark.span);
        }
        Value::Object(map) => {
            builder.open(Style::Mapping, mark.span, 0)?;
            for ((key, value), part) in map.iter().zip(&mark.parts) {
                builder.key(key.clone(), part.key_span, false);
                add(builder, value, part.mark, marks)?;
            }
            builder.close(mark.span);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            builder.scalar(value.clone(), mark.style, mark.span, 0)?;
        }
    }
    Ok(())
}

fn shift(span: &mut Span, start: Spot) {
    for spot in [&mut span.start, &mut span.end] {
        if spot.line <= 1 {
            spot.column += start.column - 1;
        }
        spot.line += start.line - 1;
        spot.index += start.index;
    }
}

/// The text with what stands in `${…}` outside of quotes made plain, letter for letter.
fn shielded(text: &str) -> Cow<'_, str> {
    let holds = |c: char| SHIELDS.iter().any(|(_, shield)| *shield == c);
    if !text.contains("${") || text.contains(holds) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    let mut depth = 0_u32;
    let mut before = '\n';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match quote {
            Some('"') if c == '\\' => {
                out.push(c);
                out.extend(letters.next());
                continue;
            }
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if depth > 0 => {
                depth = match c {
                    '{' => depth + 1,
                    '}' => depth - 1,
                    '\n' => 0,
                    _ => depth,
                };
                let shield = SHIELDS.iter().find(|(sign, _)| *sign == c);
                out.push(shield.map_or(c, |(_, shield)| *shield));
                continue;
            }
            None if c == '$' && letters.peek() == Some(&'{') => {
                out.push(c);
                letters.next();
                out.push(SHIELDS[0].1);
                depth = 1;
                before = c;
                continue;
            }
            // Quotes begin a text only where one can begin.
            None if matches!(c, '"' | '\'')
                && matches!(before, ':' | ',' | '[' | '{' | '-' | '\n') =>
            {
                quote = Some(c);
            }
            None => {}
        }
        if !matches!(c, ' ' | '\t' | '\r') {
            before = c;
        }
        out.push(c);
    }
    Cow::Owned(out)
}

fn unshielded(text: &str) -> Cow<'_, str> {
    let sign = |c: char| {
        SHIELDS
            .iter()
            .find(|(_, shield)| *shield == c)
            .map(|(sign, _)| *sign)
    };
    match text.contains(|c| sign(c).is_some()) {
        true => Cow::Owned(text.chars().map(|c| sign(c).unwrap_or(c)).collect()),
        false => Cow::Borrowed(text),
    }
}

/// A value whose texts were shielded, as it was written.
fn open(value: &Value) -> Value {
    match value {
        Value::String(text) => match unshielded(text) {
            Cow::Owned(text) => text.into(),
            Cow::Borrowed(_) => value.clone(),
        },
        Value::Array(items) => Value::array(items.iter().map(open)),
        Value::Object(map) => {
            let field = |(key, value): (&Str, &Value)| (Str::from(&*unshielded(key)), open(value));
            Value::object(map.iter().map(field))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
