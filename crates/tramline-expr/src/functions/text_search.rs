//! Functions that search text by a string, a regular expression or a function.

mod replace;
mod search;

use crate::error::{ExprResult, Flaw};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::val::{SequenceBuilder, Val};
use crate::value::{Str, Value};
use search::{TextMatch, Utf16Index};

impl Machine<'_> {
    pub(super) fn match_all(
        &mut self,
        text: &Val,
        matcher: &Val,
        limit: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let (Some(text), Some(matcher)) = (text.as_str(), matcher.as_func()) else {
            return Ok(Val::Undef);
        };
        let most = max_matches(limit, "D3040", "$match")?;
        let mut found = SequenceBuilder::default();
        for TextMatch {
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
        Ok(found.into_sequence())
    }

    pub(super) fn contains(&mut self, text: &Val, token: &Val, env: &Env) -> ExprResult<Val> {
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
    ) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        let most = max_matches(limit, "D3020", "$split")?;
        self.meter.text(text.len())?;
        let mut pieces = Vec::new();
        match separator {
            Val::Func(matcher) => {
                let mut at = 0;
                let matches = self.matches(text, matcher, most, env)?;
                let places = Utf16Index::new(text);
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
                // Casting NaN gives 0, as in the reference.
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
}

/// The maximum number of matches; a negative limit is an error.
fn max_matches(limit: &Val, code: &'static str, name: &str) -> ExprResult<f64> {
    match limit.as_f64() {
        None => Ok(f64::INFINITY),
        Some(limit) if limit < 0.0 => {
            let message = format!("the limit of {name} cannot be negative");
            Err(Flaw::new(code, message).value(Value::from(limit)))
        }
        Some(limit) => Ok(limit),
    }
}
