//! `Sealer`: keeps what may not lie about in the open from being read without its key.

/// Seals and opens short texts under a key that nobody else sees.
pub trait Sealer: Send + Sync + 'static {
    /// Seals a text under a name. What comes out can be kept anywhere.
    fn seal(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, SealFault>;

    /// Opens what was sealed under the same name with the same key, and nothing else.
    fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, SealFault>;
}

/// The key is missing, wrong or not to be trusted, or what was sealed is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SealFault {
    /// What happened and what to do about it.
    pub message: String,
}
