//! Server options for runs that agents start.

use crate::tool_prefix::ToolPrefix;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::Model;
use tramline_expr::Value;

/// Default of [`ServerOptions::call_wait`]: most clients give a call 60 seconds.
pub const CALL_WAIT_DEFAULT: Duration = Duration::from_secs(45);

/// Server options for runs that agents start.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where to find their servers again, in the front end's format.
    pub origin: Value,
    /// How long such a run waits for an answer before it expires; `None` means forever.
    pub ttl: Option<Duration>,
    /// Limit on commands per minute for one run.
    pub commands_per_minute: u32,
    /// How long a call waits for a run before it returns without its result, if the caller can return to the run.
    pub call_wait: Duration,
    /// Whether clients with channels get a message when a run that they started ends or asks.
    pub claude_channel: bool,
    /// Language model that plans intents.
    pub model: Option<Arc<dyn Model>>,
    /// Put in front of every tool's name.
    pub tool_prefix: ToolPrefix,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            origin: Value::Null,
            // An agent that has not answered by then has abandoned the run.
            ttl: Some(Duration::from_secs(60 * 60)),
            // Far above what an agent needs that reads each reply.
            commands_per_minute: 120,
            call_wait: CALL_WAIT_DEFAULT,
            claude_channel: false,
            model: None,
            tool_prefix: ToolPrefix::default(),
        }
    }
}

impl ServerOptions {
    pub(super) fn ttl_ms(&self) -> Option<u64> {
        let ttl = self.ttl?;
        Some(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
    }
}
