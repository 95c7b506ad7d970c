//! Objects: keys in insertion order, found by scanning if there are few and by hash if there are
//! many.

use super::{Str, Value};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};

/// Keys up to which lookup scans: beyond that hashing is faster (measured at 12 to 20 short keys).
const SCAN_KEYS_MAX: usize = 16;

/// A JSON object that preserves the insertion order of its keys.
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<(Str, Value)>,
    index: Option<Box<KeyIndex>>,
}

#[derive(Clone)]
struct KeyIndex {
    places: HashTable<u32>,
    hasher: RandomState,
}

impl Map {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty object with capacity for this many keys.
    pub fn with_capacity(keys: usize) -> Self {
        Self {
            entries: Vec::with_capacity(keys),
            index: None,
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.index {
            None => {
                // Most keys differ in length or first byte, so comparing those first saves most
                // comparisons.
                let key = key.as_bytes();
                self.entries.iter().position(|(known, _)| {
                    let known = known.as_bytes();
                    known.len() == key.len() && known.first() == key.first() && known == key
                })
            }
            Some(index) => index
                .places
                .find(index.hasher.hash_one(key), |&at| {
                    self.entries[at as usize].0 == key
                })
                .map(|&at| at as usize),
        }
    }

    /// The value under `key`.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).map(|at| &self.entries[at].1)
    }

    /// The value under `key`. The index where it was last found is tried first, because objects in
    /// an array usually have their keys in the same order.
    #[inline]
    pub(crate) fn get_cached(&self, key: &str, last: &AtomicU32) -> Option<&Value> {
        if let Some((known, value)) = self.entries.get(last.load(Ordering::Relaxed) as usize)
            && known.as_bytes() == key.as_bytes()
        {
            return Some(value);
        }
        let at = self.position(key)?;
        last.store(at as u32, Ordering::Relaxed);
        Some(&self.entries[at].1)
    }

    /// Mutable access to the value under `key`.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.position(key).map(|at| &mut self.entries[at].1)
    }

    /// Whether `key` is set.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// The pair at a position in key order.
    pub fn get_index(&self, at: usize) -> Option<(&Str, &Value)> {
        self.entries.get(at).map(|(key, value)| (key, value))
    }

    /// Sets `key`, keeping its position if it was set, and returns the previous value.
    pub fn insert(&mut self, key: impl Into<Str>, value: Value) -> Option<Value> {
        let key = key.into();
        if let Some(at) = self.position(&key) {
            return Some(std::mem::replace(&mut self.entries[at].1, value));
        }
        self.entries.push((key, value));
        self.index_last();
        None
    }

    /// Sets a key that is known to be absent.
    pub(crate) fn append(&mut self, key: Str, value: Value) {
        self.entries.push((key, value));
        self.index_last();
    }

    /// Removes `key`, shifts later keys, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key)?;
        let (_, value) = self.entries.remove(at);
        if self.index.is_some() {
            self.reindex();
        }
        Some(value)
    }

    /// The pairs in key order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Value)> + DoubleEndedIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> + DoubleEndedIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values in key order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    fn index_last(&mut self) {
        let last = self.entries.len() - 1;
        match &mut self.index {
            None if last >= SCAN_KEYS_MAX => self.reindex(),
            None => {}
            Some(index) => {
                let KeyIndex { places, hasher } = &mut **index;
                let entries = &self.entries;
                places.insert_unique(
                    hasher.hash_one(entries[last].0.as_str()),
                    last as u32,
                    |&at| hasher.hash_one(entries[at as usize].0.as_str()),
                );
            }
        }
    }

    fn reindex(&mut self) {
        let hasher = self
            .index
            .take()
            .map_or_else(RandomState::default, |index| index.hasher);
        let mut places = HashTable::with_capacity(self.entries.len());
        for (at, (key, _)) in self.entries.iter().enumerate() {
            places.insert_unique(hasher.hash_one(key.as_str()), at as u32, |&at: &u32| {
                hasher.hash_one(self.entries[at as usize].0.as_str())
            });
        }
        self.index = Some(Box::new(KeyIndex { places, hasher }));
    }
}

/// Objects are equal if they hold the same keys with equal values, in any order.
impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key).is_some_and(|theirs| theirs == value))
    }
}

impl<K: Into<Str>> FromIterator<(K, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        let mut map = Self::with_capacity(pairs.size_hint().0.min(1024));
        for (key, value) in pairs {
            map.insert(key, value);
        }
        map
    }
}

impl IntoIterator for Map {
    type Item = (Str, Value);
    type IntoIter = std::vec::IntoIter<(Str, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
