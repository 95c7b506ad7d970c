//! A setting as the store keeps it: sealed if it is a secret, with when it was set.

use super::SettingsFault;
use crate::seams::Sealer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// A setting as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) body: Body,
    pub(super) set_ms: i64,
}

/// What a record holds.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// A secret, sealed.
    Sealed(Vec<u8>),
    /// A value that need not be hidden.
    Plain(String),
}

impl Record {
    /// The record that a value becomes.
    pub(super) fn of(
        key: &str,
        value: &str,
        secret: bool,
        set_ms: i64,
        sealer: &dyn Sealer,
    ) -> Result<Self, SettingsFault> {
        let body = if secret {
            Body::Sealed(sealer.seal(key, value.as_bytes())?)
        } else {
            Body::Plain(value.to_owned())
        };
        Ok(Self { body, set_ms })
    }

    /// The value, opened if need be.
    pub(super) fn value(&self, key: &str, sealer: &dyn Sealer) -> Result<String, SettingsFault> {
        let sealed = match &self.body {
            Body::Plain(value) => return Ok(value.clone()),
            Body::Sealed(sealed) => sealed,
        };
        let plain = sealer.open(key, sealed)?;
        String::from_utf8(plain).map_err(|_| SettingsFault::Damaged { key: key.into() })
    }

    pub(super) fn is_secret(&self) -> bool {
        match &self.body {
            Body::Sealed(_) => true,
            Body::Plain(_) => false,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (name, text) = match &self.body {
            Body::Sealed(sealed) => ("sealed", STANDARD.encode(sealed)),
            Body::Plain(value) => ("plain", value.clone()),
        };
        json!({ name: text, "set_ms": self.set_ms })
            .to_string()
            .into_bytes()
    }

    /// Reads what [`Record::to_bytes`] wrote.
    pub(super) fn from_bytes(key: &str, bytes: &[u8]) -> Result<Self, SettingsFault> {
        let damaged = || SettingsFault::Damaged { key: key.into() };
        let json: Json = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let body = match (text("sealed"), text("plain")) {
            (Some(sealed), _) => Body::Sealed(STANDARD.decode(sealed).map_err(|_| damaged())?),
            (None, Some(plain)) => Body::Plain(plain.to_owned()),
            (None, None) => return Err(damaged()),
        };
        let set_ms = json.get("set_ms").and_then(Json::as_i64).unwrap_or(0);
        Ok(Self { body, set_ms })
    }
}
