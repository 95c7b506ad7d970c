//! What can go wrong with settings, each with its next step.

use super::SECRET_BYTES_MIN;
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
