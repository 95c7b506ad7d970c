//! Dates and pictures: the arguments are taken apart here, the formatting is done in `text`.

use crate::error::{Flaw, Outcome};
use crate::eval::machine::Machine;
use crate::eval::val::Val;

impl Machine<'_> {
    pub(super) fn format_number(&mut self, _: &Val, _: &Val, _: &Val) -> Outcome<Val> {
        Err(pending())
    }

    pub(super) fn format_integer(&mut self, _: &Val, _: &Val) -> Outcome<Val> {
        Err(pending())
    }

    pub(super) fn parse_integer(&mut self, _: &Val, _: &Val) -> Outcome<Val> {
        Err(pending())
    }

    pub(super) fn to_millis(&mut self, _: &Val, _: &Val) -> Outcome<Val> {
        Err(pending())
    }

    pub(super) fn from_millis(&mut self, _: &Val, _: &Val, _: &Val) -> Outcome<Val> {
        Err(pending())
    }

    pub(super) fn now_text(&mut self, _: &Val, _: &Val) -> Outcome<Val> {
        Err(pending())
    }
}

fn pending() -> Box<Flaw> {
    Flaw::new("D0000", "this function is not there yet")
}
