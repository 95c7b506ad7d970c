//! Elementary changes of a value, computed before an edit is written into the text.

use tramline_expr::{Map, Str, Value};

/// A step from a value to one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueStep {
    Key(Str),
    Index(usize),
}

/// An elementary change.
#[derive(Clone, Debug)]
pub(super) enum ValueOp {
    /// Sets a value; a missing field is added.
    Set(Vec<ValueStep>, Value),
    /// Removes a field or an item.
    Remove(Vec<ValueStep>),
    /// Inserts an item into a list before the given index.
    Insert(Vec<ValueStep>, usize, Value),
}

impl ValueOp {
    /// Applies the change to a value; `None` if it cannot be applied.
    pub(super) fn apply_to(&self, value: &Value) -> Option<Value> {
        match self {
            Self::Set(at, new) => change_at(value, at, &|_| Some(Some(new.clone()))),
            Self::Remove(at) => change_at(value, at, &|old| old.map(|_| None)),
            Self::Insert(at, place, new) => change_at(value, at, &|old| {
                let mut items = old?.as_array()?.to_vec();
                if *place > items.len() {
                    return None;
                }
                items.insert(*place, new.clone());
                Some(Some(items.into()))
            }),
        }
    }
}

/// Changes the part at a path; if the closure returns an inner `None`, the part is removed.
fn change_at(
    value: &Value,
    at: &[ValueStep],
    change: &dyn Fn(Option<&Value>) -> Option<Option<Value>>,
) -> Option<Value> {
    let Some((step, rest)) = at.split_first() else {
        return change(Some(value))?;
    };
    let below = |old: Option<&Value>| match (rest.is_empty(), old) {
        (true, old) => change(old),
        (false, Some(old)) => change_at(old, rest, change).map(Some),
        (false, None) => None,
    };
    match (value, step) {
        (Value::Object(map), ValueStep::Key(key)) => {
            let new = below(map.get(key))?;
            let mut made = Map::with_capacity(map.len() + 1);
            for (name, old) in map.iter() {
                match (&new, name == key) {
                    (Some(new), true) => made.insert(name.clone(), new.clone()),
                    (None, true) => None,
                    (_, false) => made.insert(name.clone(), old.clone()),
                };
            }
            if let (Some(new), None) = (new, map.get(key)) {
                made.insert(key.clone(), new);
            }
            Some(made.into())
        }
        (Value::Array(items), ValueStep::Index(place)) => {
            let new = below(Some(items.get(*place)?))?;
            let mut made = items.to_vec();
            match new {
                Some(new) => made[*place] = new,
                None => drop(made.remove(*place)),
            }
            Some(made.into())
        }
        _ => None,
    }
}

/// The value at a path.
pub(super) fn value_at<'v>(value: &'v Value, at: &[ValueStep]) -> Option<&'v Value> {
    at.iter().try_fold(value, |here, step| match (here, step) {
        (Value::Object(map), ValueStep::Key(key)) => map.get(key),
        (Value::Array(items), ValueStep::Index(place)) => items.get(*place),
        _ => None,
    })
}

/// A path extended by more steps.
pub(super) fn extend_path(
    at: &[ValueStep],
    more: impl IntoIterator<Item = ValueStep>,
) -> Vec<ValueStep> {
    at.iter().cloned().chain(more).collect()
}

/// A step to a field.
pub(super) fn key_step(name: &str) -> ValueStep {
    ValueStep::Key(name.into())
}
