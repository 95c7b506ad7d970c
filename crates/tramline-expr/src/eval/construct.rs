//! Array and object constructors, and the limit on how deeply their results may nest.

use super::frame::Env;
use super::machine::Machine;
use super::val::{Val, ValList, ValRecord};
use crate::compile::node::{ArrayNode, GroupNode};
use crate::error::ExprResult;
use crate::limits::{NESTING_MAX, too_nested};
use crate::value::{Map, Str, Value};
use std::rc::Rc;

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn array(&mut self, array: &ArrayNode, input: &Val, env: &Env) -> ExprResult<Val> {
        if let [(false, node)] = &array.items[..] {
            // A single array among the items is the result itself.
            match self.eval(node, input, env)? {
                Val::Json(Value::Array(items), depth) => {
                    return Ok(Val::Json(Value::Array(items), depth));
                }
                val if val.is_array() => return self.make_array(val.items().iter().collect()),
                Val::Undef => return self.make_array(Vec::new()),
                val => return self.make_array(vec![val]),
            }
        }
        let mut items = Vec::with_capacity(array.items.len());
        for (is_array, node) in &array.items {
            let val = self.eval(node, input, env)?;
            match val {
                Val::Undef => {}
                val if *is_array => items.push(val),
                val if val.is_array() => {
                    let more = val.items();
                    self.meter.items(more.len())?;
                    items.extend(more.iter());
                }
                val => items.push(val),
            }
        }
        self.make_array(items)
    }

    /// Builds an array from these items, as plain JSON if all of them are.
    pub(crate) fn make_array(&mut self, items: Vec<Val>) -> ExprResult<Val> {
        self.meter.items(items.len())?;
        self.charge_for_lists(items.iter())?;
        let depth = self.nested_depth(items.iter())?;
        if items.iter().all(Val::is_plain) {
            let values: Vec<Value> = items.into_iter().filter_map(Val::into_value).collect();
            return Ok(Val::Json(values.into(), depth));
        }
        Ok(Val::List(Rc::new(ValList {
            items,
            depth,
            ..ValList::default()
        })))
    }

    /// Builds an object from these pairs, as plain JSON if all values are. The keys must be
    /// distinct.
    pub(crate) fn make_object(&mut self, pairs: Vec<(Str, Val)>) -> ExprResult<Val> {
        self.meter.items(pairs.len())?;
        self.charge_for_lists(pairs.iter().map(|(_, val)| val))?;
        let depth = self.nested_depth(pairs.iter().map(|(_, val)| val))?;
        if pairs.iter().all(|(_, val)| val.is_plain()) {
            let mut map = Map::with_capacity(pairs.len());
            for (key, val) in pairs {
                if let Some(value) = val.into_value() {
                    map.insert(key, value);
                }
            }
            return Ok(Val::Json(map.into(), depth));
        }
        Ok(Val::Record(Rc::new(ValRecord {
            entries: pairs,
            depth,
        })))
    }

    /// Charges for sequences, which are copied into arrays of their own.
    fn charge_for_lists<'v>(&mut self, parts: impl Iterator<Item = &'v Val>) -> ExprResult<()> {
        for part in parts {
            if let Val::List(list) = part {
                self.meter.items(list.items.len())?;
            }
        }
        Ok(())
    }

    /// The depth of a value made of these parts. Known depths are upper bounds. Beyond the limit
    /// the real depth is counted, which is expensive but rare.
    pub(crate) fn nested_depth<'v>(
        &mut self,
        parts: impl Iterator<Item = &'v Val> + Clone,
    ) -> ExprResult<u16> {
        let depth = parts.clone().map(Val::depth).max().unwrap_or(0) + 1;
        if depth <= NESTING_MAX {
            return Ok(depth);
        }
        let mut deepest = 0;
        for part in parts {
            deepest = deepest.max(self.count_depth(part, NESTING_MAX)?);
        }
        match deepest < NESTING_MAX {
            true => Ok(deepest + 1),
            false => Err(too_nested()),
        }
    }

    fn count_depth(&mut self, val: &Val, most: u16) -> ExprResult<u16> {
        match val {
            Val::Json(value, _) => self.value_depth(value, most),
            Val::List(list) => {
                let mut deepest = 0;
                for item in &list.items {
                    deepest = deepest.max(self.count_depth(item, most.saturating_sub(1))?);
                }
                Ok(deepest + 1)
            }
            Val::Record(record) => Ok(record.depth),
            Val::Undef | Val::Func(_) | Val::Tuples(_) => Ok(0),
        }
    }

    fn value_depth(&mut self, value: &Value, most: u16) -> ExprResult<u16> {
        if most == 0 {
            return Ok(1);
        }
        let mut deepest = 0;
        match value {
            Value::Array(items) => {
                self.meter.burn(items.len() as u64)?;
                for item in items.iter() {
                    deepest = deepest.max(self.value_depth(item, most - 1)?);
                }
            }
            Value::Object(map) => {
                self.meter.burn(map.len() as u64)?;
                for value in map.values() {
                    deepest = deepest.max(self.value_depth(value, most - 1)?);
                }
            }
            _ => return Ok(0),
        }
        Ok(deepest + 1)
    }

    #[inline(never)]
    pub(super) fn object(&mut self, group: &GroupNode, input: &Val, env: &Env) -> ExprResult<Val> {
        let Some(keys) = group.keys.as_ref().filter(|_| !input.is_array()) else {
            return self.group(group, input, env);
        };
        self.meter.items(keys.len())?;
        let mut map = Map::with_capacity(keys.len());
        let mut depth = 0;
        for (at, (key, (_, node))) in keys.iter().zip(&group.pairs).enumerate() {
            match self.eval(node, input, env)? {
                Val::Undef => {}
                Val::Json(value, deep) => {
                    if matches!(value, Value::Array(_) | Value::Object(_)) {
                        depth = depth.max(deep);
                    }
                    map.append(key.clone(), value);
                }
                other => {
                    return self.object_slowly(group, keys, (map, depth), (at, other), input, env);
                }
            }
        }
        if depth >= NESTING_MAX {
            let pairs = map
                .into_iter()
                .map(|(key, value)| (key, Val::Json(value, depth)));
            return self.make_object(pairs.collect());
        }
        Ok(Val::Json(map.into(), depth + 1))
    }

    /// Continues `object` from the first value that is not plain JSON.
    #[inline(never)]
    fn object_slowly(
        &mut self,
        group: &GroupNode,
        keys: &[Str],
        (map, depth): (Map, u16),
        (at, val): (usize, Val),
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        let mut pairs: Vec<(Str, Val)> = map
            .into_iter()
            .map(|(key, value)| (key, Val::Json(value, depth)))
            .collect();
        pairs.push((keys[at].clone(), val));
        for (key, (_, node)) in keys.iter().zip(&group.pairs).skip(at + 1) {
            let val = self.eval(node, input, env)?;
            if !val.is_undef() {
                pairs.push((key.clone(), val));
            }
        }
        self.make_object(pairs)
    }
}
