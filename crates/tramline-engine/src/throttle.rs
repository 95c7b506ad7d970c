//! Rate limits: calls of some tools are spaced, whatever makes them.

use crate::policy::ToolPattern;
use crate::ports::{
    Exchange, ListedTools, ServerSource, ServerTools, StartingServer, Tool, ToolCallRequest, Tools,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tramline_expr::Value;
use tramline_views::pause_view::FileChange;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;

/// The rate limit of the tools that match a pattern, all of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The tools.
    pub pattern: ToolPattern,
    /// Calls per minute; 0 counts as 1.
    pub per_minute: u32,
}

/// Tools whose calls are rate-limited: first come, first served, evenly spaced.
pub struct Throttle {
    tools: Arc<dyn Tools>,
    lanes: Vec<RateLane>,
}

/// The calls that one rate limit spaces.
struct RateLane {
    pattern: ToolPattern,
    gap: Duration,
    /// When the next call may be sent. The holder of the lock is first in line.
    next: Mutex<Instant>,
}

impl RateLane {
    /// Waits for the next slot and takes it. A cancelled wait takes none.
    async fn wait_for_slot(&self) {
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + self.gap;
    }
}

impl Throttle {
    /// These tools with these rate limits. A tool that matches several waits for each of them.
    pub fn new(tools: Arc<dyn Tools>, rates: Vec<RateLimit>) -> Self {
        let lane = |rate: RateLimit| RateLane {
            pattern: rate.pattern,
            gap: Duration::from_secs(60) / rate.per_minute.max(1),
            next: Mutex::new(Instant::now()),
        };
        Self {
            tools,
            lanes: rates.into_iter().map(lane).collect(),
        }
    }

    async fn wait_for_slots(&self, tool: &ToolName) {
        for lane in self.lanes.iter().filter(|lane| lane.pattern.matches(tool)) {
            lane.wait_for_slot().await;
        }
    }
}

#[async_trait]
impl Tools for Throttle {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.tools.known(name)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.tools.find(name).await
    }

    async fn list(&self) -> Vec<ServerTools> {
        self.tools.list().await
    }

    fn sources(&self) -> Vec<ServerSource> {
        self.tools.sources()
    }

    fn starting(&self) -> Vec<StartingServer> {
        self.tools.starting()
    }

    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        self.tools.list_server(server).await
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        self.tools.preview(name, arguments).await
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        // The same as reading the file, and rate-limited like it.
        let tool = ToolName::new(BUILTIN, "read-file");
        if tokio::time::timeout(patience, self.wait_for_slots(&tool))
            .await
            .is_err()
        {
            let message =
                format!("{tool} was rate-limited for longer than {patience:?}; try again later");
            return Err(Failure::new(FailureKind::Timeout, message));
        }
        self.tools.document(path, patience).await
    }

    fn unusable(&self, name: &ToolName) -> Option<String> {
        self.tools.unusable(name)
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        self.tools.exchange(name, key)
    }

    async fn call(&self, mut call: ToolCallRequest) -> Result<Value, Failure> {
        let begun = Instant::now();
        let unsent = |kind, says: &str| {
            let data = Value::object([("sent", false.into())]);
            Err(Failure::new(kind, format!("{} {says}", call.tool)).with_data(data))
        };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => {
                return unsent(FailureKind::Cancelled, "was cancelled while it was rate-limited");
            }
            () = self.wait_for_slots(&call.tool) => {}
            () = tokio::time::sleep(call.timeout) => {
                let ms = call.timeout.as_millis();
                let says = format!("was rate-limited for longer than its timeout of {ms} ms");
                return unsent(FailureKind::Timeout, &says);
            }
        }
        call.timeout = call.timeout.saturating_sub(begun.elapsed());
        self.tools.call(call).await
    }
}
