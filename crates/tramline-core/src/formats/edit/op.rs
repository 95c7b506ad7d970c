//! Elementary changes of a value: what an edit comes to before it is written into a text.

use tramline_expr::{Map, Str, Value};

/// A step from a value into one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(Str),
    Place(usize),
}

/// An elementary change.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Puts a value into its place; a field that is not there is added.
    Set(Vec<Step>, Value),
    /// Takes a field or an item away.
    Remove(Vec<Step>),
    /// Puts an item into a list before the one at this place.
    Insert(Vec<Step>, usize, Value),
}

impl Op {
    /// The value with the change made; nothing where it cannot be.
    pub(super) fn on(&self, value: &Value) -> Option<Value> {
        match self {
            Self::Set(at, new) => changed(value, at, &|_| Some(Some(new.clone()))),
            Self::Remove(at) => changed(value, at, &|old| old.map(|_| None)),
            Self::Insert(at, place, new) => changed(value, at, &|old| {
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

/// The value with what stands at a place changed: `None` inside takes it away.
fn changed(
    value: &Value,
    at: &[Step],
    change: &dyn Fn(Option<&Value>) -> Option<Option<Value>>,
) -> Option<Value> {
    let Some((step, rest)) = at.split_first() else {
        return change(Some(value))?;
    };
    let below = |old: Option<&Value>| match (rest.is_empty(), old) {
        (true, old) => change(old),
        (false, Some(old)) => changed(old, rest, change).map(Some),
        (false, None) => None,
    };
    match (value, step) {
        (Value::Object(map), Step::Key(key)) => {
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
        (Value::Array(items), Step::Place(place)) => {
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

/// What stands at a place.
pub(super) fn find<'v>(value: &'v Value, at: &[Step]) -> Option<&'v Value> {
    at.iter().try_fold(value, |here, step| match (here, step) {
        (Value::Object(map), Step::Key(key)) => map.get(key),
        (Value::Array(items), Step::Place(place)) => items.get(*place),
        _ => None,
    })
}

/// A place below another.
pub(super) fn under(at: &[Step], more: impl IntoIterator<Item = Step>) -> Vec<Step> {
    at.iter().cloned().chain(more).collect()
}

/// A field.
pub(super) fn key(name: &str) -> Step {
    Step::Key(name.into())
}
