//! Filters: by place, by test, on plain values and on values with bindings.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::operator::finite;
use super::peek::decide;
use super::tuple::Tuple;
use super::val::{Sequence, Val};
use crate::compile::node::Node;
use crate::error::Outcome;
use crate::functions::equal::is_true;
use crate::limits::Meter;
use crate::value::Value;
use std::rc::Rc;

/// What a test says of an item.
pub(super) enum Verdict {
    Yes,
    No,
    /// Yes, if its place is one of these.
    Places(Vec<f64>),
}

impl Verdict {
    /// What the value of a test says.
    pub(super) fn of(meter: &Meter, val: &Val, test: &Node) -> Outcome<Self> {
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

    /// How often an item at this place of so many is taken: places may repeat.
    pub(super) fn times(&self, at: usize, count: usize) -> usize {
        match self {
            Self::Yes => 1,
            Self::No => 0,
            Self::Places(places) => {
                let here = |place: &&f64| resolve(place.floor(), count) == Some(at);
                places.iter().filter(here).count()
            }
        }
    }
}

/// The index that a place means among so many; negative places count from the end.
pub(super) fn resolve(place: f64, count: usize) -> Option<usize> {
    let place = if place < 0.0 {
        place + count as f64
    } else {
        place
    };
    (place >= 0.0 && place < count as f64).then_some(place as usize)
}

impl Machine<'_> {
    /// The item at a literal place.
    pub(super) fn pick(&mut self, place: f64, val: &Val) -> Outcome<Val> {
        if let Val::Tuples(tuples) = val {
            let found = resolve(place, tuples.len()).map(|at| tuples[at].clone());
            return Ok(Val::Tuples(Rc::new(found.into_iter().collect())));
        }
        let items = val.items();
        let item = resolve(place, items.len()).map_or(Val::Undef, |at| items.get(at));
        if item.is_array() {
            return Ok(item);
        }
        let mut found = Sequence::default();
        if !item.is_undef() {
            found.push(item);
        }
        Ok(found.raw())
    }

    /// The items that pass a test.
    #[inline(never)]
    pub(super) fn filter(&mut self, test: &Node, val: &Val, env: &Env) -> Outcome<Val> {
        if let Val::Tuples(tuples) = val {
            return self.filter_tuples(test, tuples, env);
        }
        if val.is_undef() {
            // The test is still made, for the errors in it; what it refuses, later tests never see.
            let verdict = self.judge(test, val, env)?;
            return Ok(match verdict.times(0, 1) {
                0 => Sequence::default().raw(),
                _ => Val::Undef,
            });
        }
        let items = val.items();
        let mut found = Sequence::default();
        for at in 0..items.len() {
            self.meter.burn(1)?;
            let item = items.get(at);
            let verdict = self.judge(test, &item, env)?;
            for _ in 0..verdict.times(at, items.len()) {
                found.push(item.clone());
            }
        }
        self.meter.items(found.items.len())?;
        Ok(found.raw())
    }

    pub(super) fn judge(&mut self, test: &Node, item: &Val, env: &Env) -> Outcome<Verdict> {
        if let (Val::Json(value, _), true) = (item, self.tracer.is_none())
            && let Some(truth) = decide(test, value)
        {
            self.meter.burn(2)?;
            return Ok(if truth { Verdict::Yes } else { Verdict::No });
        }
        if test.peek
            && self.tracer.is_none()
            && let Some(Val::Json(Value::Bool(truth), _)) = self.peek_val(test, item, env)
        {
            return Ok(if truth { Verdict::Yes } else { Verdict::No });
        }
        let val = self.eval(test, item, env)?;
        Verdict::of(&self.meter, &val, test)
    }

    fn filter_tuples(&mut self, test: &Node, tuples: &[Tuple], env: &Env) -> Outcome<Val> {
        let mut found = Vec::new();
        for (at, tuple) in tuples.iter().enumerate() {
            self.meter.burn(1)?;
            let frame = Frame::bound(env, tuple.bound.clone());
            let val = self.eval(test, &tuple.at, &frame)?;
            for _ in 0..Verdict::of(&self.meter, &val, test)?.times(at, tuples.len()) {
                found.push(tuple.clone());
            }
        }
        self.meter.items(found.len())?;
        Ok(Val::Tuples(Rc::new(found)))
    }
}
