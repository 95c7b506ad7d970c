//! Functions about values and evaluation itself.

use crate::compile::compile_inside;
use crate::error::{ExprResult, Flaw};
use crate::eval::frame::{Env, Frame};
use crate::eval::machine::{Machine, outer};
use crate::eval::val::Val;
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn error(&mut self, message: &Val) -> ExprResult<Val> {
        let message = message
            .as_str()
            .map_or("$error() was called", |text| text.as_str());
        Err(Flaw::new("D3137", message))
    }

    pub(super) fn assert(&mut self, holds: &Val, message: &Val) -> ExprResult<Val> {
        if let Val::Json(Value::Bool(true), _) = holds {
            return Ok(Val::Undef);
        }
        let message = message
            .as_str()
            .map_or("$assert() failed", |text| text.as_str());
        Err(Flaw::new("D3141", message))
    }

    pub(super) fn type_of(&mut self, val: &Val) -> ExprResult<Val> {
        let name = match val {
            Val::Undef => return Ok(Val::Undef),
            Val::Json(value, _) => match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            },
            Val::List(_) | Val::Tuples(_) => "array",
            Val::Record(_) => "object",
            Val::Func(_) => "function",
        };
        Ok(Val::text(name))
    }

    /// `$eval`: evaluates source text in the scope of the call.
    #[inline(never)]
    pub(super) fn evaluate_text(
        &mut self,
        text: &Val,
        focus: &Val,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.check_compile_stack()?;
        self.meter.text(text.len())?;
        self.meter.burn(text.len() as u64)?;
        let mut frames = Vec::new();
        let mut frame = Some(env);
        while let Some(here) = frame {
            frames.push(here.names().cloned());
            frame = here.parent();
        }
        frames.reverse();
        let program = match compile_inside(text, self.functions, &frames, true) {
            Ok((program, _)) => program,
            Err(flaw) => {
                let message = format!("the text given to $eval does not compile: {}", flaw.message);
                return Err(Flaw::new("D3120", message).value(Value::String(text.clone())));
            }
        };
        let input = match focus.is_undef() {
            true => input.clone(),
            false => outer(focus.clone()),
        };
        let frame = Frame::new(
            Some(env.clone()),
            vec![None; program.slots],
            program.names.clone(),
        );
        match self.eval(&program.root, &input, &frame) {
            Ok(val) => Ok(val),
            // Limits also apply inside `$eval`.
            Err(mut flaw) if flaw.code.starts_with('L') => {
                flaw.has_position = false;
                flaw.span = None;
                flaw.position = None;
                Err(flaw)
            }
            Err(flaw) => {
                let message = format!("the text given to $eval failed: {}", flaw.message);
                Err(Flaw::new("D3121", message).value(Value::String(text.clone())))
            }
        }
    }
}
