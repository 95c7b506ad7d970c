//! Builds documents from fragments embedded in another text; each fragment keeps its source location.

use super::build::{BuiltTree, LimitReached, TreeBuilder};
use super::spans::{SourcePosition, SourceRange, SpanTree, YamlStyle};
use super::{SourceTree, core_schema, yaml};
use crate::FlawCollector;
use std::borrow::Cow;
use tramline_expr::{Str, Value};
use tramline_workflow::flaw::FlawCode;

/// Placeholders for characters that are special to YAML, used inside `${…}`.
const PLACEHOLDERS: [(char, char); 7] = [
    ('{', '\u{e000}'),
    ('}', '\u{e001}'),
    ('[', '\u{e002}'),
    (']', '\u{e003}'),
    (',', '\u{e004}'),
    (':', '\u{e005}'),
    ('#', '\u{e006}'),
];

/// Builds a document from a text that is not YAML as a whole.
pub struct EmbeddedBuilder<'t, 'f> {
    text: &'t str,
    builder: TreeBuilder<'f>,
    /// Whether a limit was reached; the flaw has been recorded.
    limit_reached: bool,
}

/// A parsed YAML fragment.
pub struct YamlFragment(BuiltTree);

impl YamlFragment {
    /// Its value.
    pub fn value(&self) -> &Value {
        &self.0.0
    }

    /// Its fields: those of an object, or of all objects in a list.
    pub fn fields(&self) -> Option<Vec<FragmentField<'_>>> {
        let (value, mark, marks) = &self.0;
        let of = |value: &'_ Value, mark: u32| -> Option<Vec<(Str, SourceRange, u32)>> {
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
                found.push(FragmentField {
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

/// A field of a fragment.
pub struct FragmentField<'p> {
    /// Its key.
    pub key: Str,
    /// The span of the key.
    pub span: SourceRange,
    value: &'p Value,
    mark: u32,
    marks: &'p SpanTree,
}

impl<'t, 'f> EmbeddedBuilder<'t, 'f> {
    /// An empty document over a text.
    pub fn new(text: &'t str, flaws: &'f mut FlawCollector) -> Self {
        Self {
            text,
            builder: TreeBuilder::new(flaws),
            limit_reached: false,
        }
    }

    /// Begins a list or an object.
    pub fn unmask_value(&mut self, style: YamlStyle, span: SourceRange) {
        if !self.limit_reached {
            self.limit_reached = self.builder.open(style, span, 0).is_err();
        }
    }

    /// Ends the innermost list or object.
    pub fn close(&mut self, end: SourceRange) {
        if !self.limit_reached {
            self.builder.close(end);
        }
    }

    /// Sets the key for the next value.
    pub fn key(&mut self, name: &str, span: SourceRange) {
        if !self.limit_reached {
            self.builder.key(name.into(), span, false);
        }
    }

    /// Adds a scalar.
    pub fn scalar(&mut self, value: Value, style: YamlStyle, span: SourceRange) {
        if !self.limit_reached {
            self.limit_reached = self.builder.scalar(value, style, span, 0).is_err();
        }
    }

    /// Adds an unquoted scalar, resolved as YAML does.
    pub fn plain_scalar(&mut self, text: &str, span: SourceRange) {
        let value = core_schema::resolve(text).unwrap_or_else(|_| text.into());
        self.scalar(value, YamlStyle::Plain, span);
    }

    /// Adds a fragment as a value.
    pub fn fragment(&mut self, piece: &YamlFragment) {
        let (value, mark, marks) = &piece.0;
        self.add_value(value, *mark, marks);
    }

    /// Adds the value of a field.
    pub fn field(&mut self, field: &FragmentField<'_>) {
        self.add_value(field.value, field.mark, field.marks);
    }

    fn add_value(&mut self, value: &Value, mark: u32, marks: &SpanTree) {
        if !self.limit_reached {
            self.limit_reached = add_spanned(&mut self.builder, value, mark, marks).is_err();
        }
    }

    /// Parses a byte range of the text, which starts at `start`, as YAML. `${…}` needs no quotes.
    pub fn parse_yaml(
        &mut self,
        bytes: std::ops::Range<usize>,
        start: SourcePosition,
    ) -> Option<YamlFragment> {
        let text = mask_templates(self.text.get(bytes)?);
        let mut flaws = FlawCollector::default();
        let built = yaml::parse(&text, &mut flaws);
        let last = text.lines().count().max(1);
        for mut flaw in flaws.into_sorted() {
            let place = &mut flaw.span;
            if place.line > last {
                // The parser reports the end of the fragment as a separate line.
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
            flaw.message = unmask_templates(&flaw.message).into_owned();
            self.builder.flaws.push(flaw);
        }
        let (value, mut root, mut marks) = built?;
        if marks.0.is_empty() {
            // The fragment is empty.
            root = marks.add(SourceRange::default(), YamlStyle::Plain);
        }
        for mark in &mut marks.0 {
            shift_span(&mut mark.span, start);
            for part in &mut mark.parts {
                shift_span(&mut part.key_span, start);
                if let Cow::Owned(key) = unmask_templates(&part.key) {
                    part.key = key.into();
                }
            }
        }
        let was_shielded = matches!(text, Cow::Owned(_));
        let value = if was_shielded { open(&value) } else { value };
        Some(YamlFragment((value, root, marks)))
    }

    /// Records a flaw at a span of the text.
    pub fn report(&mut self, code: FlawCode, span: SourceRange, message: String, hint: &str) {
        self.builder.report(code, span, message, hint);
    }

    /// The finished document.
    pub fn finish(self) -> Option<SourceTree> {
        let (value, root, marks) = self.builder.finish().filter(|_| !self.limit_reached)?;
        Some(SourceTree {
            text: self.text.to_owned(),
            value,
            marks,
            root,
        })
    }
}

fn add_spanned(
    builder: &mut TreeBuilder<'_>,
    value: &Value,
    at: u32,
    marks: &SpanTree,
) -> Result<(), LimitReached> {
    let mark = marks.get(at);
    match value {
        Value::Array(items) => {
            builder.open(YamlStyle::Sequence, mark.span, 0)?;
            for (item, part) in items.iter().zip(&mark.parts) {
                add_spanned(builder, item, part.mark, marks)?;
            }
            builder.close(mark.span);
        }
        Value::Object(map) => {
            builder.open(YamlStyle::Mapping, mark.span, 0)?;
            for ((key, value), part) in map.iter().zip(&mark.parts) {
                builder.key(key.clone(), part.key_span, false);
                add_spanned(builder, value, part.mark, marks)?;
            }
            builder.close(mark.span);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            builder.scalar(value.clone(), mark.style, mark.span, 0)?;
        }
    }
    Ok(())
}

fn shift_span(span: &mut SourceRange, start: SourcePosition) {
    for spot in [&mut span.start, &mut span.end] {
        if spot.line <= 1 {
            spot.column += start.column - 1;
        }
        spot.line += start.line - 1;
        spot.index += start.index;
    }
}

/// Replaces special characters inside unquoted `${…}` by placeholders, one for one.
fn mask_templates(text: &str) -> Cow<'_, str> {
    let holds = |c: char| PLACEHOLDERS.iter().any(|(_, shield)| *shield == c);
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
                let shield = PLACEHOLDERS.iter().find(|(sign, _)| *sign == c);
                out.push(shield.map_or(c, |(_, shield)| *shield));
                continue;
            }
            None if c == '$' && letters.peek() == Some(&'{') => {
                out.push(c);
                letters.next();
                out.push(PLACEHOLDERS[0].1);
                depth = 1;
                before = c;
                continue;
            }
            // A quote opens a string only where a scalar can start.
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

fn unmask_templates(text: &str) -> Cow<'_, str> {
    let sign = |c: char| {
        PLACEHOLDERS
            .iter()
            .find(|(_, shield)| *shield == c)
            .map(|(sign, _)| *sign)
    };
    match text.contains(|c| sign(c).is_some()) {
        true => Cow::Owned(text.chars().map(|c| sign(c).unwrap_or(c)).collect()),
        false => Cow::Borrowed(text),
    }
}

/// Restores the original characters in all strings of a value.
fn open(value: &Value) -> Value {
    match value {
        Value::String(text) => match unmask_templates(text) {
            Cow::Owned(text) => text.into(),
            Cow::Borrowed(_) => value.clone(),
        },
        Value::Array(items) => Value::array(items.iter().map(open)),
        Value::Object(map) => {
            let field =
                |(key, value): (&Str, &Value)| (Str::from(&*unmask_templates(key)), open(value));
            Value::object(map.iter().map(field))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
