//! Rate limit on commands per minute for one workflow, across restarts and processes.
//!
//! Stores one timestamp per workflow: when its commands so far would be used up at an even rate. The timestamps
//! are stored in a fixed number of documents. Each is dropped when it has passed, so a document holds only the
//! workflows of the last minute.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use tokio::sync::Mutex;
use tramline_engine::ports::StoreFault;
use tramline_engine::{Engine, clock};
use tramline_workflow::ids::RunId;

/// Kind of the documents in the store.
const DOCUMENT_KIND: &str = "command-pace";

/// Number of documents. Commands for workflows in the same document wait for each other.
const SHARDS: u64 = 64;

const MINUTE_MS: i64 = 60_000;

/// Attempts to update a document that other processes keep changing. After that, the command counts in this
/// process only.
const TRIES_MAX: usize = 8;

/// One document as this process knows it.
#[derive(Default)]
struct RateShard {
    /// Its bytes, if it exists.
    stored: Option<Vec<u8>>,
    used_up_at: BTreeMap<String, i64>,
}

/// The rate limit of all workflows.
pub(super) struct CommandRateLimiter {
    per_minute: u32,
    shards: Vec<Mutex<RateShard>>,
    engine: Engine,
}

impl CommandRateLimiter {
    pub(super) fn new(per_minute: u32, engine: Engine) -> Self {
        Self {
            per_minute: per_minute.max(1),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            engine,
        }
    }

    /// The limit on commands per minute.
    pub(super) fn per_minute(&self) -> u32 {
        self.per_minute
    }

    /// Counts a command; or returns the milliseconds until there is room for it, without counting it.
    pub(super) async fn take(&self, run: &RunId) -> Result<Option<i64>, StoreFault> {
        let number = shard_of(run);
        let Some(shard) = self.shards.get(number as usize) else {
            return Ok(None);
        };
        let mut shard = shard.lock().await;
        let key = number.to_string();
        for _ in 0..TRIES_MAX {
            let now_ms = clock::now_ms();
            let until = shard.used_up_at.get(run.as_str()).copied();
            let until = match next_allowed(until, self.per_minute, now_ms) {
                Ok(until) => until,
                Err(wait_ms) => return Ok(Some(wait_ms)),
            };
            let mut kept = shard.used_up_at.clone();
            kept.retain(|_, until| *until > now_ms);
            kept.insert(run.as_str().to_owned(), until);
            let body = serde_json::to_vec(&kept).unwrap_or_default();
            let store = self.engine.store();
            let seen = shard.stored.clone();
            if store
                .swap_relaxed(DOCUMENT_KIND, &key, seen, body.clone())
                .await?
            {
                shard.stored = Some(body);
                shard.used_up_at = kept;
                return Ok(None);
            }
            shard.stored = store.get(DOCUMENT_KIND, &key).await?;
            let read = |body: &Vec<u8>| serde_json::from_slice(body).ok();
            shard.used_up_at = shard.stored.as_ref().and_then(read).unwrap_or_default();
        }
        Ok(None)
    }
}

fn shard_of(run: &RunId) -> u64 {
    let mut hasher = DefaultHasher::new();
    run.as_str().hash(&mut hasher);
    hasher.finish() % SHARDS
}

/// When the commands of a workflow are used up after one more now; or how long that one has to wait.
fn next_allowed(until: Option<i64>, per_minute: u32, now_ms: i64) -> Result<i64, i64> {
    let each_ms = (MINUTE_MS / i64::from(per_minute)).max(1);
    // A later timestamp was written before the clock was set back.
    let until = until.unwrap_or(0).clamp(now_ms, now_ms + MINUTE_MS);
    match until + each_ms - now_ms - MINUTE_MS {
        wait_ms if wait_ms > 0 => Err(wait_ms),
        _ => Ok(until + each_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_room_for_its_commands_and_then_for_one_at_a_time() {
        let mut until = None;
        for _ in 0..3 {
            until = Some(next_allowed(until, 3, 1_000).unwrap());
        }
        assert_eq!(next_allowed(until, 3, 1_000), Err(20_000));
        assert_eq!(next_allowed(until, 3, 20_999), Err(1));
        until = Some(next_allowed(until, 3, 21_000).unwrap());
        assert_eq!(next_allowed(until, 3, 21_000), Err(20_000));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_lock_anybody_out() {
        assert_eq!(next_allowed(Some(1_000_000_000), 60, 0), Err(1_000));
    }
}
