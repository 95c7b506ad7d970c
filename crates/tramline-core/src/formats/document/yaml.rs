//! YAML text into a document, from the parser's events.

use super::build::{Builder, Built, Stop};
use super::marks::{Span, Spot, Style, place};
use super::{DEPTH_MAX, plain, point};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::text::shown;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};
use tramline_expr::Value;

/// Reads one YAML document; what is wrong with it is among the flaws.
pub(super) fn read(text: &str, flaws: &mut Flaws) -> Option<Built> {
    let built = parse(text, flaws)?;
    match &built {
        (Value::Null, ..) => {
            flaws.add(
                Code::Unreadable,
                point(text, 0),
                "there is nothing in the document",
                "write a document with `server` and `tools`",
            );
            None
        }
        _ => Some(built),
    }
}

/// Reads YAML that may hold nothing at all.
pub(super) fn parse(text: &str, flaws: &mut Flaws) -> Option<Built> {
    let mut builder = Builder::new(flaws);
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok((event, span)) => (event, span_of(span)),
            Err(error) => {
                syntax(&error, text, builder.flaws);
                return None;
            }
        };
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                builder.flaw(
                    Code::TooMany,
                    span,
                    "a second document begins here".to_owned(),
                    "keep one document in a file: remove the `---`, or split the file",
                );
                return None;
            }
        }
        if take(&mut builder, event, span).is_err() {
            return None;
        }
    }
    Some(builder.finish().unwrap_or_default())
}

fn take(builder: &mut Builder<'_>, event: Event<'_>, span: Span) -> Result<(), Stop> {
    match event {
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd => Ok(()),
        Event::Alias(anchor) => builder.alias(anchor, span),
        Event::SequenceStart(anchor, tag) => {
            container_tag(builder, tag.as_deref(), "seq", span);
            builder.open(Style::Sequence, span, anchor)
        }
        Event::MappingStart(anchor, tag) => {
            container_tag(builder, tag.as_deref(), "map", span);
            builder.open(Style::Mapping, span, anchor)
        }
        Event::SequenceEnd | Event::MappingEnd => {
            builder.close(span);
            Ok(())
        }
        Event::Scalar(text, style, anchor, tag) => {
            let style = style_of(style);
            let value = scalar(builder, &text, style, tag.as_deref(), span);
            if builder.awaits_key() && anchor == 0 {
                let may_merge = style == Style::Plain && tag.is_none();
                key(builder, value, span, may_merge);
                return Ok(());
            }
            let mut span = span;
            if text.is_empty() && style == Style::Plain {
                // Nothing was written; the parser then gives what comes after it.
                span.end = span.start;
            }
            builder.scalar(value, style, span, anchor)
        }
    }
}

fn key(builder: &mut Builder<'_>, value: Value, span: Span, may_merge: bool) {
    match value {
        Value::String(name) => builder.key(name, span, may_merge),
        other => builder.bad_key(span, other.kind()),
    }
}

fn scalar(
    builder: &mut Builder<'_>,
    text: &str,
    style: Style,
    tag: Option<&Tag>,
    span: Span,
) -> Value {
    let wanted = match tag {
        None if style == Style::Plain => None,
        None => return text.into(),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => return text.into(),
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => return text.into(),
        Some(tag) if tag.is_yaml_core_schema() && SCALAR_TAGS.contains(&tag.suffix.as_str()) => {
            Some(tag.suffix.as_str())
        }
        Some(tag) => {
            unknown_tag(builder, tag, span);
            return text.into();
        }
    };
    let Ok(value) = plain::resolve(text) else {
        let message = format!("`{}` is a number that JSON cannot hold", shown(text));
        let hint = "put it into quotes if it is text";
        builder.flaw(Code::WrongType, span, message, hint);
        return Value::Null;
    };
    if let Some(wanted) = wanted
        && !fits(&value, wanted)
    {
        let message = format!("`!!{wanted}` does not fit what follows it");
        let hint = "remove the tag, or mend the value";
        builder.flaw(Code::WrongType, span, message, hint);
    }
    value
}

/// The tags that say what a text without quotes means.
const SCALAR_TAGS: [&str; 4] = ["int", "float", "bool", "null"];

fn fits(value: &Value, tag: &str) -> bool {
    match value {
        Value::Number(number) => tag == "float" || (tag == "int" && number.as_f64().fract() == 0.0),
        Value::Bool(_) => tag == "bool",
        Value::Null => tag == "null",
        Value::String(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn container_tag(builder: &mut Builder<'_>, tag: Option<&Tag>, fitting: &str, span: Span) {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == fitting) => {
            unknown_tag(builder, tag, span);
        }
        Some(_) | None => {}
    }
}

fn unknown_tag(builder: &mut Builder<'_>, tag: &Tag, span: Span) {
    let name = if tag.is_yaml_core_schema() {
        format!("!!{}", tag.suffix)
    } else {
        format!("{}{}", tag.handle, tag.suffix)
    };
    builder.flaw(
        Code::WrongType,
        span,
        format!("the tag `{}` means nothing here", shown(&name)),
        "remove it: values are those that JSON has",
    );
}

/// What the parser could not read.
fn syntax(error: &ScanError, text: &str, flaws: &mut Flaws) {
    let start = spot_of(*error.marker());
    let end = Spot {
        index: start.index + 1,
        line: start.line,
        column: start.column + 1,
    };
    let place = place(Span { start, end }, String::new());
    let info = error.info();
    if info.contains("recursion limit") {
        // The parser looks ahead, so its own bound may come before ours.
        let message = format!("nested deeper than the {DEPTH_MAX} levels allowed");
        let hint = "flatten it: no workflow needs so many levels";
        return flaws.add(Code::Unreadable, place, message, hint);
    }
    let line = text.lines().nth(place.line.saturating_sub(1));
    let hint = hint(info, line.unwrap_or_default());
    flaws.add(
        Code::Syntax,
        place,
        format!("this is not YAML: {info}"),
        hint,
    );
}

/// What to do about the slips that people make most, by the parser's words.
fn hint(info: &str, line: &str) -> &'static str {
    let indentation = &line[..line.len() - line.trim_start().len()];
    if indentation.contains('\t') {
        return "indent with spaces, never with tabs";
    }
    const HINTS: [(&str, &str); 10] = [
        ("tab", "indent with spaces, never with tabs"),
        (
            "mapping values are not allowed",
            "put text that holds `: ` into quotes, or check the indentation",
        ),
        (
            "unknown anchor",
            "define it before with `&name`, or put text that starts with `*` into quotes",
        ),
        ("quoted scalar", "close the quotes"),
        (
            "unexpected character",
            "put text that starts with it into quotes",
        ),
        (
            "expected key",
            "check the indentation: items of one list or object begin in one column",
        ),
        (
            "block collection",
            "check the indentation: items of one list or object begin in one column",
        ),
        ("flow", "check that brackets, braces and commas match"),
        ("bracket", "check that brackets, braces and commas match"),
        ("','", "check that brackets, braces and commas match"),
    ];
    HINTS.iter().find(|(words, _)| info.contains(words)).map_or(
        "check indentation, quotes and brackets near this place",
        |(_, hint)| hint,
    )
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}

fn span_of(span: saphyr_parser::Span) -> Span {
    Span {
        start: spot_of(span.start),
        end: spot_of(span.end),
    }
}

/// The bound on a file's size keeps every count far below 32 bits.
fn spot_of(marker: Marker) -> Spot {
    Spot {
        index: marker.index() as u32,
        line: marker.line() as u32,
        column: marker.col() as u32 + 1,
    }
}
