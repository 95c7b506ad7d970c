//! Masks comments, directives and front matter for the scanner, byte for byte.
//!
//! They are overwritten with a character that cannot occur in text, so that byte positions stay those of
//! the file and a comment between the lines of a label leaves no trace.

use super::STATEMENTS_MAX;
use std::ops::Range;
use tramline_expr::Str;

/// Replaces each masked byte. Documents that contain it are rejected.
pub(super) const MASK: char = '\u{1}';

/// A text in which only the diagram is left.
pub(super) struct MaskedText {
    /// As long as the whole text, so that positions agree.
    pub(super) text: String,
    /// The front matter.
    pub(super) front_matter: Option<Str>,
    /// The directives, without their delimiters.
    pub(super) directives: Vec<Str>,
}

/// Masks everything outside of `part`, and comments, directives and front matter inside it.
pub(super) fn mask(text: &str, part: Range<usize>) -> MaskedText {
    let mut bytes = vec![MASK as u8; text.len()];
    bytes[part.clone()].copy_from_slice(&text.as_bytes()[part.clone()]);
    let mut masked = MaskedText {
        text: String::new(),
        front_matter: None,
        directives: Vec::new(),
    };
    let inside = &text[part.clone()];
    let begin = match front_matter(inside) {
        Some((body, end)) => {
            masked.front_matter = Some(body.into());
            mask_range(&mut bytes, part.start..part.start + end);
            end
        }
        None => 0,
    };
    let last_close = inside.rfind("}%%").unwrap_or_default();
    let mut at = begin;
    while at < inside.len() {
        let line_end = inside[at..]
            .find('\n')
            .map_or(inside.len(), |end| at + end + 1);
        let line = &inside[at..line_end];
        let lead = line.len() - line.trim_start_matches([' ', '\t']).len();
        let after = match comment_kind(inside, at + lead, line_end, last_close) {
            CommentKind::None => line_end,
            CommentKind::Comment => {
                mask_range(&mut bytes, part.start + at..part.start + line_end);
                line_end
            }
            CommentKind::Directive(end) => {
                let start = at + lead;
                if masked.directives.len() < STATEMENTS_MAX {
                    masked.directives.push(inside[start + 3..end - 3].into());
                }
                mask_range(&mut bytes, part.start + start..part.start + end);
                end
            }
        };
        at = after;
    }
    // Only whole characters were overwritten, so the bytes are still valid UTF-8.
    masked.text = String::from_utf8(bytes).unwrap_or_default();
    masked
}

enum CommentKind {
    None,
    Comment,
    /// A directive that ends at this offset.
    Directive(usize),
}

fn comment_kind(text: &str, start: usize, line_end: usize, last_close: usize) -> CommentKind {
    let rest = &text[start..];
    // An unclosed directive is a comment up to the end of its line.
    if rest.starts_with("%%{")
        && start + 3 <= last_close
        && let Some(end) = rest.find("}%%")
    {
        return CommentKind::Directive(start + end + 3);
    }
    match text[start..line_end].starts_with("%%") {
        true => CommentKind::Comment,
        false => CommentKind::None,
    }
}

fn mask_range(bytes: &mut [u8], range: Range<usize>) {
    bytes[range].fill(MASK as u8);
}

/// The front matter between two `---` lines at the start, and the offset after it.
fn front_matter(text: &str) -> Option<(&str, usize)> {
    let lead = text.len() - text.trim_start().len();
    let rest = &text[lead..];
    let first = rest.split_inclusive('\n').next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = lead + first.len();
    let begin = at;
    for line in text[at..].split_inclusive('\n') {
        if line.trim() == "---" {
            return Some((
                text[begin..at].trim_end_matches(['\n', '\r']),
                at + line.len(),
            ));
        }
        at += line.len();
    }
    None
}
