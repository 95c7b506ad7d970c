//! Object functions: keys, lookup, merge and spread.

use crate::error::ExprResult;
use crate::eval::machine::Machine;
use crate::eval::val::{SequenceBuilder, Val};
use crate::value::{Map, Str, Value};

impl Machine<'_> {
    pub(super) fn keys_of(&mut self, val: &Val) -> ExprResult<Val> {
        let mut seen = Map::new();
        let mut found = SequenceBuilder::default();
        self.gather_keys(val, &mut seen, &mut found)?;
        Ok(found.into_sequence())
    }

    fn gather_keys(
        &mut self,
        val: &Val,
        seen: &mut Map,
        found: &mut SequenceBuilder,
    ) -> ExprResult<()> {
        let mut add = |key: &Str| {
            if seen.insert(key.clone(), Value::Null).is_none() {
                found.push(Val::text(key.clone()));
            }
        };
        match val {
            Val::Json(Value::Object(map), _) => {
                self.meter.items(map.len())?;
                map.keys().for_each(&mut add);
            }
            Val::Record(record) => record.entries.iter().for_each(|(key, _)| add(key)),
            _ if val.is_array() => {
                for item in val.items().iter() {
                    self.meter.burn(1)?;
                    self.gather_keys(&item, seen, found)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn lookup_in(&mut self, val: &Val, key: &Val) -> ExprResult<Val> {
        match key.as_str() {
            Some(key) => self.lookup(val, key),
            None => Ok(Val::Undef),
        }
    }

    pub(super) fn spread_out(&mut self, val: &Val) -> ExprResult<Val> {
        let mut found = SequenceBuilder::default();
        match val {
            Val::Json(Value::Object(_), _) | Val::Record(_) => {
                for (key, val) in entries(val) {
                    self.meter.items(2)?;
                    found.push(self.make_object(vec![(key, val)])?);
                }
            }
            _ if val.is_array() => {
                for item in val.items().iter() {
                    self.meter.burn(1)?;
                    let spread = self.spread_out(&item)?;
                    self.meter.items(spread.items().len())?;
                    found.flatten(spread);
                }
                return self.make_array(found.items);
            }
            other => return Ok(other.clone()),
        }
        Ok(found.into_sequence())
    }

    pub(super) fn merge(&mut self, list: &Val) -> ExprResult<Val> {
        if list.is_undef() {
            return Ok(Val::Undef);
        }
        let mut map = Map::new();
        let mut vals: Vec<(Str, Val)> = Vec::new();
        for item in list.items().iter() {
            for (key, val) in entries(&item) {
                self.meter.items(1)?;
                match map.get(&key).and_then(Value::as_u64) {
                    Some(at) => vals[at as usize].1 = val,
                    None => {
                        map.insert(key.clone(), Value::from(vals.len()));
                        vals.push((key, val));
                    }
                }
            }
        }
        self.make_object(vals)
    }
}

/// The pairs of an object.
pub(crate) fn entries(val: &Val) -> Vec<(Str, Val)> {
    match val {
        Val::Json(Value::Object(map), depth) => map
            .iter()
            .map(|(key, value)| (key.clone(), Val::part_of(value, *depth)))
            .collect(),
        Val::Record(record) => record.entries.clone(),
        _ => Vec::new(),
    }
}
