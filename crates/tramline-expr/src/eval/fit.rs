//! Fitting arguments to a signature: context put in, single values wrapped, misfits reported.

use super::machine::{Machine, context};
use super::val::Val;
use crate::error::{Flaw, Outcome};
use crate::syntax::signature::{ARRAY, MISSING, Misfit, Param, Signature, Types, plural};

impl Machine<'_> {
    /// The arguments as the signature wants them: one for each parameter, or more where it takes
    /// many.
    pub(crate) fn fit(
        &mut self,
        signature: &Signature,
        args: Vec<Val>,
        input: &Val,
    ) -> Outcome<Vec<Val>> {
        if args.len() == signature.params.len() {
            let direct = |(param, arg): (&Param, &Val)| {
                let kind = arg.kind();
                param.types & kind != 0 && (!param.array || kind == ARRAY && param.items.is_none())
            };
            if signature.params.iter().zip(&args).all(direct) {
                return Ok(args);
            }
        }
        self.fit_slowly(signature, args, input)
    }

    #[inline(never)]
    fn fit_slowly(
        &mut self,
        signature: &Signature,
        args: Vec<Val>,
        input: &Val,
    ) -> Outcome<Vec<Val>> {
        let kinds: Vec<Types> = args.iter().map(Val::kind).collect();
        let taken = signature
            .fit(&kinds)
            .map_err(|misfit| describe(misfit, &args, input))?;
        let mut fitted = Vec::with_capacity(signature.params.len());
        let mut at = 0;
        for (param, taken) in signature.params.iter().zip(taken) {
            if taken == 0 {
                if param.context {
                    if param.types & context(input).kind() == 0 {
                        return Err(describe(Misfit::Context(at), &args, input));
                    }
                    fitted.push(context(input));
                } else {
                    // As in the reference: a parameter left out still moves on by one argument.
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

    fn as_array(&mut self, param: &Param, arg: Val, place: usize) -> Outcome<Val> {
        if let Some(types) = param.items {
            let items = arg.items();
            self.meter.burn(items.len() as u64)?;
            let fits = match items {
                super::val::Items::Values(values, _) => {
                    values.iter().all(|value| kind_of(value) & types != 0)
                }
                super::val::Items::Vals(vals) => vals.iter().all(|val| val.kind() & types != 0),
            };
            if !fits {
                return Err(describe(Misfit::Items(place, types), &[arg], &Val::Undef));
            }
        }
        match arg.is_array() {
            true => Ok(arg),
            false => self.make_array(vec![arg]),
        }
    }
}

fn kind_of(value: &crate::Value) -> Types {
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
fn describe(misfit: Misfit, args: &[Val], input: &Val) -> Box<Flaw> {
    match misfit {
        Misfit::Argument(place) => {
            let message = format!(
                "argument {} does not fit what the function takes",
                place + 1
            );
            Flaw::new("T0410", message).value(args.get(place).and_then(Val::to_value))
        }
        Misfit::Context(place) => {
            let message = format!("the context does not fit as argument {}", place + 1);
            Flaw::new("T0411", message).value(input.to_value())
        }
        Misfit::Items(place, types) => {
            let message = format!(
                "argument {} must be an array of {}",
                place + 1,
                plural(types)
            );
            Flaw::new("T0412", message).value(args.first().and_then(Val::to_value))
        }
    }
}
