//! Documents that journals refer to by their content, so that each is kept once.
//!
//! The first event of a journal names its workflow or its procedures by a digest of their bytes.
//! Journals of version 0.1 hold them whole; both forms are read.

use super::lines::{TooLarge, write_bounded};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

/// What a digest begins with where it is written as text.
const PREFIX: &str = "sha256:";

/// The SHA-256 of a document's bytes: what it is kept and found under.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDigest;

impl fmt::Display for NoDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a document is named by `{PREFIX}` and 64 hexadecimal digits"
        )
    }
}

impl std::error::Error for NoDigest {}

impl FromStr for ContentDigest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let digits = text.strip_prefix(PREFIX).ok_or(NoDigest)?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(NoDigest);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex(pair[0])? << 4 | hex(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn hex(digit: u8) -> Result<u8, NoDigest> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NoDigest),
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A document as bytes, under their digest.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// What it is kept and found under.
    pub digest: ContentDigest,
    /// The document, as JSON.
    pub body: Vec<u8>,
}

impl StoredDocument {
    /// A workflow or a procedure as it is kept. As large as an event may be.
    pub fn of(document: &impl Serialize) -> Result<Self, TooLarge> {
        let mut body = Vec::new();
        write_bounded(document, &mut body)?;
        body.shrink_to_fit();
        Ok(Self {
            digest: ContentDigest::of(&body),
            body,
        })
    }
}

impl fmt::Debug for StoredDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.digest, self.body.len())
    }
}

/// A document in the first line of a journal: named, or whole as version 0.1 wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentRef<T> {
    /// The document itself.
    Whole(Arc<T>),
    /// What it is kept under.
    Named(ContentDigest),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for DocumentRef<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RefVisitor(PhantomData))
    }
}

struct RefVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for RefVisitor<T> {
    type Value = DocumentRef<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document or its digest")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        text.parse().map(DocumentRef::Named).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let whole = T::deserialize(MapAccessDeserializer::new(map))?;
        Ok(DocumentRef::Whole(Arc::new(whole)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        let digest = ContentDigest::of(b"");
        let text = digest.to_string();
        assert_eq!(
            text,
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(text.parse(), Ok(digest));
        for bad in ["", "sha256:", &text[..70], &text.to_uppercase(), &text[7..]] {
            assert_eq!(bad.parse::<ContentDigest>(), Err(NoDigest), "{bad}");
        }
    }
}
