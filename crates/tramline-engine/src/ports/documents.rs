//! `DocumentStore`: keeps small documents under a kind and a key.

use super::store::StoreFault;
use async_trait::async_trait;

/// Keeps small named documents. It does not interpret them.
#[async_trait]
pub trait DocumentStore: Send + Sync + 'static {
    /// Stores a small document under a kind and a key, replacing the existing one.
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault>;

    /// Replaces a document if it is still what the caller has seen: exactly these bytes, or
    /// nothing. Returns whether it was stored; if another writer came first, nothing changes.
    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault>;

    /// Like [`swap`](Store::swap), but may return before the disk sync. Only for data that no reply
    /// depends on. When it returns, the document survives a crash of the process; it survives a
    /// power loss soon, at the latest when any later append has returned.
    async fn swap_relaxed(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.swap(kind, key, seen, body).await
    }

    /// The document under a kind and a key.
    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault>;

    /// The keys of a kind, sorted.
    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault>;

    /// Removes documents of a kind; unknown keys are skipped.
    async fn delete(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault>;
}
