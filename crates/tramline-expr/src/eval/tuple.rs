//! Paths whose values carry bindings: `@$v`, `#$i` and parents.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::val::{Sequence, Val};
use crate::compile::node::{Path, Step, StepKind};
use crate::error::Outcome;
use crate::value::Value;
use std::rc::Rc;

/// A value on its way along a path, and what was bound on the way.
#[derive(Clone)]
pub(crate) struct Tuple {
    pub(crate) at: Val,
    pub(crate) bound: Vec<(u32, Val)>,
}

impl Tuple {
    fn bind(&mut self, number: u32, val: Val) {
        match self.bound.iter_mut().find(|(known, _)| *known == number) {
            Some((_, place)) => *place = val,
            None => self.bound.push((number, val)),
        }
    }
}

impl Machine<'_> {
    /// The rest of a path, from the first step whose results carry bindings.
    #[inline(never)]
    pub(super) fn tuple_path(&mut self, path: &Path, current: Val, env: &Env) -> Outcome<Val> {
        let from = path.tuple_from.unwrap_or(0);
        let mut tuples = None;
        for step in &path.steps[from..] {
            tuples = Some(self.tuple_step(step, &current, tuples, env)?);
        }
        let tuples = tuples.unwrap_or_default();
        if path.tuple_out && path.group.is_none() {
            return Ok(Val::Tuples(Rc::new(tuples)));
        }
        if path.group.is_some() {
            return self.finish_path(path, Val::Tuples(Rc::new(tuples)), env);
        }
        let items = tuples.into_iter().map(|tuple| tuple.at).collect();
        self.finish_path(path, Sequence { items }.raw(), env)
    }

    #[inline(never)]
    fn tuple_step(
        &mut self,
        step: &Step,
        current: &Val,
        tuples: Option<Vec<Tuple>>,
        env: &Env,
    ) -> Outcome<Vec<Tuple>> {
        let node = match &step.kind {
            StepKind::Expr(node) => node,
            StepKind::Sort(terms, token) => {
                let sorted = match tuples {
                    Some(tuples) => {
                        self.order_by(terms, *token, &Val::Tuples(Rc::new(tuples)), env)?
                    }
                    None => {
                        // The terms are compiled to see a path's bindings: give them none.
                        let frame = Frame::bound(env, Vec::new());
                        let sorted = self.order_by(terms, *token, current, &frame)?;
                        let tuples = sorted.items().iter().enumerate().map(|(at, val)| Tuple {
                            at: val,
                            bound: step
                                .index
                                .map(|index| (index, Val::count(at)))
                                .into_iter()
                                .collect(),
                        });
                        Val::Tuples(Rc::new(tuples.collect()))
                    }
                };
                return self.tuple_stages(step, sorted, env);
            }
        };
        let tuples = tuples.unwrap_or_else(|| {
            let bare = |at| Tuple {
                at,
                bound: Vec::new(),
            };
            current.items().iter().map(bare).collect()
        });
        let mut results = Vec::new();
        for tuple in tuples {
            let frame = Frame::bound(env, tuple.bound.clone());
            let val = self.eval(node, &tuple.at, &frame)?;
            self.spread(step, &tuple, &val, &mut results)?;
        }
        self.tuple_stages(step, Val::Tuples(Rc::new(results)), env)
    }

    fn spread(
        &mut self,
        step: &Step,
        from: &Tuple,
        val: &Val,
        out: &mut Vec<Tuple>,
    ) -> Outcome<()> {
        if let Val::Tuples(inner) = val {
            for tuple in inner.iter() {
                self.meter.items(1 + from.bound.len() + tuple.bound.len())?;
                let mut joined = Tuple {
                    at: tuple.at.clone(),
                    bound: from.bound.clone(),
                };
                for (number, val) in &tuple.bound {
                    joined.bind(*number, val.clone());
                }
                out.push(joined);
            }
            return Ok(());
        }
        if matches!(val, Val::Json(Value::Array(_), _) | Val::List(_)) || !val.is_undef() {
            let items = val.items();
            for at in 0..items.len() {
                self.meter.items(1 + from.bound.len())?;
                let mut tuple = from.clone();
                match step.focus {
                    Some(focus) => tuple.bind(focus, items.get(at)),
                    None => tuple.at = items.get(at),
                }
                if let Some(index) = step.index {
                    tuple.bind(index, Val::count(at));
                }
                if let Some(ancestor) = step.ancestor {
                    tuple.bind(ancestor, from.at.clone());
                }
                out.push(tuple);
            }
        }
        Ok(())
    }

    fn tuple_stages(&mut self, step: &Step, val: Val, env: &Env) -> Outcome<Vec<Tuple>> {
        match self.stages(&step.stages, val, env)? {
            Val::Tuples(tuples) => Ok(Rc::unwrap_or_clone(tuples)),
            _ => Ok(Vec::new()),
        }
    }

    /// Numbers tuples by their place.
    pub(super) fn number_tuples(&mut self, binding: u32, val: Val) -> Val {
        match val {
            Val::Tuples(tuples) => {
                let mut tuples = Rc::unwrap_or_clone(tuples);
                for (at, tuple) in tuples.iter_mut().enumerate() {
                    tuple.bind(binding, Val::count(at));
                }
                Val::Tuples(Rc::new(tuples))
            }
            other => other,
        }
    }
}
