//! A setting as it is stored: encrypted if it is a secret, with the time it was set.

use super::SettingsFault;
use crate::clock;
use crate::ports::Cipher;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// The stored name of an agent as setter.
const AGENT: &str = "agent";

/// A stored setting.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SettingRecord {
    pub(super) body: RecordBody,
    pub(super) set_ms: i64,
    pub(super) by: Setter,
}

/// Who sets a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setter {
    /// The operator, on the command line or in a program. Also assumed if the record does not say.
    Operator,
    /// An agent, which can change only settings of agents.
    Agent,
}

/// The content of a record.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum RecordBody {
    /// An encrypted secret.
    Sealed(Vec<u8>),
    /// A value that is not secret.
    Plain(String),
}

impl SettingRecord {
    /// Creates the record of a value.
    pub(super) fn of(
        key: &str,
        value: &str,
        secret: bool,
        by: Setter,
        sealer: &dyn Cipher,
    ) -> Result<Self, SettingsFault> {
        let body = if secret {
            RecordBody::Sealed(sealer.encrypt(key, value.as_bytes())?)
        } else {
            RecordBody::Plain(value.to_owned())
        };
        let set_ms = clock::now_ms();
        Ok(Self { body, set_ms, by })
    }

    /// The value, decrypted if necessary.
    pub(super) fn value(&self, key: &str, sealer: &dyn Cipher) -> Result<String, SettingsFault> {
        let sealed = match &self.body {
            RecordBody::Plain(value) => return Ok(value.clone()),
            RecordBody::Sealed(sealed) => sealed,
        };
        let plain = sealer.decrypt(key, sealed)?;
        String::from_utf8(plain).map_err(|_| SettingsFault::Damaged { key: key.into() })
    }

    pub(super) fn is_secret(&self) -> bool {
        match &self.body {
            RecordBody::Sealed(_) => true,
            RecordBody::Plain(_) => false,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (name, text) = match &self.body {
            RecordBody::Sealed(sealed) => ("sealed", STANDARD.encode(sealed)),
            RecordBody::Plain(value) => ("plain", value.clone()),
        };
        let mut record = json!({ name: text, "set_ms": self.set_ms });
        match self.by {
            Setter::Operator => {}
            Setter::Agent => record["by"] = AGENT.into(),
        }
        record.to_string().into_bytes()
    }

    /// Reads what [`Record::to_bytes`] wrote.
    pub(super) fn from_bytes(key: &str, bytes: &[u8]) -> Result<Self, SettingsFault> {
        let damaged = || SettingsFault::Damaged { key: key.into() };
        let json: Json = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let body = match (text("sealed"), text("plain")) {
            (Some(sealed), _) => {
                RecordBody::Sealed(STANDARD.decode(sealed).map_err(|_| damaged())?)
            }
            (None, Some(plain)) => RecordBody::Plain(plain.to_owned()),
            (None, None) => return Err(damaged()),
        };
        let set_ms = json.get("set_ms").and_then(Json::as_i64).unwrap_or(0);
        let by = match text("by") {
            Some(AGENT) => Setter::Agent,
            Some(_) | None => Setter::Operator,
        };
        Ok(Self { body, set_ms, by })
    }
}
