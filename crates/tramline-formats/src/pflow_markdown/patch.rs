//! Patches for markdown workflows: adds and removes steps and parameters.
//!
//! Each function returns a character range of the text and its replacement. The caller parses the
//! result and checks that it has the intended meaning.

use super::markdown_lines::{MarkdownLines, heading};
use super::outline::{MarkdownSection, OutlineEntry, WorkflowOutline};
use super::write;
use std::ops::Range;
use tramline_expr::Value;
use tramline_syntax::FlawCollector;

/// A range of the text and its replacement.
pub(crate) type CharPatch = (Range<usize>, String);

/// The outline of a document to be edited.
pub(crate) struct MarkdownPatcher<'t> {
    lines: MarkdownLines<'t>,
    steps: Vec<OutlineEntry>,
}

impl<'t> MarkdownPatcher<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let lines = MarkdownLines::of(text);
        let outline = WorkflowOutline::of(&lines, &mut FlawCollector::default());
        let steps = outline.entities.into_iter();
        let steps = steps
            .filter(|one| one.section == MarkdownSection::Steps)
            .collect();
        Self { lines, steps }
    }

    /// Inserts a step before the one at this index.
    pub(crate) fn insert_step(&self, place: usize, node: &Value) -> Option<CharPatch> {
        let text = self.with_line_breaks(&write::step_text(node));
        let at = match self.steps.get(place) {
            Some(next) => {
                let at = self.line_start(next.line);
                return Some((
                    at..at,
                    format!("{}{}", text.trim_start(), self.with_line_breaks("\n")),
                ));
            }
            None => self.step_end(self.steps.last()?),
        };
        let at = self.line_end(at.checked_sub(1)?);
        Some((at..at, self.with_line_breaks("\n") + text.trim_end()))
    }

    /// Removes a step and the blank lines before the next heading.
    pub(crate) fn remove_step(&self, place: usize) -> Option<CharPatch> {
        let step = self.steps.get(place)?;
        let next = (step.line + 1..self.lines.count()).find(|at| self.is_heading(step, *at));
        match next {
            Some(next) => Some((
                self.line_start(step.line)..self.line_start(next),
                String::new(),
            )),
            None => {
                let before = self.skip_blank_lines_back(step.line);
                let end = self.line_end(self.lines.count().checked_sub(1)?);
                Some((self.line_end(before.checked_sub(1)?)..end, String::new()))
            }
        }
    }

    /// Adds a parameter after the other parameters of a step.
    pub(crate) fn add_parameter(
        &self,
        place: usize,
        key: &str,
        value: &Value,
    ) -> Option<CharPatch> {
        let step = self.steps.get(place)?;
        let line = write::parameter_line(key, value);
        let (after, apart) = match step.items.last() {
            Some(last) => (last.end - 1, "\n"),
            None => (
                step.prose
                    .iter()
                    .rfind(|at| !self.lines.get(**at).trim().is_empty())
                    .copied()
                    .unwrap_or(step.line),
                "\n\n",
            ),
        };
        let at = self.line_end(after);
        Some((
            at..at,
            self.with_line_breaks(&format!("{apart}{}", line.trim_end())),
        ))
    }

    /// Removes the lines of a parameter.
    pub(crate) fn remove_parameter(&self, place: usize, key: &str) -> Option<CharPatch> {
        let step = self.steps.get(place)?;
        let mut items = step.items.iter().filter(|item| {
            let line = self.lines.get(item.start).trim_start();
            let said = line.trim_start_matches('-').trim_start();
            said.strip_prefix(key)
                .is_some_and(|rest| rest.starts_with(':'))
        });
        let (Some(item), None) = (items.next(), items.next()) else {
            return None;
        };
        Some((
            self.line_start(item.start)..self.line_start(item.end),
            String::new(),
        ))
    }

    fn is_heading(&self, step: &OutlineEntry, at: usize) -> bool {
        let fenced = |block: &super::outline::StepBlock| block.content.contains(&at);
        heading(self.lines.get(at)).is_some() && !step.blocks.iter().any(fenced)
    }

    /// The line after a step's last non-blank line.
    fn step_end(&self, step: &OutlineEntry) -> usize {
        let next = (step.line + 1..self.lines.count()).find(|at| self.is_heading(step, *at));
        self.skip_blank_lines_back(next.unwrap_or(self.lines.count()))
    }

    /// Moves a line number up over blank lines.
    fn skip_blank_lines_back(&self, mut line: usize) -> usize {
        while line > 0 && self.lines.get(line - 1).trim().is_empty() {
            line -= 1;
        }
        line
    }

    /// The character offset of a line's start; the end of the text after the last line.
    fn line_start(&self, line: usize) -> usize {
        match line < self.lines.count() {
            true => self.lines.position(line, 0).index as usize,
            false => self.lines.text.chars().count(),
        }
    }

    fn line_end(&self, line: usize) -> usize {
        self.lines.position(line, self.lines.get(line).len()).index as usize
    }

    /// The text with this document's line breaks.
    fn with_line_breaks(&self, text: &str) -> String {
        match self.lines.text.contains("\r\n") {
            true => text.replace('\n', "\r\n"),
            false => text.to_owned(),
        }
    }
}
