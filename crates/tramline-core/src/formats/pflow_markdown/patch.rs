//! Small changes of a workflow written as markdown: sections and lines that come or go.
//!
//! What each gives is a stretch of the text, in characters, and what is put in its place. Whoever
//! asks reads the text again and holds it against what was meant.

use super::lines::{Lines, heading};
use super::outline::{Entity, Outline, Section};
use super::write;
use crate::formats::Flaws;
use std::ops::Range;
use tramline_expr::Value;

/// A stretch of the text and what comes instead.
pub(in crate::formats) type Patch = (Range<usize>, String);

/// A document taken apart, to be changed.
pub(in crate::formats) struct Sheet<'t> {
    lines: Lines<'t>,
    steps: Vec<Entity>,
}

impl<'t> Sheet<'t> {
    pub(in crate::formats) fn of(text: &'t str) -> Self {
        let lines = Lines::of(text);
        let outline = Outline::of(&lines, &mut Flaws::default());
        let steps = outline.entities.into_iter();
        let steps = steps.filter(|one| one.section == Section::Steps).collect();
        Self { lines, steps }
    }

    /// Adds a step before the one at this place.
    pub(in crate::formats) fn insert(&self, place: usize, node: &Value) -> Option<Patch> {
        let text = self.broken(&write::step(node));
        let at = match self.steps.get(place) {
            Some(next) => {
                let at = self.start(next.line);
                return Some((
                    at..at,
                    format!("{}{}", text.trim_start(), self.broken("\n")),
                ));
            }
            None => self.ends(self.steps.last()?),
        };
        let at = self.end(at.checked_sub(1)?);
        Some((at..at, self.broken("\n") + text.trim_end()))
    }

    /// Takes a step away, with the blank lines before the next.
    pub(in crate::formats) fn remove(&self, place: usize) -> Option<Patch> {
        let step = self.steps.get(place)?;
        let next = (step.line + 1..self.lines.count()).find(|at| self.is_heading(step, *at));
        match next {
            Some(next) => Some((self.start(step.line)..self.start(next), String::new())),
            None => {
                let before = self.back(step.line);
                let end = self.end(self.lines.count().checked_sub(1)?);
                Some((self.end(before.checked_sub(1)?)..end, String::new()))
            }
        }
    }

    /// Adds a parameter below the others of a step.
    pub(in crate::formats) fn add(&self, place: usize, key: &str, value: &Value) -> Option<Patch> {
        let step = self.steps.get(place)?;
        let line = write::line(key, value);
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
        let at = self.end(after);
        Some((at..at, self.broken(&format!("{apart}{}", line.trim_end()))))
    }

    /// Takes the lines of a parameter away.
    pub(in crate::formats) fn drop(&self, place: usize, key: &str) -> Option<Patch> {
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
        Some((self.start(item.start)..self.start(item.end), String::new()))
    }

    fn is_heading(&self, step: &Entity, at: usize) -> bool {
        let fenced = |block: &super::outline::Block| block.content.contains(&at);
        heading(self.lines.get(at)).is_some() && !step.blocks.iter().any(fenced)
    }

    /// The line after the last one of a step that is not blank.
    fn ends(&self, step: &Entity) -> usize {
        let next = (step.line + 1..self.lines.count()).find(|at| self.is_heading(step, *at));
        self.back(next.unwrap_or(self.lines.count()))
    }

    /// A line moved up over blank ones.
    fn back(&self, mut line: usize) -> usize {
        while line > 0 && self.lines.get(line - 1).trim().is_empty() {
            line -= 1;
        }
        line
    }

    /// The first character of a line; the end of the text after the last.
    fn start(&self, line: usize) -> usize {
        match line < self.lines.count() {
            true => self.lines.spot(line, 0).index as usize,
            false => self.lines.text.chars().count(),
        }
    }

    fn end(&self, line: usize) -> usize {
        self.lines.spot(line, self.lines.get(line).len()).index as usize
    }

    /// A text of ours with the line breaks of this one.
    fn broken(&self, text: &str) -> String {
        match self.lines.text.contains("\r\n") {
            true => text.replace('\n', "\r\n"),
            false => text.to_owned(),
        }
    }
}
