//! Applies a function of any kind to arguments.

use super::frame::{Env, Frame};
use super::machine::{Machine, TailCall};
use super::val::{Closure, Func, PartialCall, Val};
use crate::error::{ExprResult, Flaw};
use crate::syntax::signature::Signature;
use crate::value::{Str, Value};
use std::rc::Rc;
use std::sync::LazyLock;

/// A transform takes an object or an array.
static TRANSFORM: LazyLock<Signature> =
    LazyLock::new(|| Signature::parse("<(oa):o>", 0).unwrap_or(Signature { params: Vec::new() }));

impl Machine<'_> {
    /// Calls any function.
    pub(crate) fn apply(
        &mut self,
        func: &Rc<Func>,
        args: Vec<Val>,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        self.apply_at(func, args, None, input, env)
    }

    /// Calls any function. Errors get the position of the call, as in the reference.
    pub(super) fn apply_at(
        &mut self,
        func: &Rc<Func>,
        args: Vec<Val>,
        position: Option<u32>,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let result = match &**func {
            Func::Lambda(closure) => {
                return self.apply_closure(closure, args, position, input, env);
            }
            _ => self.apply_other(func, args, input, env),
        };
        result.map_err(|flaw| with_position(flaw, position))
    }

    fn apply_other(
        &mut self,
        func: &Rc<Func>,
        args: Vec<Val>,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        match &**func {
            Func::Lambda(closure) => self.apply_closure(closure, args, None, input, env),
            Func::Builtin(builtin) => self.builtin(*builtin, args, input, env),
            Func::Host(function, name) => self.apply_host(*function, name, args),
            Func::Partial(partial) => self.apply_partial(partial, args, input, env),
            Func::Composed(first, second, _) => {
                self.meter.enter()?;
                let result = self.apply(first, args, input, env);
                let result = result.and_then(|val| self.apply(second, vec![val], input, env));
                self.meter.leave();
                result
            }
            Func::Transform(transform, home) => {
                let args = self.coerce_args(&TRANSFORM, args, input)?;
                let target = args.into_iter().next().unwrap_or(Val::Undef);
                self.transform(transform, target, home)
            }
            Func::Regex(pattern) => self.apply_regex(pattern, args),
            Func::Next(pattern, text, from) => self.next_match(pattern, text, *from),
        }
    }

    fn apply_host(&mut self, function: usize, name: &Str, args: Vec<Val>) -> ExprResult<Val> {
        let args: Vec<Option<Value>> = args.into_iter().map(Val::into_value).collect();
        match self.host.call(function, &args) {
            Ok(None) => Ok(Val::Undef),
            // A value returned by the host is external data: it counts as input.
            Ok(Some(value)) => Ok(Val::Json(value, 0)),
            Err(message) => Err(Flaw::new("H0001", message).token(name.clone())),
        }
    }

    fn apply_partial(
        &mut self,
        partial: &PartialCall,
        args: Vec<Val>,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let mut given = args.into_iter();
        let filled = partial.args.iter().map(|arg| match arg {
            Some(val) => val.clone(),
            None => given.next().unwrap_or(Val::Undef),
        });
        let filled = filled.collect();
        self.meter.enter()?;
        let result = self.apply(&partial.func, filled, input, env);
        self.meter.leave();
        result
    }

    #[inline(never)]
    fn apply_closure(
        &mut self,
        closure: &Closure,
        args: Vec<Val>,
        position: Option<u32>,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let first = self.run_closure(closure, args, input);
        let mut val = first.map_err(|flaw| with_position(flaw, position))?;
        // Calls in tail position come back here instead of nesting.
        while let Some(TailCall {
            func,
            args,
            position,
        }) = self.pending.take()
        {
            self.meter.burn(1)?;
            let next = match &*func {
                Func::Lambda(closure) => self.run_closure(closure, args, input),
                _ => self.apply(&func, args, input, env),
            };
            val = next.map_err(|flaw| with_position(flaw, Some(position)))?;
        }
        Ok(val)
    }

    fn run_closure(&mut self, closure: &Closure, args: Vec<Val>, input: &Val) -> ExprResult<Val> {
        let lambda = &closure.lambda;
        let args = match &lambda.signature {
            Some(signature) => self.coerce_args(signature, args, input)?,
            None => args,
        };
        // Reuses the arguments' allocation for the frame.
        let mut slots: Vec<Option<Val>> = args.into_iter().map(Some).collect();
        slots.resize(lambda.params.len(), Some(Val::Undef));
        slots.resize(lambda.slots, None);
        let frame = Frame::new(Some(closure.env.clone()), slots, lambda.names.clone());
        self.eval(&lambda.body, &closure.input, &frame)
    }
}

fn with_position(mut flaw: Box<Flaw>, position: Option<u32>) -> Box<Flaw> {
    match position {
        _ if flaw.tail => {
            flaw.tail = false;
            flaw
        }
        Some(position) => flaw.at_position(position),
        None => flaw,
    }
}
