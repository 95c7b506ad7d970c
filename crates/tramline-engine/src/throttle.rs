//! Throttles: calls of some tools are spaced, whoever makes them.

use crate::policy::Pattern;
use crate::seams::{Call, Exchange, Listed, Listing, Source, Tool, Tools};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tramline_core::Value;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::formats::yaml_graph::BUILTIN;
use tramline_core::ids::ToolName;
use tramline_core::question::FileChange;

/// How often tools that fit a pattern may be called, all of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Which tools.
    pub pattern: Pattern,
    /// How many calls a minute; 0 is taken as 1.
    pub per_minute: u32,
}

/// Tools whose calls wait for their turn: first come, first served, evenly spaced.
pub struct Throttle {
    tools: Arc<dyn Tools>,
    lanes: Vec<Lane>,
}

/// The calls that one rate spaces.
struct Lane {
    pattern: Pattern,
    gap: Duration,
    /// When the next call may leave. Whoever holds it is first in the line.
    next: Mutex<Instant>,
}

impl Lane {
    /// Waits for a turn and takes it. One that is given up takes nothing.
    async fn turn(&self) {
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + self.gap;
    }
}

impl Throttle {
    /// These tools, at these rates. A tool that fits several waits for each of them.
    pub fn new(tools: Arc<dyn Tools>, rates: Vec<Rate>) -> Self {
        let lane = |rate: Rate| Lane {
            pattern: rate.pattern,
            gap: Duration::from_secs(60) / rate.per_minute.max(1),
            next: Mutex::new(Instant::now()),
        };
        Self {
            tools,
            lanes: rates.into_iter().map(lane).collect(),
        }
    }

    async fn turns(&self, tool: &ToolName) {
        for lane in self.lanes.iter().filter(|lane| lane.pattern.matches(tool)) {
            lane.turn().await;
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

    async fn list(&self) -> Vec<Listing> {
        self.tools.list().await
    }

    fn sources(&self) -> Vec<Source> {
        self.tools.sources()
    }

    async fn ask(&self, server: &str) -> Option<Listed> {
        self.tools.ask(server).await
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        self.tools.preview(name, arguments).await
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        // It is the same as reading the file, and counts as that.
        let tool = ToolName::new(BUILTIN, "read-file");
        if tokio::time::timeout(patience, self.turns(&tool))
            .await
            .is_err()
        {
            let message =
                format!("{tool} did not get its turn in {patience:?}: its rate is limited");
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

    async fn call(&self, mut call: Call) -> Result<Value, Failure> {
        let begun = Instant::now();
        let unsent = |kind, says: &str| {
            let data = Value::object([("sent", false.into())]);
            Err(Failure::new(kind, format!("{} {says}", call.tool)).with_data(data))
        };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => {
                return unsent(FailureKind::Cancelled, "was cancelled while it waited for its turn");
            }
            () = self.turns(&call.tool) => {}
            () = tokio::time::sleep(call.timeout) => {
                let ms = call.timeout.as_millis();
                let says = format!("did not get its turn within {ms} ms: its rate is limited");
                return unsent(FailureKind::Timeout, &says);
            }
        }
        call.timeout = call.timeout.saturating_sub(begun.elapsed());
        self.tools.call(call).await
    }
}
