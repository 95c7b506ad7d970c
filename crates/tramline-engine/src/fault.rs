//! What can go wrong in us: never journaled, always an `Err`, each with its next step.

use crate::engine::PersonNeeded;
use crate::seams::StoreFault;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::journal::TooLarge;

/// Why the engine could not do what it was asked.
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
        "{run} is being driven by {owner}; its events can be followed and its questions answered from here"
    )]
    Elsewhere {
        /// Which run.
        run: RunId,
        /// By whom.
        owner: String,
    },
    /// The run has ended.
    #[error("{run} has ended ({status}); start a new one")]
    Over {
        /// Which run.
        run: RunId,
        /// How.
        status: &'static str,
    },
    /// The run waited too long for an answer.
    #[error("{run} has expired: nobody answered in the time it was given; start a new one")]
    Expired {
        /// Which run.
        run: RunId,
    },
    /// There is no room for another run.
    #[error("{0}")]
    Quota(String),
    /// The question is not the one that waits.
    #[error("{asked} is not waiting for an answer{}", waiting(.current))]
    Stale {
        /// What was answered.
        asked: Checkpoint,
        /// What waits.
        current: Vec<Checkpoint>,
    },
    /// The question waits for somebody else's answer.
    #[error("{0}")]
    PersonNeeded(Box<PersonNeeded>),
    /// The request makes no sense for this run.
    #[error("{0}")]
    Refused(String),
    /// The input does not fit the workflow's schema.
    #[error("the input does not fit the schema of `{workflow}`: {}", .flaws.join("; "))]
    BadInput {
        /// Which workflow.
        workflow: String,
        /// What is wrong with it.
        flaws: Vec<String>,
    },
    /// Something is too large for the journal.
    #[error("what is to be written down is too large: {0}")]
    TooLarge(#[from] TooLarge),
    /// The journal cannot be read.
    #[error(
        "the journal of {run} is damaged: {message}; `tramline runs export {run} --out FILE` writes \
         down what can be read of it"
    )]
    Damaged {
        /// Which run.
        run: RunId,
        /// What is wrong.
        message: String,
    },
}

fn waiting(current: &[Checkpoint]) -> String {
    match current {
        [] => "; the run waits for nothing".to_owned(),
        [one] => format!("; {one} is"),
        [first, rest @ ..] => format!("; {first} and {} more are", rest.len()),
    }
}
