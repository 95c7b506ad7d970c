//! Sorting: order-by with its terms, and a merge sort that tolerates any comparator.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::operator::text_order;
use super::val::{SequenceBuilder, Val};
use crate::compile::node::SortTerm;
use crate::error::{ExprResult, Flaw, Span};
use crate::value::Value;
use std::cmp::Ordering;
use std::rc::Rc;

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn order_by(
        &mut self,
        terms: &[SortTerm],
        token: Span,
        val: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        if let Val::Tuples(tuples) = val {
            let context = |at: usize| {
                let frame = Frame::with_bindings(env, tuples[at].bound.clone());
                (tuples[at].at.clone(), frame)
            };
            let order = self.order(terms, token, tuples.len(), &context)?;
            let sorted = order.into_iter().map(|at| tuples[at].clone()).collect();
            return Ok(Val::Tuples(Rc::new(sorted)));
        }
        let items = val.items();
        self.meter.items(items.len())?;
        let context = |at: usize| (items.get(at), env.clone());
        let order = self.order(terms, token, items.len(), &context)?;
        let items = order.into_iter().map(|at| items.get(at)).collect();
        Ok(SequenceBuilder { items }.into_sequence())
    }

    /// The order of `count` items. As in the reference, a term is evaluated when two items are
    /// first compared by it: a term that is never compared cannot fail.
    fn order(
        &mut self,
        terms: &[SortTerm],
        token: Span,
        count: usize,
        context: &dyn Fn(usize) -> (Val, Env),
    ) -> ExprResult<Vec<usize>> {
        // Laid out by item: all keys of the first item, then those of the next.
        let mut keys: Vec<Option<Val>> = vec![None; count * terms.len()];
        merge_sort((0..count).collect(), &mut |&a, &b| {
            self.meter.burn(1)?;
            for (at, term) in terms.iter().enumerate() {
                let (left, right) = (a * terms.len() + at, b * terms.len() + at);
                for (side, key) in [(a, left), (b, right)] {
                    if keys[key].is_none() {
                        let (item, env) = context(side);
                        keys[key] = Some(self.eval(&term.node, &item, &env)?);
                    }
                }
                let (Some(left), Some(right)) = (&keys[left], &keys[right]) else {
                    continue;
                };
                let ordering = compare_keys(left, right, term.descending);
                match ordering.map_err(|flaw| flaw.or_at(token))? {
                    Ordering::Equal => {}
                    ordering => return Ok(ordering == Ordering::Greater),
                }
            }
            Ok(false)
        })
    }
}

fn compare_keys(left: &Val, right: &Val, descending: bool) -> ExprResult<Ordering> {
    let ordering = match (left, right) {
        (Val::Undef, Val::Undef) => return Ok(Ordering::Equal),
        // Missing values come last in either direction.
        (Val::Undef, _) => return Ok(Ordering::Greater),
        (_, Val::Undef) => return Ok(Ordering::Less),
        (Val::Json(Value::Number(a), _), Val::Json(Value::Number(b), _)) => a
            .as_f64()
            .partial_cmp(&b.as_f64())
            .unwrap_or(Ordering::Greater),
        (Val::Json(Value::String(a), _), Val::Json(Value::String(b), _)) => text_order(a, b),
        _ => return Err(unsortable(left, right)),
    };
    Ok(match descending {
        true => ordering.reverse(),
        false => ordering,
    })
}

#[cold]
fn unsortable(a: &Val, b: &Val) -> Box<Flaw> {
    let sortable = |val: &Val| matches!(val, Val::Json(Value::Number(_) | Value::String(_), _));
    match sortable(a) && sortable(b) {
        true => Flaw::new("T2007", "an order-by compares values of one type").value(b.to_value()),
        false => {
            let wrong = if sortable(a) { b } else { a };
            Flaw::new("T2008", "an order-by compares numbers or strings").value(wrong.to_value())
        }
    }
}

/// A stable merge sort; `after` returns whether the first argument comes after the second. An
/// inconsistent comparator gives some order, never a panic. Halves are sorted left to right, so
/// that the first failing comparison is the same as in the reference.
pub(crate) fn merge_sort<T>(
    items: Vec<T>,
    after: &mut dyn FnMut(&T, &T) -> ExprResult<bool>,
) -> ExprResult<Vec<T>> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let mut merged = Vec::with_capacity(items.len());
    sort_part(&items, &mut order, &mut merged, after)?;
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    Ok(order
        .into_iter()
        .filter_map(|at| items[at].take())
        .collect())
}

/// Sorts a part of the order. The recursion is logarithmic in its length.
fn sort_part<T>(
    items: &[T],
    order: &mut [usize],
    merged: &mut Vec<usize>,
    after: &mut dyn FnMut(&T, &T) -> ExprResult<bool>,
) -> ExprResult<()> {
    if order.len() < 2 {
        return Ok(());
    }
    let middle = order.len() / 2;
    sort_part(items, &mut order[..middle], merged, after)?;
    sort_part(items, &mut order[middle..], merged, after)?;
    merged.clear();
    let (left, right) = order.split_at(middle);
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(&&a), Some(&&b)) = (left.peek(), right.peek()) {
        let next = match after(&items[a], &items[b])? {
            true => right.next(),
            false => left.next(),
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    order.copy_from_slice(merged);
    Ok(())
}
