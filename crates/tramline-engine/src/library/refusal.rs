//! Why the library did not do what it was asked, each with its next step.

use super::name::BadName;
use crate::seams::StoreFault;
use tramline_core::flaw::Flaw;
use tramline_core::{Str, text};

/// Why the library did not do what it was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No name for a workflow.
    #[error("{0}")]
    Name(#[from] BadName),
    /// The name stands for another workflow.
    #[error(
        "there is another workflow `{name}` (version {version}); choose another name, or say force to make this its next version"
    )]
    Taken {
        /// Which name.
        name: Str,
        /// Its latest version.
        version: u64,
    },
    /// Somebody else has saved it.
    #[error(
        "`{name}` was saved by {by}, and only they and the operator can replace it; save yours under another name"
    )]
    NotYours {
        /// Which name.
        name: Str,
        /// By whom it was saved.
        by: Str,
    },
    /// The document cannot be used.
    #[error("the workflow has {} flaws: {}", .0.len(), first(.0))]
    Flawed(Vec<Flaw>),
    /// It is not clear which of the document's workflows is meant.
    #[error("say which tool of the document is to be saved; it has {}", .0.join(", "))]
    Several(Vec<String>),
    /// It calls itself, and nobody said that it may.
    #[error("`{name}` would call itself{}; that is refused unless it is said to be meant", through(.path))]
    Recursive {
        /// Which name.
        name: Str,
        /// The workflows through which it does, in order.
        path: Vec<Str>,
    },
    /// Something about it is too large.
    #[error("{0}")]
    TooLarge(String),
    /// There is none of that name.
    #[error("there is no saved workflow `{}`{}", text::shown(.name), meant(.near.as_deref()))]
    NotFound {
        /// Which name.
        name: String,
        /// The name that may have been meant.
        near: Option<Str>,
    },
    /// It has no such version.
    #[error("`{name}` has no version {version}; its latest is {latest}")]
    NoVersion {
        /// Which name.
        name: Str,
        /// Which version.
        version: u64,
        /// The latest there is.
        latest: u64,
    },
    /// What is kept cannot be read.
    #[error(
        "what is kept of `{name}` is damaged: {message}. It was left as it is; `tramline library rm {name}` removes it"
    )]
    Damaged {
        /// Which name.
        name: Str,
        /// What is wrong.
        message: String,
    },
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] StoreFault),
}

fn first(flaws: &[Flaw]) -> String {
    flaws.first().map_or_else(String::new, ToString::to_string)
}

fn through(path: &[Str]) -> String {
    match path.is_empty() {
        true => String::new(),
        false => format!(" through {}", path.join(", ")),
    }
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
