//! Flaws as code frames: the source line, the problem below it, the suggestion.

use super::documents::DocumentFlaws;
use super::output;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::ops::Range;
use tramline_workflow::flaw::{Flaw, Severity, SourceSpan};

/// At most this many flaws are shown; the rest are counted.
const SHOWN_MAX: usize = 50;
/// Larger documents, in bytes, are shown without source lines: rendering a frame in them is slow.
const FRAMED_BYTES_MAX: usize = 1 << 20;

/// Shows every flaw of a document.
pub(super) fn show(flawed: &DocumentFlaws) {
    let source = match flawed.text.len() <= FRAMED_BYTES_MAX {
        true => replace_controls(&flawed.text),
        false => String::new(),
    };
    for flaw in flawed.flaws.iter().take(SHOWN_MAX) {
        output::status_rendered(&frame(flawed, flaw, &source));
    }
    if flawed.flaws.len() > SHOWN_MAX {
        output::status_line(&format!("… and {} more", flawed.flaws.len() - SHOWN_MAX));
    }
}

/// Replaces terminal control characters by others of the same byte length, so that positions stay
/// the same.
fn replace_controls(text: &str) -> String {
    let stays = |c: char| {
        let alone = c.encode_utf8(&mut [0; 4]).to_owned();
        "\t\n".contains(c) || *output::field(&alone) == *alone
    };
    let instead = |c: char| match c.len_utf8() {
        1 => '?',
        2 => '¿',
        3 => '\u{fffd}',
        _ => '\u{1f6c7}',
    };
    let text = text.replace("\r\n", " \n");
    let changed = |c: char| if stays(c) { c } else { instead(c) };
    text.chars().map(changed).collect()
}

fn frame(flawed: &DocumentFlaws, flaw: &Flaw, source: &str) -> String {
    let level = match flaw.code.severity() {
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let span = span(&flawed.text, &flaw.span);
    let message = output::field(&flaw.message);
    let path = output::field(&flawed.path);
    let suggestion = flaw.suggestion.as_deref().map(output::field);
    let mut group = level.primary_title(&*message).id(flaw.code.as_str());
    let mut report = if source.is_empty() {
        let place = format!("{path}:{}:{}", flaw.span.line, flaw.span.column);
        group.element(Level::NOTE.message(place))
    } else {
        let snippet = Snippet::source(source)
            .path(&*path)
            .annotation(AnnotationKind::Primary.span(span));
        group = group.id(flaw.code.as_str());
        group.element(snippet)
    };
    if let Some(suggestion) = &suggestion {
        report = report.element(Level::HELP.message(&**suggestion));
    }
    Renderer::styled()
        .decor_style(DecorStyle::Ascii)
        .render(&[report])
}

/// The byte range of a place, for the renderer; empty in an empty text.
fn span(text: &str, place: &SourceSpan) -> Range<usize> {
    let start = offset(text, place.line, place.column);
    let end = offset(text, place.end_line, place.end_column);
    // A frame of many lines is unreadable: end it with its first line.
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    start..end.clamp(start, line_end.max(start))
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    text[start..]
        .char_indices()
        .nth(column.saturating_sub(1))
        .map_or(text.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_in_a_frame_steers_nothing_and_keeps_its_places() {
        let text = "a\u{1b}[2J\u{9b}b\u{202e}\u{e0041}é\tc\r\nd\re";
        let clean = replace_controls(text);
        assert_eq!(clean, "a?[2J¿b\u{fffd}\u{1f6c7}é\tc \nd?e");
        assert_eq!(clean.len(), text.len());
    }
}
