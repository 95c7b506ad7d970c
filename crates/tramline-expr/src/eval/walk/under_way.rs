//! A walk under way: step by step through borrowed values, into a sink.

use super::End;
use crate::compile::node::{Field, Filter, Kind, Node, Stage, Step, StepKind};
use crate::error::Outcome;
use crate::eval::filter::{Verdict, resolve};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::peek::{Given, Peek, decide};
use crate::eval::sink::Sink;
use crate::eval::val::Val;
use crate::value::{Number, Value};

/// A walk under way.
pub(super) struct Walk<'w, 's, S> {
    steps: &'w [Step],
    env: &'w Env,
    sink: &'s mut S,
    /// Values at the last step before arrays among them were taken apart.
    results: usize,
    /// The only one so far, an array that has not been taken apart yet.
    whole: Option<(&'w Value, u16)>,
    stopped: bool,
    /// Something came up that only the general way handles.
    stuck: bool,
}

#[inline]
pub(super) fn field(step: &Step) -> Option<&Field> {
    match &step.kind {
        StepKind::Expr(Node {
            kind: Kind::Name(field),
            ..
        }) => Some(field),
        _ => None,
    }
}

impl<'w, 's, S: Sink> Walk<'w, 's, S> {
    pub(super) fn new(steps: &'w [Step], env: &'w Env, sink: &'s mut S) -> Self {
        Self {
            steps,
            env,
            sink,
            results: 0,
            whole: None,
            stopped: false,
            stuck: false,
        }
    }

    pub(super) fn end(self) -> End<'w> {
        match self.whole {
            _ if self.stuck => End::Stuck,
            Some((value, depth)) => End::Whole(value, depth),
            None => End::Sunk,
        }
    }

    /// Takes a step from a value, or from each item of it if it is an array.
    pub(super) fn spread(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> Outcome<()> {
        match value {
            Value::Array(items) => {
                if at + 1 == self.steps.len() && self.steps[at].stages.is_empty() {
                    self.sink.expect(items.len());
                }
                for item in items.iter() {
                    self.step(on, at, item, depth.saturating_sub(1))?;
                    if self.stopped {
                        break;
                    }
                }
                Ok(())
            }
            _ => self.step(on, at, value, depth),
        }
    }

    fn step(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        item: &'w Value,
        depth: u16,
    ) -> Outcome<()> {
        on.meter.burn(1)?;
        let Some(field) = field(&self.steps[at]) else {
            return self.compute(on, at, item, depth);
        };
        match item {
            Value::Object(map) => match field.of(map) {
                Some(found) => self.found(on, at, found, depth.saturating_sub(1)),
                None => self.missing(on, at),
            },
            Value::Array(_) => {
                let mut found = Vec::new();
                collect(on, item, &field.name, &mut found)?;
                match found[..] {
                    [] => self.missing(on, at),
                    [only] => self.found(on, at, only, depth.saturating_sub(1)),
                    _ => self.found_many(on, at, &found, depth.saturating_sub(1)),
                }
            }
            _ => self.missing(on, at),
        }
    }

    /// The last step reckons with fields of the item: see `compile::recognise`.
    fn compute(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        item: &'w Value,
        depth: u16,
    ) -> Outcome<()> {
        let peek = match &self.steps[at].kind {
            StepKind::Expr(node) => on.peek(node, Given::Value(item), self.env),
            StepKind::Sort(..) => None,
        };
        match peek {
            Some(Peek::Missing) => Ok(()),
            Some(Peek::Number(number)) => {
                self.sink(on, &Value::Number(Number::Float(number)), depth)
            }
            Some(Peek::Bool(truth)) => self.sink(on, &Value::Bool(truth), depth),
            Some(Peek::Ref(_) | Peek::Own(..)) | None => {
                (self.stuck, self.stopped) = (true, true);
                Ok(())
            }
        }
    }

    /// A step gave nothing; the tests on it are still made, for the errors in them, up to the first
    /// that refuses.
    fn missing(&mut self, on: &mut Machine<'_>, at: usize) -> Outcome<()> {
        for stage in &self.steps[at].stages {
            let taken = match stage {
                Stage::Filter(Filter::At(place)) => resolve(*place, 1).is_some(),
                Stage::Filter(Filter::Test(test)) => {
                    on.judge(test, &Val::Undef, self.env)?.times(0, 1) > 0
                }
                Stage::Index(_) => false,
            };
            if !taken {
                break;
            }
        }
        Ok(())
    }

    /// A step gave this value.
    fn found(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> Outcome<()> {
        match &self.steps[at].stages[..] {
            [] => self.arrive(on, at, value, depth),
            [Stage::Filter(Filter::Test(test))] => {
                let items = match value {
                    Value::Array(items) => &items[..],
                    other => std::slice::from_ref(other),
                };
                self.results += 1;
                for (place, item) in items.iter().enumerate() {
                    on.meter.burn(2)?;
                    match decide(test, item) {
                        Some(true) => {
                            self.pass(on, at, item, depth.saturating_sub(1))?;
                            if self.stopped {
                                break;
                            }
                            continue;
                        }
                        Some(false) => continue,
                        None => {}
                    }
                    let verdict = judge(on, test, item, depth, self.env)?;
                    for _ in 0..verdict.times(place, items.len()) {
                        self.pass(on, at, item, depth.saturating_sub(1))?;
                    }
                    if self.stopped {
                        break;
                    }
                }
                Ok(())
            }
            _ => {
                let items: Vec<&'w Value> = match value {
                    Value::Array(items) => items.iter().collect(),
                    other => vec![other],
                };
                self.found_many(on, at, &items, depth)
            }
        }
    }

    /// A step gave these values, as one sequence.
    #[inline(never)]
    fn found_many(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        values: &[&'w Value],
        depth: u16,
    ) -> Outcome<()> {
        let mut values = values.to_vec();
        for (place, stage) in self.steps[at].stages.iter().enumerate() {
            let Stage::Filter(filter) = stage else {
                continue;
            };
            match filter {
                Filter::At(index) => {
                    let found = resolve(*index, values.len()).map(|at| values[at]);
                    values.clear();
                    match found {
                        Some(Value::Array(items)) => {
                            // One array picked by its place is an array like any other.
                            if place + 1 == self.steps[at].stages.len()
                                && let Some(found) = found
                            {
                                return self.arrive(on, at, found, depth);
                            }
                            values.extend(items.iter());
                        }
                        Some(found) => values.push(found),
                        None => {}
                    }
                }
                Filter::Test(test) => {
                    let count = values.len();
                    let mut passed = Vec::new();
                    for (place, item) in values.iter().enumerate() {
                        let verdict = judge(on, test, item, depth, self.env)?;
                        for _ in 0..verdict.times(place, count) {
                            passed.push(*item);
                        }
                    }
                    values = passed;
                }
            }
        }
        self.results += 1;
        for value in values {
            self.pass(on, at, value, depth)?;
        }
        Ok(())
    }

    /// A value that is not part of a sequence comes to the next step.
    fn arrive(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> Outcome<()> {
        if at + 1 < self.steps.len() {
            return self.spread(on, at + 1, value, depth);
        }
        self.results += 1;
        match value {
            Value::Array(_) if self.results == 1 => {
                self.whole = Some((value, depth));
                Ok(())
            }
            Value::Array(items) => {
                self.unfold(on)?;
                for item in items.iter() {
                    self.sink(on, item, depth.saturating_sub(1))?;
                }
                Ok(())
            }
            _ => {
                self.unfold(on)?;
                self.sink(on, value, depth)
            }
        }
    }

    /// A value of a sequence comes to the next step.
    fn pass(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> Outcome<()> {
        if at + 1 < self.steps.len() {
            return self.step(on, at + 1, value, depth);
        }
        self.unfold(on)?;
        self.sink(on, value, depth)
    }

    /// The array that seemed to be the only result is one of several.
    fn unfold(&mut self, on: &mut Machine<'_>) -> Outcome<()> {
        if let Some((value, depth)) = self.whole.take() {
            for item in value.as_array().unwrap_or_default() {
                self.sink(on, item, depth.saturating_sub(1))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn sink(&mut self, on: &mut Machine<'_>, value: &Value, depth: u16) -> Outcome<()> {
        on.meter.items(1)?;
        if !self.sink.take(value, depth) {
            self.stopped = true;
        }
        Ok(())
    }
}

/// The fields of that name of all objects in an array, arrays among them taken apart.
fn collect<'w>(
    on: &mut Machine<'_>,
    item: &'w Value,
    name: &str,
    found: &mut Vec<&'w Value>,
) -> Outcome<()> {
    on.meter.burn(1)?;
    match item {
        Value::Object(map) => match map.get(name) {
            Some(Value::Array(items)) => {
                on.meter.items(items.len())?;
                found.extend(items.iter());
            }
            Some(value) => found.push(value),
            None => {}
        },
        Value::Array(items) => {
            for item in items.iter() {
                collect(on, item, name, found)?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[inline]
fn judge(
    on: &mut Machine<'_>,
    test: &Node,
    item: &Value,
    depth: u16,
    env: &Env,
) -> Outcome<Verdict> {
    if test.peek
        && let Some(peek) = on.peek(test, Given::Value(item), env)
        && let Peek::Bool(truth) = peek
    {
        return Ok(if truth { Verdict::Yes } else { Verdict::No });
    }
    let val = on.eval(test, &Val::Json(item.clone(), depth), env)?;
    Verdict::of(&on.meter, &val, test)
}
