//! Calls: of built-ins, host functions, closures and everything else that is a function.

use super::frame::Env;
use super::machine::{Machine, Pending};
use super::sink::{Count, Sum};
use super::val::{Func, Partial, Val};
use crate::compile::node::{Call, Kind, Node, Outer, Variable};
use crate::error::{Flaw, Outcome};
use crate::functions::Builtin;
use crate::limits::{NESTING_MAX, too_nested};
use std::rc::Rc;

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn call(
        &mut self,
        call: &Call,
        node: &Node,
        input: &Val,
        env: &Env,
    ) -> Outcome<Val> {
        let result = match &call.procedure.kind {
            Kind::Variable(Variable::Outer(Outer::Builtin(builtin)))
                if !call.partial && !self.is_given(builtin.name()) =>
            {
                self.call_builtin(*builtin, call, node.token.end, input, env)
            }
            _ => self.call_value(call, node.token.end, input, env),
        };
        match result {
            Ok(val) => Ok(val),
            Err(flaw) if flaw.placed => Err(flaw),
            Err(flaw) => Err(match &call.name {
                Some(name) => flaw.or_at(node.token).or_token(name),
                None => flaw.or_at(node.token),
            }),
        }
    }

    fn call_builtin(
        &mut self,
        builtin: Builtin,
        call: &Call,
        position: u32,
        input: &Val,
        env: &Env,
    ) -> Outcome<Val> {
        if let [
            Some(Node {
                kind: Kind::Path(path),
                ..
            }),
        ] = &call.arguments[..]
            && path.walk
            && !path.keep
            && path.group.is_none()
            && self.tracer.is_none()
            && let Some(val) = self.aggregate(builtin, path, input, env)?
        {
            return Ok(val);
        }
        let args = self.arguments(call, input, env)?;
        if call.tail && builtin.gives_sequence() {
            self.pending = Some(Pending {
                func: Rc::new(Func::Builtin(builtin)),
                args,
                position: call.procedure.token.end,
            });
            return Ok(Val::Undef);
        }
        self.builtin(builtin, args, input, env)
            .map_err(|flaw| match call.tail {
                true => {
                    let mut flaw = flaw.pointing(call.procedure.token.end);
                    flaw.tail = true;
                    flaw
                }
                false => flaw.pointing(position),
            })
    }

    /// A sum, count or the like over a path, without making what the path leads to.
    fn aggregate(
        &mut self,
        builtin: Builtin,
        path: &crate::compile::node::Path,
        input: &Val,
        env: &Env,
    ) -> Outcome<Option<Val>> {
        match builtin {
            Builtin::Count => {
                let mut count = Count(0);
                let done = self.walk_into(path, input, env, &mut count)?;
                Ok(done.then(|| Val::count(count.0)))
            }
            Builtin::Sum | Builtin::Average | Builtin::Max | Builtin::Min => {
                let mut sum = Sum {
                    count: 0,
                    total: 0.0,
                    max: f64::NEG_INFINITY,
                    min: f64::INFINITY,
                    failed: false,
                };
                let done = self.walk_into(path, input, env, &mut sum)?;
                if !done || sum.failed || sum.count == 0 || sum.total.is_nan() {
                    return Ok(None);
                }
                Ok(Some(Val::number(match builtin {
                    Builtin::Sum => sum.total,
                    Builtin::Average => sum.total / sum.count as f64,
                    Builtin::Max => sum.max,
                    _ => sum.min,
                })))
            }
            _ => Ok(None),
        }
    }

    fn arguments(&mut self, call: &Call, input: &Val, env: &Env) -> Outcome<Vec<Val>> {
        let mut args = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments.iter().flatten() {
            args.push(self.eval(argument, input, env)?);
        }
        Ok(args)
    }

    #[inline(never)]
    fn call_value(&mut self, call: &Call, position: u32, input: &Val, env: &Env) -> Outcome<Val> {
        let procedure = self.eval(&call.procedure, input, env)?;
        if call.partial {
            return self.partial(call, procedure, input, env);
        }
        let func = match procedure {
            Val::Func(func) => func,
            other => {
                // The reference evaluates the arguments before it looks at what it calls.
                self.arguments(call, input, env)?;
                return Err(self.not_a_function(call, &other, "T1005", "T1006"));
            }
        };
        let args = self.arguments(call, input, env)?;
        if call.tail && matches!(*func, Func::Lambda(_)) {
            self.pending = Some(Pending {
                func,
                args,
                position: call.procedure.token.end,
            });
            return Ok(Val::Undef);
        }
        self.apply_at(&func, args, Some(position), input, env)
    }

    #[cold]
    fn not_a_function(
        &self,
        call: &Call,
        found: &Val,
        hint: &'static str,
        plain: &'static str,
    ) -> Box<Flaw> {
        let name = call.name.clone().unwrap_or_default();
        let meant = match &call.hint {
            Some(Outer::Builtin(_) | Outer::Host(..)) => true,
            Some(Outer::Given(name)) => self.is_given(name),
            None => false,
        };
        let flaw = match meant && found.is_undef() {
            true => Flaw::new(
                hint,
                format!("{name} is not a function; did you mean ${name}?"),
            ),
            false => Flaw::new(plain, "what is called here is not a function"),
        };
        match name.is_empty() {
            true => flaw,
            false => flaw.token(name),
        }
    }

    fn partial(&mut self, call: &Call, procedure: Val, input: &Val, env: &Env) -> Outcome<Val> {
        let Val::Func(func) = procedure else {
            return Err(self.not_a_function(call, &procedure, "T1007", "T1008"));
        };
        let mut args = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            args.push(match argument {
                Some(argument) => Some(self.eval(argument, input, env)?),
                None => None,
            });
        }
        let depth = func.depth() + 1;
        if depth > NESTING_MAX {
            return Err(too_nested());
        }
        Ok(Val::Func(Rc::new(Func::Partial(Partial {
            func,
            args,
            depth,
        }))))
    }

    /// `value ~> function`, and `function ~> function`.
    #[inline(never)]
    pub(super) fn apply_operator(
        &mut self,
        pair: &(Node, Node),
        node: &Node,
        input: &Val,
        env: &Env,
    ) -> Outcome<Val> {
        let left = self.eval(&pair.0, input, env)?;
        // A call on the right takes the left as its first argument.
        if let Kind::Call(call) = &pair.1.kind
            && !call.partial
        {
            return self.apply_call(call, &pair.1, left, input, env);
        }
        let Val::Func(func) = self.eval(&pair.1, input, env)? else {
            let message = "only a function can stand right of ~>";
            let right = self.eval(&pair.1, input, env)?;
            return Err(Flaw::new("T2006", message)
                .at(node.token)
                .value(right.to_value()));
        };
        if let Val::Func(first) = &left {
            let depth = first.depth().max(func.depth()) + 1;
            if depth > NESTING_MAX {
                return Err(too_nested());
            }
            return Ok(Val::Func(Rc::new(Func::Composed(
                first.clone(),
                func,
                depth,
            ))));
        }
        self.apply(&func, vec![left], input, env)
    }

    fn apply_call(
        &mut self,
        call: &Call,
        node: &Node,
        left: Val,
        input: &Val,
        env: &Env,
    ) -> Outcome<Val> {
        let procedure = self.eval(&call.procedure, input, env)?;
        let mut args = vec![left];
        args.extend(self.arguments(call, input, env)?);
        let result = match &procedure {
            Val::Func(func) => self.apply_at(func, args, Some(node.token.end), input, env),
            other => Err(self.not_a_function(call, other, "T1005", "T1006")),
        };
        result.map_err(|flaw| match (&call.name, flaw.placed) {
            (Some(name), false) => flaw.or_at(node.token).or_token(name),
            _ => flaw.or_at(node.token),
        })
    }
}
