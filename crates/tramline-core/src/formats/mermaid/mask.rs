//! Takes comments, directives and front matter out of the scanner's way, byte for byte.
//!
//! They are overwritten with a character that no text can hold, so that every position stays that
//! of the file, and a comment between the lines of a caption leaves nothing behind.

use super::LINES_MAX;
use std::ops::Range;
use tramline_expr::Str;

/// Stands for each byte of what is not part of the drawing. Documents with it are refused.
pub(super) const MASK: char = '\u{1}';

/// A text of which only the drawing is left.
pub(super) struct Masked {
    /// As long as the whole text, so that positions agree.
    pub(super) text: String,
    /// The lines between `---` at the beginning.
    pub(super) front: Option<Str>,
    /// The directives, without their marks.
    pub(super) directives: Vec<Str>,
}

/// Masks everything outside of `part`, and inside it what is not drawn.
pub(super) fn mask(text: &str, part: Range<usize>) -> Masked {
    let mut bytes = vec![MASK as u8; text.len()];
    bytes[part.clone()].copy_from_slice(&text.as_bytes()[part.clone()]);
    let mut masked = Masked {
        text: String::new(),
        front: None,
        directives: Vec::new(),
    };
    let inside = &text[part.clone()];
    let begin = match front_matter(inside) {
        Some((body, end)) => {
            masked.front = Some(body.into());
            blank(&mut bytes, part.start..part.start + end);
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
        let after = match comment(inside, at + lead, line_end, last_close) {
            Mark::None => line_end,
            Mark::Comment => {
                blank(&mut bytes, part.start + at..part.start + line_end);
                line_end
            }
            Mark::Directive(end) => {
                let start = at + lead;
                if masked.directives.len() < LINES_MAX {
                    masked.directives.push(inside[start + 3..end - 3].into());
                }
                blank(&mut bytes, part.start + start..part.start + end);
                end
            }
        };
        at = after;
    }
    // Only whole characters were overwritten, so it is text still.
    masked.text = String::from_utf8(bytes).unwrap_or_default();
    masked
}

enum Mark {
    None,
    Comment,
    /// A directive that ends before this byte.
    Directive(usize),
}

fn comment(text: &str, start: usize, line_end: usize, last_close: usize) -> Mark {
    let rest = &text[start..];
    // One that is never closed is a comment to the end of its line.
    if rest.starts_with("%%{")
        && start + 3 <= last_close
        && let Some(end) = rest.find("}%%")
    {
        return Mark::Directive(start + end + 3);
    }
    match text[start..line_end].starts_with("%%") {
        true => Mark::Comment,
        false => Mark::None,
    }
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    bytes[range].fill(MASK as u8);
}

/// The lines between two lines of `---` that the text begins with, and where it goes on.
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
