//! Higher-order functions.

use super::object::entries;
use crate::error::{ExprResult, Flaw};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::val::{Func, SequenceBuilder, Val};
use crate::functions::equality::is_true;
use std::rc::Rc;

impl Machine<'_> {
    /// Calls a function with as many of these arguments as it takes.
    fn call_with_arity(&mut self, func: &Rc<Func>, args: [&Val; 3], env: &Env) -> ExprResult<Val> {
        self.meter.burn(1)?;
        let arity = func.arity().clamp(1, 3);
        let args = args[..arity].iter().map(|arg| (*arg).clone()).collect();
        self.apply(func, args, &Val::Undef, env)
    }

    pub(super) fn map(&mut self, list: &Val, func: &Val, env: &Env) -> ExprResult<Val> {
        let (Some(func), false) = (func.as_func(), list.is_undef()) else {
            return Ok(Val::Undef);
        };
        let items = list.items();
        let mut found = SequenceBuilder::default();
        for at in 0..items.len() {
            let val = self.call_with_arity(func, [&items.get(at), &Val::count(at), list], env)?;
            if !val.is_undef() {
                self.meter.items(1)?;
                found.push(val);
            }
        }
        Ok(found.into_sequence())
    }

    pub(super) fn filter_by(&mut self, list: &Val, func: &Val, env: &Env) -> ExprResult<Val> {
        let (Some(func), false) = (func.as_func(), list.is_undef()) else {
            return Ok(Val::Undef);
        };
        let items = list.items();
        let mut found = SequenceBuilder::default();
        for at in 0..items.len() {
            let item = items.get(at);
            let val = self.call_with_arity(func, [&item, &Val::count(at), list], env)?;
            if is_true(&self.meter, &val)? {
                self.meter.items(1)?;
                found.push(item);
            }
        }
        Ok(found.into_sequence())
    }

    pub(super) fn single(&mut self, list: &Val, func: &Val, env: &Env) -> ExprResult<Val> {
        if list.is_undef() {
            return Ok(Val::Undef);
        }
        let items = list.items();
        let mut found = None;
        for at in 0..items.len() {
            let item = items.get(at);
            let taken = match func.as_func() {
                Some(func) => {
                    let val = self.call_with_arity(func, [&item, &Val::count(at), list], env)?;
                    is_true(&self.meter, &val)?
                }
                None => true,
            };
            if taken && found.is_some() {
                let message = "$single found more than one value";
                return Err(Flaw::new("D3138", message));
            }
            if taken {
                found = Some(item);
            }
        }
        found.ok_or_else(|| Flaw::new("D3139", "$single found no value"))
    }

    pub(super) fn reduce(
        &mut self,
        list: &Val,
        func: &Val,
        init: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let (Some(func), false) = (func.as_func(), list.is_undef()) else {
            return Ok(Val::Undef);
        };
        let arity = func.arity();
        if arity < 2 {
            let message = "the function for $reduce must take at least two arguments";
            return Err(Flaw::new("D3050", message));
        }
        let items = list.items();
        let mut at = 0;
        let mut total = init.clone();
        if total.is_undef() && items.len() > 0 {
            total = items.get(0);
            at = 1;
        }
        while at < items.len() {
            self.meter.burn(1)?;
            let mut args = vec![total, items.get(at)];
            if arity >= 3 {
                args.push(Val::count(at));
            }
            if arity >= 4 {
                args.push(list.clone());
            }
            total = self.apply(func, args, &Val::Undef, env)?;
            at += 1;
        }
        Ok(total)
    }

    pub(super) fn each(&mut self, object: &Val, func: &Val, env: &Env) -> ExprResult<Val> {
        let Some(func) = func.as_func() else {
            return Ok(Val::Undef);
        };
        let mut found = SequenceBuilder::default();
        for (key, val) in entries(object) {
            let val = self.call_with_arity(func, [&val, &Val::text(key), object], env)?;
            if !val.is_undef() {
                self.meter.items(1)?;
                found.push(val);
            }
        }
        Ok(found.into_sequence())
    }

    pub(super) fn sift(&mut self, object: &Val, func: &Val, env: &Env) -> ExprResult<Val> {
        let Some(func) = func.as_func() else {
            return Ok(Val::Undef);
        };
        let mut found = Vec::new();
        for (key, val) in entries(object) {
            let taken = self.call_with_arity(func, [&val, &Val::text(key.clone()), object], env)?;
            if is_true(&self.meter, &taken)? {
                found.push((key, val));
            }
        }
        match found.is_empty() {
            true => Ok(Val::Undef),
            false => self.make_object(found),
        }
    }
}
