//! Array functions: append, reverse, sort, zip, distinct and shuffle.

use crate::error::{ExprResult, Flaw};
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::operator::text_order;
use crate::eval::sort::merge_sort;
use crate::eval::val::{SequenceBuilder, Val};
use crate::functions::equality::{equal, is_true};
use crate::value::Value;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};

impl Machine<'_> {
    pub(super) fn append(&mut self, left: &Val, right: &Val) -> ExprResult<Val> {
        if left.is_undef() {
            return Ok(right.clone());
        }
        if right.is_undef() {
            return Ok(left.clone());
        }
        let (a, b) = (left.items(), right.items());
        self.meter.items(a.len() + b.len())?;
        self.make_array(a.iter().chain(b.iter()).collect())
    }

    pub(super) fn reverse(&mut self, list: &Val) -> ExprResult<Val> {
        if list.is_undef() {
            return Ok(Val::Undef);
        }
        let mut items: Vec<Val> = list.items().iter().collect();
        if items.len() < 2 {
            return Ok(list.clone());
        }
        items.reverse();
        self.make_array(items)
    }

    pub(super) fn shuffle(&mut self, list: &Val) -> ExprResult<Val> {
        if list.is_undef() {
            return Ok(Val::Undef);
        }
        let mut items: Vec<Val> = list.items().iter().collect();
        if items.len() < 2 {
            return Ok(list.clone());
        }
        for at in (1..items.len()).rev() {
            let random = self.host.random().clamp(0.0, 1.0);
            let other = (random * (at + 1) as f64) as usize;
            items.swap(at, other.min(at));
        }
        self.make_array(items)
    }

    pub(super) fn zip(&mut self, lists: &[Val]) -> ExprResult<Val> {
        let length = lists
            .iter()
            .map(|list| list.items().len())
            .min()
            .unwrap_or(0);
        let mut rows = Vec::with_capacity(length);
        for at in 0..length {
            let row = lists.iter().map(|list| list.items().get(at)).collect();
            rows.push(self.make_array(row)?);
        }
        self.make_array(rows)
    }

    pub(super) fn distinct(&mut self, list: &Val) -> ExprResult<Val> {
        if !list.is_array() || list.items().len() < 2 {
            return Ok(list.clone());
        }
        let hasher = foldhash::fast::FixedState::default();
        let mut buckets: hashbrown::HashMap<u64, Vec<usize>, foldhash::fast::FixedState> =
            hashbrown::HashMap::default();
        let mut found: Vec<Val> = Vec::new();
        for item in list.items().iter() {
            self.meter.burn(1)?;
            let mut state = hasher.build_hasher();
            hash(&item, &mut state, 4);
            let bucket = buckets.entry(state.finish()).or_default();
            let mut known = false;
            for &at in bucket.iter() {
                self.meter.burn(1)?;
                if equal(&self.meter, &found[at], &item)? {
                    known = true;
                    break;
                }
            }
            if !known {
                bucket.push(found.len());
                found.push(item);
            }
        }
        match list {
            Val::List(list) if list.sequence => {
                self.meter.items(found.len())?;
                Ok(SequenceBuilder { items: found }.into_sequence())
            }
            _ => self.make_array(found),
        }
    }

    pub(super) fn sort(&mut self, list: &Val, comparator: &Val, env: &Env) -> ExprResult<Val> {
        if list.is_undef() {
            return Ok(Val::Undef);
        }
        let items: Vec<Val> = list.items().iter().collect();
        if items.len() < 2 {
            return Ok(list.clone());
        }
        self.meter.items(items.len())?;
        let sorted = match comparator.as_func() {
            Some(comparator) => {
                let comparator = comparator.clone();
                merge_sort(items, &mut |a, b| {
                    let args = vec![a.clone(), b.clone()];
                    let after = self.apply(&comparator, args, &Val::Undef, env)?;
                    is_true(&self.meter, &after)
                })?
            }
            None => {
                let all = |kind: fn(&Val) -> bool| items.iter().all(kind);
                if !all(|val| val.as_f64().is_some_and(|number| !number.is_nan()))
                    && !all(|val| val.as_str().is_some())
                {
                    let message = "without a function, $sort takes only numbers or only strings";
                    return Err(Flaw::new("D3070", message).value(list.to_value()));
                }
                merge_sort(items, &mut |a, b| {
                    self.meter.burn(1)?;
                    Ok(natural_order(a, b) == Ordering::Greater)
                })?
            }
        };
        self.make_array(sorted)
    }
}

fn natural_order(left: &Val, right: &Val) -> Ordering {
    match (left, right) {
        (Val::Json(Value::String(a), _), Val::Json(Value::String(b), _)) => text_order(a, b),
        _ => match (left.as_f64(), right.as_f64()) {
            (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => Ordering::Equal,
        },
    }
}

/// Equal values have equal hashes; only the upper levels are hashed.
fn hash(val: &Val, state: &mut impl Hasher, levels: u32) {
    match val {
        Val::Json(value, _) => hash_value(value, state, levels),
        Val::List(list) => {
            9u8.hash(state);
            list.items.len().hash(state);
            if levels > 0 {
                list.items
                    .iter()
                    .take(16)
                    .for_each(|item| hash(item, state, levels - 1));
            }
        }
        Val::Undef | Val::Record(_) | Val::Func(_) | Val::Tuples(_) => 7u8.hash(state),
    }
}

fn hash_value(value: &Value, state: &mut impl Hasher, levels: u32) {
    match value {
        Value::Null => 0u8.hash(state),
        Value::Bool(truth) => truth.hash(state),
        Value::Number(number) => {
            let float = number.as_f64();
            (if float == 0.0 { 0.0f64 } else { float })
                .to_bits()
                .hash(state);
        }
        Value::String(text) => text.hash(state),
        Value::Array(items) => {
            9u8.hash(state);
            items.len().hash(state);
            if levels > 0 {
                items
                    .iter()
                    .take(16)
                    .for_each(|item| hash_value(item, state, levels - 1));
            }
        }
        Value::Object(map) => {
            8u8.hash(state);
            map.len().hash(state);
            // Key order does not count, so the hashes of the pairs are added up.
            if levels > 0 && map.len() <= 16 {
                let mut total = 0u64;
                for (key, value) in map.iter() {
                    let mut own = foldhash::fast::FixedState::default().build_hasher();
                    key.hash(&mut own);
                    hash_value(value, &mut own, levels - 1);
                    total = total.wrapping_add(own.finish());
                }
                total.hash(state);
            }
        }
    }
}
