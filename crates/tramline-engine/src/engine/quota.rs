//! Quotas: how many runs may be open and how much all journals may hold, looked at before a start.

use super::{Engine, Live};
use crate::fault::Fault;
use crate::seams::Usage;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};

/// How long a count holds: what others start in the meantime is seen after it.
const COUNT_HOLDS: Duration = Duration::from_secs(1);
/// Where there is no room, the count is made anew, but not more often than this.
const RECOUNT_AFTER: Duration = Duration::from_millis(100);

/// How much room all runs have together. What is left out is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// How many runs may be open, running or paused.
    pub runs_open_max: Option<u64>,
    /// How many bytes all journals may hold.
    pub bytes_max: Option<u64>,
    /// How many bytes the store may take up on its disk.
    pub disk_bytes_max: Option<u64>,
}

impl Quota {
    /// Why there is no room for another run.
    fn refuses(&self, usage: &Usage) -> Option<String> {
        if let Some(most) = self.runs_open_max
            && usage.open >= most
        {
            return Some(format!(
                "{} runs are open, the quota is {most}; end some or wait until some have ended",
                usage.open
            ));
        }
        if let Some(most) = self.bytes_max
            && usage.bytes >= most
        {
            return Some(format!(
                "the journals hold {} bytes, the quota is {most}; `tramline runs rm` removes old runs",
                usage.bytes
            ));
        }
        None
    }
}

/// What was counted last, and when.
pub(super) type Counted = Mutex<Last>;

type Last = Option<(Instant, Usage)>;

/// What the store took up on its disk when that was looked at last.
pub(super) type Footprint = Mutex<Option<(Instant, u64)>>;

/// Room for one run: nobody else looks for some as long as it lives.
pub(super) struct Room<'a>(#[expect(dead_code, reason = "held")] MutexGuard<'a, Last>);

impl Engine {
    /// Makes room for another run, which must begin before what is given back is dropped.
    pub(super) async fn room(&self) -> Result<Option<Room<'_>>, Fault> {
        let quota = self.0.options.quota;
        if let Some(most) = quota.disk_bytes_max {
            self.disk_room(most).await?;
        }
        if quota.runs_open_max.is_none() && quota.bytes_max.is_none() {
            return Ok(None);
        }
        let mut counted = self.0.counted.lock().await;
        let full = |counted: &Last| counted.and_then(|(_, usage)| quota.refuses(&usage));
        let holds = match full(&counted) {
            None => COUNT_HOLDS,
            Some(_) => RECOUNT_AFTER,
        };
        if counted.is_none_or(|(at, _)| at.elapsed() >= holds) {
            let mut usage = self.0.store.usage().await?;
            usage.open += self.unwritten();
            *counted = Some((Instant::now(), usage));
        }
        if let Some(why) = full(&counted) {
            return Err(Fault::Quota(why));
        }
        if let Some((_, usage)) = counted.as_mut() {
            usage.open += 1;
        }
        Ok(Some(Room(counted)))
    }

    /// Whether the disk has room for another run, by what is in use of the store's files.
    async fn disk_room(&self, most: u64) -> Result<(), Fault> {
        let mut seen = self.0.footprint.lock().await;
        let holds = match *seen {
            Some((_, bytes)) if bytes >= most => RECOUNT_AFTER,
            Some(_) | None => COUNT_HOLDS,
        };
        if seen.is_none_or(|(at, _)| at.elapsed() >= holds) {
            *seen = Some((Instant::now(), self.0.store.footprint().await?));
        }
        match *seen {
            Some((_, bytes)) if bytes >= most => Err(Fault::Quota(format!(
                "the data directory holds {bytes} bytes, the quota is {most} (`quota.disk_bytes`); \
                 `tramline runs rm` removes old runs, and `retention` does so by itself"
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// How many runs have begun here that the store does not know yet.
    fn unwritten(&self) -> u64 {
        let new = |live: &&Arc<Live>| !live.kept.load(Ordering::Acquire);
        self.0.live().values().filter(new).count() as u64
    }
}
