//! Follows a path step by step through borrowed values, into a sink.

use super::CursorEnd;
use crate::compile::node::{
    ExprKind, ExprNode, FieldName, PathStage, PathStep, StepFilter, StepKind,
};
use crate::error::ExprResult;
use crate::eval::borrowed::{BorrowedContext, BorrowedResult, decide_test};
use crate::eval::filter::{FilterResult, resolve_index};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::sink::Sink;
use crate::eval::val::Val;
use crate::value::{Number, Value};

/// The state of one traversal.
pub(super) struct PathCursor<'w, 's, S> {
    steps: &'w [PathStep],
    env: &'w Env,
    sink: &'s mut S,
    /// Number of values at the last step, before arrays among them are flattened.
    results: usize,
    /// The only result so far, an array that has not been flattened.
    whole: Option<(&'w Value, u16)>,
    stopped: bool,
    /// A value came up that needs the general case.
    needs_general: bool,
}

#[inline]
pub(super) fn field(step: &PathStep) -> Option<&FieldName> {
    match &step.kind {
        StepKind::Expr(ExprNode {
            kind: ExprKind::Name(field),
            ..
        }) => Some(field),
        _ => None,
    }
}

impl<'w, 's, S: Sink> PathCursor<'w, 's, S> {
    pub(super) fn new(steps: &'w [PathStep], env: &'w Env, sink: &'s mut S) -> Self {
        Self {
            steps,
            env,
            sink,
            results: 0,
            whole: None,
            stopped: false,
            needs_general: false,
        }
    }

    pub(super) fn end(self) -> CursorEnd<'w> {
        match self.whole {
            _ if self.needs_general => CursorEnd::NeedsGeneral,
            Some((value, depth)) => CursorEnd::Whole(value, depth),
            None => CursorEnd::InSink,
        }
    }

    /// Takes a step from a value, or from each item of an array.
    pub(super) fn step_from(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> ExprResult<()> {
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
    ) -> ExprResult<()> {
        on.meter.burn(1)?;
        let Some(field) = field(&self.steps[at]) else {
            return self.compute(on, at, item, depth);
        };
        match item {
            Value::Object(map) => match field.of(map) {
                Some(found) => self.on_value(on, at, found, depth.saturating_sub(1)),
                None => self.on_missing(on, at),
            },
            Value::Array(_) => {
                let mut found = Vec::new();
                collect(on, item, &field.name, &mut found)?;
                match found[..] {
                    [] => self.on_missing(on, at),
                    [only] => self.on_value(on, at, only, depth.saturating_sub(1)),
                    _ => self.on_sequence(on, at, &found, depth.saturating_sub(1)),
                }
            }
            _ => self.on_missing(on, at),
        }
    }

    /// The last step calculates with fields of the item, as the compiler has checked.
    fn compute(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        item: &'w Value,
        depth: u16,
    ) -> ExprResult<()> {
        let peek = match &self.steps[at].kind {
            StepKind::Expr(node) => on.peek(node, BorrowedContext::Value(item), self.env),
            StepKind::Sort(..) => None,
        };
        match peek {
            Some(BorrowedResult::Missing) => Ok(()),
            Some(BorrowedResult::Number(number)) => {
                self.sink(on, &Value::Number(Number::Float(number)), depth)
            }
            Some(BorrowedResult::Bool(truth)) => self.sink(on, &Value::Bool(truth), depth),
            Some(BorrowedResult::Ref(_) | BorrowedResult::Owned(..)) | None => {
                (self.needs_general, self.stopped) = (true, true);
                Ok(())
            }
        }
    }

    /// The step found nothing. Its tests still run, because they may fail, up to the first that
    /// rejects.
    fn on_missing(&mut self, on: &mut Machine<'_>, at: usize) -> ExprResult<()> {
        for stage in &self.steps[at].stages {
            let taken = match stage {
                PathStage::Filter(StepFilter::At(place)) => resolve_index(*place, 1).is_some(),
                PathStage::Filter(StepFilter::Test(test)) => {
                    on.test_item(test, &Val::Undef, self.env)?.occurrences(0, 1) > 0
                }
                PathStage::Index(_) => false,
            };
            if !taken {
                break;
            }
        }
        Ok(())
    }

    /// The step found this value.
    fn on_value(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> ExprResult<()> {
        match &self.steps[at].stages[..] {
            [] => self.advance_value(on, at, value, depth),
            [PathStage::Filter(StepFilter::Test(test))] => {
                let items = match value {
                    Value::Array(items) => &items[..],
                    other => std::slice::from_ref(other),
                };
                self.results += 1;
                for (place, item) in items.iter().enumerate() {
                    on.meter.burn(2)?;
                    match decide_test(test, item) {
                        Some(true) => {
                            self.advance_item(on, at, item, depth.saturating_sub(1))?;
                            if self.stopped {
                                break;
                            }
                            continue;
                        }
                        Some(false) => continue,
                        None => {}
                    }
                    let verdict = judge(on, test, item, depth, self.env)?;
                    for _ in 0..verdict.occurrences(place, items.len()) {
                        self.advance_item(on, at, item, depth.saturating_sub(1))?;
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
                self.on_sequence(on, at, &items, depth)
            }
        }
    }

    /// The step found these values, as one sequence.
    #[inline(never)]
    fn on_sequence(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        values: &[&'w Value],
        depth: u16,
    ) -> ExprResult<()> {
        let mut values = values.to_vec();
        for (place, stage) in self.steps[at].stages.iter().enumerate() {
            let PathStage::Filter(filter) = stage else {
                continue;
            };
            match filter {
                StepFilter::At(index) => {
                    let found = resolve_index(*index, values.len()).map(|at| values[at]);
                    values.clear();
                    match found {
                        Some(Value::Array(items)) => {
                            // An array picked by its index is an ordinary array.
                            if place + 1 == self.steps[at].stages.len()
                                && let Some(found) = found
                            {
                                return self.advance_value(on, at, found, depth);
                            }
                            values.extend(items.iter());
                        }
                        Some(found) => values.push(found),
                        None => {}
                    }
                }
                StepFilter::Test(test) => {
                    let count = values.len();
                    let mut passed = Vec::new();
                    for (place, item) in values.iter().enumerate() {
                        let verdict = judge(on, test, item, depth, self.env)?;
                        for _ in 0..verdict.occurrences(place, count) {
                            passed.push(*item);
                        }
                    }
                    values = passed;
                }
            }
        }
        self.results += 1;
        for value in values {
            self.advance_item(on, at, value, depth)?;
        }
        Ok(())
    }

    /// A value that is not part of a sequence goes to the next step.
    fn advance_value(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> ExprResult<()> {
        if at + 1 < self.steps.len() {
            return self.step_from(on, at + 1, value, depth);
        }
        self.results += 1;
        match value {
            Value::Array(_) if self.results == 1 => {
                self.whole = Some((value, depth));
                Ok(())
            }
            Value::Array(items) => {
                self.flush_whole(on)?;
                for item in items.iter() {
                    self.sink(on, item, depth.saturating_sub(1))?;
                }
                Ok(())
            }
            _ => {
                self.flush_whole(on)?;
                self.sink(on, value, depth)
            }
        }
    }

    /// A value of a sequence goes to the next step.
    fn advance_item(
        &mut self,
        on: &mut Machine<'_>,
        at: usize,
        value: &'w Value,
        depth: u16,
    ) -> ExprResult<()> {
        if at + 1 < self.steps.len() {
            return self.step(on, at + 1, value, depth);
        }
        self.flush_whole(on)?;
        self.sink(on, value, depth)
    }

    /// Sends the array that seemed to be the only result to the sink, because another result
    /// follows.
    fn flush_whole(&mut self, on: &mut Machine<'_>) -> ExprResult<()> {
        if let Some((value, depth)) = self.whole.take() {
            for item in value.as_array().unwrap_or_default() {
                self.sink(on, item, depth.saturating_sub(1))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn sink(&mut self, on: &mut Machine<'_>, value: &Value, depth: u16) -> ExprResult<()> {
        on.meter.items(1)?;
        if !self.sink.take(value, depth) {
            self.stopped = true;
        }
        Ok(())
    }
}

/// Collects the fields of that name from all objects in an array, flattening arrays among them.
fn collect<'w>(
    on: &mut Machine<'_>,
    item: &'w Value,
    name: &str,
    found: &mut Vec<&'w Value>,
) -> ExprResult<()> {
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
    test: &ExprNode,
    item: &Value,
    depth: u16,
    env: &Env,
) -> ExprResult<FilterResult> {
    if test.peek
        && let Some(peek) = on.peek(test, BorrowedContext::Value(item), env)
        && let BorrowedResult::Bool(truth) = peek
    {
        return Ok(if truth {
            FilterResult::Yes
        } else {
            FilterResult::No
        });
    }
    let val = on.eval(test, &Val::Json(item.clone(), depth), env)?;
    FilterResult::of(&on.meter, &val, test)
}
