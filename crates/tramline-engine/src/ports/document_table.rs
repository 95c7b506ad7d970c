//! `DocumentTable`: the documents of one kind in a store.

use super::{Store, StoreFault};
use std::sync::Arc;

/// The documents of one kind. Its holder can neither reach other kinds nor journals.
#[derive(Clone)]
pub struct DocumentTable {
    store: Arc<dyn Store>,
    kind: &'static str,
}

impl DocumentTable {
    /// The documents of a kind.
    pub fn new(store: Arc<dyn Store>, kind: &'static str) -> Self {
        Self { store, kind }
    }

    /// The document with a key.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.get(self.kind, key).await
    }

    /// Writes a document.
    pub async fn put(&self, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        self.store.put(self.kind, key, body).await
    }

    /// Replaces a document if it still is what the caller has seen; `false` if it is not.
    pub async fn swap(
        &self,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.store.swap(self.kind, key, seen, body).await
    }

    /// Like [`DocumentTable::swap`], but may return before the document is on disk.
    pub async fn swap_relaxed(
        &self,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.store.swap_relaxed(self.kind, key, seen, body).await
    }

    /// All keys, sorted.
    pub async fn list(&self) -> Result<Vec<String>, StoreFault> {
        self.store.list(self.kind).await
    }

    /// Deletes documents; unknown keys are ignored.
    pub async fn delete(&self, keys: &[String]) -> Result<(), StoreFault> {
        self.store.delete(self.kind, keys).await
    }
}

impl std::fmt::Debug for DocumentTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DocumentTable").field(&self.kind).finish()
    }
}
