//! A span as it is exported: what happened, when, and what it belongs to.

use tramline_core::Str;

/// Longer texts in attributes are cut, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 10;
/// Longer words about an error are cut, in bytes.
pub(crate) const SAYS_BYTES_MAX: usize = 1 << 10;

/// What a span stands for, as OTLP numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something inside of us.
    Internal = 1,
    /// A call that left.
    Client = 3,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    Text(Str),
    Number(i64),
}

/// One span, over.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace: u128,
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) state: Option<Str>,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) began_ms: i64,
    pub(crate) ended_ms: i64,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    /// What went wrong, if anything did.
    pub(crate) error: Option<String>,
}

impl Span {
    /// Adds a text.
    pub(crate) fn text(&mut self, name: &'static str, text: impl Into<Str>) {
        self.attributes.push((name, Attribute::Text(text.into())));
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, name: &'static str, number: impl TryInto<i64>) {
        let number = number.try_into().unwrap_or(i64::MAX);
        self.attributes.push((name, Attribute::Number(number)));
    }
}

/// The beginning of a text, cut where a character ends.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
