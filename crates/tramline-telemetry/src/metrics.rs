//! The counts and times that are kept, and one place for what each is called and means.
//!
//! Names are OpenTelemetry's; `text` spells them as Prometheus does. The number of series is
//! bounded: what agents call their workflows is theirs to choose.

mod family;
mod text;

pub(crate) use family::{Cell, Family, Shape};
pub(crate) use text::text;

use std::time::Duration;

/// The bounds of durations that the conventions recommend, in seconds.
const SECONDS: &[f64] = &[
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
/// The bounds of what a disk takes, in seconds.
const DISK_SECONDS: &[f64] = &[
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0,
];

/// All that is counted.
pub(crate) struct Metrics {
    pub(crate) calls: Family,
    pub(crate) workflows: Family,
    pub(crate) chats: Family,
    pub(crate) tokens: Family,
    pub(crate) started: Family,
    pub(crate) ended: Family,
    pub(crate) steps: Family,
    pub(crate) retries: Family,
    pub(crate) failures: Family,
    pub(crate) pauses: Family,
    pub(crate) live: Family,
    pub(crate) paused: Family,
    pub(crate) appends: Family,
    pub(crate) dropped: Family,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let times = |name, help, labels| Family::new(name, help, labels, Shape::Times(SECONDS));
        let count = |name, help, labels| Family::new(name, help, labels, Shape::Count);
        let gauge = |name, help| Family::new(name, help, &[], Shape::Gauge);
        Self {
            calls: times(
                "mcp.client.operation.duration",
                "How long calls of downstream servers took.",
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
                "How long runs took from their beginning to their end.",
                &["gen_ai.workflow.name", "error.type"],
            ),
            chats: times(
                "gen_ai.client.operation.duration",
                "How long models took to answer.",
                &[
                    "gen_ai.operation.name",
                    "gen_ai.request.model",
                    "error.type",
                ],
            ),
            tokens: count(
                "tramline.model.tokens",
                "Tokens that models read and wrote.",
                &["gen_ai.request.model"],
            ),
            started: count("tramline.runs.started", "Runs that began here.", &[]),
            ended: count(
                "tramline.runs.ended",
                "Runs that ended here, by how.",
                &["status"],
            ),
            steps: count(
                "tramline.steps",
                "Steps that ended here, by what they did and how they ended.",
                &["action", "outcome"],
            ),
            retries: count(
                "tramline.retries",
                "Attempts that failed and were followed by another.",
                &[],
            ),
            failures: count(
                "tramline.failures",
                "Steps and runs that failed for good, by the code that `tramline explain` knows.",
                &["of", "code"],
            ),
            pauses: count(
                "tramline.pauses",
                "Questions that runs have asked, by kind.",
                &["kind"],
            ),
            live: gauge("tramline.runs.live", "Runs that this process drives now."),
            paused: gauge(
                "tramline.runs.paused",
                "Runs in the store that wait for an answer, whoever began them.",
            ),
            appends: Family::new(
                "tramline.store.append.duration",
                "How long appends to journals took until they were durable.",
                &["outcome"],
                Shape::Times(DISK_SECONDS),
            ),
            dropped: count(
                "tramline.telemetry.spans.dropped",
                "Spans that were not exported: the queue was full or the receiver out of reach.",
                &[],
            ),
        }
    }

    /// All of them, in the order they are shown.
    pub(crate) fn all(&self) -> [&Family; 14] {
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

/// Milliseconds of a journal as a duration; what ran backwards took no time.
pub(crate) fn between(began_ms: i64, ended_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ended_ms - began_ms).unwrap_or_default())
}
