//! What can go wrong with settings, each with its next step.

use super::strength::{SECRET_BYTES_MIN, STRONG_BYTES_MIN};
use crate::seams::{SealFault, StoreFault};

/// What can go wrong with settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFault {
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] StoreFault),
    /// The key that seals them is missing, wrong or not to be trusted.
    #[error("{0}")]
    Sealed(#[from] SealFault),
    /// A key that cannot be one.
    #[error(
        "`{key}` cannot be a setting's key: a letter or _, then letters, digits, _ . and -, at most 128"
    )]
    BadKey {
        /// Which.
        key: String,
    },
    /// A secret that cannot be hidden.
    #[error(
        "`{key}` would be a secret of fewer than {SECRET_BYTES_MIN} bytes, which cannot be hidden: \
         set it as plain (--plain) if it is none"
    )]
    TooShort {
        /// Which.
        key: String,
    },
    /// A secret of an agent that can be guessed, or that hides more than itself.
    #[error(
        "the value of `{key}` can be guessed, and every place where it stands would be hidden: a \
         secret that an agent sets needs at least {STRONG_BYTES_MIN} bytes that are no words, \
         dates or numbers, like an API key. A person can set it: tramline settings set {key}"
    )]
    Guessable {
        /// Which.
        key: String,
    },
    /// An agent may not change it.
    #[error(
        "`{key}` is the operator's: {why}, and agents cannot change that. A person can: tramline \
         settings set {key}; or set another key"
    )]
    Operators {
        /// Which.
        key: String,
        /// Why it is.
        why: &'static str,
    },
    /// Too much.
    #[error("{0}")]
    TooMuch(String),
    /// What is kept cannot be read.
    #[error(
        "the setting `{key}` is damaged; forget it and set it again: tramline settings rm {key}"
    )]
    Damaged {
        /// Which.
        key: String,
    },
    /// The key does not open what is there, so nothing new is sealed with it.
    #[error(
        "`{key}` cannot be opened, so nothing is written: {fault}; or forget it: tramline settings rm {key}"
    )]
    Locked {
        /// Which.
        key: String,
        /// Why.
        fault: String,
    },
}
