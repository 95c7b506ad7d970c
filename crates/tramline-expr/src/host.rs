//! What surrounds an evaluation: functions that the embedding program adds, its clock, its dice.

use crate::value::Value;
use std::borrow::Cow;

/// The names of host functions, known when an expression is compiled. A function's number is its
/// place in the list.
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

    /// Names from a list that lives as long as the program.
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

/// One place in an expression where a host function is named.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCall {
    /// The function's number in [`HostFunctions`].
    pub function: usize,
    /// Its arguments, where they are literals.
    pub arguments: Vec<Option<Value>>,
    /// Whether it is called; otherwise it is used as a value.
    pub called: bool,
}

/// The surroundings of an evaluation. The crate itself has no clock and no randomness.
pub trait Host {
    /// Calls a host function; an argument or result of `None` is JSONata's undefined.
    fn call(&self, function: usize, arguments: &[Option<Value>]) -> Result<Option<Value>, String>;

    /// The time for `$now` and `$millis`, asked once per evaluation.
    fn now_ms(&self) -> i64;

    /// The next random number from 0 up to but not including 1, for `$random` and `$shuffle`.
    fn random(&self) -> f64;

    /// How many random numbers were drawn so far, for an evaluation that may be done again.
    fn drawn(&self) -> u64 {
        0
    }

    /// Goes back to where so many random numbers were drawn.
    fn draw_again_from(&self, _drawn: u64) {}
}

/// No surroundings: the clock stands at 0, every random number is one half, no function is known.
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
