//! The errors of settings, each with the next step.

use super::strength::{SECRET_BYTES_MIN, STRONG_BYTES_MIN};
use crate::ports::{CipherFault, StoreFault};

/// Why settings could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFault {
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] StoreFault),
    /// The encryption key is missing, wrong or not trusted.
    #[error("{0}")]
    Sealed(#[from] CipherFault),
    /// The key is not valid.
    #[error(
        "`{key}` is not a valid key: use a letter or _, then letters, digits, _ . and -, at most 128"
    )]
    BadKey {
        /// The key.
        key: String,
    },
    /// The secret is too short to be redacted.
    #[error(
        "`{key}` would be a secret of fewer than {SECRET_BYTES_MIN} bytes, which cannot be redacted: \
         set it as plain (--plain) if it is not a secret"
    )]
    TooShort {
        /// The key.
        key: String,
    },
    /// An agent's secret can be guessed, or its redaction would hide more than itself.
    #[error(
        "the value of `{key}` can be guessed, and every occurrence of it would be redacted: a \
         secret set by an agent needs at least {STRONG_BYTES_MIN} bytes that are not words, \
         dates or numbers, like an API key. A person can set it: tramline settings set {key}"
    )]
    Guessable {
        /// The key.
        key: String,
    },
    /// An agent may not change it.
    #[error(
        "`{key}` belongs to the operator: {why}, and agents cannot change it. A person can: tramline \
         settings set {key}; or set another key"
    )]
    OperatorOwned {
        /// The key.
        key: String,
        /// Why it belongs to the operator.
        why: &'static str,
    },
    /// A limit is exceeded.
    #[error("{0}")]
    TooMuch(String),
    /// The stored setting cannot be read.
    #[error(
        "the setting `{key}` is damaged; remove it and set it again: tramline settings rm {key}"
    )]
    Damaged {
        /// The key.
        key: String,
    },
    /// The encryption key does not open an existing secret, so nothing new is encrypted with it.
    #[error(
        "`{key}` cannot be decrypted, so nothing is written: {fault}; or remove it: tramline settings rm {key}"
    )]
    Locked {
        /// The key.
        key: String,
        /// Why it cannot be decrypted.
        fault: String,
    },
}
