//! The transform operator: copies its input and changes the objects that a pattern matches.

use super::frame::Env;
use super::machine::Machine;
use super::val::Val;
use crate::compile::node::Transform;
use crate::error::{ExprResult, Flaw};
use crate::value::{Map, Str, Value};
use hashbrown::HashMap;
use std::sync::Arc;

/// A change to one object of the input.
struct ObjectChange {
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
    ) -> ExprResult<Val> {
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
        let mut changes = ObjectChanges::default();
        for found in matches.items().iter() {
            self.meter.items(1)?;
            // Evaluated for every match, because it may fail; only objects can change.
            let change = self.change(transform, &found, env)?;
            if let Val::Json(Value::Object(map), _) = &found {
                changes.entry(Arc::as_ptr(map)).or_default().push(change);
            }
        }
        let Val::Json(value, depth) = copy else {
            return Ok(Val::Undef);
        };
        if changes.is_empty() {
            return Ok(Val::Json(value, depth));
        }
        let changed = self.rebuild(&value, &changes)?.unwrap_or(value);
        let added = changes
            .values()
            .flatten()
            .filter_map(|change| change.set.as_ref());
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
        self.nested_depth(std::iter::once(&Val::Json(changed.clone(), deepest)))?;
        Ok(Val::Json(changed, deepest))
    }

    fn count_value(&mut self, value: &Value) -> ExprResult<u16> {
        self.nested_depth(std::iter::once(&Val::Json(value.clone(), u16::MAX - 1)))
    }

    fn change(
        &mut self,
        transform: &Transform,
        found: &Val,
        env: &Env,
    ) -> ExprResult<ObjectChange> {
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
                        let message = "the fields that a transform deletes must be a string or an array of strings";
                        let flaw = Flaw::new("T2012", message).at(delete.token);
                        return Err(flaw.value(names.to_value()));
                    }
                }
            }
        }
        Ok(ObjectChange { set, remove })
    }

    /// The value with the changes applied, if any concern it. Unchanged parts are shared, not
    /// copied.
    fn rebuild(&mut self, value: &Value, changes: &ObjectChanges) -> ExprResult<Option<Value>> {
        self.meter.burn(1)?;
        match value {
            Value::Array(items) => {
                let mut copy: Option<Vec<Value>> = None;
                for (at, item) in items.iter().enumerate() {
                    if let Some(changed) = self.rebuild(item, changes)? {
                        copy.get_or_insert_with(|| items.to_vec())[at] = changed;
                    }
                }
                self.meter.items(copy.as_ref().map_or(0, Vec::len))?;
                Ok(copy.map(Value::from))
            }
            Value::Object(map) => {
                let mut copy: Option<Map> = None;
                for (key, value) in map.iter() {
                    if let Some(changed) = self.rebuild(value, changes)? {
                        copy.get_or_insert_with(|| Map::clone(map))
                            .insert(key.clone(), changed);
                    }
                }
                for change in changes.get(&Arc::as_ptr(map)).into_iter().flatten() {
                    let copy = copy.get_or_insert_with(|| Map::clone(map));
                    self.meter
                        .items(change.set.as_ref().map_or(0, |set| set.len()))?;
                    for (key, value) in change.set.iter().flat_map(|set| set.iter()) {
                        copy.insert(key.clone(), value.clone());
                    }
                    for key in &change.remove {
                        self.meter.burn(copy.len() as u64)?;
                        copy.remove(key);
                    }
                }
                self.meter.items(copy.as_ref().map_or(0, Map::len))?;
                Ok(copy.map(Value::from))
            }
            _ => Ok(None),
        }
    }
}

/// Changes, by the object they apply to.
type ObjectChanges = HashMap<*const Map, Vec<ObjectChange>, foldhash::fast::RandomState>;
