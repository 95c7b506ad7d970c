//! Writes one elementary change into a text with the smallest possible patch.
//!
//! The caller parses the result and rejects it if it does not have the intended meaning, so this
//! code does not need to handle every YAML syntax.

use super::TextChange;
use super::op::{ValueOp, ValueStep};
use std::ops::Range;
use tramline_expr::Value;
use tramline_syntax::document::{SourceTree, Spanned, YamlStyle};
use tramline_syntax::yaml_text;

/// A text with its parsed document.
pub(super) struct EditableText<'t> {
    tree: &'t SourceTree,
    chars: Vec<char>,
    /// Whether the text is JSON, where everything is bracketed or quoted.
    json: bool,
}

impl<'t> EditableText<'t> {
    pub(super) fn new(tree: &'t SourceTree) -> Self {
        let chars: Vec<char> = tree.text().chars().collect();
        let json = serde_json::from_str::<serde::de::IgnoredAny>(tree.text()).is_ok();
        Self { tree, chars, json }
    }

    /// Candidate patches, smallest first.
    pub(super) fn changes(&self, op: &ValueOp) -> Vec<TextChange> {
        let found = match op {
            ValueOp::Set(at, value) => match self.find(at) {
                Some(old) => [self.patch_scalar(old, value), self.replace(at, old, value)],
                None => [self.add_field(at, value), None],
            },
            ValueOp::Remove(at) => [self.remove(at), None],
            ValueOp::Insert(at, place, value) => {
                let list = self.find(at);
                [list.and_then(|list| self.insert(list, *place, value)), None]
            }
        };
        found.into_iter().flatten().collect()
    }

    /// Patches part of a quoted string or a block and keeps its style.
    fn patch_scalar(&self, old: Spanned<'t>, value: &Value) -> Option<TextChange> {
        let (was, new) = (old.value.as_str()?, value.as_str()?);
        let head = was.chars().zip(new.chars()).take_while(|(a, b)| a == b);
        let head: usize = head.map(|(c, _)| c.len_utf8()).sum();
        let (mine, other) = (was[head..].chars().rev(), new[head..].chars().rev());
        let tail = mine.zip(other).take_while(|(a, b)| a == b);
        let tail: usize = tail.map(|(c, _)| c.len_utf8()).sum();
        let (gone, new) = (head..was.len() - tail, &new[head..new.len() - tail]);
        let written = match old.style() {
            YamlStyle::Plain | YamlStyle::Mapping | YamlStyle::Sequence => return None,
            YamlStyle::Single => new.replace('\'', "''"),
            YamlStyle::Double => {
                let quoted = Value::from(new).to_json();
                quoted.get(1..quoted.len() - 1)?.to_owned()
            }
            YamlStyle::Literal | YamlStyle::Folded if new.contains('\n') => return None,
            YamlStyle::Literal | YamlStyle::Folded => new.to_owned(),
        };
        let (start, end) = old.source_bytes(&gone)?;
        let text = self.tree.text();
        let chars = |byte: usize| text.get(..byte).map(|text| text.chars().count());
        let stretch = chars(start)?..chars(end.max(start))?;
        let stretch = if gone.is_empty() {
            stretch.start..stretch.start
        } else {
            stretch
        };
        Some(TextChange::new(stretch, written))
    }

    fn find(&self, at: &[ValueStep]) -> Option<Spanned<'t>> {
        at.iter()
            .try_fold(self.tree.root(), |here, step| match step {
                ValueStep::Key(key) => here.get(key),
                ValueStep::Index(place) => here.items().nth(*place),
            })
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    /// Whether a list or an object is written in flow style.
    fn is_flow(&self, at: Spanned<'_>) -> bool {
        matches!(self.char_at(at.char_range().start), Some('{' | '['))
    }

    fn is_container(at: Spanned<'_>) -> bool {
        matches!(at.style(), YamlStyle::Mapping | YamlStyle::Sequence)
    }

    /// The character range of a value.
    fn value_range(&self, at: Spanned<'t>) -> Option<Range<usize>> {
        let span = at.char_range();
        match at.style() {
            YamlStyle::Plain | YamlStyle::Single | YamlStyle::Double => {
                let end = self.trim_back(span.end.min(self.chars.len()), span.start);
                Some(span.start..end)
            }
            YamlStyle::Literal | YamlStyle::Folded => Some(span.start..self.block_end(span.start)),
            YamlStyle::Mapping | YamlStyle::Sequence => {
                let last = self.last_part_end(at)?;
                match self.is_flow(at) {
                    false => Some(span.start..last.unwrap_or(span.end)),
                    true => {
                        let close = self.closing_bracket(last.unwrap_or(span.start + 1))?;
                        Some(span.start..close + 1)
                    }
                }
            }
        }
    }

    /// The end of the last part of a list or an object, if it has parts.
    fn last_part_end(&self, at: Spanned<'t>) -> Option<Option<usize>> {
        if at.style() == YamlStyle::Sequence {
            let Some(last) = at.items().last() else {
                return Some(None);
            };
            return Some(Some(self.value_range(last)?.end));
        }
        let slots = at.fields().count();
        let Some(slot) = slots.checked_sub(1) else {
            return Some(None);
        };
        Some(Some(self.field_range(at, slot)?.end))
    }

    /// The character range of a field: its key and its value, if present.
    fn field_range(&self, at: Spanned<'t>, slot: usize) -> Option<Range<usize>> {
        let key = at.key_char_range(slot)?;
        let (_, value) = at.fields().nth(slot)?;
        let colon = self.colon_after(key.end)?;
        let extent = self.value_range(value)?;
        Some(key.start..extent.end.max(colon + 1))
    }

    /// The position of the colon after a key.
    fn colon_after(&self, from: usize) -> Option<usize> {
        let blank = |at: &usize| self.char_at(*at).is_some_and(|c| c == ' ' || c == '\t');
        let at = (from..).find(|at| !blank(at))?;
        (self.char_at(at) == Some(':')).then_some(at)
    }

    /// The position of the closing bracket, if no more parts follow.
    fn closing_bracket(&self, from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(c) = self.char_at(at) {
            match c {
                ']' | '}' => return Some(at),
                '#' => at = self.line_end(at),
                c if c.is_whitespace() || c == ',' => at += 1,
                _ => return None,
            }
        }
        None
    }

    /// The end of a block scalar: its lines are indented deeper than the line it starts on.
    fn block_end(&self, from: usize) -> usize {
        let depth = self.indentation(self.line_start(from));
        let mut end = self.line_end(from);
        let mut at = end;
        while at < self.chars.len() {
            let start = self.next_line_start(at);
            let stop = self.line_end(start);
            let blank = self.chars[start..stop].iter().all(|c| c.is_whitespace());
            if !blank && self.indentation(start) <= depth {
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

    /// The indentation of a line; a dash does not count.
    fn indentation(&self, start: usize) -> usize {
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
        match end > at && self.char_at(end - 1) == Some('\r') {
            true => end - 1,
            false => end,
        }
    }

    /// The start of the next line, given the end of the current one.
    fn next_line_start(&self, end: usize) -> usize {
        let skip = match (self.char_at(end), self.char_at(end + 1)) {
            (Some('\r'), Some('\n')) => 2,
            (Some(_), _) => 1,
            (None, _) => 0,
        };
        end + skip
    }

    /// Moves an offset back over whitespace, at most to `least`.
    fn trim_back(&self, mut at: usize, least: usize) -> usize {
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

    /// The text with this document's line breaks.
    fn with_line_breaks(&self, text: &str) -> String {
        text.replace('\n', self.line_break())
    }

    /// A value in flow style.
    fn inline(&self, value: &Value) -> Option<String> {
        match self.json {
            true => Some(value.to_json()),
            false => yaml_text::flow_text(value),
        }
    }

    fn key(&self, key: &str) -> String {
        match self.json {
            true => Value::from(key).to_json(),
            false => yaml_text::key_text(key),
        }
    }

    /// Whether any ancestor is written in flow style.
    fn in_flow(&self, at: &[ValueStep]) -> bool {
        let parents = (0..at.len()).filter_map(|depth| self.find(&at[..depth]));
        self.json
            || parents
                .into_iter()
                .any(|it| Self::is_container(it) && self.is_flow(it))
    }

    fn replace(&self, at: &[ValueStep], old: Spanned<'t>, value: &Value) -> Option<TextChange> {
        let extent = self.value_range(old)?;
        let in_flow = self.in_flow(at);
        let is_line = !self.chars[extent.clone()].contains(&'\n');
        let (parent, step) = (self.find(&at[..at.len().checked_sub(1)?])?, at.last()?);
        let ValueStep::Key(name) = step else {
            let line = self.inline(value)?;
            return Some(TextChange::new(extent, line));
        };
        let slot = parent.fields().position(|(key, _)| key == name)?;
        let key = parent.key_char_range(slot)?;
        if in_flow {
            let line = self.inline(value)?;
            return Some(match extent.is_empty() {
                true => {
                    let behind = self.colon_after(key.end)? + 1;
                    TextChange::new(behind..behind, format!(" {line}"))
                }
                false => TextChange::new(extent, line),
            });
        }
        let indent = key.start - self.line_start(key.start);
        let text = yaml_text::value_after_key(value, indent);
        // A scalar that stays on its line needs no changes around it.
        if is_line && !text.contains('\n') && !extent.is_empty() {
            return Some(TextChange::new(extent, text.trim_start().to_owned()));
        }
        let behind = self.colon_after(key.end)? + 1;
        let end = extent.end.max(behind);
        Some(TextChange::new(behind..end, self.with_line_breaks(&text)))
    }

    fn add_field(&self, at: &[ValueStep], value: &Value) -> Option<TextChange> {
        let (step, above) = at.split_last()?;
        let ValueStep::Key(name) = step else {
            return None;
        };
        let parent = self.find(above)?;
        if parent.style() != YamlStyle::Mapping {
            return None;
        }
        let last = self.last_part_end(parent)?;
        if self.is_flow(parent) {
            let field = format!("{}: {}", self.key(name), self.inline(value)?);
            let place = last.unwrap_or(parent.char_range().start + 1);
            let text = match last {
                None => field,
                Some(_) => format!("{}{field}", self.separator(parent)),
            };
            return Some(TextChange::new(place..place, text));
        }
        let place = self.line_end(last?);
        let first = parent.key_char_range(0)?.start;
        let indent = first - self.line_start(first);
        let text = format!(
            "\n{}{}:{}",
            " ".repeat(indent),
            self.key(name),
            yaml_text::value_after_key(value, indent)
        );
        Some(TextChange::new(place..place, self.with_line_breaks(&text)))
    }

    /// The separator between the parts of a flow list or object: with a line break if each part is on its
    /// own line.
    fn separator(&self, at: Spanned<'t>) -> String {
        let first = match at.style() {
            YamlStyle::Mapping => at.key_char_range(0).map(|key| key.start),
            _ => at.items().next().map(|item| item.char_range().start),
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

    fn remove(&self, at: &[ValueStep]) -> Option<TextChange> {
        let (step, above) = at.split_last()?;
        let parent = self.find(above)?;
        let (slot, parts) = match step {
            ValueStep::Key(name) => {
                let slot = parent.fields().position(|(key, _)| key == name)?;
                let fields = 0..parent.fields().count();
                let parts = fields.map(|slot| self.field_range(parent, slot));
                (slot, parts.collect::<Option<Vec<_>>>()?)
            }
            ValueStep::Index(place) => {
                let parts = parent.items().map(|item| self.value_range(item));
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
            return Some(TextChange::new(stretch, String::new()));
        }
        if parts.len() == 1 {
            return None;
        }
        self.remove_lines(
            own,
            slot + 1 == parts.len(),
            matches!(step, ValueStep::Index(_)),
        )
    }

    /// Removes whole lines, and the blank line that separated an item.
    fn remove_lines(&self, own: Range<usize>, last: bool, item: bool) -> Option<TextChange> {
        let mut start = self.line_start(own.start);
        let lead: String = self.chars[start..own.start].iter().collect();
        let fits = match item {
            true => lead.trim() == "-",
            false => lead.trim().is_empty(),
        };
        if !fits {
            return None;
        }
        let end = self.next_line_start(self.line_end(own.end));
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
        // If the last line has no line break, remove the one before it.
        if end == self.chars.len() && self.chars.last() != Some(&'\n') && start > 0 {
            start = self.line_end(start - 1).min(start - 1);
        }
        Some(TextChange::new(start..end, String::new()))
    }

    fn insert(&self, list: Spanned<'t>, place: usize, value: &Value) -> Option<TextChange> {
        let items: Vec<_> = list.items().collect();
        let before = place.checked_sub(1).and_then(|at| items.get(at));
        if self.is_flow(list) {
            let line = self.inline(value)?;
            return Some(match (before, items.first()) {
                (Some(before), _) => {
                    let at = self.value_range(*before)?.end;
                    TextChange::new(at..at, format!("{}{line}", self.separator(list)))
                }
                (None, Some(first)) => {
                    let at = first.char_range().start;
                    TextChange::new(at..at, format!("{line}{}", self.separator(list)))
                }
                (None, None) => {
                    let at = list.char_range().start + 1;
                    TextChange::new(at..at, line)
                }
            });
        }
        let beside = before.or(items.first())?;
        let dash = self.line_start(beside.char_range().start);
        let indent = self.indentation(dash);
        let in_braces = Self::is_container(*beside) && self.is_flow(*beside);
        let text = match self.inline(value).filter(|_| in_braces) {
            Some(line) => format!("{}- {line}", " ".repeat(indent)),
            None => yaml_text::list_item_text(value, indent),
        };
        Some(match before {
            None => TextChange::new(dash..dash, self.with_line_breaks(&format!("{text}\n"))),
            Some(before) => {
                let at = self.line_end(self.value_range(*before)?.end);
                let apart = if self.are_blank_separated(&items)? {
                    "\n\n"
                } else {
                    "\n"
                };
                TextChange::new(at..at, self.with_line_breaks(&format!("{apart}{text}")))
            }
        })
    }

    /// Whether the items of a list are separated by blank lines.
    fn are_blank_separated(&self, items: &[Spanned<'t>]) -> Option<bool> {
        let [first, second, ..] = items else {
            return Some(false);
        };
        let end = self.next_line_start(self.line_end(self.value_range(*first)?.end));
        let next = self.line_start(second.char_range().start);
        let between: String = self.chars.get(end..next)?.iter().collect();
        Some(between.lines().any(|line| line.trim().is_empty()))
    }
}
