//! Paths made of fields and filters, walked on borrowed values: nothing is made on the way.

mod under_way;

use super::frame::Env;
use super::machine::Machine;
use super::sink::{Gather, Sink};
use super::val::Val;
use crate::compile::node::{Kind, Path, Step, StepKind};
use crate::error::Outcome;
use crate::value::Value;
use under_way::{Walk, field};

/// How a walk ended.
enum End<'w> {
    /// In a single value or array, which the sink has not seen.
    Whole(&'w Value, u16),
    /// In the sink.
    Sunk,
    /// Nowhere: only the general way will do.
    Stuck,
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
        Ok(match end {
            End::Whole(value, depth) => Some(Val::Json(value.clone(), depth)),
            End::Sunk => Some(sink.finish(path.keep)),
            End::Stuck => None,
        })
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
        let (value, depth) = match self.walk_from(steps, value, *depth, env, sink)? {
            End::Whole(value, depth) => (value, depth),
            End::Sunk => return Ok(true),
            End::Stuck => return Ok(false),
        };
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
            let (Value::Object(map), Some(field), true) =
                (value, field(step), step.stages.is_empty())
            else {
                break;
            };
            self.meter.burn(1)?;
            match field.of(map) {
                Some(found) => value = found,
                None => return Ok(End::Sunk),
            }
            depth = depth.saturating_sub(1);
            at += 1;
        }
        if at == steps.len() {
            return Ok(End::Whole(value, depth));
        }
        let mut walk = Walk::new(steps, env, sink);
        walk.spread(self, at, value, depth)?;
        Ok(walk.end())
    }
}
