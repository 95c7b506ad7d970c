//! `$replace`: replaces matches by text or by the result of a function.

use super::max_matches;
use super::search::{TextMatch, Utf16Index, utf16_len};
use crate::error::{ExprResult, Flaw};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::val::{Func, Val};
use crate::value::{Str, Value};
use std::rc::Rc;

impl Machine<'_> {
    pub(in crate::functions) fn replace(&mut self, args: &[Val], env: &Env) -> ExprResult<Val> {
        let Some(text) = args[0].as_str() else {
            return Ok(Val::Undef);
        };
        if args[1].as_str().is_some_and(|pattern| pattern.is_empty()) {
            return Err(
                Flaw::new("D3010", "the pattern of $replace is empty").value(Value::from(""))
            );
        }
        let most = max_matches(&args[3], "D3011", "$replace")?;
        self.meter.text(text.len())?;
        match &args[1] {
            Val::Func(matcher) => self.replace_matches(text, matcher, &args[2], most, env),
            pattern => {
                // An empty pattern would match everywhere, forever.
                let Some(pattern) = pattern.as_str().cloned() else {
                    let message = "argument 2 of $replace, the pattern, is missing";
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

    /// Searches for a string and calls a function for each replacement.
    fn replace_text(
        &mut self,
        text: &str,
        pattern: &str,
        with: &Val,
        most: f64,
        env: &Env,
    ) -> ExprResult<Val> {
        let mut out = String::new();
        let (mut at, mut count) = (0, 0.0);
        while count < most {
            let Some(found) = text[at..].find(pattern) else {
                break;
            };
            self.meter.burn(1)?;
            out.push_str(&text[at..at + found]);
            let piece = TextMatch {
                text: pattern.into(),
                start: utf16_len(&text[..at + found]),
                end: utf16_len(&text[..at + found + pattern.len()]),
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
    ) -> ExprResult<Val> {
        let matches = self.matches(text, matcher, most, env)?;
        let places = Utf16Index::new(text);
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

    fn replacement(&mut self, found: &TextMatch, with: &Val, env: &Env) -> ExprResult<Str> {
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

/// Substitutes `$0`, `$1` and so on in a replacement; `$$` is a dollar sign.
fn expand(with: &str, found: &TextMatch) -> String {
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
