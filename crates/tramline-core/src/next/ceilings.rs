//! The operator's ceilings: what documents may say of their own limits, and no more.

use crate::run::Run;
use crate::workflow::Limits;

/// Steps that a run of a document which an agent brought may take, whatever the document says.
pub const AGENT_STEPS_MAX: u64 = 100_000;
/// Milliseconds that such a run may be at work.
pub const AGENT_ACTIVE_MS_MAX: u64 = 3_600_000;
/// Calls that such a run may make.
pub const AGENT_CALLS_MAX: u64 = 100_000;
/// Bytes that the journal of such a run may hold.
pub const AGENT_JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// What documents may not raise their own limits above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// For documents of the operator.
    pub documents: Limits,
    /// For documents that agents bring or save.
    pub agents: Limits,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            documents: Limits {
                steps_max: u64::MAX,
                active_ms_max: u64::MAX,
                calls_max: u64::MAX,
                bytes_max: u64::MAX,
            },
            agents: Limits {
                steps_max: AGENT_STEPS_MAX,
                active_ms_max: AGENT_ACTIVE_MS_MAX,
                calls_max: AGENT_CALLS_MAX,
                bytes_max: AGENT_JOURNAL_BYTES_MAX,
            },
        }
    }
}

impl Ceilings {
    /// The ceiling over a run's own limits: what agents bring is marked as cautious.
    pub(super) fn over(&self, run: &Run) -> &Limits {
        match run.graph.workflow.cautious {
            true => &self.agents,
            false => &self.documents,
        }
    }
}

impl Limits {
    /// The lower of two, each.
    pub(super) fn lower(&self, other: &Self) -> Self {
        Self {
            steps_max: self.steps_max.min(other.steps_max),
            active_ms_max: self.active_ms_max.min(other.active_ms_max),
            calls_max: self.calls_max.min(other.calls_max),
            bytes_max: self.bytes_max.min(other.bytes_max),
        }
    }
}
