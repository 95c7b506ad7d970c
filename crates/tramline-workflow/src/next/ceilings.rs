//! The operator's ceilings: upper bounds for the limits that documents set for themselves.

use crate::run::Run;
use crate::workflow::WorkflowLimits;

/// Steps in a run of a document that an agent submitted, whatever the document says.
pub const AGENT_STEPS_MAX: u64 = 100_000;
/// Milliseconds of active time in a run of a document that an agent submitted.
pub const AGENT_ACTIVE_MS_MAX: u64 = 3_600_000;
/// Calls in a run of a document that an agent submitted.
pub const AGENT_CALLS_MAX: u64 = 100_000;
/// Bytes in the journal of a run of a document that an agent submitted.
pub const AGENT_JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// Upper bounds for the limits that documents set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// For the operator's documents.
    pub documents: WorkflowLimits,
    /// For documents that agents submit or save.
    pub agents: WorkflowLimits,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            documents: WorkflowLimits {
                steps_max: u64::MAX,
                active_ms_max: u64::MAX,
                calls_max: u64::MAX,
                bytes_max: u64::MAX,
            },
            agents: WorkflowLimits {
                steps_max: AGENT_STEPS_MAX,
                active_ms_max: AGENT_ACTIVE_MS_MAX,
                calls_max: AGENT_CALLS_MAX,
                bytes_max: AGENT_JOURNAL_BYTES_MAX,
            },
        }
    }
}

impl Ceilings {
    /// The ceiling for a run: documents from agents are marked as cautious.
    pub(super) fn for_run(&self, run: &Run) -> &WorkflowLimits {
        match run.graph.workflow.cautious {
            true => &self.agents,
            false => &self.documents,
        }
    }
}

impl WorkflowLimits {
    /// The lower of both limits, field by field.
    pub(super) fn min(&self, other: &Self) -> Self {
        Self {
            steps_max: self.steps_max.min(other.steps_max),
            active_ms_max: self.active_ms_max.min(other.active_ms_max),
            calls_max: self.calls_max.min(other.calls_max),
            bytes_max: self.bytes_max.min(other.bytes_max),
        }
    }
}
