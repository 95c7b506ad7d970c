//! What the embedding program provides to an evaluation: functions, a clock and random numbers.

use crate::value::Value;
use std::borrow::Cow;

/// The names of host functions, known at compile time. A function's number is its index in the
/// list.
#[derive(Clone, Debug, Default)]
pub struct HostFunctions {
    names: Cow<'static, [&'static str]>,
}

impl HostFunctions {
    /// These names, without the `$` that calls them.
    pub fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            names: names.into_iter().collect(),
        }
    }

    /// Names from a static list.
    pub const fn from_static(names: &'static [&'static str]) -> Self {
        Self {
            names: Cow::Borrowed(names),
        }
    }

    /// No host functions.
    pub const fn none() -> Self {
        Self::from_static(&[])
    }

    /// The names, in the order of their numbers.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| *known == name)
    }
}

/// One use of a host function in an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCall {
    /// The function's number in [`HostFunctions`].
    pub function: usize,
    /// Its arguments, where they are literals.
    pub arguments: Vec<Option<Value>>,
    /// Whether it is called; otherwise it is used as a value.
    pub called: bool,
}

/// What the embedding program provides. The crate itself has no clock and no randomness.
pub trait Host {
    /// Calls a host function; an argument or result of `None` is JSONata's undefined.
    fn call(&self, function: usize, arguments: &[Option<Value>]) -> Result<Option<Value>, String>;

    /// The time for `$now` and `$millis`, in milliseconds; read once per evaluation.
    fn now_ms(&self) -> i64;

    /// The next random number from 0 up to but not including 1, for `$random` and `$shuffle`.
    fn random(&self) -> f64;

    /// How many random numbers have been drawn, for an evaluation that may be repeated.
    fn random_draws(&self) -> u64 {
        0
    }

    /// Resets the generator to the state after that many random numbers.
    fn rewind_random(&self, _drawn: u64) {}
}

/// No host: the clock is at 0, every random number is 0.5, no function is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn call(&self, _: usize, _: &[Option<Value>]) -> Result<Option<Value>, String> {
        Err("there are no host functions here".to_owned())
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn random(&self) -> f64 {
        0.5
    }
}
