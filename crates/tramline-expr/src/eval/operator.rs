//! Operators on one or two values.

use super::frame::Env;
use super::machine::Machine;
use super::val::Val;
use crate::compile::node::ExprNode;
use crate::error::{ExprResult, Flaw};
use crate::functions::equality::{equal, is_true};
use crate::functions::string::text_of;
use crate::syntax::ast::BinaryOp;
use crate::value::{Number, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// The longest range, in numbers; the same limit as the reference.
const RANGE_MAX: f64 = 1e7;

type Pair = (ExprNode, ExprNode);

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn arithmetic(
        &mut self,
        op: BinaryOp,
        pair: &Pair,
        node: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        if node.peek
            && self.tracer.is_none()
            && let Some(val) = self.peek_val(node, input, env)
        {
            return Ok(val);
        }
        let left = self.eval(&pair.0, input, env)?;
        let right = self.eval(&pair.1, input, env)?;
        let left = operand(&left, "T2001", "left", op)?;
        let right = operand(&right, "T2002", "right", op)?;
        Ok(match (left, right) {
            (Some(left), Some(right)) => Val::number(calculate(op, left, right)),
            _ => Val::Undef,
        })
    }

    #[inline(never)]
    pub(super) fn negate(
        &mut self,
        inner: &ExprNode,
        _: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        match self.eval(inner, input, env)? {
            Val::Undef => Ok(Val::Undef),
            Val::Json(Value::Number(number), _) if !number.as_f64().is_nan() => {
                finite(number.as_f64(), "-")?;
                Ok(Val::number(-number.as_f64()))
            }
            other => {
                let message = "only a number can be negated";
                Err(Flaw::new("D1002", message)
                    .token("-")
                    .value(other.to_value()))
            }
        }
    }

    #[inline(never)]
    pub(super) fn compare(
        &mut self,
        op: BinaryOp,
        pair: &Pair,
        node: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        if node.peek
            && self.tracer.is_none()
            && let Some(val) = self.peek_val(node, input, env)
        {
            return Ok(val);
        }
        let left = self.eval(&pair.0, input, env)?;
        let right = self.eval(&pair.1, input, env)?;
        if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            if left.is_undef() || right.is_undef() {
                return Ok(Val::bool(false));
            }
            let same = equal(&self.meter, &left, &right)?;
            return Ok(Val::bool(same == (op == BinaryOp::Equal)));
        }
        order(op, &left, &right)
    }

    pub(super) fn and(
        &mut self,
        pair: &Pair,
        node: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let left = self.eval(&pair.0, input, env)?;
        if !is_true(&self.meter, &left)? {
            return Ok(Val::bool(false));
        }
        let right = self
            .eval(&pair.1, input, env)
            .map_err(|flaw| attribute_to_operator(flaw, node, "and"))?;
        Ok(Val::bool(is_true(&self.meter, &right)?))
    }

    pub(super) fn or(
        &mut self,
        pair: &Pair,
        node: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let left = self.eval(&pair.0, input, env)?;
        if is_true(&self.meter, &left)? {
            return Ok(Val::bool(true));
        }
        let right = self
            .eval(&pair.1, input, env)
            .map_err(|flaw| attribute_to_operator(flaw, node, "or"))?;
        Ok(Val::bool(is_true(&self.meter, &right)?))
    }

    #[inline(never)]
    pub(super) fn concat(
        &mut self,
        operands: &[ExprNode],
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let mut text = String::new();
        for operand in operands {
            match self.eval(operand, input, env)? {
                Val::Undef => {}
                Val::Json(Value::String(piece), _) => {
                    self.meter.text(piece.len())?;
                    text.push_str(&piece);
                }
                other => {
                    let piece = text_of(&self.meter, &other, false)?;
                    self.meter.text(piece.len())?;
                    text.push_str(&piece);
                }
            }
        }
        Ok(Val::text(text))
    }

    #[inline(never)]
    pub(super) fn member(&mut self, pair: &Pair, input: &Val, env: &Env) -> ExprResult<Val> {
        let left = self.eval(&pair.0, input, env)?;
        let right = self.eval(&pair.1, input, env)?;
        if left.is_undef() || right.is_undef() {
            return Ok(Val::bool(false));
        }
        for item in right.items().iter() {
            self.meter.burn(1)?;
            if identical(&left, &item) {
                return Ok(Val::bool(true));
            }
        }
        Ok(Val::bool(false))
    }

    #[inline(never)]
    pub(super) fn range(
        &mut self,
        pair: &Pair,
        _: &ExprNode,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let left = self.eval(&pair.0, input, env)?;
        let right = self.eval(&pair.1, input, env)?;
        let first = integer_bound(&left, "T2003", "left")?;
        let last = integer_bound(&right, "T2004", "right")?;
        let (Some(first), Some(last)) = (first, last) else {
            return Ok(Val::Undef);
        };
        if first > last {
            return Ok(Val::Undef);
        }
        let size = last - first + 1.0;
        if size > RANGE_MAX {
            let message = format!("a range holds at most 10,000,000 numbers, not {size}");
            return Err(Flaw::new("D2014", message)
                .token("..")
                .value(Value::from(size)));
        }
        let size = size as usize;
        self.meter.items(size)?;
        let mut numbers = Vec::with_capacity(size);
        let mut number = first;
        while number <= last && numbers.len() < size {
            numbers.push(Value::Number(Number::Int(number as i64)));
            number += 1.0;
        }
        // A range appears only inside an array constructor, which flattens it.
        Ok(Val::Json(numbers.into(), 1))
    }

    pub(super) fn elvis(&mut self, pair: &Pair, input: &Val, env: &Env) -> ExprResult<Val> {
        let left = self.eval(&pair.0, input, env)?;
        match is_true(&self.meter, &left)? {
            true => Ok(left),
            false => self.eval(&pair.1, input, env),
        }
    }

    pub(super) fn coalesce(&mut self, pair: &Pair, input: &Val, env: &Env) -> ExprResult<Val> {
        let left = self.eval(&pair.0, input, env)?;
        match left.is_undef() {
            false => Ok(left),
            true => self.eval(&pair.1, input, env),
        }
    }

    pub(super) fn conditional(
        &mut self,
        parts: &(ExprNode, ExprNode, Option<ExprNode>),
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        if parts.0.peek && self.tracer.is_none() {
            // The branches may call functions: only the test is tried.
            if let Some(Val::Json(Value::Bool(truth), _)) = self.peek_val(&parts.0, input, env) {
                return match (truth, &parts.2) {
                    (true, _) => self.eval(&parts.1, input, env),
                    (false, Some(otherwise)) => self.eval(otherwise, input, env),
                    (false, None) => Ok(Val::Undef),
                };
            }
        }
        let test = self.eval(&parts.0, input, env)?;
        if is_true(&self.meter, &test)? {
            return self.eval(&parts.1, input, env);
        }
        match &parts.2 {
            Some(otherwise) => self.eval(otherwise, input, env),
            None => Ok(Val::Undef),
        }
    }
}

/// The reference attributes errors on the right side of `and` and `or` to the operator.
#[cold]
fn attribute_to_operator(flaw: Box<Flaw>, node: &ExprNode, mark: &'static str) -> Box<Flaw> {
    flaw.at_position(node.token.end).token(mark)
}

pub(super) fn calculate(op: BinaryOp, left: f64, right: f64) -> f64 {
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Modulo => left % right,
        _ => f64::NAN,
    }
}

pub(super) fn finite(number: f64, token: &'static str) -> ExprResult<()> {
    if number.is_infinite() {
        let message = "the number is out of range";
        return Err(Flaw::new("D1001", message)
            .token(token)
            .value(Value::from(number)));
    }
    Ok(())
}

fn operand(val: &Val, code: &'static str, side: &str, op: BinaryOp) -> ExprResult<Option<f64>> {
    match val {
        Val::Undef => Ok(None),
        Val::Json(Value::Number(number), _) if !number.as_f64().is_nan() => {
            finite(number.as_f64(), op.mark())?;
            Ok(Some(number.as_f64()))
        }
        other => {
            let message = format!("the {side} side of {} is not a number", op.mark());
            Err(Flaw::new(code, message)
                .token(op.mark())
                .value(other.to_value()))
        }
    }
}

fn integer_bound(val: &Val, code: &'static str, side: &str) -> ExprResult<Option<f64>> {
    match val {
        Val::Undef => Ok(None),
        Val::Json(Value::Number(number), _) if number.as_f64().fract() == 0.0 => {
            Ok(Some(number.as_f64()))
        }
        other => {
            let message = format!("the {side} end of a range is not a whole number");
            Err(Flaw::new(code, message).token("..").value(other.to_value()))
        }
    }
}

/// Whether two values are identical: arrays and objects only if they share storage.
fn identical(left: &Val, right: &Val) -> bool {
    match (left, right) {
        (Val::Json(a, _), Val::Json(b, _)) => match (a, b) {
            (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b),
            (Value::Object(a), Value::Object(b)) => Arc::ptr_eq(a, b),
            _ => a == b,
        },
        _ => false,
    }
}

/// Orders text as JavaScript does: by UTF-16 units.
pub(crate) fn text_order(left: &str, right: &str) -> Ordering {
    let differing = left.chars().zip(right.chars()).find(|(a, b)| a != b);
    match differing {
        None => left.len().cmp(&right.len()),
        Some((a, b)) => {
            let (mut units_a, mut units_b) = ([0; 2], [0; 2]);
            a.encode_utf16(&mut units_a)
                .iter()
                .cmp(b.encode_utf16(&mut units_b).iter())
        }
    }
}

pub(super) fn satisfies(op: BinaryOp, ordering: Option<Ordering>) -> bool {
    match ordering {
        None => false,
        Some(ordering) => match op {
            BinaryOp::Less => ordering.is_lt(),
            BinaryOp::LessEqual => ordering.is_le(),
            BinaryOp::Greater => ordering.is_gt(),
            BinaryOp::GreaterEqual => ordering.is_ge(),
            _ => false,
        },
    }
}

fn order(op: BinaryOp, left: &Val, right: &Val) -> ExprResult<Val> {
    let comparable = |val: &Val| {
        matches!(
            val,
            Val::Undef | Val::Json(Value::Number(_) | Value::String(_), _)
        )
    };
    if !comparable(left) || !comparable(right) {
        let message = format!("{} compares two numbers or two strings", op.mark());
        let wrong = if comparable(left) { right } else { left };
        return Err(Flaw::new("T2010", message)
            .token(op.mark())
            .value(wrong.to_value()));
    }
    match (left, right) {
        (Val::Json(Value::Number(a), _), Val::Json(Value::Number(b), _)) => Ok(Val::bool(
            satisfies(op, a.as_f64().partial_cmp(&b.as_f64())),
        )),
        (Val::Json(Value::String(a), _), Val::Json(Value::String(b), _)) => {
            Ok(Val::bool(satisfies(op, Some(text_order(a, b)))))
        }
        (Val::Undef, _) | (_, Val::Undef) => Ok(Val::Undef),
        _ => {
            let message = format!("{} compares values of one type", op.mark());
            Err(Flaw::new("T2009", message)
                .token(op.mark())
                .value(left.to_value()))
        }
    }
}
