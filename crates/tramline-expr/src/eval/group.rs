//! Group-by and the general object constructor.

use super::frame::{Env, Frame};
use super::machine::Machine;
use super::tuple::PathTuple;
use super::val::{SequenceBuilder, Val};
use crate::compile::node::GroupNode;
use crate::error::{ExprResult, Flaw};
use crate::value::Str;
use hashbrown::HashMap;

/// The items collected under one key, and the index of the pair that the key belongs to.
struct KeyGroup<T> {
    key: Str,
    pair: usize,
    items: Vec<T>,
}

impl Machine<'_> {
    #[inline(never)]
    pub(super) fn group(&mut self, group: &GroupNode, val: &Val, env: &Env) -> ExprResult<Val> {
        if let Val::Tuples(tuples) = val {
            return self.group_tuples(group, tuples, env);
        }
        let mut groups = KeyGroups::new();
        let items = val.items();
        for at in 0..items.len().max(1) {
            let item = items.get(at);
            for (pair, (key, _)) in group.pairs.iter().enumerate() {
                self.meter.items(1)?;
                let key = self.eval(key, &item, env)?;
                groups.add(group, pair, key, item.clone())?;
            }
        }
        let mut pairs = Vec::with_capacity(groups.list.len());
        for KeyGroup {
            key,
            pair,
            mut items,
        } in groups.list
        {
            let context = match items.len() {
                1 => items.pop().unwrap_or(Val::Undef),
                _ => {
                    let mut all = SequenceBuilder::default();
                    for item in items {
                        self.meter.items(item.items().len())?;
                        all.flatten(item);
                    }
                    self.make_array(all.items)?
                }
            };
            let val = self.eval(&group.pairs[pair].1, &context, env)?;
            if !val.is_undef() {
                pairs.push((key, val));
            }
        }
        self.make_object(pairs)
    }

    fn group_tuples(
        &mut self,
        group: &GroupNode,
        tuples: &[PathTuple],
        env: &Env,
    ) -> ExprResult<Val> {
        let mut groups = KeyGroups::new();
        for tuple in tuples {
            let frame = Frame::with_bindings(env, tuple.bound.clone());
            for (pair, (key, _)) in group.pairs.iter().enumerate() {
                self.meter.items(1)?;
                let key = self.eval(key, &tuple.at, &frame)?;
                groups.add(group, pair, key, tuple.clone())?;
            }
        }
        let mut pairs = Vec::with_capacity(groups.list.len());
        for KeyGroup { key, pair, items } in groups.list {
            let merged = self.merge_tuples(items)?;
            let frame = Frame::with_bindings(env, merged.bound);
            let val = self.eval(&group.pairs[pair].1, &merged.at, &frame)?;
            if !val.is_undef() {
                pairs.push((key, val));
            }
        }
        self.make_object(pairs)
    }

    /// Merges tuples into one: its value and bindings are those of all, each a single value or an
    /// array.
    fn merge_tuples(&mut self, tuples: Vec<PathTuple>) -> ExprResult<PathTuple> {
        let mut at = Vec::new();
        let mut bound: Vec<(u32, Vec<Val>)> = Vec::new();
        for tuple in tuples {
            self.meter
                .items(tuple.at.items().len() + tuple.bound.len())?;
            at.push(tuple.at);
            for (number, val) in tuple.bound {
                self.meter.items(val.items().len())?;
                match bound.iter_mut().find(|(known, _)| *known == number) {
                    Some((_, vals)) => vals.push(val),
                    None => bound.push((number, vec![val])),
                }
            }
        }
        let bound = bound
            .into_iter()
            .map(|(number, vals)| (number, append_all(vals)));
        Ok(PathTuple {
            at: append_all(at),
            bound: bound.collect(),
        })
    }
}

fn append_all(mut vals: Vec<Val>) -> Val {
    if vals.len() == 1 {
        return vals.pop().unwrap_or(Val::Undef);
    }
    let mut all = SequenceBuilder::default();
    vals.into_iter().for_each(|val| all.flatten(val));
    all.finish()
}

struct KeyGroups<T> {
    list: Vec<KeyGroup<T>>,
    places: HashMap<Str, usize, foldhash::fast::RandomState>,
}

impl<T> KeyGroups<T> {
    fn new() -> Self {
        Self {
            list: Vec::new(),
            places: HashMap::default(),
        }
    }

    fn add(&mut self, group: &GroupNode, pair: usize, key: Val, item: T) -> ExprResult<()> {
        let key = match (key.as_str(), &key) {
            (Some(key), _) => key.clone(),
            (None, Val::Undef) => return Ok(()),
            (None, other) => {
                let message = "the key of an object must be a string";
                let flaw = Flaw::new("T1003", message).at(group.token);
                return Err(flaw.value(other.to_value()));
            }
        };
        match self.places.get(&key) {
            Some(&place) if self.list[place].pair != pair => {
                let message = format!("two keys of this object are both \"{key}\"");
                Err(Flaw::new("D1009", message)
                    .at(group.token)
                    .value(crate::Value::String(key)))
            }
            Some(&place) => {
                self.list[place].items.push(item);
                Ok(())
            }
            None => {
                self.places.insert(key.clone(), self.list.len());
                self.list.push(KeyGroup {
                    key,
                    pair,
                    items: vec![item],
                });
                Ok(())
            }
        }
    }
}
