//! Paths whose values carry bindings: `@$v`, `#$i` and parents.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::val::{SequenceBuilder, Val};
use crate::compile::node::{PathNode, PathStep, StepKind};
use crate::error::ExprResult;
use crate::value::Value;
use std::rc::Rc;

/// A value along a path, with the bindings made so far.
#[derive(Clone)]
pub(crate) struct PathTuple {
    pub(crate) at: Val,
    pub(crate) bound: Vec<(u32, Val)>,
}

impl PathTuple {
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
    pub(super) fn tuple_path(
        &mut self,
        path: &PathNode,
        current: Val,
        env: &Env,
    ) -> ExprResult<Val> {
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
        self.finish_path(path, SequenceBuilder { items }.into_sequence(), env)
    }

    #[inline(never)]
    fn tuple_step(
        &mut self,
        step: &PathStep,
        current: &Val,
        tuples: Option<Vec<PathTuple>>,
        env: &Env,
    ) -> ExprResult<Vec<PathTuple>> {
        let node = match &step.kind {
            StepKind::Expr(node) => node,
            StepKind::Sort(terms, token) => {
                let sorted = match tuples {
                    Some(tuples) => {
                        self.order_by(terms, *token, &Val::Tuples(Rc::new(tuples)), env)?
                    }
                    None => {
                        // The terms are compiled with a scope for path bindings: give them an empty
                        // one.
                        let frame = Frame::with_bindings(env, Vec::new());
                        let sorted = self.order_by(terms, *token, current, &frame)?;
                        let tuples = sorted
                            .items()
                            .iter()
                            .enumerate()
                            .map(|(at, val)| PathTuple {
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
            let bare = |at| PathTuple {
                at,
                bound: Vec::new(),
            };
            current.items().iter().map(bare).collect()
        });
        let mut results = Vec::new();
        for tuple in tuples {
            let frame = Frame::with_bindings(env, tuple.bound.clone());
            let val = self.eval(node, &tuple.at, &frame)?;
            self.expand_tuple(step, &tuple, &val, &mut results)?;
        }
        self.tuple_stages(step, Val::Tuples(Rc::new(results)), env)
    }

    fn expand_tuple(
        &mut self,
        step: &PathStep,
        from: &PathTuple,
        val: &Val,
        out: &mut Vec<PathTuple>,
    ) -> ExprResult<()> {
        if let Val::Tuples(inner) = val {
            for tuple in inner.iter() {
                self.meter.items(1 + from.bound.len() + tuple.bound.len())?;
                let mut joined = PathTuple {
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

    fn tuple_stages(&mut self, step: &PathStep, val: Val, env: &Env) -> ExprResult<Vec<PathTuple>> {
        match self.stages(&step.stages, val, env)? {
            Val::Tuples(tuples) => Ok(Rc::unwrap_or_clone(tuples)),
            _ => Ok(Vec::new()),
        }
    }

    /// Binds the index of each tuple.
    pub(super) fn bind_index(&mut self, binding: u32, val: Val) -> Val {
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
