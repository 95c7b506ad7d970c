//! Parses environment variables: texts, numbers, lists of known words, pairs.

use super::InvalidVariable;
use std::ops::RangeInclusive;

/// Environment variables, looked up by name. An empty one counts as not set.
pub(super) struct EnvVars<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> EnvVars<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup }
    }

    pub(super) fn text(&self, variable: &str) -> Option<String> {
        let text = (self.lookup)(variable)?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn is_true(&self, variable: &str) -> Result<bool, InvalidVariable> {
        let text = self.text(variable).unwrap_or_default();
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "" | "false" | "0" => Ok(false),
            _ => Err(invalid(variable, "write true or false".to_owned())),
        }
    }

    /// The words of a list. Each must be one of `known`.
    pub(super) fn list<'k>(
        &self,
        variable: &str,
        known: &[&'k str],
    ) -> Result<Vec<&'k str>, InvalidVariable> {
        let text = self.text(variable).unwrap_or_default();
        let words = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        words
            .map(|word| {
                let found = known.iter().find(|it| **it == word).copied();
                let says = || format!("unknown value `{word}`; use {}", known.join(", "));
                found.ok_or_else(|| invalid(variable, says()))
            })
            .collect()
    }

    pub(super) fn number(
        &self,
        variable: &str,
        usual: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, InvalidVariable> {
        let Some(text) = self.text(variable) else {
            return Ok(usual);
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let says = format!(
                "write a whole number from {} to {}",
                range.start(),
                range.end()
            );
            invalid(variable, says)
        })
    }
}

pub(super) fn invalid(variable: &str, says: String) -> InvalidVariable {
    InvalidVariable {
        variable: variable.to_owned(),
        message: says,
    }
}

/// `name=value,name=value` with percent-encoded values; `None` if the text is invalid.
pub(super) fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let read = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = reqwest::header::HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
        let value = percent_decoded(value.trim());
        reqwest::header::HeaderValue::from_str(&value).ok()?;
        Some((name.as_str().to_owned(), value))
    });
    read.collect()
}

/// A text with percent-encoding decoded; invalid sequences stay unchanged.
pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let decoded = (first == b'%')
            .then(|| after.get(..2).and_then(hex))
            .flatten();
        bytes.push(decoded.unwrap_or(first));
        rest = if decoded.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
