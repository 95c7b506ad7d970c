//! Errors of expressions: a code, a position, and the value that caused them.

use crate::value::{Str, Value};
use std::fmt;
use std::ops::Range;

/// An expression that does not compile, or an evaluation that failed.
///
/// Codes starting with `S`, `T` and `D` are those of the reference implementation (syntax, types,
/// data); `S0303` is ours, for an invalid regular expression. Codes starting with `L` are limits:
/// `L0001` to `L0005` are those of [`crate::Limits`], `L0006` is a value that is nested too deeply,
/// `L0007` a source or pattern that is too long. `H0001` is an error returned by a host function.
#[derive(Clone, Debug, PartialEq)]
pub struct ExprError {
    /// The error code, such as `T2001`.
    pub code: Str,
    /// The error in one sentence.
    pub message: String,
    /// The position as the reference implementation reports it: UTF-16 units, usually the end of
    /// the token.
    pub position: Option<usize>,
    /// The byte range in the source that caused the error.
    pub span: Option<Range<usize>>,
    /// The token or function that caused the error.
    pub token: Option<Str>,
    /// The value that caused the error.
    pub value: Option<Value>,
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        match self.position {
            Some(position) => write!(f, " (at {position})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ExprError {}

/// Results inside the crate. The error is boxed so that the success case stays small.
pub(crate) type ExprResult<T> = Result<T, Box<Flaw>>;

/// An error before it is returned: positions are byte offsets until [`Flaw::into_error`].
#[derive(Debug)]
pub(crate) struct Flaw {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) span: Option<Span>,
    /// Where the reference points, if that is not the end of the span.
    pub(crate) position: Option<u32>,
    pub(crate) token: Option<Str>,
    pub(crate) value: Option<Value>,
    /// Set once the position is final, or when the reference gives none.
    pub(crate) has_position: bool,
    /// Came out of a call in tail position, which the reference does not attribute to the caller.
    pub(crate) tail: bool,
}

/// A range of bytes of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }
}

impl Flaw {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            code,
            message: message.into(),
            span: None,
            position: None,
            token: None,
            value: None,
            has_position: false,
            tail: false,
        })
    }

    pub(crate) fn at(mut self: Box<Self>, span: Span) -> Box<Self> {
        self.span = Some(span);
        self.has_position = true;
        self
    }

    /// Sets the position unless one is set: the innermost wins.
    pub(crate) fn or_at(mut self: Box<Self>, span: Span) -> Box<Self> {
        if !self.has_position {
            self.span = Some(span);
            self.has_position = true;
        }
        self
    }

    pub(crate) fn at_position(mut self: Box<Self>, position: u32) -> Box<Self> {
        self.position = Some(position);
        self
    }

    pub(crate) fn token(mut self: Box<Self>, token: impl Into<Str>) -> Box<Self> {
        self.token = Some(token.into());
        self
    }

    pub(crate) fn or_token(mut self: Box<Self>, token: &str) -> Box<Self> {
        if self.token.is_none() {
            self.token = Some(token.into());
        }
        self
    }

    pub(crate) fn value(mut self: Box<Self>, value: impl Into<Option<Value>>) -> Box<Self> {
        self.value = value.into();
        self
    }

    #[allow(clippy::boxed_local)] // flaws are always boxed
    pub(crate) fn into_error(self: Box<Self>, source: &str) -> ExprError {
        let end = self.position.or(self.span.map(|span| span.end));
        ExprError {
            code: Str::new_static(self.code),
            message: self.message,
            position: end.map(|end| utf16_offset(source, end as usize)),
            span: self.span.map(|span| span.start as usize..span.end as usize),
            token: self.token,
            value: self.value,
        }
    }
}

fn utf16_offset(source: &str, byte: usize) -> usize {
    let mut byte = byte.min(source.len());
    while !source.is_char_boundary(byte) {
        byte -= 1;
    }
    source[..byte].encode_utf16().count()
}
