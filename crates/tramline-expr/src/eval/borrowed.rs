//! Tries an expression on a borrowed value: no clone, no allocation and no errors. If that gives no
//! answer, the caller evaluates in full.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::operator::{calculate, satisfies, text_order};
use super::val::Val;
use crate::compile::node::{ExprKind, ExprNode, FieldName, PathNode, PathStep, StepKind, Variable};
use crate::syntax::ast::BinaryOp;
use crate::value::{Number, Value};
use std::cmp::Ordering;

/// The result of a try.
pub(super) enum BorrowedResult<'a> {
    Missing,
    Ref(&'a Value),
    Number(f64),
    Bool(bool),
    Owned(Value, u16),
}

/// The context to try on.
#[derive(Clone, Copy)]
pub(super) enum BorrowedContext<'a> {
    Value(&'a Value),
    Undef,
    /// A value that only a full evaluation handles.
    Other,
}

impl BorrowedResult<'_> {
    fn value(&self) -> Option<&Value> {
        match self {
            Self::Ref(value) => Some(value),
            Self::Owned(value, _) => Some(value),
            Self::Missing | Self::Number(_) | Self::Bool(_) => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => self.value()?.as_f64(),
        }
    }

    fn text(&self) -> Option<&str> {
        self.value()?.as_str()
    }

    /// Its truth value; `None` for arrays, whose items would have to be checked.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Missing => Some(false),
            Self::Number(number) => Some(*number != 0.0 && !number.is_nan()),
            Self::Bool(truth) => Some(*truth),
            Self::Ref(_) | Self::Owned(..) => match self.value()? {
                Value::Null => Some(false),
                Value::Bool(truth) => Some(*truth),
                Value::Number(number) => {
                    let number = number.as_f64();
                    Some(number != 0.0 && !number.is_nan())
                }
                Value::String(text) => Some(!text.is_empty()),
                Value::Object(map) => Some(!map.is_empty()),
                Value::Array(_) => None,
            },
        }
    }
}

impl Machine<'_> {
    /// Tries a node on an evaluation value.
    pub(super) fn peek_val(&self, node: &ExprNode, input: &Val, env: &Env) -> Option<Val> {
        let (given, depth) = match input {
            Val::Json(value, depth) => (BorrowedContext::Value(value), *depth),
            Val::Undef => (BorrowedContext::Undef, 0),
            Val::List(_) | Val::Record(_) | Val::Func(_) | Val::Tuples(_) => {
                (BorrowedContext::Other, 0)
            }
        };
        self.peek_context(node, given, depth, env)
    }

    /// Tries a node on a borrowed value of this depth.
    pub(super) fn peek_context(
        &self,
        node: &ExprNode,
        given: BorrowedContext<'_>,
        depth: u16,
        env: &Env,
    ) -> Option<Val> {
        Some(match self.peek(node, given, env)? {
            BorrowedResult::Missing => Val::Undef,
            BorrowedResult::Ref(value) => Val::Json(value.clone(), depth),
            BorrowedResult::Number(number) => Val::number(number),
            BorrowedResult::Bool(truth) => Val::bool(truth),
            BorrowedResult::Owned(value, depth) => Val::Json(value, depth),
        })
    }

    pub(super) fn peek<'a>(
        &self,
        node: &'a ExprNode,
        input: BorrowedContext<'a>,
        env: &Env,
    ) -> Option<BorrowedResult<'a>> {
        self.meter.burn(1).ok()?;
        match &node.kind {
            ExprKind::Literal(value) => Some(BorrowedResult::Ref(value)),
            ExprKind::Name(name) => field(input, name),
            ExprKind::Context => match input {
                BorrowedContext::Value(value) => Some(BorrowedResult::Ref(value)),
                BorrowedContext::Undef => Some(BorrowedResult::Missing),
                BorrowedContext::Other => None,
            },
            ExprKind::Variable(variable) => self.peek_variable(variable, env),
            ExprKind::Path(path) => self.peek_path(path, input, env),
            ExprKind::Arithmetic(op, pair) => {
                let left = self.peek(&pair.0, input, env)?;
                let right = self.peek(&pair.1, input, env)?;
                peek_arithmetic(*op, &left, &right)
            }
            ExprKind::Compare(op, pair) => {
                let left = self.peek(&pair.0, input, env)?;
                let right = self.peek(&pair.1, input, env)?;
                peek_compare(*op, &left, &right)
            }
            ExprKind::And(pair) => match self.peek(&pair.0, input, env)?.truth()? {
                false => Some(BorrowedResult::Bool(false)),
                true => Some(BorrowedResult::Bool(
                    self.peek(&pair.1, input, env)?.truth()?,
                )),
            },
            ExprKind::Or(pair) => match self.peek(&pair.0, input, env)?.truth()? {
                true => Some(BorrowedResult::Bool(true)),
                false => Some(BorrowedResult::Bool(
                    self.peek(&pair.1, input, env)?.truth()?,
                )),
            },
            ExprKind::Negate(inner) => match self.peek(inner, input, env)? {
                BorrowedResult::Missing => Some(BorrowedResult::Missing),
                other => other
                    .number()
                    .filter(|number| number.is_finite())
                    .map(|n| BorrowedResult::Number(-n)),
            },
            ExprKind::Conditional(parts) => match self.peek(&parts.0, input, env)?.truth()? {
                true => self.peek(&parts.1, input, env),
                false => match &parts.2 {
                    Some(otherwise) => self.peek(otherwise, input, env),
                    None => Some(BorrowedResult::Missing),
                },
            },
            ExprKind::Elvis(pair) => {
                let left = self.peek(&pair.0, input, env)?;
                match left.truth()? {
                    true => Some(left),
                    false => self.peek(&pair.1, input, env),
                }
            }
            ExprKind::Coalesce(pair) => match self.peek(&pair.0, input, env)? {
                BorrowedResult::Missing => self.peek(&pair.1, input, env),
                other => Some(other),
            },
            ExprKind::Block(block) => match &block.body[..] {
                [only] => self.peek(only, input, env),
                _ => None,
            },
            _ => None,
        }
    }

    fn peek_variable<'a>(&self, variable: &Variable, env: &Env) -> Option<BorrowedResult<'a>> {
        let Variable::Slots(places, _) = variable else {
            return None;
        };
        for (hops, slot) in places {
            if let Some(val) = Frame::ancestor(env, *hops).get(*slot) {
                return match val {
                    Val::Json(Value::Array(_), _) => None,
                    Val::Json(value, depth) => Some(BorrowedResult::Owned(value, depth)),
                    Val::Undef => Some(BorrowedResult::Missing),
                    Val::List(_) | Val::Record(_) | Val::Func(_) | Val::Tuples(_) => None,
                };
            }
        }
        None
    }

    fn peek_path<'a>(
        &self,
        path: &'a PathNode,
        input: BorrowedContext<'a>,
        env: &Env,
    ) -> Option<BorrowedResult<'a>> {
        let (first, rest) = path.steps.split_first()?;
        let StepKind::Expr(first) = &first.kind else {
            return None;
        };
        match &first.kind {
            ExprKind::Name(name) => match field(input, name)? {
                BorrowedResult::Ref(value) => Some(
                    follow_fields(rest, value)?
                        .map_or(BorrowedResult::Missing, BorrowedResult::Ref),
                ),
                other => Some(other),
            },
            ExprKind::Context => match input {
                BorrowedContext::Value(value) => Some(
                    follow_fields(rest, value)?
                        .map_or(BorrowedResult::Missing, BorrowedResult::Ref),
                ),
                BorrowedContext::Undef => Some(BorrowedResult::Missing),
                BorrowedContext::Other => None,
            },
            ExprKind::Variable(Variable::Slots(places, _)) => {
                let [(hops, slot), ..] = **places else {
                    return None;
                };
                // Only the value that the steps lead to is cloned out of the frame.
                Frame::ancestor(env, hops).with_slot(slot, |val| match val {
                    Some(Val::Json(value, depth)) => Some(match follow_fields(rest, value)? {
                        Some(value) => BorrowedResult::Owned(value.clone(), *depth),
                        None => BorrowedResult::Missing,
                    }),
                    Some(Val::Undef) => Some(BorrowedResult::Missing),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

/// The value that steps lead to; the outer `None` means they meet an array.
#[inline]
fn follow_fields<'a>(steps: &[PathStep], value: &'a Value) -> Option<Option<&'a Value>> {
    let mut value = value;
    for step in steps {
        let StepKind::Expr(ExprNode {
            kind: ExprKind::Name(field),
            ..
        }) = &step.kind
        else {
            return None;
        };
        value = match value {
            Value::Object(map) => match field.of(map) {
                Some(value) => value,
                None => return Some(None),
            },
            Value::Array(_) => return None,
            _ => return Some(None),
        };
    }
    Some(Some(value))
}

#[inline]
fn field<'a>(input: BorrowedContext<'a>, field: &FieldName) -> Option<BorrowedResult<'a>> {
    match input {
        BorrowedContext::Value(Value::Object(map)) => Some(
            field
                .of(map)
                .map_or(BorrowedResult::Missing, BorrowedResult::Ref),
        ),
        BorrowedContext::Value(Value::Array(_)) | BorrowedContext::Other => None,
        BorrowedContext::Value(_) | BorrowedContext::Undef => Some(BorrowedResult::Missing),
    }
}

fn peek_arithmetic<'a>(
    op: BinaryOp,
    left: &BorrowedResult<'a>,
    right: &BorrowedResult<'a>,
) -> Option<BorrowedResult<'a>> {
    let usable = |peek: &BorrowedResult<'a>| match peek {
        BorrowedResult::Missing => Some(None),
        other => other.number().filter(|number| number.is_finite()).map(Some),
    };
    Some(match (usable(left)?, usable(right)?) {
        (Some(left), Some(right)) => BorrowedResult::Number(calculate(op, left, right)),
        _ => BorrowedResult::Missing,
    })
}

fn peek_compare<'a>(
    op: BinaryOp,
    left: &BorrowedResult<'a>,
    right: &BorrowedResult<'a>,
) -> Option<BorrowedResult<'a>> {
    if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
        return same(left, right)
            .map(|same| BorrowedResult::Bool(same == (op == BinaryOp::Equal)))
            .or(match (left, right) {
                (BorrowedResult::Missing, _) | (_, BorrowedResult::Missing) => {
                    Some(BorrowedResult::Bool(false))
                }
                _ => None,
            });
    }
    if let (Some(left), Some(right)) = (left.number(), right.number()) {
        return Some(BorrowedResult::Bool(satisfies(
            op,
            left.partial_cmp(&right),
        )));
    }
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Some(BorrowedResult::Bool(satisfies(
            op,
            Some(text_order(left, right)),
        )));
    }
    None
}

/// Whether two scalars are equal; `None` if one is missing, an array or an object.
fn same(left: &BorrowedResult<'_>, right: &BorrowedResult<'_>) -> Option<bool> {
    fn scalar<'v>(peek: &'v BorrowedResult<'_>, made: &'v mut Value) -> Option<&'v Value> {
        match peek {
            BorrowedResult::Missing => None,
            BorrowedResult::Number(number) => {
                *made = Value::Number(Number::Float(*number));
                Some(made)
            }
            BorrowedResult::Bool(truth) => {
                *made = Value::Bool(*truth);
                Some(made)
            }
            BorrowedResult::Ref(_) | BorrowedResult::Owned(..) => match peek.value()? {
                Value::Array(_) | Value::Object(_) => None,
                value => Some(value),
            },
        }
    }
    let (mut a, mut b) = (Value::Null, Value::Null);
    Some(scalar(left, &mut a)? == scalar(right, &mut b)?)
}

/// Decides a test made of fields, literals, comparisons, `and` and `or` on a plain value, without a
/// frame or a copy; `None` if the test needs more.
#[inline]
pub(super) fn decide_test(test: &ExprNode, item: &Value) -> Option<bool> {
    match &test.kind {
        ExprKind::Compare(op, pair) => {
            let left = resolve(&pair.0, item)?;
            let right = resolve(&pair.1, item)?;
            decide_compare(*op, left, right)
        }
        ExprKind::And(pair) => Some(decide_test(&pair.0, item)? && decide_test(&pair.1, item)?),
        ExprKind::Or(pair) => Some(decide_test(&pair.0, item)? || decide_test(&pair.1, item)?),
        _ => None,
    }
}

#[inline]
fn resolve<'a>(node: &'a ExprNode, item: &'a Value) -> Option<Option<&'a Value>> {
    match &node.kind {
        ExprKind::Literal(value) => Some(Some(value)),
        ExprKind::Path(path) if node.is_quick => match item {
            Value::Object(_) => follow_fields(&path.steps, item),
            _ => None,
        },
        _ => None,
    }
}

#[inline]
fn decide_compare(op: BinaryOp, left: Option<&Value>, right: Option<&Value>) -> Option<bool> {
    let equality = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
    match (left?, right?) {
        (Value::Number(a), Value::Number(b)) => {
            let ordering = a.as_f64().partial_cmp(&b.as_f64());
            Some(match op {
                BinaryOp::Equal => ordering == Some(Ordering::Equal),
                BinaryOp::NotEqual => ordering != Some(Ordering::Equal),
                _ => satisfies(op, ordering),
            })
        }
        (Value::String(a), Value::String(b)) if equality => {
            Some((a == b) == (op == BinaryOp::Equal))
        }
        (Value::Bool(a), Value::Bool(b)) if equality => Some((a == b) == (op == BinaryOp::Equal)),
        _ => None,
    }
}
