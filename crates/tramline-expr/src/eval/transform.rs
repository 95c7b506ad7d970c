//! The transform operator: a copy of its input in which what a pattern finds is changed.

use super::frame::Env;
use super::machine::Machine;
use super::val::Val;
use crate::compile::node::Transform;
use crate::error::{Flaw, Outcome};
use crate::value::{Map, Str, Value};
use std::sync::Arc;

/// A change to one object of the input.
struct Change {
    target: *const Map,
    set: Option<Arc<Map>>,
    remove: Vec<Str>,
}

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn transform(
        &mut self,
        transform: &Transform,
        target: Val,
        env: &Env,
    ) -> Outcome<Val> {
        let (value, depth) = match target {
            Val::Undef => return Ok(Val::Undef),
            other => {
                let depth = other.depth();
                match other.into_plain() {
                    Ok(value) => (value, depth),
                    Err(other) => (other.to_value().unwrap_or_default(), depth),
                }
            }
        };
        let copy = Val::Json(value, depth);
        let matches = self.eval(&transform.pattern, &copy, env)?;
        let mut changes = Vec::new();
        for found in matches.items().iter() {
            self.meter.items(1)?;
            if let Val::Json(Value::Object(map), _) = &found {
                changes.push(self.change(transform, map, &found, env)?);
            }
        }
        let Val::Json(value, depth) = copy else {
            return Ok(Val::Undef);
        };
        if changes.is_empty() {
            return Ok(Val::Json(value, depth));
        }
        let changed = self.rebuild(&value, &changes)?;
        let added = changes.iter().filter_map(|change| change.set.as_ref());
        let mut deepest = depth;
        for map in added {
            for value in map.values() {
                deepest = deepest.max(
                    self.count_value(value)?
                        .saturating_add(depth)
                        .saturating_add(1),
                );
            }
        }
        self.nest(std::iter::once(&Val::Json(changed.clone(), deepest)))?;
        Ok(Val::Json(changed, deepest))
    }

    fn count_value(&mut self, value: &Value) -> Outcome<u16> {
        self.nest(std::iter::once(&Val::Json(value.clone(), u16::MAX - 1)))
    }

    fn change(
        &mut self,
        transform: &Transform,
        map: &Arc<Map>,
        found: &Val,
        env: &Env,
    ) -> Outcome<Change> {
        let set = match self.eval(&transform.update, found, env)? {
            Val::Undef => None,
            Val::Json(Value::Object(set), _) => Some(set),
            other => match other.to_value() {
                Some(Value::Object(set)) => Some(set),
                value => {
                    let message = "the update of a transform must be an object";
                    return Err(Flaw::new("T2011", message)
                        .at(transform.update.token)
                        .value(value));
                }
            },
        };
        let mut remove = Vec::new();
        if let Some(delete) = &transform.delete {
            let names = self.eval(delete, found, env)?;
            for name in names.items().iter() {
                match name.as_str() {
                    Some(name) => remove.push(name.clone()),
                    None => {
                        let message = "a transform deletes the fields that a string or an array of strings names";
                        let flaw = Flaw::new("T2012", message).at(delete.token);
                        return Err(flaw.value(names.to_value()));
                    }
                }
            }
        }
        Ok(Change {
            target: Arc::as_ptr(map),
            set,
            remove,
        })
    }

    /// The value with the changes made; what holds no change is shared, not copied.
    fn rebuild(&mut self, value: &Value, changes: &[Change]) -> Outcome<Value> {
        self.meter.items(1)?;
        match value {
            Value::Array(items) => {
                let mut copy = Vec::with_capacity(items.len());
                for item in items.iter() {
                    copy.push(self.rebuild(item, changes)?);
                }
                Ok(copy.into())
            }
            Value::Object(map) => {
                let mut copy = Map::with_capacity(map.len());
                for (key, value) in map.iter() {
                    let value = self.rebuild(value, changes)?;
                    copy.append(key.clone(), value);
                }
                for change in changes
                    .iter()
                    .filter(|change| std::ptr::eq(change.target, &**map))
                {
                    self.meter.burn(1)?;
                    for (key, value) in change.set.iter().flat_map(|set| set.iter()) {
                        copy.insert(key.clone(), value.clone());
                    }
                    for key in &change.remove {
                        copy.remove(key);
                    }
                }
                Ok(copy.into())
            }
            other => Ok(other.clone()),
        }
    }
}
