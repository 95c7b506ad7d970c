//! Parses YAML into a document, from the parser's events.

use super::build::{BuiltTree, LimitReached, TreeBuilder};
use super::spans::{SourcePosition, SourceRange, YamlStyle, place};
use super::{DEPTH_MAX, char_span, core_schema, yaml_repair};
use crate::FlawCollector;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};
use tramline_expr::Value;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::display_name;

/// Parses one YAML document and records its flaws.
pub(super) fn read(text: &str, flaws: &mut FlawCollector) -> Option<BuiltTree> {
    let built = parse(text, flaws)?;
    match &built {
        (Value::Null, ..) => {
            flaws.add(
                FlawCode::Unreadable,
                char_span(text, 0),
                "the document is empty",
                "write a document with `server` and `tools`",
            );
            None
        }
        _ => Some(built),
    }
}

/// Parses YAML that may be empty.
pub(super) fn parse(text: &str, flaws: &mut FlawCollector) -> Option<BuiltTree> {
    let mut builder = TreeBuilder::new(flaws);
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok((event, span)) => (event, span_of(span)),
            Err(error) => {
                report_syntax_error(&error, text, builder.flaws);
                return None;
            }
        };
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                builder.report(
                    FlawCode::TooMany,
                    span,
                    "a second YAML document starts here".to_owned(),
                    "keep one document in a file: remove the `---`, or split the file",
                );
                return None;
            }
        }
        if handle_event(&mut builder, event, span).is_err() {
            return None;
        }
    }
    Some(builder.finish().unwrap_or_default())
}

fn handle_event(
    builder: &mut TreeBuilder<'_>,
    event: Event<'_>,
    span: SourceRange,
) -> Result<(), LimitReached> {
    match event {
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd => Ok(()),
        Event::Alias(anchor) => builder.alias(anchor, span),
        Event::SequenceStart(anchor, tag) => {
            container_tag(builder, tag.as_deref(), "seq", span);
            builder.open(YamlStyle::Sequence, span, anchor)
        }
        Event::MappingStart(anchor, tag) => {
            container_tag(builder, tag.as_deref(), "map", span);
            builder.open(YamlStyle::Mapping, span, anchor)
        }
        Event::SequenceEnd | Event::MappingEnd => {
            builder.close(span);
            Ok(())
        }
        Event::Scalar(text, style, anchor, tag) => {
            let style = style_of(style);
            let value = scalar(builder, &text, style, tag.as_deref(), span);
            if builder.awaits_key() && anchor == 0 {
                let may_merge = style == YamlStyle::Plain && tag.is_none();
                key(builder, value, span, may_merge);
                return Ok(());
            }
            let mut span = span;
            if text.is_empty() && style == YamlStyle::Plain {
                // An empty scalar: the parser reports the span of what follows it.
                span.end = span.start;
            }
            builder.scalar(value, style, span, anchor)
        }
    }
}

fn key(builder: &mut TreeBuilder<'_>, value: Value, span: SourceRange, may_merge: bool) {
    match value {
        Value::String(name) => builder.key(name, span, may_merge),
        other => builder.reject_key(span, other.kind()),
    }
}

fn scalar(
    builder: &mut TreeBuilder<'_>,
    text: &str,
    style: YamlStyle,
    tag: Option<&Tag>,
    span: SourceRange,
) -> Value {
    let wanted = match tag {
        None if style == YamlStyle::Plain => None,
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
    let Ok(value) = core_schema::resolve(text) else {
        let message = format!("JSON cannot represent the number `{}`", display_name(text));
        let hint = "quote it if it is text";
        builder.report(FlawCode::WrongType, span, message, hint);
        return Value::Null;
    };
    if let Some(wanted) = wanted
        && !matches_tag(&value, wanted)
    {
        let message = format!("the value does not match its tag `!!{wanted}`");
        let hint = "remove the tag or fix the value";
        builder.report(FlawCode::WrongType, span, message, hint);
    }
    value
}

/// The core-schema tags for unquoted scalars.
const SCALAR_TAGS: [&str; 4] = ["int", "float", "bool", "null"];

fn matches_tag(value: &Value, tag: &str) -> bool {
    match value {
        Value::Number(number) => tag == "float" || (tag == "int" && number.as_f64().fract() == 0.0),
        Value::Bool(_) => tag == "bool",
        Value::Null => tag == "null",
        Value::String(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn container_tag(
    builder: &mut TreeBuilder<'_>,
    tag: Option<&Tag>,
    fitting: &str,
    span: SourceRange,
) {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == fitting) => {
            unknown_tag(builder, tag, span);
        }
        Some(_) | None => {}
    }
}

fn unknown_tag(builder: &mut TreeBuilder<'_>, tag: &Tag, span: SourceRange) {
    let name = if tag.is_yaml_core_schema() {
        format!("!!{}", tag.suffix)
    } else {
        format!("{}{}", tag.handle, tag.suffix)
    };
    builder.report(
        FlawCode::WrongType,
        span,
        format!("the tag `{}` is not supported", display_name(&name)),
        "remove it: only JSON values are supported",
    );
}

/// Records a syntax error reported by the parser.
fn report_syntax_error(error: &ScanError, text: &str, flaws: &mut FlawCollector) {
    let start = position_of(*error.marker());
    let end = SourcePosition {
        index: start.index + 1,
        line: start.line,
        column: start.column + 1,
    };
    let place = place(SourceRange { start, end }, String::new());
    let info = error.info();
    if info.contains("recursion limit") {
        // The parser looks ahead, so its recursion limit may be reached before ours.
        let message = format!("nested deeper than {DEPTH_MAX} levels");
        let hint = "flatten it";
        return flaws.add(FlawCode::Unreadable, place, message, hint);
    }
    if let Some((place, hint)) = yaml_repair::find(text, place.line) {
        return flaws.add(
            FlawCode::Syntax,
            place,
            format!("invalid YAML: {info}"),
            hint,
        );
    }
    let line = text.lines().nth(place.line.saturating_sub(1));
    let hint = syntax_hint(info, line.unwrap_or_default());
    flaws.add(
        FlawCode::Syntax,
        place,
        format!("invalid YAML: {info}"),
        hint,
    );
}

/// A hint for the most common mistakes, matched on the parser's message.
fn syntax_hint(info: &str, line: &str) -> &'static str {
    let indentation = &line[..line.len() - line.trim_start().len()];
    if indentation.contains('\t') {
        return "indent with spaces, not tabs";
    }
    const HINTS: [(&str, &str); 10] = [
        ("tab", "indent with spaces, not tabs"),
        (
            "mapping values are not allowed",
            "quote text that contains `: `, or check the indentation",
        ),
        (
            "unknown anchor",
            "define it first with `&name`, or quote text that starts with `*`",
        ),
        ("quoted scalar", "close the quotes"),
        ("unexpected character", "quote text that starts with it"),
        (
            "expected key",
            "check the indentation: items of a list or object start in the same column",
        ),
        (
            "block collection",
            "check the indentation: items of a list or object start in the same column",
        ),
        ("flow", "check that brackets, braces and commas match"),
        ("bracket", "check that brackets, braces and commas match"),
        ("','", "check that brackets, braces and commas match"),
    ];
    HINTS.iter().find(|(words, _)| info.contains(words)).map_or(
        "check indentation, quotes and brackets near here",
        |(_, hint)| hint,
    )
}

fn style_of(style: ScalarStyle) -> YamlStyle {
    match style {
        ScalarStyle::Plain => YamlStyle::Plain,
        ScalarStyle::SingleQuoted => YamlStyle::Single,
        ScalarStyle::DoubleQuoted => YamlStyle::Double,
        ScalarStyle::Literal => YamlStyle::Literal,
        ScalarStyle::Folded => YamlStyle::Folded,
    }
}

fn span_of(span: saphyr_parser::Span) -> SourceRange {
    SourceRange {
        start: position_of(span.start),
        end: position_of(span.end),
    }
}

/// The file size limit keeps all values far below `u32::MAX`.
fn position_of(marker: Marker) -> SourcePosition {
    SourcePosition {
        index: marker.index() as u32,
        line: marker.line() as u32,
        column: marker.col() as u32 + 1,
    }
}
