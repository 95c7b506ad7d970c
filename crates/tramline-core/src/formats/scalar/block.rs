//! Block text: indentation taken off, and after `>` lines folded.

use super::{Reading, Walk, is_blank, is_break};
use crate::formats::document::Style;
use std::ops::Range;

/// Where the first line after a block's header begins, if properties and a header come first.
pub(super) fn after_header(text: &str, written: &Range<usize>) -> Option<usize> {
    let mut walk = Walk::new(text, written.clone());
    walk.properties();
    if !matches!(walk.peek(), Some('|' | '>')) {
        return None;
    }
    walk.skip(|c| !is_break(c));
    walk.line_break();
    // Blank lines before the text are line breaks of the value; they are counted there.
    loop {
        let mut ahead = walk.clone();
        ahead.skip(is_blank);
        if !ahead.line_break() {
            break;
        }
        walk = ahead;
    }
    walk.skip(is_blank);
    Some(walk.at)
}

/// Reads a block anew whose text begins at `written.start`, behind the indentation or inside it.
pub(super) fn read(
    text: &str,
    written: &Range<usize>,
    style: Style,
    value: &str,
) -> Option<Reading> {
    let before = text.get(..written.start)?;
    let line_start = before.rfind(is_break).map_or(0, |at| at + 1);
    let first_line = text.get(line_start..written.end)?;
    let leading = value.len() - value.trim_start_matches('\n').len();
    // What the file has more than the value at the start of the first line is the indentation.
    let indent = spaces(first_line).checked_sub(spaces(&value[leading..]))?;
    let mut reading = Reading::default();
    for _ in 0..leading {
        reading.push('\n', written.start..written.start + 1);
    }
    let mut lines = Lines {
        walk: Walk::new(text, line_start..written.end),
        indent,
    };
    match style {
        Style::Folded => folded(&mut lines, &mut reading),
        Style::Literal
        | Style::Plain
        | Style::Single
        | Style::Double
        | Style::Sequence
        | Style::Mapping => literal(&mut lines, &mut reading),
    }
    Some(reading)
}

fn spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn literal(lines: &mut Lines<'_>, reading: &mut Reading) {
    while let Some(line) = lines.next() {
        line.push(reading);
        reading.push('\n', line.end()..line.end() + 1);
    }
}

/// Two lines become one, unless one of them is indented further or blank lines stand between.
fn folded(lines: &mut Lines<'_>, reading: &mut Reading) {
    let mut before: Option<Line<'_>> = None;
    let mut blank = 0;
    while let Some(line) = lines.next() {
        if line.text.is_empty() {
            blank += 1;
            continue;
        }
        if let Some(before) = &before {
            let at = before.end()..before.end() + 1;
            let breaks = if before.is_deeper() || line.is_deeper() {
                blank + 1
            } else {
                blank
            };
            if breaks == 0 {
                reading.push(' ', at.clone());
            }
            for _ in 0..breaks {
                reading.push('\n', at.clone());
            }
        }
        line.push(reading);
        before = Some(line);
        blank = 0;
    }
}

/// The lines of a block without their indentation.
struct Lines<'t> {
    walk: Walk<'t>,
    indent: usize,
}

struct Line<'t> {
    start: usize,
    text: &'t str,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<Line<'t>> {
        self.walk.peek()?;
        let mut left = self.indent;
        while left > 0 && self.walk.peek() == Some(' ') {
            self.walk.step();
            left -= 1;
        }
        let start = self.walk.at;
        self.walk.skip(|c| !is_break(c));
        let text = self.walk.text.get(start..self.walk.at)?;
        self.walk.line_break();
        Some(Line { start, text })
    }
}

impl Line<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn is_deeper(&self) -> bool {
        self.text.starts_with(is_blank)
    }

    fn push(&self, reading: &mut Reading) {
        for (at, c) in self.text.char_indices() {
            let source = self.start + at;
            reading.push(c, source..source + c.len_utf8());
        }
    }
}
