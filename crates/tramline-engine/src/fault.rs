//! Faults of the engine: never journaled, always an `Err`, each with its next step.

use crate::engine::PersonNeeded;
use crate::ports::StoreFault;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::EventTooLarge;

/// Why the engine could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] StoreFault),
    /// No such run.
    #[error("there is no run {0}; `tramline runs` lists them")]
    NotFound(RunId),
    /// Another process drives the run.
    #[error(
        "{run} is being driven by {owner}; you can follow its events and answer its pauses from here"
    )]
    Elsewhere {
        /// The run.
        run: RunId,
        /// The process that drives it.
        owner: String,
    },
    /// The run has ended.
    #[error("{run} has ended ({status}); start a new one")]
    Ended {
        /// The run.
        run: RunId,
        /// Its final status.
        status: &'static str,
    },
    /// The run waited too long for an answer.
    #[error("{run} has expired: no answer came within its time to live; start a new one")]
    Expired {
        /// The run.
        run: RunId,
    },
    /// A quota does not allow another run.
    #[error("{0}")]
    Quota(String),
    /// The checkpoint is not pending.
    #[error("{asked} is not waiting for an answer{}", pending_checkpoints(.current))]
    Stale {
        /// The checkpoint that was answered.
        asked: Checkpoint,
        /// The pending checkpoints.
        current: Vec<Checkpoint>,
    },
    /// A person has to answer this pause.
    #[error("{0}")]
    PersonNeeded(Box<PersonNeeded>),
    /// The request is not valid for this run.
    #[error("{0}")]
    Rejected(String),
    /// The start key belongs to a run that was started with other arguments.
    #[error(
        "start key `{key}` belongs to {run}, which was started with other arguments; use another key, or wait for that run"
    )]
    KeyReused {
        /// The key.
        key: String,
        /// The run that was started under it.
        run: RunId,
    },
    /// The input does not fit the workflow's schema.
    #[error("the input does not fit the schema of `{workflow}`: {}", .flaws.join("; "))]
    InvalidInput {
        /// The workflow.
        workflow: String,
        /// The violations.
        flaws: Vec<String>,
    },
    /// Something is too large for the journal.
    #[error("too large for the journal: {0}")]
    TooLarge(#[from] EventTooLarge),
    /// The journal cannot be read.
    #[error(
        "the journal of {run} is damaged: {message}; `tramline runs export {run} --out FILE` saves \
         the readable part"
    )]
    Damaged {
        /// The run.
        run: RunId,
        /// What is wrong.
        message: String,
    },
}

fn pending_checkpoints(current: &[Checkpoint]) -> String {
    match current {
        [] => "; the run is not waiting".to_owned(),
        [one] => format!("; {one} is"),
        [first, rest @ ..] => format!("; {first} and {} more are", rest.len()),
    }
}
