//! Finds matches by a regular expression or a function, with positions in UTF-16 units.

use crate::error::{ExprResult, Flaw};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::val::{Func, Val};
use crate::functions::pattern::{RegexMatch, RegexPattern};
use crate::value::{Str, Value};
use std::rc::Rc;
use std::sync::Arc;

/// A match, by either method.
pub(super) struct TextMatch {
    pub(super) text: Str,
    /// UTF-16 units, as JavaScript counts.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) groups: Vec<Val>,
}

impl Machine<'_> {
    /// Calls a regular expression as a function.
    pub(crate) fn apply_regex(
        &mut self,
        pattern: &Arc<RegexPattern>,
        args: Vec<Val>,
    ) -> ExprResult<Val> {
        match args.first().and_then(Val::as_str) {
            Some(text) => self.next_match(pattern, text, 0),
            None => Ok(Val::Undef),
        }
    }

    /// The next match as an object, with a function for the one after it.
    pub(crate) fn next_match(
        &mut self,
        pattern: &Arc<RegexPattern>,
        text: &Str,
        from: usize,
    ) -> ExprResult<Val> {
        if from > 0 && from >= text.len() {
            return Ok(Val::Undef);
        }
        let Some(found) = self.search(pattern, text, from)? else {
            return Ok(Val::Undef);
        };
        let start = utf16_len(&text[..found.start]);
        let matched = &text[found.start..found.end];
        let groups = self.make_array(groups_of(text, &found))?;
        let next = Func::Next(pattern.clone(), text.clone(), found.end);
        self.make_object(vec![
            (Str::new_static("match"), Val::text(matched)),
            (Str::new_static("start"), Val::count(start)),
            (
                Str::new_static("end"),
                Val::count(start + utf16_len(matched)),
            ),
            (Str::new_static("groups"), groups),
            (Str::new_static("next"), Val::Func(Rc::new(next))),
        ])
    }

    fn search(
        &mut self,
        pattern: &RegexPattern,
        text: &str,
        from: usize,
    ) -> ExprResult<Option<RegexMatch>> {
        self.meter
            .burn(4 + (text.len() - from.min(text.len())) as u64 / 16)?;
        let found = pattern.find(text, from)?;
        if let Some(found) = &found {
            // Skipped text was charged above; here the match is.
            self.meter.text(found.end - found.start)?;
            if found.start == found.end {
                let message = "the regular expression matches empty text";
                return Err(Flaw::new("D1004", message).value(Value::from(pattern.source())));
            }
        }
        Ok(found)
    }

    /// All matches, up to a maximum number.
    pub(super) fn matches(
        &mut self,
        text: &Str,
        matcher: &Rc<Func>,
        most: f64,
        env: &Env,
    ) -> ExprResult<Vec<TextMatch>> {
        match &**matcher {
            Func::Regex(pattern) => self.regex_matches(text, pattern, most),
            _ => self.custom_matches(text, matcher, most, env),
        }
    }

    fn regex_matches(
        &mut self,
        text: &Str,
        pattern: &RegexPattern,
        most: f64,
    ) -> ExprResult<Vec<TextMatch>> {
        let mut matches = Vec::new();
        let (mut at, mut counted) = (0, 0);
        let mut counted_to = 0;
        while (matches.len() as f64) < most {
            let Some(found) = self.search(pattern, text, at)? else {
                break;
            };
            counted += utf16_len(&text[counted_to..found.start]);
            counted_to = found.start;
            let matched = &text[found.start..found.end];
            matches.push(TextMatch {
                text: matched.into(),
                start: counted,
                end: counted + utf16_len(matched),
                groups: groups_of(text, &found),
            });
            self.meter.items(1)?;
            at = found.end;
            if at >= text.len() {
                break;
            }
        }
        Ok(matches)
    }

    fn custom_matches(
        &mut self,
        text: &Str,
        matcher: &Rc<Func>,
        most: f64,
        env: &Env,
    ) -> ExprResult<Vec<TextMatch>> {
        let mut matches = Vec::new();
        let mut result = self.apply(matcher, vec![Val::text(text.clone())], &Val::Undef, env)?;
        while !result.is_undef() && (matches.len() as f64) < most {
            self.meter.items(1)?;
            let field = |on: &mut Self, name| on.lookup(&result, name);
            let matched = field(self, "match")?;
            let start = field(self, "start")?;
            let end = field(self, "end")?;
            let groups = field(self, "groups")?;
            let next = field(self, "next")?;
            let (Some(start), Some(end), true, Some(next)) = (
                start.as_f64(),
                end.as_f64(),
                groups.is_array(),
                next.as_func(),
            ) else {
                let message = "a matcher function must return an object with match, start, end, groups and next";
                return Err(Flaw::new("T1010", message));
            };
            matches.push(TextMatch {
                text: matched.as_str().cloned().unwrap_or_default(),
                start: start.max(0.0) as usize,
                end: end.max(0.0) as usize,
                groups: groups.items().iter().collect(),
            });
            result = self.apply(next, Vec::new(), &Val::Undef, env)?;
        }
        Ok(matches)
    }
}

fn groups_of(text: &str, found: &RegexMatch) -> Vec<Val> {
    let groups = found.groups.iter();
    let group = |group: &Option<(usize, usize)>| match *group {
        Some((start, end)) => Val::text(&text[start..end]),
        None => Val::Json(Value::Null, 0),
    };
    groups.map(group).collect()
}

pub(super) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

/// Maps UTF-16 positions to byte offsets.
pub(super) struct Utf16Index {
    /// The byte offset of each unit; `None` for ASCII text, where both are equal.
    bytes: Option<Vec<usize>>,
    length: usize,
}

impl Utf16Index {
    pub(super) fn new(text: &str) -> Self {
        let bytes = (!text.is_ascii()).then(|| {
            text.char_indices()
                .flat_map(|(at, letter)| std::iter::repeat_n(at, letter.len_utf16()))
                .collect()
        });
        Self {
            bytes,
            length: text.len(),
        }
    }

    fn byte(&self, unit: usize) -> usize {
        match &self.bytes {
            None => unit.min(self.length),
            Some(bytes) => bytes.get(unit).copied().unwrap_or(self.length),
        }
    }

    pub(super) fn span(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        let from = self.byte(from);
        from..self.byte(to).max(from)
    }
}
