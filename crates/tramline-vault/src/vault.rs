//! Sealing with XChaCha20-Poly1305: a nonce drawn for each text, the name bound to it.

use crate::key_file::{KEY_BYTES, KeyFile, hex};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use std::path::PathBuf;
use tramline_engine::seams::{SealFault, Sealer};
use zeroize::Zeroizing;

/// The first byte of what is sealed, so that another cipher can follow one day.
const FORM: u8 = 1;
/// Drawn by chance for each text: so many bytes never come up twice.
const NONCE_BYTES: usize = 24;

/// Seals and opens with the key of a file, or with one that lives as long as the process.
pub struct Vault(Source);

enum Source {
    File(KeyFile),
    Process(Zeroizing<[u8; KEY_BYTES]>),
}

impl Vault {
    /// A vault whose key is in this file. The file is made when something is first sealed.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self(Source::File(KeyFile(file.into())))
    }

    /// A vault whose key is gone with the process.
    pub fn in_memory() -> Result<Self, SealFault> {
        Ok(Self(Source::Process(draw()?)))
    }

    /// The key as its file writes it, so that it can be hidden; nothing where there is none yet.
    pub fn hex(&self) -> Option<Zeroizing<String>> {
        let key = match &self.0 {
            Source::Process(_) => return None,
            Source::File(file) => file.read().ok()??,
        };
        Some(Zeroizing::new(hex(&key)))
    }

    /// The cipher; a key is made only where something is to be sealed and none is there.
    fn cipher(&self, make: bool) -> Result<XChaCha20Poly1305, SealFault> {
        let key = match &self.0 {
            Source::Process(key) => key.clone(),
            Source::File(file) => match file.read()? {
                Some(key) => key,
                None if make => file.make(&draw()?)?,
                None => return Err(file.lost()),
            },
        };
        Ok(XChaCha20Poly1305::new(<&Key>::from(&*key)))
    }
}

impl Sealer for Vault {
    fn seal(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, SealFault> {
        let cipher = self.cipher(true)?;
        let nonce = draw::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: plain,
            aad: name.as_bytes(),
        };
        let coded = cipher
            .encrypt(<&XNonce>::from(&*nonce), payload)
            .map_err(|_| fault("this is too long to be sealed"))?;
        let mut sealed = Vec::with_capacity(1 + NONCE_BYTES + coded.len());
        sealed.push(FORM);
        sealed.extend_from_slice(nonce.as_slice());
        sealed.extend(coded);
        Ok(sealed)
    }

    fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, SealFault> {
        let cipher = self.cipher(false)?;
        let Some((&FORM, rest)) = sealed.split_first() else {
            return Err(self.wrong());
        };
        let Some((nonce, coded)) = rest.split_first_chunk::<NONCE_BYTES>() else {
            return Err(self.wrong());
        };
        let payload = Payload {
            msg: coded,
            aad: name.as_bytes(),
        };
        cipher
            .decrypt(<&XNonce>::from(nonce), payload)
            .map_err(|_| self.wrong())
    }
}

impl Vault {
    fn wrong(&self) -> SealFault {
        match &self.0 {
            Source::Process(_) => fault("this was sealed by another process, or is damaged"),
            Source::File(file) => file.wrong(),
        }
    }
}

/// Bytes by chance, wiped when they are done with.
pub(crate) fn draw<const N: usize>() -> Result<Zeroizing<[u8; N]>, SealFault> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(bytes.as_mut_slice())
        .map_err(|error| fault(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes)
}

pub(crate) fn fault(message: impl Into<String>) -> SealFault {
    SealFault {
        message: message.into(),
    }
}
