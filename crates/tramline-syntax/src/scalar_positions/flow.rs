//! Plain and quoted scalars: quotes, escapes and folded lines.

use super::{MappedScalar, ScalarCursor, is_blank, is_break};
use crate::document::YamlStyle;
use std::ops::Range;

/// Parses a plain or quoted scalar again.
pub(super) fn read(text: &str, written: Range<usize>, style: YamlStyle) -> MappedScalar {
    let mut walk = ScalarCursor::new(text, written);
    let mut reading = MappedScalar::default();
    walk.skip_properties();
    let quote = match style {
        YamlStyle::Single => Some('\''),
        YamlStyle::Double => Some('"'),
        YamlStyle::Plain
        | YamlStyle::Literal
        | YamlStyle::Folded
        | YamlStyle::Sequence
        | YamlStyle::Mapping => None,
    };
    if quote.is_some() {
        walk.step();
    }
    while let Some(c) = walk.peek() {
        let start = walk.at;
        if is_blank(c) || is_break(c) {
            read_whitespace(&mut walk, &mut reading);
        } else if Some(c) == quote {
            walk.step();
            if c != '\'' || walk.peek() != Some('\'') {
                break;
            }
            walk.step();
            reading.push('\'', start..walk.at);
        } else if c == '\\' && quote == Some('"') {
            walk.step();
            read_escape(&mut walk, &mut reading, start);
        } else {
            walk.step();
            reading.push(c, start..walk.at);
        }
    }
    reading
}

/// Keeps whitespace within a line, drops it around line breaks, and folds the breaks.
fn read_whitespace(walk: &mut ScalarCursor<'_>, reading: &mut MappedScalar) {
    let start = walk.at;
    let mut ahead = walk.clone();
    ahead.skip(is_blank);
    if !ahead.peek().is_some_and(is_break) {
        while walk.peek().is_some_and(is_blank) {
            let at = walk.at;
            if let Some(c) = walk.step() {
                reading.push(c, at..walk.at);
            }
        }
        return;
    }
    *walk = ahead;
    let mut breaks = 0;
    while walk.skip_line_break() {
        breaks += 1;
        walk.skip(is_blank);
    }
    if breaks == 1 {
        reading.push(' ', start..start + 1);
    }
    for _ in 1..breaks {
        reading.push('\n', start..start + 1);
    }
}

/// Reads an escape sequence in double quotes.
fn read_escape(walk: &mut ScalarCursor<'_>, reading: &mut MappedScalar, start: usize) {
    if walk.skip_line_break() {
        walk.skip(is_blank);
        loop {
            let at = walk.at;
            if !walk.skip_line_break() {
                return;
            }
            reading.push('\n', at..walk.at);
            walk.skip(is_blank);
        }
    }
    let Some(c) = walk.step() else {
        return;
    };
    let meant = match c {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0b',
        'f' => '\x0c',
        'r' => '\r',
        'e' => '\x1b',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        'x' => read_code_point(walk, 2),
        'u' => read_code_point(walk, 4),
        'U' => read_code_point(walk, 8),
        other => other,
    };
    reading.push(meant, start..walk.at);
}

/// A character by its code; JSON writes those above 16 bits as surrogate pairs.
fn read_code_point(walk: &mut ScalarCursor<'_>, digits: usize) -> char {
    let high = read_hex_digits(walk, digits);
    if (0xd800..0xdc00).contains(&high) && walk.rest().starts_with("\\u") {
        walk.step();
        walk.step();
        let low = read_hex_digits(walk, 4);
        let joined = 0x10000 + ((high - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
        return char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn read_hex_digits(walk: &mut ScalarCursor<'_>, digits: usize) -> u32 {
    let mut number = 0u32;
    for _ in 0..digits {
        let digit = walk.peek().and_then(|c| c.to_digit(16));
        let Some(digit) = digit else { break };
        walk.step();
        number = number.wrapping_mul(16).wrapping_add(digit);
    }
    number
}
