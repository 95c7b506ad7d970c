//! Block scalars: strips the indentation and, after `>`, folds lines.

use super::{MappedScalar, ScalarCursor, is_blank, is_break};
use crate::document::YamlStyle;
use std::ops::Range;

/// The start of the first line after a block's header, if properties and a header come first.
pub(super) fn after_header(text: &str, written: &Range<usize>) -> Option<usize> {
    let mut walk = ScalarCursor::new(text, written.clone());
    walk.skip_properties();
    if !matches!(walk.peek(), Some('|' | '>')) {
        return None;
    }
    walk.skip(|c| !is_break(c));
    walk.skip_line_break();
    // Leading blank lines are line breaks of the value and are counted there.
    loop {
        let mut ahead = walk.clone();
        ahead.skip(is_blank);
        if !ahead.skip_line_break() {
            break;
        }
        walk = ahead;
    }
    walk.skip(is_blank);
    Some(walk.at)
}

/// Parses a block scalar again. Its text starts at `written.start`, at or inside the indentation.
pub(super) fn read(
    text: &str,
    written: &Range<usize>,
    style: YamlStyle,
    value: &str,
) -> Option<MappedScalar> {
    let before = text.get(..written.start)?;
    let line_start = before.rfind(is_break).map_or(0, |at| at + 1);
    let first_line = text.get(line_start..written.end)?;
    let leading = value.len() - value.trim_start_matches('\n').len();
    // The indentation is the surplus of spaces in the file at the start of the first line.
    let indent = spaces(first_line).checked_sub(spaces(&value[leading..]))?;
    let mut reading = MappedScalar::default();
    for _ in 0..leading {
        reading.push('\n', written.start..written.start + 1);
    }
    let mut lines = BlockLines {
        walk: ScalarCursor::new(text, line_start..written.end),
        indent,
    };
    match style {
        YamlStyle::Folded => folded(&mut lines, &mut reading),
        YamlStyle::Literal
        | YamlStyle::Plain
        | YamlStyle::Single
        | YamlStyle::Double
        | YamlStyle::Sequence
        | YamlStyle::Mapping => literal(&mut lines, &mut reading),
    }
    Some(reading)
}

fn spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn literal(lines: &mut BlockLines<'_>, reading: &mut MappedScalar) {
    while let Some(line) = lines.next() {
        line.push_to(reading);
        reading.push('\n', line.end()..line.end() + 1);
    }
}

/// Joins lines, unless one of them is indented deeper or blank lines separate them.
fn folded(lines: &mut BlockLines<'_>, reading: &mut MappedScalar) {
    let mut before: Option<BlockLine<'_>> = None;
    let mut blank = 0;
    while let Some(line) = lines.next() {
        if line.text.is_empty() {
            blank += 1;
            continue;
        }
        if let Some(before) = &before {
            let at = before.end()..before.end() + 1;
            let breaks = if before.is_indented() || line.is_indented() {
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
        line.push_to(reading);
        before = Some(line);
        blank = 0;
    }
}

/// The lines of a block without their indentation.
struct BlockLines<'t> {
    walk: ScalarCursor<'t>,
    indent: usize,
}

struct BlockLine<'t> {
    start: usize,
    text: &'t str,
}

impl<'t> BlockLines<'t> {
    fn next(&mut self) -> Option<BlockLine<'t>> {
        self.walk.peek()?;
        let mut left = self.indent;
        while left > 0 && self.walk.peek() == Some(' ') {
            self.walk.step();
            left -= 1;
        }
        let start = self.walk.at;
        self.walk.skip(|c| !is_break(c));
        let text = self.walk.text.get(start..self.walk.at)?;
        self.walk.skip_line_break();
        Some(BlockLine { start, text })
    }
}

impl BlockLine<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn is_indented(&self) -> bool {
        self.text.starts_with(is_blank)
    }

    fn push_to(&self, reading: &mut MappedScalar) {
        for (at, c) in self.text.char_indices() {
            let source = self.start + at;
            reading.push(c, source..source + c.len_utf8());
        }
    }
}
