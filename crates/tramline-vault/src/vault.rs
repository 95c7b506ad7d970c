//! Encryption with XChaCha20-Poly1305: a random nonce for each text, the name as associated data.

use crate::key_file::{KEY_BYTES, KeyFile, hex};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use std::path::PathBuf;
use tramline_engine::ports::{Cipher, CipherFault};
use zeroize::Zeroizing;

/// The first byte of a ciphertext, so that the cipher can change later.
const FORMAT_VERSION: u8 = 1;
/// Bytes in the random nonce of each text: enough that none repeats.
const NONCE_BYTES: usize = 24;

/// Encrypts and decrypts with a key from a file, or with one that lives as long as the process.
pub struct Vault(KeySource);

enum KeySource {
    File(KeyFile),
    Process(Zeroizing<[u8; KEY_BYTES]>),
}

impl Vault {
    /// A vault whose key is in this file. The file is created when something is first encrypted.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self(KeySource::File(KeyFile(file.into())))
    }

    /// Writes a new key to a file that does not exist.
    pub fn create(file: impl Into<PathBuf>) -> Result<(), CipherFault> {
        let file = KeyFile(file.into());
        if file.read()?.is_some() {
            return Err(fault(format!(
                "{} exists already; a key is never replaced",
                file.display()
            )));
        }
        file.make(&random_bytes()?).map(drop)
    }

    /// A vault whose key is lost with the process.
    pub fn in_memory() -> Result<Self, CipherFault> {
        Ok(Self(KeySource::Process(random_bytes()?)))
    }

    /// The key as written in its file, so that it can be redacted; `None` if there is none yet.
    pub fn hex(&self) -> Option<Zeroizing<String>> {
        let key = match &self.0 {
            KeySource::Process(_) => return None,
            KeySource::File(file) => file.read().ok()??,
        };
        Some(Zeroizing::new(hex(&key)))
    }

    /// The cipher; a key is created only to encrypt, if there is none.
    fn cipher(&self, make: bool) -> Result<XChaCha20Poly1305, CipherFault> {
        let key = match &self.0 {
            KeySource::Process(key) => key.clone(),
            KeySource::File(file) => match file.read()? {
                Some(key) => key,
                None if make => file.make(&random_bytes()?)?,
                None => return Err(file.missing_fault()),
            },
        };
        Ok(XChaCha20Poly1305::new(<&Key>::from(&*key)))
    }
}

impl Cipher for Vault {
    fn encrypt(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, CipherFault> {
        let cipher = self.cipher(true)?;
        let nonce = random_bytes::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: plain,
            aad: name.as_bytes(),
        };
        let coded = cipher
            .encrypt(<&XNonce>::from(&*nonce), payload)
            .map_err(|_| fault("this is too large to encrypt"))?;
        let mut sealed = Vec::with_capacity(1 + NONCE_BYTES + coded.len());
        sealed.push(FORMAT_VERSION);
        sealed.extend_from_slice(nonce.as_slice());
        sealed.extend(coded);
        Ok(sealed)
    }

    fn decrypt(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, CipherFault> {
        let cipher = self.cipher(false)?;
        let Some((&FORMAT_VERSION, rest)) = sealed.split_first() else {
            return Err(self.wrong_key_fault());
        };
        let Some((nonce, coded)) = rest.split_first_chunk::<NONCE_BYTES>() else {
            return Err(self.wrong_key_fault());
        };
        let payload = Payload {
            msg: coded,
            aad: name.as_bytes(),
        };
        cipher
            .decrypt(<&XNonce>::from(nonce), payload)
            .map_err(|_| self.wrong_key_fault())
    }
}

impl Vault {
    fn wrong_key_fault(&self) -> CipherFault {
        match &self.0 {
            KeySource::Process(_) => {
                fault("this was encrypted by another process, or it is damaged")
            }
            KeySource::File(file) => file.wrong_key_fault(),
        }
    }
}

/// Random bytes, wiped after use.
pub(crate) fn random_bytes<const N: usize>() -> Result<Zeroizing<[u8; N]>, CipherFault> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(bytes.as_mut_slice())
        .map_err(|error| fault(format!("the system has no random bytes: {error}")))?;
    Ok(bytes)
}

pub(crate) fn fault(message: impl Into<String>) -> CipherFault {
    CipherFault {
        message: message.into(),
    }
}
