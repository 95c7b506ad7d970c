//! Writes one elementary change into a text, touching as little of it as it can.
//!
//! What is done here is held against what the change means by whoever calls it: a text that then
//! reads otherwise is not used. So this need not know every way in which YAML can be written.

use super::Change;
use super::op::{Op, Step};
use crate::formats::document::{At, Style, Tree};
use crate::formats::yaml_text;
use std::ops::Range;
use tramline_expr::Value;

/// A text with what was read from it.
pub(super) struct Page<'t> {
    tree: &'t Tree,
    chars: Vec<char>,
    /// Whether it is JSON, where everything stands in brackets and quotes.
    json: bool,
}

impl<'t> Page<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        let chars: Vec<char> = tree.text().chars().collect();
        let json = serde_json::from_str::<serde::de::IgnoredAny>(tree.text()).is_ok();
        Self { tree, chars, json }
    }

    /// How the text could change, the smallest first.
    pub(super) fn changes(&self, op: &Op) -> Vec<Change> {
        let found = match op {
            Op::Set(at, value) => match self.find(at) {
                Some(old) => [self.within(old, value), self.replace(at, old, value)],
                None => [self.add_field(at, value), None],
            },
            Op::Remove(at) => [self.remove(at), None],
            Op::Insert(at, place, value) => {
                let list = self.find(at);
                [list.and_then(|list| self.insert(list, *place, value)), None]
            }
        };
        found.into_iter().flatten().collect()
    }

    /// Changes a part of a quoted text or of a block, as it is written.
    fn within(&self, old: At<'t>, value: &Value) -> Option<Change> {
        let (was, new) = (old.value.as_str()?, value.as_str()?);
        let head = was.chars().zip(new.chars()).take_while(|(a, b)| a == b);
        let head: usize = head.map(|(c, _)| c.len_utf8()).sum();
        let (mine, other) = (was[head..].chars().rev(), new[head..].chars().rev());
        let tail = mine.zip(other).take_while(|(a, b)| a == b);
        let tail: usize = tail.map(|(c, _)| c.len_utf8()).sum();
        let (gone, new) = (head..was.len() - tail, &new[head..new.len() - tail]);
        let written = match old.style() {
            Style::Plain | Style::Mapping | Style::Sequence => return None,
            Style::Single => new.replace('\'', "''"),
            Style::Double => {
                let quoted = Value::from(new).to_json();
                quoted.get(1..quoted.len() - 1)?.to_owned()
            }
            Style::Literal | Style::Folded if new.contains('\n') => return None,
            Style::Literal | Style::Folded => new.to_owned(),
        };
        let (start, end) = old.source(&gone)?;
        let text = self.tree.text();
        let chars = |byte: usize| text.get(..byte).map(|text| text.chars().count());
        let stretch = chars(start)?..chars(end.max(start))?;
        let stretch = if gone.is_empty() {
            stretch.start..stretch.start
        } else {
            stretch
        };
        Some(Change::new(stretch, written))
    }

    fn find(&self, at: &[Step]) -> Option<At<'t>> {
        at.iter()
            .try_fold(self.tree.root(), |here, step| match step {
                Step::Key(key) => here.get(key),
                Step::Place(place) => here.items().nth(*place),
            })
    }

    fn sign(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    /// Whether a list or an object stands in brackets.
    fn is_flow(&self, at: At<'_>) -> bool {
        matches!(self.sign(at.span().start), Some('{' | '['))
    }

    fn is_container(at: At<'_>) -> bool {
        matches!(at.style(), Style::Mapping | Style::Sequence)
    }

    /// The characters of a value, without what stands around it.
    fn extent(&self, at: At<'t>) -> Option<Range<usize>> {
        let span = at.span();
        match at.style() {
            Style::Plain | Style::Single | Style::Double => {
                let end = self.back(span.end.min(self.chars.len()), span.start);
                Some(span.start..end)
            }
            Style::Literal | Style::Folded => Some(span.start..self.block_end(span.start)),
            Style::Mapping | Style::Sequence => {
                let last = self.last_end(at)?;
                match self.is_flow(at) {
                    false => Some(span.start..last.unwrap_or(span.end)),
                    true => {
                        let close = self.closing(last.unwrap_or(span.start + 1))?;
                        Some(span.start..close + 1)
                    }
                }
            }
        }
    }

    /// The end of the last part of a list or an object, if it has parts.
    fn last_end(&self, at: At<'t>) -> Option<Option<usize>> {
        if at.style() == Style::Sequence {
            let Some(last) = at.items().last() else {
                return Some(None);
            };
            return Some(Some(self.extent(last)?.end));
        }
        let slots = at.fields().count();
        let Some(slot) = slots.checked_sub(1) else {
            return Some(None);
        };
        Some(Some(self.field(at, slot)?.end))
    }

    /// The characters of a field: its key, and its value as far as it has one.
    fn field(&self, at: At<'t>, slot: usize) -> Option<Range<usize>> {
        let key = at.key_span(slot)?;
        let (_, value) = at.fields().nth(slot)?;
        let colon = self.colon(key.end)?;
        let extent = self.extent(value)?;
        Some(key.start..extent.end.max(colon + 1))
    }

    /// The colon after a key.
    fn colon(&self, from: usize) -> Option<usize> {
        let blank = |at: &usize| self.sign(*at).is_some_and(|c| c == ' ' || c == '\t');
        let at = (from..).find(|at| !blank(at))?;
        (self.sign(at) == Some(':')).then_some(at)
    }

    /// The bracket that closes what has no more parts after a place.
    fn closing(&self, from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(c) = self.sign(at) {
            match c {
                ']' | '}' => return Some(at),
                '#' => at = self.line_end(at),
                c if c.is_whitespace() || c == ',' => at += 1,
                _ => return None,
            }
        }
        None
    }

    /// The end of a block of text: its lines are indented deeper than the line it begins on.
    fn block_end(&self, from: usize) -> usize {
        let depth = self.depth(self.line_start(from));
        let mut end = self.line_end(from);
        let mut at = end;
        while at < self.chars.len() {
            let start = self.after_line(at);
            let stop = self.line_end(start);
            let blank = self.chars[start..stop].iter().all(|c| c.is_whitespace());
            if !blank && self.depth(start) <= depth {
                break;
            }
            if !blank {
                end = stop;
            }
            if start >= self.chars.len() {
                break;
            }
            at = stop;
        }
        end
    }

    /// How deep a line is indented; what follows a dash counts from the dash.
    fn depth(&self, start: usize) -> usize {
        self.chars[start..]
            .iter()
            .take_while(|c| **c == ' ')
            .count()
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.chars[..at].iter().rposition(|c| *c == '\n');
        before.map_or(0, |at| at + 1)
    }

    /// The end of the line, before its line break.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.chars[at.min(self.chars.len())..].iter();
        let end = rest.clone().position(|c| *c == '\n');
        let end = end.map_or(self.chars.len(), |found| at + found);
        match end > at && self.sign(end - 1) == Some('\r') {
            true => end - 1,
            false => end,
        }
    }

    /// The beginning of the line after one that ends here.
    fn after_line(&self, end: usize) -> usize {
        let skip = match (self.sign(end), self.sign(end + 1)) {
            (Some('\r'), Some('\n')) => 2,
            (Some(_), _) => 1,
            (None, _) => 0,
        };
        end + skip
    }

    /// A place moved back over blanks, not before another.
    fn back(&self, mut at: usize, least: usize) -> usize {
        while at > least && self.chars[at - 1].is_whitespace() {
            at -= 1;
        }
        at
    }

    fn line_break(&self) -> &'static str {
        match self.tree.text().contains("\r\n") {
            true => "\r\n",
            false => "\n",
        }
    }

    /// A text of ours with the line breaks of this one.
    fn broken(&self, text: &str) -> String {
        text.replace('\n', self.line_break())
    }

    /// A value between brackets.
    fn inline(&self, value: &Value) -> Option<String> {
        match self.json {
            true => Some(value.to_json()),
            false => yaml_text::inline(value),
        }
    }

    fn key(&self, key: &str) -> String {
        match self.json {
            true => Value::from(key).to_json(),
            false => yaml_text::key(key),
        }
    }

    /// Whether something stands between brackets, its own not counted.
    fn in_flow(&self, at: &[Step]) -> bool {
        let parents = (0..at.len()).filter_map(|depth| self.find(&at[..depth]));
        self.json
            || parents
                .into_iter()
                .any(|it| Self::is_container(it) && self.is_flow(it))
    }

    fn replace(&self, at: &[Step], old: At<'t>, value: &Value) -> Option<Change> {
        let extent = self.extent(old)?;
        let in_flow = self.in_flow(at);
        let is_line = !self.chars[extent.clone()].contains(&'\n');
        let (parent, step) = (self.find(&at[..at.len().checked_sub(1)?])?, at.last()?);
        let Step::Key(name) = step else {
            let line = self.inline(value)?;
            return Some(Change::new(extent, line));
        };
        let slot = parent.fields().position(|(key, _)| key == name)?;
        let key = parent.key_span(slot)?;
        if in_flow {
            let line = self.inline(value)?;
            return Some(match extent.is_empty() {
                true => {
                    let behind = self.colon(key.end)? + 1;
                    Change::new(behind..behind, format!(" {line}"))
                }
                false => Change::new(extent, line),
            });
        }
        let indent = key.start - self.line_start(key.start);
        let text = yaml_text::behind(value, indent);
        // A text that stays on its line leaves everything around it alone.
        if is_line && !text.contains('\n') && !extent.is_empty() {
            return Some(Change::new(extent, text.trim_start().to_owned()));
        }
        let behind = self.colon(key.end)? + 1;
        let end = extent.end.max(behind);
        Some(Change::new(behind..end, self.broken(&text)))
    }

    fn add_field(&self, at: &[Step], value: &Value) -> Option<Change> {
        let (step, above) = at.split_last()?;
        let Step::Key(name) = step else {
            return None;
        };
        let parent = self.find(above)?;
        if parent.style() != Style::Mapping {
            return None;
        }
        let last = self.last_end(parent)?;
        if self.is_flow(parent) {
            let field = format!("{}: {}", self.key(name), self.inline(value)?);
            let place = last.unwrap_or(parent.span().start + 1);
            let text = match last {
                None => field,
                Some(_) => format!("{}{field}", self.comma(parent)),
            };
            return Some(Change::new(place..place, text));
        }
        let place = self.line_end(last?);
        let first = parent.key_span(0)?.start;
        let indent = first - self.line_start(first);
        let text = format!(
            "\n{}{}:{}",
            " ".repeat(indent),
            self.key(name),
            yaml_text::behind(value, indent)
        );
        Some(Change::new(place..place, self.broken(&text)))
    }

    /// What stands between the parts of a list or an object in brackets: a new line if each part
    /// has one of its own.
    fn comma(&self, at: At<'t>) -> String {
        let first = match at.style() {
            Style::Mapping => at.key_span(0).map(|key| key.start),
            _ => at.items().next().map(|item| item.span().start),
        };
        let Some(first) = first else {
            return ", ".to_owned();
        };
        let start = self.line_start(first);
        match self.chars[start..first].iter().all(|c| c.is_whitespace()) {
            true => {
                let indent: String = self.chars[start..first].iter().collect();
                format!(",{}{indent}", self.line_break())
            }
            false => ", ".to_owned(),
        }
    }

    fn remove(&self, at: &[Step]) -> Option<Change> {
        let (step, above) = at.split_last()?;
        let parent = self.find(above)?;
        let (slot, parts) = match step {
            Step::Key(name) => {
                let slot = parent.fields().position(|(key, _)| key == name)?;
                let fields = 0..parent.fields().count();
                let parts = fields.map(|slot| self.field(parent, slot));
                (slot, parts.collect::<Option<Vec<_>>>()?)
            }
            Step::Place(place) => {
                let parts = parent.items().map(|item| self.extent(item));
                (*place, parts.collect::<Option<Vec<_>>>()?)
            }
        };
        let own = parts.get(slot)?.clone();
        if self.is_flow(parent) {
            let stretch = match (slot.checked_sub(1), parts.get(slot + 1)) {
                (Some(before), _) => parts[before].end..own.end,
                (None, Some(next)) => own.start..next.start,
                (None, None) => own,
            };
            return Some(Change::new(stretch, String::new()));
        }
        if parts.len() == 1 {
            return None;
        }
        self.remove_lines(own, slot + 1 == parts.len(), matches!(step, Step::Place(_)))
    }

    /// Takes whole lines away, and the blank line that set an item apart.
    fn remove_lines(&self, own: Range<usize>, last: bool, item: bool) -> Option<Change> {
        let mut start = self.line_start(own.start);
        let lead: String = self.chars[start..own.start].iter().collect();
        let fits = match item {
            true => lead.trim() == "-",
            false => lead.trim().is_empty(),
        };
        if !fits {
            return None;
        }
        let end = self.after_line(self.line_end(own.end));
        let before = start.checked_sub(1).map(|at| self.line_start(at));
        let is_blank = |from: usize, to: usize| {
            let line = self.chars.get(from..to);
            line.is_some_and(|line| line.iter().all(|c| c.is_whitespace()))
        };
        let blank_before = before.is_some_and(|at| is_blank(at, start));
        let blank_after = end < self.chars.len() && is_blank(end, self.line_end(end));
        if let Some(before) = before
            && item
            && blank_before
            && (blank_after || last)
        {
            start = before;
        }
        // The last line of a text may have no end; then the line before loses its own.
        if end == self.chars.len() && self.chars.last() != Some(&'\n') && start > 0 {
            start = self.line_end(start - 1).min(start - 1);
        }
        Some(Change::new(start..end, String::new()))
    }

    fn insert(&self, list: At<'t>, place: usize, value: &Value) -> Option<Change> {
        let items: Vec<_> = list.items().collect();
        let before = place.checked_sub(1).and_then(|at| items.get(at));
        if self.is_flow(list) {
            let line = self.inline(value)?;
            return Some(match (before, items.first()) {
                (Some(before), _) => {
                    let at = self.extent(*before)?.end;
                    Change::new(at..at, format!("{}{line}", self.comma(list)))
                }
                (None, Some(first)) => {
                    let at = first.span().start;
                    Change::new(at..at, format!("{line}{}", self.comma(list)))
                }
                (None, None) => {
                    let at = list.span().start + 1;
                    Change::new(at..at, line)
                }
            });
        }
        let beside = before.or(items.first())?;
        let dash = self.line_start(beside.span().start);
        let indent = self.depth(dash);
        let in_braces = Self::is_container(*beside) && self.is_flow(*beside);
        let text = match self.inline(value).filter(|_| in_braces) {
            Some(line) => format!("{}- {line}", " ".repeat(indent)),
            None => yaml_text::dashed(value, indent),
        };
        Some(match before {
            None => Change::new(dash..dash, self.broken(&format!("{text}\n"))),
            Some(before) => {
                let at = self.line_end(self.extent(*before)?.end);
                let apart = if self.are_apart(&items)? {
                    "\n\n"
                } else {
                    "\n"
                };
                Change::new(at..at, self.broken(&format!("{apart}{text}")))
            }
        })
    }

    /// Whether blank lines stand between the items of a list.
    fn are_apart(&self, items: &[At<'t>]) -> Option<bool> {
        let [first, second, ..] = items else {
            return Some(false);
        };
        let end = self.after_line(self.line_end(self.extent(*first)?.end));
        let next = self.line_start(second.span().start);
        let between: String = self.chars.get(end..next)?.iter().collect();
        Some(between.lines().any(|line| line.trim().is_empty()))
    }
}
