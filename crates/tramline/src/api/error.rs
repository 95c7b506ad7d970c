//! Errors for programs that use Tramline: one enum, each message with its next step.

use super::{OutcomeKind, RunOutcome};
use crate::app::AppError;
use std::path::PathBuf;
use std::sync::Arc;
use tramline_engine::Fault;
use tramline_mcp_server::{HttpFault, NameTaken};
use tramline_workflow::flaw::{Flaw, Severity};

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The parts could not be assembled: the data directory, a root, a server's entry, a tool.
    #[error(transparent)]
    Open(#[from] AppError),
    /// A document's file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// A document has flaws, each with its place and possibly a suggestion.
    #[error("{}", flaws_message(.path, .flaws))]
    Flawed {
        /// The document's file, if it was loaded from one.
        path: Option<PathBuf>,
        /// All flaws, warnings included.
        flaws: Vec<Flaw>,
    },
    /// Two documents have a tool with the same name.
    #[error("{0}")]
    NameTaken(#[from] NameTaken),
    /// More documents than the limit.
    #[error("more than {0} documents; use several processes")]
    TooMany(usize),
    /// No loaded document has this tool.
    #[error("unknown tool `{name}`{}", suggestion(.near, .known))]
    UnknownTool {
        /// The requested name.
        name: String,
        /// The closest known name.
        near: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The run did not complete.
    #[error("{}", outcome_message(.0))]
    NotCompleted(Box<RunOutcome>),
    /// The engine failed to do it.
    #[error("{0}")]
    Engine(Arc<Fault>),
    /// HTTP cannot be served.
    #[error(transparent)]
    Http(#[from] HttpFault),
    /// Serving stopped with an error.
    #[error("serving stopped: {0}; start it again")]
    Served(#[from] std::io::Error),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Engine(Arc::new(fault))
    }
}

fn flaws_message(path: &Option<PathBuf>, flaws: &[Flaw]) -> String {
    let place = path
        .as_ref()
        .map_or_else(String::new, |path| format!("{}:", path.display()));
    let errors = flaws.iter();
    let mut errors = errors.filter(|flaw| flaw.code.severity() == Severity::Error);
    let first = errors.next().map_or_else(String::new, ToString::to_string);
    match errors.count() {
        0 => format!("{place}{first}"),
        more => format!("{place}{first}; and {more} more"),
    }
}

fn suggestion(near: &Option<String>, known: &[String]) -> String {
    match (near, known) {
        (Some(near), _) => format!("; did you mean `{near}`?"),
        (None, []) => "; load a document first".to_owned(),
        (None, known) => format!("; known tools: {}", known.join(", ")),
    }
}

fn outcome_message(ended: &RunOutcome) -> String {
    let run = &ended.run;
    let at = |node: &Option<String>| {
        let node = node.as_ref();
        node.map_or_else(String::new, |node| format!(" at `{node}`"))
    };
    let because = |why: &Option<String>| {
        let why = why.as_ref();
        why.map_or_else(String::new, |why| format!(": {why}"))
    };
    match &ended.kind {
        OutcomeKind::Completed(_) => format!("{run} completed"),
        OutcomeKind::Failed { failure, node } => {
            let (code, message) = (failure.code, &failure.message);
            format!("{run} failed{}: [{code}] {message}", at(node))
        }
        OutcomeKind::Rejected { node, why } => {
            format!("{run} was rejected{}{}", at(node), because(why))
        }
        OutcomeKind::Expired { why } => format!("{run} has expired{}", because(why)),
        OutcomeKind::Aborted { by, why } => format!("{run} was aborted by {by}{}", because(why)),
        OutcomeKind::Paused(questions) => {
            let first = questions.first();
            let asks = first.map_or_else(String::new, |question| format!(": {}", question.message));
            format!("{run} waits for an answer{asks}")
        }
        OutcomeKind::Stopped => format!("{run} was stopped; resume it to continue"),
    }
}
