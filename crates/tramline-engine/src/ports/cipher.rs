//! `Sealer`: encrypts stored secrets.

/// Encrypts and decrypts short texts with its key.
pub trait Cipher: Send + Sync + 'static {
    /// Encrypts a text under a name. The result can be stored anywhere.
    fn encrypt(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, CipherFault>;

    /// Decrypts what was encrypted under the same name with the same key, and nothing else.
    fn decrypt(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, CipherFault>;
}

/// The key is missing, wrong or not safe to use, or the encrypted text is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CipherFault {
    /// What happened and how to fix it.
    pub message: String,
}
