//! Trying an expression on a borrowed value: no clone, no allocation, and no errors of its own.
//! Where that does not answer, the caller evaluates in full.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::operator::{calculate, holds, text_order};
use super::val::Val;
use crate::compile::node::{Field, Kind, Node, Path, Step, StepKind, Variable};
use crate::syntax::ast::BinaryOp;
use crate::value::{Number, Value};
use std::cmp::Ordering;

/// What an expression came to.
pub(super) enum Peek<'a> {
    Missing,
    Ref(&'a Value),
    Number(f64),
    Bool(bool),
    Own(Value, u16),
}

/// The context to try on.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    Value(&'a Value),
    Undef,
    /// Something that only a full evaluation handles.
    Other,
}

impl Peek<'_> {
    fn value(&self) -> Option<&Value> {
        match self {
            Self::Ref(value) => Some(value),
            Self::Own(value, _) => Some(value),
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

    /// Its truth value; arrays need more than a look.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Missing => Some(false),
            Self::Number(number) => Some(*number != 0.0 && !number.is_nan()),
            Self::Bool(truth) => Some(*truth),
            Self::Ref(_) | Self::Own(..) => match self.value()? {
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
    /// Tries a node on a value in flight.
    pub(super) fn peek_val(&self, node: &Node, input: &Val, env: &Env) -> Option<Val> {
        let (given, depth) = match input {
            Val::Json(value, depth) => (Given::Value(value), *depth),
            Val::Undef => (Given::Undef, 0),
            Val::List(_) | Val::Record(_) | Val::Func(_) | Val::Tuples(_) => (Given::Other, 0),
        };
        self.peek_given(node, given, depth, env)
    }

    /// Tries a node on a borrowed value of this depth.
    pub(super) fn peek_given(
        &self,
        node: &Node,
        given: Given<'_>,
        depth: u16,
        env: &Env,
    ) -> Option<Val> {
        Some(match self.peek(node, given, env)? {
            Peek::Missing => Val::Undef,
            Peek::Ref(value) => Val::Json(value.clone(), depth),
            Peek::Number(number) => Val::number(number),
            Peek::Bool(truth) => Val::bool(truth),
            Peek::Own(value, depth) => Val::Json(value, depth),
        })
    }

    pub(super) fn peek<'a>(&self, node: &'a Node, input: Given<'a>, env: &Env) -> Option<Peek<'a>> {
        self.meter.burn(1).ok()?;
        match &node.kind {
            Kind::Literal(value) => Some(Peek::Ref(value)),
            Kind::Name(name) => field(input, name),
            Kind::Context => match input {
                Given::Value(value) => Some(Peek::Ref(value)),
                Given::Undef => Some(Peek::Missing),
                Given::Other => None,
            },
            Kind::Variable(variable) => self.peek_variable(variable, env),
            Kind::Path(path) => self.peek_path(path, input, env),
            Kind::Arithmetic(op, pair) => {
                let left = self.peek(&pair.0, input, env)?;
                let right = self.peek(&pair.1, input, env)?;
                peek_arithmetic(*op, &left, &right)
            }
            Kind::Compare(op, pair) => {
                let left = self.peek(&pair.0, input, env)?;
                let right = self.peek(&pair.1, input, env)?;
                peek_compare(*op, &left, &right)
            }
            Kind::And(pair) => match self.peek(&pair.0, input, env)?.truth()? {
                false => Some(Peek::Bool(false)),
                true => Some(Peek::Bool(self.peek(&pair.1, input, env)?.truth()?)),
            },
            Kind::Or(pair) => match self.peek(&pair.0, input, env)?.truth()? {
                true => Some(Peek::Bool(true)),
                false => Some(Peek::Bool(self.peek(&pair.1, input, env)?.truth()?)),
            },
            Kind::Negate(inner) => match self.peek(inner, input, env)? {
                Peek::Missing => Some(Peek::Missing),
                other => other
                    .number()
                    .filter(|number| number.is_finite())
                    .map(|n| Peek::Number(-n)),
            },
            Kind::Conditional(parts) => match self.peek(&parts.0, input, env)?.truth()? {
                true => self.peek(&parts.1, input, env),
                false => match &parts.2 {
                    Some(otherwise) => self.peek(otherwise, input, env),
                    None => Some(Peek::Missing),
                },
            },
            Kind::Elvis(pair) => {
                let left = self.peek(&pair.0, input, env)?;
                match left.truth()? {
                    true => Some(left),
                    false => self.peek(&pair.1, input, env),
                }
            }
            Kind::Coalesce(pair) => match self.peek(&pair.0, input, env)? {
                Peek::Missing => self.peek(&pair.1, input, env),
                other => Some(other),
            },
            Kind::Block(block) => match &block.body[..] {
                [only] => self.peek(only, input, env),
                _ => None,
            },
            _ => None,
        }
    }

    fn peek_variable<'a>(&self, variable: &Variable, env: &Env) -> Option<Peek<'a>> {
        let Variable::Slots(places, _) = variable else {
            return None;
        };
        for (hops, slot) in places {
            if let Some(val) = Frame::out(env, *hops).get(*slot) {
                return match val {
                    Val::Json(Value::Array(_), _) => None,
                    Val::Json(value, depth) => Some(Peek::Own(value, depth)),
                    Val::Undef => Some(Peek::Missing),
                    Val::List(_) | Val::Record(_) | Val::Func(_) | Val::Tuples(_) => None,
                };
            }
        }
        None
    }

    fn peek_path<'a>(&self, path: &'a Path, input: Given<'a>, env: &Env) -> Option<Peek<'a>> {
        let (first, rest) = path.steps.split_first()?;
        let StepKind::Expr(first) = &first.kind else {
            return None;
        };
        match &first.kind {
            Kind::Name(name) => match field(input, name)? {
                Peek::Ref(value) => Some(follow(rest, value)?.map_or(Peek::Missing, Peek::Ref)),
                other => Some(other),
            },
            Kind::Context => match input {
                Given::Value(value) => Some(follow(rest, value)?.map_or(Peek::Missing, Peek::Ref)),
                Given::Undef => Some(Peek::Missing),
                Given::Other => None,
            },
            Kind::Variable(Variable::Slots(places, _)) => {
                let [(hops, slot), ..] = **places else {
                    return None;
                };
                // Only what the steps lead to is copied out of the frame.
                Frame::out(env, hops).look(slot, |val| match val {
                    Some(Val::Json(value, depth)) => Some(match follow(rest, value)? {
                        Some(value) => Peek::Own(value.clone(), *depth),
                        None => Peek::Missing,
                    }),
                    Some(Val::Undef) => Some(Peek::Missing),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

/// Where steps lead from a value; none where they meet an array.
#[inline]
fn follow<'a>(steps: &[Step], value: &'a Value) -> Option<Option<&'a Value>> {
    let mut value = value;
    for step in steps {
        let StepKind::Expr(Node {
            kind: Kind::Name(field),
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
fn field<'a>(input: Given<'a>, field: &Field) -> Option<Peek<'a>> {
    match input {
        Given::Value(Value::Object(map)) => Some(field.of(map).map_or(Peek::Missing, Peek::Ref)),
        Given::Value(Value::Array(_)) | Given::Other => None,
        Given::Value(_) | Given::Undef => Some(Peek::Missing),
    }
}

fn peek_arithmetic<'a>(op: BinaryOp, left: &Peek<'a>, right: &Peek<'a>) -> Option<Peek<'a>> {
    let usable = |peek: &Peek<'a>| match peek {
        Peek::Missing => Some(None),
        other => other.number().filter(|number| number.is_finite()).map(Some),
    };
    Some(match (usable(left)?, usable(right)?) {
        (Some(left), Some(right)) => Peek::Number(calculate(op, left, right)),
        _ => Peek::Missing,
    })
}

fn peek_compare<'a>(op: BinaryOp, left: &Peek<'a>, right: &Peek<'a>) -> Option<Peek<'a>> {
    if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
        return same(left, right)
            .map(|same| Peek::Bool(same == (op == BinaryOp::Equal)))
            .or(match (left, right) {
                (Peek::Missing, _) | (_, Peek::Missing) => Some(Peek::Bool(false)),
                _ => None,
            });
    }
    if let (Some(left), Some(right)) = (left.number(), right.number()) {
        return Some(Peek::Bool(holds(op, left.partial_cmp(&right))));
    }
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Some(Peek::Bool(holds(op, Some(text_order(left, right)))));
    }
    None
}

/// Whether two scalars are the same; none where one is missing, or holds others.
fn same(left: &Peek<'_>, right: &Peek<'_>) -> Option<bool> {
    fn scalar<'v>(peek: &'v Peek<'_>, made: &'v mut Value) -> Option<&'v Value> {
        match peek {
            Peek::Missing => None,
            Peek::Number(number) => {
                *made = Value::Number(Number::Float(*number));
                Some(made)
            }
            Peek::Bool(truth) => {
                *made = Value::Bool(*truth);
                Some(made)
            }
            Peek::Ref(_) | Peek::Own(..) => match peek.value()? {
                Value::Array(_) | Value::Object(_) => None,
                value => Some(value),
            },
        }
    }
    let (mut a, mut b) = (Value::Null, Value::Null);
    Some(scalar(left, &mut a)? == scalar(right, &mut b)?)
}

/// Decides a test made of fields, literals, comparisons, `and` and `or` on a plain value, without
/// a frame or a copy; none where it takes more.
#[inline]
pub(super) fn decide(test: &Node, item: &Value) -> Option<bool> {
    match &test.kind {
        Kind::Compare(op, pair) => {
            let left = resolve(&pair.0, item)?;
            let right = resolve(&pair.1, item)?;
            decide_compare(*op, left, right)
        }
        Kind::And(pair) => Some(decide(&pair.0, item)? && decide(&pair.1, item)?),
        Kind::Or(pair) => Some(decide(&pair.0, item)? || decide(&pair.1, item)?),
        _ => None,
    }
}

#[inline]
fn resolve<'a>(node: &'a Node, item: &'a Value) -> Option<Option<&'a Value>> {
    match &node.kind {
        Kind::Literal(value) => Some(Some(value)),
        Kind::Path(path) if node.quick => match item {
            Value::Object(_) => follow(&path.steps, item),
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
                _ => holds(op, ordering),
            })
        }
        (Value::String(a), Value::String(b)) if equality => {
            Some((a == b) == (op == BinaryOp::Equal))
        }
        (Value::Bool(a), Value::Bool(b)) if equality => Some((a == b) == (op == BinaryOp::Equal)),
        _ => None,
    }
}
