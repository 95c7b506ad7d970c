//! Subgraphs: their titles, and who belongs to them.

use super::parse::{Bad, Parser};
use super::scan::Scan;
use super::{Caption, DEPTH_MAX, Group, LINES_MAX, captions};
use crate::flaw::Code;
use tramline_expr::Str;

impl Parser<'_, '_> {
    /// The beginning of a subgraph: an id, an id with a title, or only a title.
    pub(super) fn group(&mut self, start: usize) -> Result<(), Bad> {
        if self.open.len() >= DEPTH_MAX || self.chart.groups.len() >= LINES_MAX {
            let message = format!("more than the {DEPTH_MAX} levels of subgraphs allowed");
            return Err(Bad::at(start, message, "flatten the drawing").fatal(Code::TooMany));
        }
        let place = self.chart.groups.len();
        self.chart.groups.push(Group {
            parent: self.open.last().map(|(group, _)| *group),
            spot: (start..self.scan.at).into(),
            ..Group::default()
        });
        self.open.push((place, Vec::new()));
        self.scan.blanks();
        let (id, title) = self.group_title()?;
        let group = &mut self.chart.groups[place];
        (group.id, group.title) = (id, title);
        self.ended()
    }

    fn group_title(&mut self) -> Result<(Option<Str>, Option<Caption>), Bad> {
        if self.scan.starts("\"") {
            let title = self.quoted()?;
            let text = title.text.clone();
            return Ok(match (title.markdown, text.is_empty()) {
                (false, true) => (None, None),
                (false, false) if is_word(&text) => (Some(text), None),
                (false, false) | (true, _) => (None, Some(title)),
            });
        }
        let start = self.scan.at;
        let id: Option<Str> = Some(self.scan.word().into()).filter(|id: &Str| !id.is_empty());
        self.scan.blanks();
        if id.is_some() && self.scan.is_end() {
            return Ok((id, None));
        }
        if id.is_some() && self.scan.take("[") {
            let title = match self.scan.starts("\"") {
                true => self.quoted()?,
                false => {
                    let from = self.scan.at;
                    self.scan.skip(|c| !"]\n".contains(c));
                    captions::caption(self.scan.since(from), false)
                }
            };
            self.scan.blanks();
            return match self.scan.take("]") {
                true => Ok((id, Some(title))),
                false => Err(Bad::at(
                    self.scan.at,
                    "a title is not closed",
                    "end it with `]`",
                )),
            };
        }
        self.scan.at = start;
        let (text, _) = self.scan.remainder();
        let title = captions::caption(text, false);
        Ok((None, Some(title).filter(|title| !title.text.is_empty())))
    }

    pub(super) fn end(&mut self, start: usize) -> Result<(), Bad> {
        if self.open.is_empty() {
            let hint = "remove it, or give the vertex a text: `end[End]`";
            return Err(Bad::at(start, "`end` without a subgraph", hint));
        }
        self.close_group();
        Ok(())
    }

    /// Whoever was named in the group belongs to it, unless a group inside has taken it.
    pub(super) fn close_group(&mut self) {
        let Some((group, members)) = self.open.pop() else {
            return;
        };
        for member in members {
            let vertex = &mut self.chart.vertices[member];
            let is_itself = self.chart.groups[group].id.as_ref() == Some(&vertex.id);
            if vertex.group.is_none() && !is_itself {
                vertex.group = Some(group);
            }
        }
    }
}

/// Whether a text is an id as a whole.
fn is_word(text: &str) -> bool {
    !text.is_empty() && Scan::new(text, 0..text.len()).word() == text
}
