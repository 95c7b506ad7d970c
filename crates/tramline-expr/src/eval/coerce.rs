//! Fits arguments to a signature: fills in the context, wraps single values, reports mismatches.

use super::machine::{Machine, unwrap_input};
use super::val::Val;
use crate::error::{ExprResult, Flaw};
use crate::syntax::signature::{
    ARRAY, ArgumentMismatch, MISSING, Signature, SignatureParam, TypeSet, plural,
};

impl Machine<'_> {
    /// The arguments as the signature expects them: one for each parameter, or more for a variadic
    /// one.
    pub(crate) fn coerce_args(
        &mut self,
        signature: &Signature,
        args: Vec<Val>,
        input: &Val,
    ) -> ExprResult<Vec<Val>> {
        if args.len() == signature.params.len() {
            let direct = |(param, arg): (&SignatureParam, &Val)| {
                let kind = arg.kind();
                param.types & kind != 0 && (!param.array || kind == ARRAY && param.items.is_none())
            };
            if signature.params.iter().zip(&args).all(direct) {
                return Ok(args);
            }
        }
        self.coerce_args_slowly(signature, args, input)
    }

    #[inline(never)]
    fn coerce_args_slowly(
        &mut self,
        signature: &Signature,
        args: Vec<Val>,
        input: &Val,
    ) -> ExprResult<Vec<Val>> {
        let kinds: Vec<TypeSet> = args.iter().map(Val::kind).collect();
        let taken = signature
            .fit(&kinds)
            .map_err(|misfit| mismatch_error(misfit, &args, input))?;
        let mut fitted = Vec::with_capacity(signature.params.len());
        let mut at = 0;
        for (param, taken) in signature.params.iter().zip(taken) {
            if taken == 0 {
                if param.context {
                    if param.types & unwrap_input(input).kind() == 0 {
                        return Err(mismatch_error(ArgumentMismatch::Context(at), &args, input));
                    }
                    fitted.push(unwrap_input(input));
                } else {
                    // As in the reference, an omitted parameter still consumes one argument.
                    fitted.push(args.get(at).cloned().unwrap_or(Val::Undef));
                    at += 1;
                }
                continue;
            }
            for place in at..at + taken {
                let Some(arg) = args.get(place).cloned() else {
                    fitted.push(Val::Undef);
                    continue;
                };
                fitted.push(match param.array && arg.kind() != MISSING {
                    true => self.as_array(param, arg, place)?,
                    false => arg,
                });
            }
            at += taken;
        }
        Ok(fitted)
    }

    fn as_array(&mut self, param: &SignatureParam, arg: Val, place: usize) -> ExprResult<Val> {
        if let Some(types) = param.items {
            let items = arg.items();
            self.meter.burn(items.len() as u64)?;
            let fits = match items {
                super::val::ValItems::Values(values, _) => {
                    values.iter().all(|value| kind_of(value) & types != 0)
                }
                super::val::ValItems::Vals(vals) => vals.iter().all(|val| val.kind() & types != 0),
            };
            if !fits {
                return Err(mismatch_error(
                    ArgumentMismatch::Items(place, types),
                    &[arg],
                    &Val::Undef,
                ));
            }
        }
        match arg.is_array() {
            true => Ok(arg),
            false => self.make_array(vec![arg]),
        }
    }
}

fn kind_of(value: &crate::Value) -> TypeSet {
    use crate::Value;
    use crate::syntax::signature::{BOOLEAN, NULL, NUMBER, OBJECT, STRING};
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(_) => NUMBER,
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    }
}

#[cold]
fn mismatch_error(misfit: ArgumentMismatch, args: &[Val], input: &Val) -> Box<Flaw> {
    match misfit {
        ArgumentMismatch::Argument(place) => {
            let message = format!(
                "argument {} does not match the function's signature",
                place + 1
            );
            Flaw::new("T0410", message).value(args.get(place).and_then(Val::to_value))
        }
        ArgumentMismatch::Context(place) => {
            let message = format!(
                "the context cannot be used as argument {}: its type does not match",
                place + 1
            );
            Flaw::new("T0411", message).value(input.to_value())
        }
        ArgumentMismatch::Items(place, types) => {
            let message = format!(
                "argument {} must be an array of {}",
                place + 1,
                plural(types)
            );
            Flaw::new("T0412", message).value(args.first().and_then(Val::to_value))
        }
    }
}
