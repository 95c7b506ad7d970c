//! Plain and quoted text: quotes, escapes, and lines folded into one.

use super::{Reading, Walk, is_blank, is_break};
use crate::formats::document::Style;
use std::ops::Range;

/// Reads plain or quoted text anew.
pub(super) fn read(text: &str, written: Range<usize>, style: Style) -> Reading {
    let mut walk = Walk::new(text, written);
    let mut reading = Reading::default();
    walk.properties();
    let quote = match style {
        Style::Single => Some('\''),
        Style::Double => Some('"'),
        Style::Plain | Style::Literal | Style::Folded | Style::Sequence | Style::Mapping => None,
    };
    if quote.is_some() {
        walk.step();
    }
    while let Some(c) = walk.peek() {
        let start = walk.at;
        if is_blank(c) || is_break(c) {
            blanks(&mut walk, &mut reading);
        } else if Some(c) == quote {
            walk.step();
            if c != '\'' || walk.peek() != Some('\'') {
                break;
            }
            walk.step();
            reading.push('\'', start..walk.at);
        } else if c == '\\' && quote == Some('"') {
            walk.step();
            escape(&mut walk, &mut reading, start);
        } else {
            walk.step();
            reading.push(c, start..walk.at);
        }
    }
    reading
}

/// Blanks inside a line stay; around line breaks they go, and the breaks are folded.
fn blanks(walk: &mut Walk<'_>, reading: &mut Reading) {
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
    while walk.line_break() {
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

/// What follows a backslash in double quotes.
fn escape(walk: &mut Walk<'_>, reading: &mut Reading, start: usize) {
    if walk.line_break() {
        walk.skip(is_blank);
        loop {
            let at = walk.at;
            if !walk.line_break() {
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
        'x' => hex(walk, 2),
        'u' => hex(walk, 4),
        'U' => hex(walk, 8),
        other => other,
    };
    reading.push(meant, start..walk.at);
}

/// A character by its number; JSON writes those past 16 bits as two halves.
fn hex(walk: &mut Walk<'_>, digits: usize) -> char {
    let high = number(walk, digits);
    if (0xd800..0xdc00).contains(&high) && walk.rest().starts_with("\\u") {
        walk.step();
        walk.step();
        let low = number(walk, 4);
        let joined = 0x10000 + ((high - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
        return char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn number(walk: &mut Walk<'_>, digits: usize) -> u32 {
    let mut number = 0u32;
    for _ in 0..digits {
        let digit = walk.peek().and_then(|c| c.to_digit(16));
        let Some(digit) = digit else { break };
        walk.step();
        number = number.wrapping_mul(16).wrapping_add(digit);
    }
    number
}
