//! Filters by index and by test, on plain values and on values with bindings.

use super::borrowed::decide_test;
use super::frame::{Env, Frame};
use super::machine::Machine;
use super::operator::finite;
use super::tuple::PathTuple;
use super::val::{SequenceBuilder, Val};
use crate::compile::node::ExprNode;
use crate::error::ExprResult;
use crate::functions::equality::is_true;
use crate::limits::Meter;
use crate::value::Value;
use std::rc::Rc;

/// The result of a test on one item.
pub(super) enum FilterResult {
    Yes,
    No,
    /// Yes, if the item's index is one of these.
    Places(Vec<f64>),
}

impl FilterResult {
    /// Interprets the value of a test.
    pub(super) fn of(meter: &Meter, val: &Val, test: &ExprNode) -> ExprResult<Self> {
        let finite = |place: f64| finite(place, "[").map_err(|flaw| flaw.or_at(test.token));
        if let Some(place) = val.as_f64() {
            finite(place)?;
            return Ok(Self::Places(vec![place]));
        }
        if val.is_array() {
            let items = val.items();
            meter.burn(items.len() as u64)?;
            let place = |item: Val| item.as_f64().filter(|place| !place.is_nan());
            let places: Option<Vec<f64>> = items.iter().map(place).collect();
            if let Some(places) = places {
                places.iter().try_for_each(|place| finite(*place))?;
                return Ok(match places.is_empty() {
                    true => Self::No,
                    false => Self::Places(places),
                });
            }
        }
        Ok(match is_true(meter, val)? {
            true => Self::Yes,
            false => Self::No,
        })
    }

    /// How often the item at index `at` of `count` is taken: indexes may repeat.
    pub(super) fn occurrences(&self, at: usize, count: usize) -> usize {
        match self {
            Self::Yes => 1,
            Self::No => 0,
            Self::Places(places) => {
                let here = |place: &&f64| resolve_index(place.floor(), count) == Some(at);
                places.iter().filter(here).count()
            }
        }
    }
}

/// Resolves an index among `count` items; negative indexes count from the end.
pub(super) fn resolve_index(place: f64, count: usize) -> Option<usize> {
    let place = if place < 0.0 {
        place + count as f64
    } else {
        place
    };
    (place >= 0.0 && place < count as f64).then_some(place as usize)
}

impl Machine<'_> {
    /// The item at a literal index.
    pub(super) fn item_at(&mut self, place: f64, val: &Val) -> ExprResult<Val> {
        if let Val::Tuples(tuples) = val {
            let found = resolve_index(place, tuples.len()).map(|at| tuples[at].clone());
            return Ok(Val::Tuples(Rc::new(found.into_iter().collect())));
        }
        let items = val.items();
        let item = resolve_index(place, items.len()).map_or(Val::Undef, |at| items.get(at));
        if item.is_array() {
            return Ok(item);
        }
        let mut found = SequenceBuilder::default();
        if !item.is_undef() {
            found.push(item);
        }
        Ok(found.into_sequence())
    }

    /// The items that pass a test.
    #[inline(never)]
    pub(super) fn filter(&mut self, test: &ExprNode, val: &Val, env: &Env) -> ExprResult<Val> {
        if let Val::Tuples(tuples) = val {
            return self.filter_tuples(test, tuples, env);
        }
        if val.is_undef() {
            // The test still runs, because it may fail. Later tests do not see a rejected item.
            let verdict = self.test_item(test, val, env)?;
            return Ok(match verdict.occurrences(0, 1) {
                0 => SequenceBuilder::default().into_sequence(),
                _ => Val::Undef,
            });
        }
        let items = val.items();
        let mut found = SequenceBuilder::default();
        for at in 0..items.len() {
            self.meter.burn(1)?;
            let item = items.get(at);
            let verdict = self.test_item(test, &item, env)?;
            for _ in 0..verdict.occurrences(at, items.len()) {
                found.push(item.clone());
            }
        }
        self.meter.items(found.items.len())?;
        Ok(found.into_sequence())
    }

    pub(super) fn test_item(
        &mut self,
        test: &ExprNode,
        item: &Val,
        env: &Env,
    ) -> ExprResult<FilterResult> {
        if let (Val::Json(value, _), true) = (item, self.tracer.is_none())
            && let Some(truth) = decide_test(test, value)
        {
            self.meter.burn(2)?;
            return Ok(if truth {
                FilterResult::Yes
            } else {
                FilterResult::No
            });
        }
        if test.peek
            && self.tracer.is_none()
            && let Some(Val::Json(Value::Bool(truth), _)) = self.peek_val(test, item, env)
        {
            return Ok(if truth {
                FilterResult::Yes
            } else {
                FilterResult::No
            });
        }
        let val = self.eval(test, item, env)?;
        FilterResult::of(&self.meter, &val, test)
    }

    fn filter_tuples(
        &mut self,
        test: &ExprNode,
        tuples: &[PathTuple],
        env: &Env,
    ) -> ExprResult<Val> {
        let mut found = Vec::new();
        for (at, tuple) in tuples.iter().enumerate() {
            self.meter.burn(1)?;
            let frame = Frame::with_bindings(env, tuple.bound.clone());
            let val = self.eval(test, &tuple.at, &frame)?;
            for _ in 0..FilterResult::of(&self.meter, &val, test)?.occurrences(at, tuples.len()) {
                found.push(tuple.clone());
            }
        }
        self.meter.items(found.len())?;
        Ok(Val::Tuples(Rc::new(found)))
    }
}
