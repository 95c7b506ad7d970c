//! Paths made of fields and filters, walked on borrowed values: nothing is made on the way.

use super::filter::{Verdict, resolve};
use super::frame::Env;
use super::machine::Machine;
use super::peek::{Given, decide};
use super::sink::{Gather, Sink};
use super::val::Val;
use crate::compile::node::{Field, Filter, Kind, Node, Path, Stage, Step, StepKind};
use crate::error::Outcome;
use crate::value::Value;

/// A walk under way.
struct Walk<'w, 's, S> {
    steps: &'w [Step],
    env: &'w Env,
    sink: &'s mut S,
    /// Values at the last step before arrays among them were taken apart.
    results: usize,
    /// The only one so far, an array that has not been taken apart yet.
    whole: Option<(&'w Value, u16)>,
    stopped: bool,
}

/// How a walk ended.
enum End<'w> {
    /// In a single value or array, which the sink has not seen.
    Whole(&'w Value, u16),
    /// In the sink.
    Sunk,
}

impl Machine<'_> {
    /// Walks a path; none if only the general way will do.
    pub(super) fn walk(&mut self, path: &Path, input: &Val, env: &Env) -> Outcome<Option<Val>> {
        let mut steps = &path.steps[..];
        let start = self.walk_start(&mut steps, input, env)?;
        let Val::Json(value, depth) = start.as_ref().unwrap_or(input) else {
            return Ok(None);
        };
        let mut sink = Gather::default();
        let end = self.walk_from(steps, value, *depth, env, &mut sink)?;
        Ok(Some(match end {
            End::Whole(value, depth) => Val::Json(value.clone(), depth),
            End::Sunk => sink.finish(path.keep),
        }))
    }

    /// Walks a path into a sink; false if only the general way will do.
    pub(super) fn walk_into<S: Sink>(
        &mut self,
        path: &Path,
        input: &Val,
        env: &Env,
        sink: &mut S,
    ) -> Outcome<bool> {
        let mut steps = &path.steps[..];
        let start = self.walk_start(&mut steps, input, env)?;
        let Val::Json(value, depth) = start.as_ref().unwrap_or(input) else {
            return Ok(false);
        };
        if let End::Whole(value, depth) = self.walk_from(steps, value, *depth, env, sink)? {
            let items = match value {
                Value::Array(items) => &items[..],
                only => std::slice::from_ref(only),
            };
            self.meter.burn(items.len() as u64)?;
            for item in items {
                if !sink.take(item, depth.saturating_sub(1)) {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// The value that a path starts from, if that is not its input.
    fn walk_start(&mut self, steps: &mut &[Step], input: &Val, env: &Env) -> Outcome<Option<Val>> {
        let Some((
            Step {
                kind: StepKind::Expr(node),
                ..
            },
            rest,
        )) = steps.split_first()
        else {
            return Ok(None);
        };
        match node.kind {
            Kind::Name(_) => Ok(None),
            _ => {
                *steps = rest;
                self.eval(node, input, env).map(Some)
            }
        }
    }

    fn walk_from<'w, S: Sink>(
        &mut self,
        steps: &'w [Step],
        value: &'w Value,
        depth: u16,
        env: &'w Env,
        sink: &mut S,
    ) -> Outcome<End<'w>> {
        // Most walks go from object to object: no bookkeeping until the first array or filter.
        let (mut value, mut depth, mut at) = (value, depth, 0);
        while let Some(step) = steps.get(at) {
            let Value::Object(map) = value else { break };
            if !step.stages.is_empty() {
                break;
            }
            self.meter.burn(1)?;
            match field(step).and_then(|field| field.of(map)) {
                Some(found) => value = found,
                None => return Ok(End::Sunk),
            }
            depth = depth.saturating_sub(1);
            at += 1;
        }
        if at == steps.len() {
            return Ok(End::Whole(value, depth));
        }
        let mut walk = Walk {
            steps,
            env,
            sink,
            results: 0,
            whole: None,
            stopped: false,
        };
        walk.spread(self, at, value, depth)?;
        match walk.whole {
            Some((value, depth)) => Ok(End::Whole(value, depth)),
            None => Ok(End::Sunk),
        }
    }
}

#[inline]
fn field(step: &Step) -> Option<&Field> {
    match &step.kind {
        StepKind::Expr(Node {
            kind: Kind::Name(field),
            ..
        }) => Some(field),
        _ => None,
    }
}

impl<'w, S: Sink> Walk<'w, '_, S> {
    /// Takes a step from a value, or from each item of it if it is an array.
    fn spread(
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
        let step = &self.steps[at];
        match item {
            Value::Object(map) => match field(step).and_then(|field| field.of(map)) {
                Some(found) => self.found(on, at, found, depth.saturating_sub(1)),
                None => self.missing(on, at),
            },
            Value::Array(_) => {
                let mut found = Vec::new();
                if let Some(field) = field(step) {
                    collect(on, item, &field.name, &mut found)?;
                }
                match found[..] {
                    [] => self.missing(on, at),
                    [only] => self.found(on, at, only, depth.saturating_sub(1)),
                    _ => self.found_many(on, at, &found, depth.saturating_sub(1)),
                }
            }
            _ => self.missing(on, at),
        }
    }

    /// A step gave nothing; a test on it is still made, for the errors in it.
    fn missing(&mut self, on: &mut Machine<'_>, at: usize) -> Outcome<()> {
        if let Some(Stage::Filter(Filter::Test(test))) = self.steps[at].stages.first()
            && (!test.peek || on.peek(test, Given::Undef, self.env).is_none())
        {
            on.eval(test, &Val::Undef, self.env)?;
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
        && let super::peek::Peek::Bool(truth) = peek
    {
        return Ok(if truth { Verdict::Yes } else { Verdict::No });
    }
    let val = on.eval(test, &Val::Json(item.clone(), depth), env)?;
    Verdict::of(&on.meter, &val)
}
