//! Paths, the general case: each step maps every value of the step before.

use super::frame::Env;
use super::machine::{Machine, keep};
use super::val::{List, Sequence, Val};
use crate::compile::node::{Filter, Kind, Path, Stage, Step, StepKind};
use crate::error::Outcome;
use crate::value::Value;
use std::rc::Rc;

impl Machine<'_> {
    pub(super) fn path(&mut self, path: &Path, input: &Val, env: &Env) -> Outcome<Val> {
        if path.walk
            && self.tracer.is_none()
            && let Some(val) = self.walk(path, input, env)?
        {
            return self.finish_path(path, val, env);
        }
        self.path_slowly(path, input, env)
    }

    #[inline(never)]
    fn path_slowly(&mut self, path: &Path, input: &Val, env: &Env) -> Outcome<Val> {
        let from_variable = match path.steps.first() {
            Some(Step {
                kind: StepKind::Expr(node),
                ..
            }) => {
                matches!(
                    node.kind,
                    Kind::Variable(_) | Kind::Context | Kind::Root | Kind::Bound(_)
                )
            }
            _ => false,
        };
        let mut current = match input.is_array() && !from_variable {
            true => input.clone(),
            false => Val::List(Rc::new(List {
                items: vec![input.clone()],
                depth: input.depth(),
                plain: input.is_plain(),
                sequence: true,
                ..List::default()
            })),
        };
        let last = path.steps.len().saturating_sub(1);
        for (at, step) in path.steps.iter().enumerate() {
            if path.tuple_from == Some(at) {
                return self.tuple_path(path, current, env);
            }
            current = match &step.kind {
                StepKind::Expr(node) if at == 0 && step.whole => {
                    let made = whole(self.eval(node, &current, env)?);
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

    /// What `[]` and a group-by do to the results of a path.
    pub(super) fn finish_path(&mut self, path: &Path, val: Val, env: &Env) -> Outcome<Val> {
        let mut val = val;
        if path.keep {
            val = match val {
                Val::Undef => Val::Undef,
                Val::List(list) if list.sequence && !list.outer => keep(Val::List(list)),
                Val::List(list) if !list.whole => Val::List(list),
                Val::Json(Value::Array(items), depth) => Val::Json(Value::Array(items), depth),
                other => {
                    let mut only = Sequence::default();
                    only.push(other);
                    keep(only.raw())
                }
            };
        }
        match &path.group {
            Some(group) => self.group(group, &val, env),
            None => Ok(val),
        }
    }

    #[inline(never)]
    fn step(&mut self, step: &Step, current: &Val, env: &Env, last: bool) -> Outcome<Val> {
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
            if step.whole {
                val = whole(val);
            }
            if !step.stages.is_empty() {
                val = self.stages(&step.stages, val, env)?;
            }
            if !val.is_undef() {
                results.push(val);
            }
        }
        self.gather(results, last)
    }

    /// One sequence of all results; a single array at the end of a path stays as it is.
    fn gather(&mut self, mut results: Vec<Val>, last: bool) -> Outcome<Val> {
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
            return Ok(Sequence { items: results }.raw());
        }
        let mut found = Sequence::default();
        for val in results {
            self.meter.items(val.items().len())?;
            found.flatten(val);
        }
        Ok(found.raw())
    }

    pub(super) fn stages(&mut self, stages: &[Stage], val: Val, env: &Env) -> Outcome<Val> {
        let mut val = val;
        for stage in stages {
            val = match stage {
                Stage::Filter(Filter::At(place)) => self.pick(*place, &val)?,
                Stage::Filter(Filter::Test(test)) => self.filter(test, &val, env)?,
                Stage::Index(binding) => self.number_tuples(*binding, val),
            };
        }
        Ok(val)
    }

    /// A field of an object, or of all objects in an array.
    pub(crate) fn lookup(&mut self, input: &Val, name: &str) -> Outcome<Val> {
        match input {
            Val::Json(Value::Object(map), depth) => Ok(map
                .get(name)
                .map_or(Val::Undef, |value| Val::part(value, *depth))),
            Val::Json(Value::Array(_), _) | Val::List(_) => self.lookup_all(input, name),
            Val::Record(record) => {
                let found = record.entries.iter().find(|(key, _)| key == name);
                Ok(found.map_or(Val::Undef, |(_, val)| val.clone()))
            }
            Val::Undef | Val::Json(..) | Val::Func(_) | Val::Tuples(_) => Ok(Val::Undef),
        }
    }

    #[inline(never)]
    fn lookup_all(&mut self, input: &Val, name: &str) -> Outcome<Val> {
        let mut found = Sequence::default();
        for item in input.items().iter() {
            self.meter.burn(1)?;
            let val = self.lookup(&item, name)?;
            self.meter.items(val.items().len())?;
            found.flatten(match val {
                Val::List(list) if list.whole => {
                    let mut list = Rc::unwrap_or_clone(list);
                    list.whole = false;
                    Val::List(Rc::new(list))
                }
                other => other,
            });
        }
        Ok(found.raw())
    }
}

/// Marks an array so that steps do not flatten it.
pub(super) fn whole(val: Val) -> Val {
    match val {
        Val::Json(Value::Array(_), depth) => Val::List(Rc::new(List {
            items: val.items().iter().collect(),
            depth,
            plain: true,
            whole: true,
            ..List::default()
        })),
        Val::List(list) => {
            let mut list = Rc::unwrap_or_clone(list);
            list.whole = true;
            Val::List(Rc::new(list))
        }
        other => other,
    }
}
