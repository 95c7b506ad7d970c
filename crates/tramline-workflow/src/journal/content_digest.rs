//! Documents that journals refer to by content digest, so that each is stored once.
//!
//! The first event of a journal names its workflow or procedures by the digest of their bytes.
//! Journals written by version 0.1 contain them in full; both forms can be read.

use super::codec::{EventTooLarge, write_bounded};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

/// The prefix of a digest written as text.
const PREFIX: &str = "sha256:";

/// The SHA-256 digest of a document's bytes, under which it is stored.
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

/// The error for text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDigest;

impl fmt::Display for InvalidDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a document digest is `{PREFIX}` followed by 64 lowercase hexadecimal digits"
        )
    }
}

impl std::error::Error for InvalidDigest {}

impl FromStr for ContentDigest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let digits = text.strip_prefix(PREFIX).ok_or(InvalidDigest)?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(InvalidDigest);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex(pair[0])? << 4 | hex(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn hex(digit: u8) -> Result<u8, InvalidDigest> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(InvalidDigest),
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A document as bytes, with its digest.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// The digest under which it is stored.
    pub digest: ContentDigest,
    /// The document, as JSON.
    pub body: Vec<u8>,
}

impl StoredDocument {
    /// Serializes a workflow or a procedure for storage. It may be as large as an event.
    pub fn of(document: &impl Serialize) -> Result<Self, EventTooLarge> {
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

/// A document in the first line of a journal: by digest, or in full as version 0.1 wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentRef<T> {
    /// The document itself.
    Inline(Arc<T>),
    /// The digest under which it is stored.
    Digest(ContentDigest),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for DocumentRef<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentRefVisitor(PhantomData))
    }
}

struct DocumentRefVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for DocumentRefVisitor<T> {
    type Value = DocumentRef<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document or its digest")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        text.parse().map(DocumentRef::Digest).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let whole = T::deserialize(MapAccessDeserializer::new(map))?;
        Ok(DocumentRef::Inline(Arc::new(whole)))
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
            assert_eq!(bad.parse::<ContentDigest>(), Err(InvalidDigest), "{bad}");
        }
    }
}
