//! All metrics, with their names and descriptions.
//!
//! Names follow OpenTelemetry; `text` converts them for Prometheus. The number of series is limited, because agents
//! choose the names of their workflows.

mod family;
mod text;

pub(crate) use family::{MetricFamily, MetricKind, MetricSeries};
pub(crate) use text::text;

use std::time::Duration;

/// Histogram boundaries for durations recommended by the semantic conventions, in seconds.
const SECONDS: &[f64] = &[
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
/// Histogram boundaries for disk operations, in seconds.
const DISK_SECONDS: &[f64] = &[
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0,
];

/// All metrics.
pub(crate) struct Metrics {
    pub(crate) calls: MetricFamily,
    pub(crate) workflows: MetricFamily,
    pub(crate) chats: MetricFamily,
    pub(crate) tokens: MetricFamily,
    pub(crate) started: MetricFamily,
    pub(crate) ended: MetricFamily,
    pub(crate) steps: MetricFamily,
    pub(crate) retries: MetricFamily,
    pub(crate) failures: MetricFamily,
    pub(crate) pauses: MetricFamily,
    pub(crate) live: MetricFamily,
    pub(crate) paused: MetricFamily,
    pub(crate) appends: MetricFamily,
    pub(crate) dropped: MetricFamily,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let times = |name, help, labels| {
            MetricFamily::new(name, help, labels, MetricKind::Histogram(SECONDS))
        };
        let count = |name, help, labels| MetricFamily::new(name, help, labels, MetricKind::Counter);
        let gauge = |name, help| MetricFamily::new(name, help, &[], MetricKind::Gauge);
        Self {
            calls: times(
                "mcp.client.operation.duration",
                "Duration of calls to downstream servers.",
                &[
                    "mcp.method.name",
                    "gen_ai.tool.name",
                    "network.transport",
                    "tramline.server",
                    "error.type",
                ],
            ),
            workflows: times(
                "gen_ai.workflow.duration",
                "Duration of runs from start to end.",
                &["gen_ai.workflow.name", "error.type"],
            ),
            chats: times(
                "gen_ai.client.operation.duration",
                "Duration of requests to models.",
                &[
                    "gen_ai.operation.name",
                    "gen_ai.request.model",
                    "error.type",
                ],
            ),
            tokens: count(
                "tramline.model.tokens",
                "Tokens read and written by models.",
                &["gen_ai.request.model"],
            ),
            started: count(
                "tramline.runs.started",
                "Runs started by this process.",
                &[],
            ),
            ended: count(
                "tramline.runs.ended",
                "Runs ended in this process, by status.",
                &["status"],
            ),
            steps: count(
                "tramline.steps",
                "Steps ended in this process, by action and outcome.",
                &["action", "outcome"],
            ),
            retries: count(
                "tramline.retries",
                "Failed attempts that were retried.",
                &[],
            ),
            failures: count(
                "tramline.failures",
                "Steps and runs that failed, by the error code for `tramline explain`.",
                &["of", "code"],
            ),
            pauses: count("tramline.pauses", "Pauses of runs, by kind.", &["kind"]),
            live: gauge(
                "tramline.runs.live",
                "Runs that this process currently drives.",
            ),
            paused: gauge(
                "tramline.runs.paused",
                "Paused runs in the store, from any process.",
            ),
            appends: MetricFamily::new(
                "tramline.store.append.duration",
                "Duration of journal appends until they were durable.",
                &["outcome"],
                MetricKind::Histogram(DISK_SECONDS),
            ),
            dropped: count(
                "tramline.telemetry.spans.dropped",
                "Spans not exported because the queue was full or the receiver unreachable.",
                &[],
            ),
        }
    }

    /// All metrics, in display order.
    pub(crate) fn all(&self) -> [&MetricFamily; 14] {
        [
            &self.calls,
            &self.workflows,
            &self.chats,
            &self.tokens,
            &self.started,
            &self.ended,
            &self.steps,
            &self.retries,
            &self.failures,
            &self.pauses,
            &self.live,
            &self.paused,
            &self.appends,
            &self.dropped,
        ]
    }
}

/// The time between two timestamps of a journal; zero if the clock ran backwards.
pub(crate) fn elapsed(began_ms: i64, ended_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ended_ms - began_ms).unwrap_or_default())
}
