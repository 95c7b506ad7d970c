//! Paths made of fields and filters, followed on borrowed values without allocating.

mod path_cursor;

use super::frame::Env;
use super::machine::Machine;
use super::sink::{CollectSink, Sink};
use super::val::Val;
use crate::compile::node::{ExprKind, PathNode, PathStep, StepKind};
use crate::error::ExprResult;
use crate::value::Value;
use path_cursor::{PathCursor, field};

/// How a traversal ended.
enum CursorEnd<'w> {
    /// With a single value or array that has not gone to the sink.
    Whole(&'w Value, u16),
    /// All values have gone to the sink.
    InSink,
    /// Not at all: the path needs the general case.
    NeedsGeneral,
}

impl Machine<'_> {
    /// Follows a path; `None` if it needs the general case.
    pub(super) fn follow_path(
        &mut self,
        path: &PathNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Option<Val>> {
        let mut steps = &path.steps[..];
        let start = self.path_start(&mut steps, input, env)?;
        let Val::Json(value, depth) = start.as_ref().unwrap_or(input) else {
            return Ok(None);
        };
        let mut sink = CollectSink::default();
        let end = self.follow_steps(steps, value, *depth, env, &mut sink)?;
        Ok(match end {
            CursorEnd::Whole(value, depth) => Some(Val::Json(value.clone(), depth)),
            CursorEnd::InSink => Some(sink.finish(path.keep)),
            CursorEnd::NeedsGeneral => None,
        })
    }

    /// Follows a path into a sink; false if it needs the general case.
    pub(super) fn follow_path_into<S: Sink>(
        &mut self,
        path: &PathNode,
        input: &Val,
        env: &Env,
        sink: &mut S,
    ) -> ExprResult<bool> {
        let mut steps = &path.steps[..];
        let start = self.path_start(&mut steps, input, env)?;
        let Val::Json(value, depth) = start.as_ref().unwrap_or(input) else {
            return Ok(false);
        };
        let (value, depth) = match self.follow_steps(steps, value, *depth, env, sink)? {
            CursorEnd::Whole(value, depth) => (value, depth),
            CursorEnd::InSink => return Ok(true),
            CursorEnd::NeedsGeneral => return Ok(false),
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
    fn path_start(
        &mut self,
        steps: &mut &[PathStep],
        input: &Val,
        env: &Env,
    ) -> ExprResult<Option<Val>> {
        let Some((
            PathStep {
                kind: StepKind::Expr(node),
                ..
            },
            rest,
        )) = steps.split_first()
        else {
            return Ok(None);
        };
        match node.kind {
            ExprKind::Name(_) => Ok(None),
            _ => {
                *steps = rest;
                self.eval(node, input, env).map(Some)
            }
        }
    }

    fn follow_steps<'w, S: Sink>(
        &mut self,
        steps: &'w [PathStep],
        value: &'w Value,
        depth: u16,
        env: &'w Env,
        sink: &mut S,
    ) -> ExprResult<CursorEnd<'w>> {
        // Most paths go from object to object: no bookkeeping until the first array or filter.
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
                None => return Ok(CursorEnd::InSink),
            }
            depth = depth.saturating_sub(1);
            at += 1;
        }
        if at == steps.len() {
            return Ok(CursorEnd::Whole(value, depth));
        }
        let mut walk = PathCursor::new(steps, env, sink);
        walk.step_from(self, at, value, depth)?;
        Ok(walk.end())
    }
}
