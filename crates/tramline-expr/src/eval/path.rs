//! Paths, the general case: each step maps every value of the previous step.

use super::frame::Env;
use super::machine::{Machine, keep_array};
use super::val::{SequenceBuilder, Val, ValList};
use crate::compile::node::{ExprKind, PathNode, PathStage, PathStep, StepFilter, StepKind};
use crate::error::ExprResult;
use crate::value::Value;
use std::rc::Rc;

impl Machine<'_> {
    pub(super) fn path(&mut self, path: &PathNode, input: &Val, env: &Env) -> ExprResult<Val> {
        if path.is_field_path
            && self.tracer.is_none()
            && let Some(val) = self.follow_path(path, input, env)?
        {
            return self.finish_path(path, val, env);
        }
        self.path_slowly(path, input, env)
    }

    #[inline(never)]
    fn path_slowly(&mut self, path: &PathNode, input: &Val, env: &Env) -> ExprResult<Val> {
        let from_variable = match path.steps.first() {
            Some(PathStep {
                kind: StepKind::Expr(node),
                ..
            }) => {
                matches!(
                    node.kind,
                    ExprKind::Variable(_) | ExprKind::Context | ExprKind::Root | ExprKind::Bound(_)
                )
            }
            _ => false,
        };
        let mut current = match input.is_array() && !from_variable {
            true => input.clone(),
            false => Val::List(Rc::new(ValList {
                items: vec![input.clone()],
                depth: input.depth(),
                plain: input.is_plain(),
                sequence: true,
                ..ValList::default()
            })),
        };
        let last = path.steps.len().saturating_sub(1);
        for (at, step) in path.steps.iter().enumerate() {
            if path.tuple_from == Some(at) {
                return self.tuple_path(path, current, env);
            }
            current = match &step.kind {
                StepKind::Expr(node) if at == 0 && step.no_flatten => {
                    let made = mark_no_flatten(self.eval(node, &current, env)?);
                    self.stages(&step.stages, made, env)?
                }
                _ => self.step(step, &current, env, at == last)?,
            };
            if current.is_undef() || current.is_array() && current.items().len() == 0 {
                break;
            }
        }
        self.finish_path(path, current, env)
    }

    /// Applies `[]` and a group-by to the results of a path.
    pub(super) fn finish_path(&mut self, path: &PathNode, val: Val, env: &Env) -> ExprResult<Val> {
        let mut val = val;
        if path.keep {
            val = match val {
                Val::Undef => Val::Undef,
                Val::List(list) if list.sequence && !list.is_wrapped_input => {
                    keep_array(Val::List(list))
                }
                Val::List(list) if !list.no_flatten => Val::List(list),
                Val::Json(Value::Array(items), depth) => Val::Json(Value::Array(items), depth),
                other => {
                    let mut only = SequenceBuilder::default();
                    only.push(other);
                    keep_array(only.into_sequence())
                }
            };
        }
        match &path.group {
            Some(group) => self.group(group, &val, env),
            None => Ok(val),
        }
    }

    #[inline(never)]
    fn step(&mut self, step: &PathStep, current: &Val, env: &Env, last: bool) -> ExprResult<Val> {
        let node = match &step.kind {
            StepKind::Expr(node) => node,
            StepKind::Sort(terms, token) => {
                let sorted = self.order_by(terms, *token, current, env)?;
                return self.stages(&step.stages, sorted, env);
            }
        };
        let items = current.items();
        let mut results = Vec::new();
        for at in 0..items.len() {
            self.meter.burn(1)?;
            let mut val = self.eval(node, &items.get(at), env)?;
            if step.no_flatten {
                val = mark_no_flatten(val);
            }
            if !step.stages.is_empty() {
                val = self.stages(&step.stages, val, env)?;
            }
            if !val.is_undef() {
                results.push(val);
            }
        }
        self.collect_results(results, last)
    }

    /// One sequence of all results. A single array at the end of a path stays as it is.
    fn collect_results(&mut self, mut results: Vec<Val>, last: bool) -> ExprResult<Val> {
        if let (true, [only]) = (last, &results[..]) {
            let is_plain = match only {
                Val::Json(Value::Array(_), _) => true,
                Val::List(list) => !list.sequence,
                _ => false,
            };
            if is_plain {
                return Ok(results.pop().unwrap_or(Val::Undef));
            }
        }
        if !results.iter().any(Val::is_array) {
            self.meter.items(results.len())?;
            return Ok(SequenceBuilder { items: results }.into_sequence());
        }
        let mut found = SequenceBuilder::default();
        for val in results {
            self.meter.items(val.items().len())?;
            found.flatten(val);
        }
        Ok(found.into_sequence())
    }

    pub(super) fn stages(&mut self, stages: &[PathStage], val: Val, env: &Env) -> ExprResult<Val> {
        let mut val = val;
        for stage in stages {
            val = match stage {
                PathStage::Filter(StepFilter::At(place)) => self.item_at(*place, &val)?,
                PathStage::Filter(StepFilter::Test(test)) => self.filter(test, &val, env)?,
                PathStage::Index(binding) => self.bind_index(*binding, val),
            };
        }
        Ok(val)
    }

    /// A field of an object, or of all objects in an array.
    pub(crate) fn lookup(&mut self, input: &Val, name: &str) -> ExprResult<Val> {
        match input {
            Val::Json(Value::Object(map), depth) => Ok(map
                .get(name)
                .map_or(Val::Undef, |value| Val::part_of(value, *depth))),
            Val::Json(Value::Array(_), _) | Val::List(_) => self.lookup_all(input, name),
            Val::Record(record) => {
                let found = record.entries.iter().find(|(key, _)| key == name);
                Ok(found.map_or(Val::Undef, |(_, val)| val.clone()))
            }
            Val::Undef | Val::Json(..) | Val::Func(_) | Val::Tuples(_) => Ok(Val::Undef),
        }
    }

    #[inline(never)]
    fn lookup_all(&mut self, input: &Val, name: &str) -> ExprResult<Val> {
        let mut found = SequenceBuilder::default();
        for item in input.items().iter() {
            self.meter.burn(1)?;
            let val = self.lookup(&item, name)?;
            self.meter.items(val.items().len())?;
            found.flatten(match val {
                Val::List(list) if list.no_flatten => {
                    let mut list = Rc::unwrap_or_clone(list);
                    list.no_flatten = false;
                    Val::List(Rc::new(list))
                }
                other => other,
            });
        }
        Ok(found.into_sequence())
    }
}

/// Marks an array so that steps do not flatten it.
pub(super) fn mark_no_flatten(val: Val) -> Val {
    match val {
        Val::Json(Value::Array(_), depth) => Val::List(Rc::new(ValList {
            items: val.items().iter().collect(),
            depth,
            plain: true,
            no_flatten: true,
            ..ValList::default()
        })),
        Val::List(list) => {
            let mut list = Rc::unwrap_or_clone(list);
            list.no_flatten = true;
            Val::List(Rc::new(list))
        }
        other => other,
    }
}
