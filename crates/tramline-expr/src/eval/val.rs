//! Values during an evaluation: shared JSON, plus what JSON lacks (undefined, sequences,
//! functions).

use super::frame::Env;
use super::tuple::PathTuple;
use crate::compile::node::{Lambda, Transform};
use crate::functions::Builtin;
use crate::functions::pattern::RegexPattern;
use crate::syntax::signature::{
    ARRAY, BOOLEAN, FUNCTION, MISSING, NULL, NUMBER, OBJECT, STRING, TypeSet,
};
use crate::value::{Map, Number, Str, Value};
use std::rc::Rc;
use std::sync::Arc;

/// A value during an evaluation.
#[derive(Clone)]
pub(crate) enum Val {
    /// JSONata's undefined.
    Undef,
    /// Plain JSON, and an upper bound on the levels that this evaluation added to it.
    Json(Value, u16),
    /// A sequence, or an array that holds something other than plain JSON.
    List(Rc<ValList>),
    /// An object that holds something other than plain JSON.
    Record(Rc<ValRecord>),
    Func(Rc<Func>),
    /// Results of a path with the bindings made along it.
    Tuples(Rc<Vec<PathTuple>>),
}

/// Several values; see the flags for how they differ from a plain array.
#[derive(Clone, Default)]
pub(crate) struct ValList {
    pub(crate) items: Vec<Val>,
    pub(crate) depth: u16,
    /// Holds only plain JSON.
    pub(crate) plain: bool,
    /// Made by a path or a function: one item means the item itself, none means undefined.
    pub(crate) sequence: bool,
    /// A sequence that stays an array even with one item.
    pub(crate) keep: bool,
    /// Made by an array constructor at the end of a path: steps do not flatten it.
    pub(crate) no_flatten: bool,
    /// The wrapper around an input that is an array.
    pub(crate) is_wrapped_input: bool,
}

/// An object with functions in it.
#[derive(Clone, Default)]
pub(crate) struct ValRecord {
    pub(crate) entries: Vec<(Str, Val)>,
    pub(crate) depth: u16,
}

/// A function value.
pub(crate) enum Func {
    Builtin(Builtin),
    Host(usize, Str),
    Lambda(Closure),
    Partial(PartialCall),
    /// The second function after the first, and the depth of the composition.
    Composed(Rc<Func>, Rc<Func>, u16),
    Transform(Arc<Transform>, Env),
    Regex(Arc<RegexPattern>),
    /// Finds the next match of a pattern in a text, from a byte offset on.
    Next(Arc<RegexPattern>, Str, usize),
}

/// A lambda with the frame and the context it captured.
#[derive(Clone)]
pub(crate) struct Closure {
    pub(crate) lambda: Arc<Lambda>,
    pub(crate) env: Env,
    pub(crate) input: Val,
}

/// A function with some arguments already bound.
pub(crate) struct PartialCall {
    pub(crate) func: Rc<Func>,
    pub(crate) args: Vec<Option<Val>>,
    pub(crate) depth: u16,
}

impl Func {
    /// How many arguments higher-order functions pass to it.
    pub(crate) fn arity(&self) -> usize {
        match self {
            Self::Builtin(builtin) => builtin.arity(),
            Self::Host(..) => 1,
            Self::Lambda(closure) => closure.lambda.params.len(),
            Self::Partial(partial) => partial.args.iter().filter(|arg| arg.is_none()).count(),
            Self::Composed(first, ..) => first.arity().min(1),
            Self::Transform(..) | Self::Regex(_) => 1,
            Self::Next(..) => 0,
        }
    }

    pub(crate) fn depth(&self) -> u16 {
        match self {
            Self::Composed(_, _, depth) => *depth,
            Self::Partial(partial) => partial.depth,
            _ => 0,
        }
    }
}

impl Val {
    pub(crate) fn bool(truth: bool) -> Self {
        Self::Json(Value::Bool(truth), 0)
    }

    pub(crate) fn number(number: f64) -> Self {
        Self::Json(Value::Number(Number::Float(number)), 0)
    }

    pub(crate) fn count(count: usize) -> Self {
        Self::Json(Value::from(count), 0)
    }

    pub(crate) fn text(text: impl Into<Str>) -> Self {
        Self::Json(Value::String(text.into()), 0)
    }

    pub(crate) fn is_undef(&self) -> bool {
        matches!(self, Self::Undef)
    }

    pub(crate) fn as_str(&self) -> Option<&Str> {
        match self {
            Self::Json(Value::String(text), _) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Json(Value::Number(number), _) => Some(number.as_f64()),
            _ => None,
        }
    }

    pub(crate) fn as_func(&self) -> Option<&Rc<Func>> {
        match self {
            Self::Func(func) => Some(func),
            _ => None,
        }
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Self::Json(Value::Array(_), _) | Self::List(_))
    }

    /// How many levels this evaluation may have added to it.
    pub(crate) fn depth(&self) -> u16 {
        match self {
            Self::Json(Value::Array(_) | Value::Object(_), depth) => *depth,
            Self::List(list) => list.depth,
            Self::Record(record) => record.depth,
            Self::Json(..) | Self::Undef | Self::Func(_) | Self::Tuples(_) => 0,
        }
    }

    /// A part of a value of depth `whole`.
    pub(crate) fn part_of(value: &Value, whole: u16) -> Self {
        Self::Json(value.clone(), whole.saturating_sub(1))
    }

    pub(crate) fn kind(&self) -> TypeSet {
        match self {
            Self::Undef => MISSING,
            Self::Json(value, _) => match value {
                Value::Null => NULL,
                Value::Bool(_) => BOOLEAN,
                Value::Number(_) => NUMBER,
                Value::String(_) => STRING,
                Value::Array(_) => ARRAY,
                Value::Object(_) => OBJECT,
            },
            Self::List(_) | Self::Tuples(_) => ARRAY,
            Self::Record(_) => OBJECT,
            Self::Func(_) => FUNCTION,
        }
    }

    /// The items of an array. Any other value is its own only item; undefined has none.
    pub(crate) fn items(&self) -> ValItems<'_> {
        match self {
            Self::Undef => ValItems::Vals(&[]),
            Self::Json(Value::Array(items), depth) => ValItems::Values(items, *depth),
            Self::List(list) => ValItems::Vals(&list.items),
            other => ValItems::Vals(std::slice::from_ref(other)),
        }
    }

    /// Converts to plain JSON. Functions become empty text; undefined is dropped.
    pub(crate) fn to_value(&self) -> Option<Value> {
        match self {
            Self::Undef => None,
            Self::Json(value, _) => Some(value.clone()),
            Self::List(list) => Some(
                list.items
                    .iter()
                    .map(|item| item.to_value().unwrap_or_default())
                    .collect::<Vec<_>>()
                    .into(),
            ),
            Self::Record(record) => {
                let pairs = record.entries.iter();
                let pairs = pairs.filter_map(|(key, val)| Some((key.clone(), val.to_value()?)));
                Some(pairs.collect::<Map>().into())
            }
            Self::Func(_) => Some(Value::String(Str::default())),
            Self::Tuples(tuples) => {
                let items = tuples
                    .iter()
                    .map(|tuple| tuple.at.to_value().unwrap_or_default());
                Some(items.collect::<Vec<_>>().into())
            }
        }
    }

    /// Like `to_value`, but at most the first `items` of every list.
    pub(crate) fn to_value_truncated(&self, items: usize) -> Option<Value> {
        let first = |all: &mut dyn Iterator<Item = &Self>| {
            let first = all.take(items);
            Some(Value::array(first.map(|item| {
                item.to_value_truncated(items).unwrap_or_default()
            })))
        };
        match self {
            Self::List(list) => first(&mut list.items.iter()),
            Self::Tuples(tuples) => first(&mut tuples.iter().map(|tuple| &tuple.at)),
            Self::Record(record) => {
                let pairs = record.entries.iter().take(items);
                let pairs = pairs
                    .filter_map(|(key, val)| Some((key.clone(), val.to_value_truncated(items)?)));
                Some(pairs.collect::<Map>().into())
            }
            Self::Undef | Self::Json(..) | Self::Func(_) => self.to_value(),
        }
    }

    /// Like `to_value`, but takes over unshared storage.
    pub(crate) fn into_value(self) -> Option<Value> {
        match self {
            Self::Json(value, _) => Some(value),
            Self::List(list) => match Rc::try_unwrap(list) {
                Ok(list) => {
                    let items = list.items.into_iter();
                    Some(Value::from(
                        items
                            .map(|item| item.into_value().unwrap_or_default())
                            .collect::<Vec<_>>(),
                    ))
                }
                Err(list) => Self::List(list).to_value(),
            },
            other => other.to_value(),
        }
    }

    /// Converts to plain JSON if it holds nothing else.
    pub(crate) fn into_plain(self) -> Result<Value, Self> {
        match self {
            Self::Json(value, _) => Ok(value),
            Self::List(list) if list.plain => Ok(Self::List(list).into_value().unwrap_or_default()),
            other => Err(other),
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::Json(..) => true,
            Self::List(list) => list.plain,
            Self::Undef | Self::Record(_) | Self::Func(_) | Self::Tuples(_) => false,
        }
    }
}

/// The items of an array, in either representation.
#[derive(Clone, Copy)]
pub(crate) enum ValItems<'a> {
    Values(&'a [Value], u16),
    Vals(&'a [Val]),
}

impl<'a> ValItems<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Values(items, _) => items.len(),
            Self::Vals(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, at: usize) -> Val {
        match self {
            Self::Values(items, depth) => items
                .get(at)
                .map_or(Val::Undef, |item| Val::part_of(item, *depth)),
            Self::Vals(items) => items.get(at).cloned().unwrap_or(Val::Undef),
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Val> + 'a {
        (0..self.len()).map(move |at| self.get(at))
    }
}

/// A sequence being built.
#[derive(Default)]
pub(crate) struct SequenceBuilder {
    pub(crate) items: Vec<Val>,
}

impl SequenceBuilder {
    pub(crate) fn push(&mut self, val: Val) {
        self.items.push(val);
    }

    /// Adds the items of an array unless it is marked `whole`, and anything else as it is.
    pub(crate) fn flatten(&mut self, val: Val) {
        match val {
            Val::Undef => {}
            Val::Json(Value::Array(items), depth) => {
                self.items
                    .extend(items.iter().map(|item| Val::part_of(item, depth)));
            }
            Val::List(list) if !list.no_flatten => match Rc::try_unwrap(list) {
                Ok(list) if self.items.is_empty() => self.items = list.items,
                Ok(list) => self.items.extend(list.items),
                Err(list) => self.items.extend(list.items.iter().cloned()),
            },
            other => self.items.push(other),
        }
    }

    /// The sequence itself, even with zero or one item.
    pub(crate) fn into_sequence(self) -> Val {
        let (mut depth, mut plain) = (0, true);
        for item in &self.items {
            depth = item.depth().max(depth);
            plain &= item.is_plain();
        }
        Val::List(Rc::new(ValList {
            items: self.items,
            depth: depth.saturating_add(1),
            plain,
            sequence: true,
            ..ValList::default()
        }))
    }

    /// The sequence as a value: undefined if empty, its item if it has one.
    pub(crate) fn finish(mut self) -> Val {
        match self.items.len() {
            0 => Val::Undef,
            1 => self.items.pop().unwrap_or(Val::Undef),
            _ => self.into_sequence(),
        }
    }
}

/// Turns a sequence of zero or one item into undefined or the item.
#[inline]
pub(crate) fn unwrap_single(val: Val) -> Val {
    match val {
        Val::List(list) if list.sequence && list.items.len() < 2 => unwrap_short(&list),
        other => other,
    }
}

#[inline(never)]
fn unwrap_short(list: &Rc<ValList>) -> Val {
    match list.items.first() {
        None => Val::Undef,
        Some(_) if list.keep || list.is_wrapped_input => Val::List(list.clone()),
        Some(only) => only.clone(),
    }
}
