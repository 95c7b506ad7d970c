//! Functions that search text: by a string, by a regular expression, by a function.

use super::pattern::{Found, Pattern};
use crate::error::{Flaw, Outcome};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::val::{Func, Sequence, Val};
use crate::value::{Str, Value};
use std::rc::Rc;
use std::sync::Arc;

/// A match, however it was found.
struct Match {
    text: Str,
    /// UTF-16 units, as JavaScript counts.
    start: usize,
    end: usize,
    groups: Vec<Val>,
}

impl Machine<'_> {
    /// A regular expression called as a function.
    pub(crate) fn apply_regex(&mut self, pattern: &Arc<Pattern>, args: Vec<Val>) -> Outcome<Val> {
        match args.first().and_then(Val::as_str) {
            Some(text) => self.next_match(pattern, text, 0),
            None => Ok(Val::Undef),
        }
    }

    /// The next match as an object, with a function for the one after it.
    pub(crate) fn next_match(
        &mut self,
        pattern: &Arc<Pattern>,
        text: &Str,
        from: usize,
    ) -> Outcome<Val> {
        if from > 0 && from >= text.len() {
            return Ok(Val::Undef);
        }
        let Some(found) = self.search(pattern, text, from)? else {
            return Ok(Val::Undef);
        };
        let start = units(&text[..found.start]);
        let matched = &text[found.start..found.end];
        let groups = self.make_array(groups_of(text, &found))?;
        let next = Func::Next(pattern.clone(), text.clone(), found.end);
        self.make_object(vec![
            (Str::new_static("match"), Val::text(matched)),
            (Str::new_static("start"), Val::count(start)),
            (Str::new_static("end"), Val::count(start + units(matched))),
            (Str::new_static("groups"), groups),
            (Str::new_static("next"), Val::Func(Rc::new(next))),
        ])
    }

    fn search(&mut self, pattern: &Pattern, text: &str, from: usize) -> Outcome<Option<Found>> {
        self.meter
            .burn(4 + (text.len() - from.min(text.len())) as u64 / 16)?;
        let found = pattern.find(text, from)?;
        if let Some(found) = &found {
            // What is skipped is paid for once, and so is what matched.
            self.meter.text(found.end - found.start)?;
            if found.start == found.end {
                let message = "the regular expression matches empty text";
                return Err(Flaw::new("D1004", message).value(Value::from(pattern.source())));
            }
        }
        Ok(found)
    }

    /// All matches, up to a number.
    fn matches(
        &mut self,
        text: &Str,
        matcher: &Rc<Func>,
        most: f64,
        env: &Env,
    ) -> Outcome<Vec<Match>> {
        match &**matcher {
            Func::Regex(pattern) => self.regex_matches(text, pattern, most),
            _ => self.custom_matches(text, matcher, most, env),
        }
    }

    fn regex_matches(&mut self, text: &Str, pattern: &Pattern, most: f64) -> Outcome<Vec<Match>> {
        let mut matches = Vec::new();
        let (mut at, mut counted) = (0, 0);
        let mut counted_to = 0;
        while (matches.len() as f64) < most {
            let Some(found) = self.search(pattern, text, at)? else {
                break;
            };
            counted += units(&text[counted_to..found.start]);
            counted_to = found.start;
            let matched = &text[found.start..found.end];
            matches.push(Match {
                text: matched.into(),
                start: counted,
                end: counted + units(matched),
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
    ) -> Outcome<Vec<Match>> {
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
                let message = "a matcher function must return a match, its start and end, its groups and the next";
                return Err(Flaw::new("T1010", message));
            };
            matches.push(Match {
                text: matched.as_str().cloned().unwrap_or_default(),
                start: start.max(0.0) as usize,
                end: end.max(0.0) as usize,
                groups: groups.items().iter().collect(),
            });
            result = self.apply(next, Vec::new(), &Val::Undef, env)?;
        }
        Ok(matches)
    }

    pub(super) fn match_all(
        &mut self,
        text: &Val,
        matcher: &Val,
        limit: &Val,
        env: &Env,
    ) -> Outcome<Val> {
        let (Some(text), Some(matcher)) = (text.as_str(), matcher.as_func()) else {
            return Ok(Val::Undef);
        };
        let most = limit_of(limit, "D3040", "$match")?;
        let mut found = Sequence::default();
        for Match {
            text,
            start,
            groups,
            ..
        } in self.matches(text, matcher, most, env)?
        {
            let groups = self.make_array(groups)?;
            found.push(self.make_object(vec![
                (Str::new_static("match"), Val::text(text)),
                (Str::new_static("index"), Val::count(start)),
                (Str::new_static("groups"), groups),
            ])?);
        }
        Ok(found.raw())
    }

    pub(super) fn contains(&mut self, text: &Val, token: &Val, env: &Env) -> Outcome<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.burn(text.len() as u64 / 16)?;
        match token {
            Val::Func(matcher) => Ok(Val::bool(
                !self.matches(text, matcher, 1.0, env)?.is_empty(),
            )),
            Val::Undef => Ok(Val::Undef),
            other => Ok(Val::bool(
                other
                    .as_str()
                    .is_some_and(|token| text.contains(token.as_str())),
            )),
        }
    }

    pub(super) fn split(
        &mut self,
        text: &Val,
        separator: &Val,
        limit: &Val,
        env: &Env,
    ) -> Outcome<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        let most = limit_of(limit, "D3020", "$split")?;
        self.meter.text(text.len())?;
        let mut pieces = Vec::new();
        match separator {
            Val::Func(matcher) => {
                let mut at = 0;
                let matches = self.matches(text, matcher, most, env)?;
                let places = Units::new(text);
                for found in &matches {
                    pieces.push(Val::text(&text[places.span(at, found.start)]));
                    at = found.end;
                }
                if (matches.len() as f64) < most {
                    pieces.push(Val::text(&text[places.span(at, usize::MAX)]));
                }
            }
            other => {
                let separator = other.as_str().cloned().unwrap_or_default();
                // The cast of what is not a number gives 0, as in the reference.
                let most = if most.is_infinite() {
                    usize::MAX
                } else {
                    most as usize
                };
                if separator.is_empty() {
                    self.meter.items(text.len().min(most))?;
                    let mut letter = [0; 4];
                    let letters = text.chars().take(most);
                    pieces.extend(letters.map(|c| Val::text(&*c.encode_utf8(&mut letter))));
                } else {
                    for piece in text.split(separator.as_str()).take(most) {
                        self.meter.items(1)?;
                        pieces.push(Val::text(piece));
                    }
                }
            }
        }
        self.make_array(pieces)
    }

    pub(super) fn replace(&mut self, args: &[Val], env: &Env) -> Outcome<Val> {
        let Some(text) = args[0].as_str() else {
            return Ok(Val::Undef);
        };
        if args[1].as_str().is_some_and(|pattern| pattern.is_empty()) {
            return Err(
                Flaw::new("D3010", "$replace needs something to look for").value(Value::from(""))
            );
        }
        let most = limit_of(&args[3], "D3011", "$replace")?;
        self.meter.text(text.len())?;
        match &args[1] {
            Val::Func(matcher) => self.replace_matches(text, matcher, &args[2], most, env),
            pattern => {
                // Nothing to look for would be found everywhere, for ever.
                let Some(pattern) = pattern.as_str().cloned() else {
                    let message = "argument 2 of $replace, what to look for, is missing";
                    return Err(Flaw::new("T0410", message));
                };
                let Some(with) = args[2].as_str() else {
                    return self.replace_text(text, &pattern, &args[2], most, env);
                };
                let mut out = String::new();
                let (mut at, mut count) = (0, 0.0);
                while count < most {
                    let Some(found) = text[at..].find(pattern.as_str()) else {
                        break;
                    };
                    self.meter.text(with.len())?;
                    self.meter.burn(1)?;
                    out.push_str(&text[at..at + found]);
                    out.push_str(with);
                    at += found + pattern.len();
                    count += 1.0;
                }
                out.push_str(&text[at..]);
                Ok(Val::text(out))
            }
        }
    }

    /// A string is looked for, and a function gives what to put in its place.
    fn replace_text(
        &mut self,
        text: &str,
        pattern: &str,
        with: &Val,
        most: f64,
        env: &Env,
    ) -> Outcome<Val> {
        let mut out = String::new();
        let (mut at, mut count) = (0, 0.0);
        while count < most {
            let Some(found) = text[at..].find(pattern) else {
                break;
            };
            self.meter.burn(1)?;
            out.push_str(&text[at..at + found]);
            let piece = Match {
                text: pattern.into(),
                start: units(&text[..at + found]),
                end: units(&text[..at + found + pattern.len()]),
                groups: Vec::new(),
            };
            out.push_str(&self.replacement(&piece, with, env)?);
            at += found + pattern.len();
            count += 1.0;
        }
        out.push_str(&text[at..]);
        Ok(Val::text(out))
    }

    fn replace_matches(
        &mut self,
        text: &Str,
        matcher: &Rc<Func>,
        with: &Val,
        most: f64,
        env: &Env,
    ) -> Outcome<Val> {
        let matches = self.matches(text, matcher, most, env)?;
        let places = Units::new(text);
        let mut out = String::new();
        let mut at = 0;
        for found in &matches {
            out.push_str(&text[places.span(at, found.start)]);
            out.push_str(&self.replacement(found, with, env)?);
            at = found.end;
        }
        out.push_str(&text[places.span(at, usize::MAX)]);
        Ok(Val::text(out))
    }

    fn replacement(&mut self, found: &Match, with: &Val, env: &Env) -> Outcome<Str> {
        let text = match with {
            Val::Func(func) => {
                let groups = self.make_array(found.groups.clone())?;
                let object = self.make_object(vec![
                    (Str::new_static("match"), Val::text(found.text.clone())),
                    (Str::new_static("start"), Val::count(found.start)),
                    (Str::new_static("end"), Val::count(found.end)),
                    (Str::new_static("groups"), groups),
                ])?;
                let val = self.apply(func, vec![object], &Val::Undef, env)?;
                match val.as_str() {
                    Some(text) => text.clone(),
                    None => {
                        let message = "the function given to $replace must return a string";
                        return Err(Flaw::new("D3012", message).value(val.to_value()));
                    }
                }
            }
            other => expand(other.as_str().map_or("", Str::as_str), found).into(),
        };
        self.meter.text(text.len())?;
        Ok(text)
    }
}

fn groups_of(text: &str, found: &Found) -> Vec<Val> {
    let groups = found.groups.iter();
    let group = |group: &Option<(usize, usize)>| match *group {
        Some((start, end)) => Val::text(&text[start..end]),
        None => Val::Json(Value::Null, 0),
    };
    groups.map(group).collect()
}

fn units(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

/// Finds the bytes that UTF-16 places mean.
struct Units {
    /// Bytes at each unit; none where the text is ASCII and they are the same.
    bytes: Option<Vec<usize>>,
    length: usize,
}

impl Units {
    fn new(text: &str) -> Self {
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

    fn span(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        let from = self.byte(from);
        from..self.byte(to).max(from)
    }
}

/// How many to find at most; a negative limit is an error.
fn limit_of(limit: &Val, code: &'static str, name: &str) -> Outcome<f64> {
    match limit.as_f64() {
        None => Ok(f64::INFINITY),
        Some(limit) if limit < 0.0 => {
            let message = format!("the limit of {name} cannot be negative");
            Err(Flaw::new(code, message).value(Value::from(limit)))
        }
        Some(limit) => Ok(limit),
    }
}

/// Fills `$0`, `$1` and so on into a replacement; `$$` is a dollar sign.
fn expand(with: &str, found: &Match) -> String {
    let mut out = String::new();
    let mut rest = with;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix('0') {
            out.push_str(&found.text);
            rest = after;
            continue;
        }
        let groups = found.groups.len();
        let most = if groups == 0 {
            1
        } else {
            groups.ilog10() as usize + 1
        };
        let digits = rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        let read = |digits: usize| rest[..digits].parse::<usize>().ok();
        let mut number = read(digits);
        if most > 1 && number.is_some_and(|number| number > groups) {
            number = read(digits.min(most - 1));
        }
        match number {
            Some(number) => {
                if let Some(text) = number
                    .checked_sub(1)
                    .and_then(|at| found.groups.get(at)?.as_str())
                {
                    out.push_str(text);
                }
                rest = &rest[number.to_string().len().min(rest.len())..];
            }
            None => out.push('$'),
        }
    }
    out.push_str(rest);
    out
}
