//! The errors of the library, each with the next step.

use super::name::InvalidName;
use tramline_engine::ports::StoreFault;
use tramline_expr::Str;
use tramline_workflow::flaw::Flaw;
use tramline_workflow::text;

/// Why the library rejected a request. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The name is not valid.
    #[error("{0}")]
    Name(#[from] InvalidName),
    /// Another workflow has the name.
    #[error(
        "there is another workflow `{name}` (version {version}); choose another name, or use force to save this as its next version"
    )]
    NameTaken {
        /// The name.
        name: Str,
        /// Its latest version.
        version: u64,
    },
    /// Another caller saved it.
    #[error(
        "`{name}` was saved by {by}, and only they and the operator can replace it; save yours under another name"
    )]
    NotOwner {
        /// The name.
        name: Str,
        /// Who saved it.
        by: Str,
    },
    /// The document is invalid.
    #[error("the workflow has {} flaws: {}", .0.len(), first(.0))]
    Flawed(Vec<Flaw>),
    /// The document has several workflows and none was chosen.
    #[error("name the tool of the document to save; it has {}", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// It calls itself, which must be allowed explicitly.
    #[error("`{name}` would call itself{}; set allow_recursion if that is intended", through(.path))]
    Recursive {
        /// The name.
        name: Str,
        /// The workflows through which it does, in order.
        path: Vec<Str>,
    },
    /// A limit is exceeded.
    #[error("{0}")]
    TooLarge(String),
    /// There is no workflow of that name.
    #[error("there is no saved workflow `{}`{}", text::display_name(.name), meant(.near.as_deref()))]
    NotFound {
        /// The name.
        name: String,
        /// A similar name.
        near: Option<Str>,
    },
    /// It has no such version.
    #[error("`{name}` has no version {version}; its latest is {latest}")]
    NoVersion {
        /// The name.
        name: Str,
        /// The requested version.
        version: u64,
        /// The latest version.
        latest: u64,
    },
    /// The stored workflow cannot be read.
    #[error(
        "the saved workflow `{name}` is damaged: {message}. It was not changed; `tramline library rm {name}` removes it"
    )]
    Damaged {
        /// The name.
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
