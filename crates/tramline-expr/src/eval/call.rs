//! Calls of built-ins, host functions, closures and other function values.

use super::frame::Env;
use super::machine::{Machine, TailCall};
use super::sink::{AggregateSink, CountSink};
use super::val::{Func, PartialCall, Val};
use crate::compile::node::{CallNode, ExprKind, ExprNode, OuterVariable, Variable};
use crate::error::{ExprResult, Flaw};
use crate::functions::Builtin;
use crate::limits::{NESTING_MAX, too_nested};
use std::rc::Rc;

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn call(
        &mut self,
        call: &CallNode,
        node: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let result = match &call.procedure.kind {
            ExprKind::Variable(Variable::Outer(OuterVariable::Builtin(builtin)))
                if !call.partial && !self.has_variable(builtin.name()) =>
            {
                self.call_builtin(*builtin, call, node.token.end, input, env)
            }
            _ => self.call_value(call, node.token.end, input, env),
        };
        match result {
            Ok(val) => Ok(val),
            Err(flaw) if flaw.has_position => Err(flaw),
            Err(flaw) => Err(match &call.name {
                Some(name) => flaw.or_at(node.token).or_token(name),
                None => flaw.or_at(node.token),
            }),
        }
    }

    fn call_builtin(
        &mut self,
        builtin: Builtin,
        call: &CallNode,
        position: u32,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        if let [
            Some(ExprNode {
                kind: ExprKind::Path(path),
                ..
            }),
        ] = &call.arguments[..]
            && path.is_field_path
            && !path.keep
            && path.group.is_none()
            && self.tracer.is_none()
            && let Some(val) = self.aggregate(builtin, path, input, env)?
        {
            return Ok(val);
        }
        let args = self.arguments(call, input, env)?;
        if call.tail && builtin.gives_sequence() {
            self.pending = Some(TailCall {
                func: Rc::new(Func::Builtin(builtin)),
                args,
                position: call.procedure.token.end,
            });
            return Ok(Val::Undef);
        }
        self.builtin(builtin, args, input, env)
            .map_err(|flaw| match call.tail {
                true => {
                    let mut flaw = flaw.at_position(call.procedure.token.end);
                    flaw.tail = true;
                    flaw
                }
                false => flaw.at_position(position),
            })
    }

    /// Aggregates over a path without materialising the values it leads to.
    fn aggregate(
        &mut self,
        builtin: Builtin,
        path: &crate::compile::node::PathNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Option<Val>> {
        match builtin {
            Builtin::Count => {
                let mut count = CountSink(0);
                let done = self.follow_path_into(path, input, env, &mut count)?;
                Ok(done.then(|| Val::count(count.0)))
            }
            Builtin::Sum | Builtin::Average | Builtin::Max | Builtin::Min => {
                let mut sum = AggregateSink {
                    count: 0,
                    total: 0.0,
                    max: f64::NEG_INFINITY,
                    min: f64::INFINITY,
                    failed: false,
                };
                let done = self.follow_path_into(path, input, env, &mut sum)?;
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

    fn arguments(&mut self, call: &CallNode, input: &Val, env: &Env) -> ExprResult<Vec<Val>> {
        let mut args = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments.iter().flatten() {
            args.push(self.eval(argument, input, env)?);
        }
        Ok(args)
    }

    #[inline(never)]
    fn call_value(
        &mut self,
        call: &CallNode,
        position: u32,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let procedure = self.eval(&call.procedure, input, env)?;
        if call.partial {
            return self.partial(call, procedure, input, env);
        }
        let func = match procedure {
            Val::Func(func) => func,
            other => {
                // The reference evaluates the arguments before it checks the callee.
                self.arguments(call, input, env)?;
                return Err(self.not_a_function(call, &other, "T1005", "T1006"));
            }
        };
        let args = self.arguments(call, input, env)?;
        if call.tail && matches!(*func, Func::Lambda(_)) {
            self.pending = Some(TailCall {
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
        call: &CallNode,
        found: &Val,
        hint: &'static str,
        plain: &'static str,
    ) -> Box<Flaw> {
        let name = call.name.clone().unwrap_or_default();
        let meant = match &call.hint {
            Some(OuterVariable::Builtin(_) | OuterVariable::Host(..)) => true,
            Some(OuterVariable::PassedIn(name)) => self.has_variable(name),
            None => false,
        };
        let flaw = match meant && found.is_undef() {
            true => Flaw::new(
                hint,
                format!("{name} is not a function; did you mean ${name}?"),
            ),
            false => Flaw::new(plain, "only a function can be called"),
        };
        match name.is_empty() {
            true => flaw,
            false => flaw.token(name),
        }
    }

    fn partial(
        &mut self,
        call: &CallNode,
        procedure: Val,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
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
        Ok(Val::Func(Rc::new(Func::Partial(PartialCall {
            func,
            args,
            depth,
        }))))
    }

    /// `value ~> function`, and `function ~> function`.
    #[inline(never)]
    pub(super) fn apply_operator(
        &mut self,
        pair: &(ExprNode, ExprNode),
        node: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let left = self.eval(&pair.0, input, env)?;
        // A call on the right takes the left as its first argument.
        if let ExprKind::Call(call) = &pair.1.kind
            && !call.partial
        {
            return self.apply_call(call, &pair.1, left, input, env);
        }
        let func = match self.eval(&pair.1, input, env)? {
            Val::Func(func) => func,
            right => {
                let message = "the right side of ~> must be a function";
                return Err(Flaw::new("T2006", message)
                    .at(node.token)
                    .value(right.to_value()));
            }
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
        call: &CallNode,
        node: &ExprNode,
        left: Val,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let procedure = self.eval(&call.procedure, input, env)?;
        let mut args = vec![left];
        args.extend(self.arguments(call, input, env)?);
        let result = match &procedure {
            Val::Func(func) => self.apply_at(func, args, Some(node.token.end), input, env),
            other => Err(self.not_a_function(call, other, "T1005", "T1006")),
        };
        result.map_err(|flaw| match (&call.name, flaw.has_position) {
            (Some(name), false) => flaw.or_at(node.token).or_token(name),
            _ => flaw.or_at(node.token),
        })
    }
}
