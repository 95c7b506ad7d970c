//! What can go wrong for a program that uses Tramline: one enum, each message with its next step.

use super::{Ended, How};
use crate::wire::Trouble;
use std::path::PathBuf;
use std::sync::Arc;
use tramline_core::flaw::{Flaw, Severity};
use tramline_engine::Fault;
use tramline_mcp::server::{HttpFault, NameTaken};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The parts could not be put together: the data directory, a root, a server's entry, a tool.
    #[error(transparent)]
    Open(#[from] Trouble),
    /// A document cannot be read from its file.
    #[error("{0}")]
    Unreadable(String),
    /// A document has flaws; each has its place and, where there is one, a suggestion.
    #[error("{}", flawed(.path, .flaws))]
    Flawed {
        /// The document's file, if it came from one.
        path: Option<PathBuf>,
        /// All of them, warnings too.
        flaws: Vec<Flaw>,
    },
    /// Two documents have a tool of the same name.
    #[error("{0}")]
    NameTaken(#[from] NameTaken),
    /// More documents than can sensibly be served.
    #[error("more than {0} documents; take several processes")]
    TooMany(usize),
    /// No document has that tool.
    #[error("there is no tool `{name}`{}", instead(.near, .known))]
    UnknownTool {
        /// The name that was asked for.
        name: String,
        /// A name that is much like it.
        near: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// The run did not complete.
    #[error("{}", not_completed(.0))]
    NotCompleted(Box<Ended>),
    /// The engine could not do what it was asked.
    #[error("{0}")]
    Engine(Arc<Fault>),
    /// HTTP cannot be served.
    #[error(transparent)]
    Http(#[from] HttpFault),
    /// What is served broke off.
    #[error("serving broke off: {0}; start it again")]
    Served(#[from] std::io::Error),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Engine(Arc::new(fault))
    }
}

fn flawed(path: &Option<PathBuf>, flaws: &[Flaw]) -> String {
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

fn instead(near: &Option<String>, known: &[String]) -> String {
    match (near, known) {
        (Some(near), _) => format!("; did you mean `{near}`?"),
        (None, []) => "; load a document first".to_owned(),
        (None, known) => format!("; there are {}", known.join(", ")),
    }
}

fn not_completed(ended: &Ended) -> String {
    let run = &ended.run;
    let at = |node: &Option<String>| {
        let node = node.as_ref();
        node.map_or_else(String::new, |node| format!(" at `{node}`"))
    };
    let because = |why: &Option<String>| {
        let why = why.as_ref();
        why.map_or_else(String::new, |why| format!(": {why}"))
    };
    match &ended.how {
        How::Completed(_) => format!("{run} completed"),
        How::Failed { failure, node } => {
            let (code, message) = (failure.code, &failure.message);
            format!("{run} failed{}: [{code}] {message}", at(node))
        }
        How::Rejected { node, why } => format!("{run} was rejected{}{}", at(node), because(why)),
        How::Expired { why } => format!("{run} has expired{}", because(why)),
        How::Aborted { by, why } => format!("{run} was aborted by {by}{}", because(why)),
        How::Paused(questions) => {
            let first = questions.first();
            let asks = first.map_or_else(String::new, |question| format!(": {}", question.message));
            format!("{run} waits for an answer{asks}")
        }
        How::Stopped => format!("{run} was stopped; resume it to go on"),
    }
}
