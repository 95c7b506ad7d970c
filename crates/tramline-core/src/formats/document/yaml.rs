//! YAML text into a document, from the parser's events.

use super::build::{Builder, Built, Stop};
use super::marks::{Span, Spot, Style};
use super::{DEPTH_MAX, plain, point};
use crate::flaw::Code;
use crate::formats::Flaws;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};
use tramline_expr::Value;

/// Reads one YAML document; what is wrong with it is among the flaws.
pub(super) fn read(text: &str, flaws: &mut Flaws) -> Option<Built> {
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
    let built = builder.finish();
    match &built {
        Some((Value::Null, ..)) | None => {
            flaws.add(
                Code::Unreadable,
                point(text, 0),
                "there is nothing in the document",
                "write a document with `server` and `tools`",
            );
            None
        }
        Some(_) => built,
    }
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
                match value {
                    Value::String(name) => {
                        let may_merge = style == Style::Plain && tag.is_none();
                        builder.key(name, span, may_merge);
                    }
                    other => builder.bad_key(span, other.kind()),
                }
                return Ok(());
            }
            let span = if text.is_empty() && style == Style::Plain {
                Span {
                    start: span.start,
                    end: span.start,
                }
            } else {
                span
            };
            builder.scalar(value, style, span, anchor)
        }
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
        Some(tag) if tag.is_yaml_core_schema() => Some(tag.suffix.as_str()),
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Some("str"),
        Some(tag) => {
            unknown_tag(builder, tag, span);
            return text.into();
        }
    };
    if wanted == Some("str") {
        return text.into();
    }
    let Ok(value) = plain::resolve(text) else {
        builder.flaw(
            Code::WrongType,
            span,
            format!("`{text}` is a number that JSON cannot hold"),
            "put it into quotes if it is text",
        );
        return Value::Null;
    };
    let fits = match wanted {
        None => true,
        Some("int") => value.as_i64().is_some() || value.as_u64().is_some(),
        Some("float") => value.as_f64().is_some(),
        Some("bool") => value.as_bool().is_some(),
        Some("null") => value.is_null(),
        Some(_) => {
            if let Some(tag) = tag {
                unknown_tag(builder, tag, span);
            }
            true
        }
    };
    if !fits {
        let wanted = wanted.unwrap_or_default();
        builder.flaw(
            Code::WrongType,
            span,
            format!("`!!{wanted}` does not fit what follows it"),
            "remove the tag, or mend the value",
        );
    }
    value
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
        format!("the tag `{}` means nothing here", crate::text::shown(&name)),
        "remove it: values are those that JSON has",
    );
}

/// What the parser could not read, with a hint for the slips that people make most.
fn syntax(error: &ScanError, text: &str, flaws: &mut Flaws) {
    let marker = *error.marker();
    let at = spot_of(marker);
    let span = Span {
        start: at,
        end: Spot {
            index: at.index + 1,
            line: at.line,
            column: at.column + 1,
        },
    };
    let line = text.lines().nth(marker.line().saturating_sub(1));
    let line = line.unwrap_or_default();
    let indent: &str = &line[..line.len() - line.trim_start().len()];
    let info = error.info();
    if info.contains("recursion limit") {
        // The parser looks ahead, so its own bound may come before ours.
        let message = format!("nested deeper than the {DEPTH_MAX} levels allowed");
        let hint = "flatten it: no workflow needs so many levels";
        let place = super::marks::place(span, String::new());
        return flaws.add(Code::Unreadable, place, message, hint);
    }
    let hint = if indent.contains('\t') || info.contains("tab") {
        "indent with spaces, never with tabs"
    } else if info.contains("mapping values are not allowed") {
        "put text that holds `: ` into quotes, or check the indentation"
    } else if info.contains("unknown anchor") {
        "define it before with `&name`, or put text that starts with `*` into quotes"
    } else if info.contains("quoted scalar") {
        "close the quotes"
    } else if info.contains("unexpected character") {
        "put text that starts with it into quotes"
    } else if info.contains("expected key") || info.contains("block collection") {
        "check the indentation: items of one list or object begin in one column"
    } else if info.contains("flow") || info.contains("bracket") || info.contains("','") {
        "check that brackets, braces and commas match"
    } else {
        "check indentation, quotes and brackets near this place"
    };
    flaws.add(
        Code::Syntax,
        super::marks::place(span, String::new()),
        format!("this is not YAML: {info}"),
        hint,
    );
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
