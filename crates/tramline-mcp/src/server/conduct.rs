//! How a server treats the runs that agents bring to it.

use std::sync::Arc;
use std::time::Duration;
use tramline_core::Value;
use tramline_engine::seams::Model;

/// How a server treats the runs that agents bring to it.
#[derive(Clone, Debug)]
pub struct Conduct {
    /// Where their servers are to be found again, in the front end's own words.
    pub origin: Value,
    /// How long such a run waits for an answer before it is over; for ever if nothing is said.
    pub ttl: Option<Duration>,
    /// How many commands a minute are taken for one run.
    pub commands_per_minute: u32,
    /// What plans where words do not say all.
    pub model: Option<Arc<dyn Model>>,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            origin: Value::Null,
            // An agent that has not come back by then has forgotten it.
            ttl: Some(Duration::from_secs(60 * 60)),
            // Far above what an agent needs that looks at what it gets.
            commands_per_minute: 120,
            model: None,
        }
    }
}

impl Conduct {
    pub(super) fn ttl_ms(&self) -> Option<u64> {
        let ttl = self.ttl?;
        Some(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
    }
}
