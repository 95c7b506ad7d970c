//! Sorting: order-by with its terms, and the merge sort that survives any comparator.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::operator::text_order;
use super::val::{Sequence, Val};
use crate::compile::node::Term;
use crate::error::{Flaw, Outcome, Span};
use crate::value::Value;
use std::cmp::Ordering;
use std::rc::Rc;

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn order_by(
        &mut self,
        terms: &[Term],
        token: Span,
        val: &Val,
        env: &Env,
    ) -> Outcome<Val> {
        if let Val::Tuples(tuples) = val {
            let mut keyed = Vec::with_capacity(tuples.len());
            for tuple in tuples.iter() {
                let frame = Frame::bound(env, tuple.bound.clone());
                keyed.push((self.keys(terms, &tuple.at, &frame)?, tuple.clone()));
            }
            let sorted = self.sort_keyed(terms, token, keyed)?;
            return Ok(Val::Tuples(Rc::new(sorted)));
        }
        let items = val.items();
        self.meter.items(items.len())?;
        let mut keyed = Vec::with_capacity(items.len());
        for item in items.iter() {
            keyed.push((self.keys(terms, &item, env)?, item));
        }
        let items = self.sort_keyed(terms, token, keyed)?;
        Ok(Sequence { items }.raw())
    }

    fn keys(&mut self, terms: &[Term], item: &Val, env: &Env) -> Outcome<Vec<Val>> {
        let mut keys = Vec::with_capacity(terms.len());
        for term in terms {
            keys.push(self.eval(&term.node, item, env)?);
        }
        Ok(keys)
    }

    fn sort_keyed<T>(
        &mut self,
        terms: &[Term],
        token: Span,
        keyed: Vec<(Vec<Val>, T)>,
    ) -> Outcome<Vec<T>> {
        let sorted = merge_sort(keyed, &mut |a, b| {
            self.meter.burn(1)?;
            let ordering = compare_keys(terms, &a.0, &b.0).map_err(|flaw| flaw.or_at(token))?;
            Ok(ordering == Ordering::Greater)
        })?;
        Ok(sorted.into_iter().map(|(_, item)| item).collect())
    }
}

fn compare_keys(terms: &[Term], left: &[Val], right: &[Val]) -> Outcome<Ordering> {
    for ((term, a), b) in terms.iter().zip(left).zip(right) {
        let ordering = match (a, b) {
            (Val::Undef, Val::Undef) => continue,
            // What is missing comes last, whichever way the rest is sorted.
            (Val::Undef, _) => return Ok(Ordering::Greater),
            (_, Val::Undef) => return Ok(Ordering::Less),
            (Val::Json(Value::Number(a), _), Val::Json(Value::Number(b), _)) => a
                .as_f64()
                .partial_cmp(&b.as_f64())
                .unwrap_or(Ordering::Greater),
            (Val::Json(Value::String(a), _), Val::Json(Value::String(b), _)) => text_order(a, b),
            _ => return Err(unsortable(a, b)),
        };
        if ordering != Ordering::Equal {
            return Ok(if term.descending {
                ordering.reverse()
            } else {
                ordering
            });
        }
    }
    Ok(Ordering::Equal)
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

/// A stable merge sort: `after` says that the first comes after the second. An inconsistent
/// comparator gives some order, never a panic.
pub(crate) fn merge_sort<T>(
    items: Vec<T>,
    after: &mut dyn FnMut(&T, &T) -> Outcome<bool>,
) -> Outcome<Vec<T>> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let mut merged = Vec::with_capacity(items.len());
    let mut width = 1;
    while width < items.len() {
        merged.clear();
        for pair in order.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
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
        }
        std::mem::swap(&mut order, &mut merged);
        width *= 2;
    }
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    Ok(order
        .into_iter()
        .filter_map(|at| items[at].take())
        .collect())
}
