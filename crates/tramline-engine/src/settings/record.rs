//! A setting as the store keeps it: sealed if it is a secret, with when it was set.

use super::SettingsFault;
use crate::clock;
use crate::seams::Sealer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// What a record says of an agent that set it.
const AGENT: &str = "agent";

/// A setting as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) body: Body,
    pub(super) set_ms: i64,
    pub(super) by: Setter,
}

/// Who sets a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setter {
    /// The operator, on the command line or in a program. What is kept without saying counts as
    /// the operator's.
    Operator,
    /// An agent. It changes only what an agent has set.
    Agent,
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
        by: Setter,
        sealer: &dyn Sealer,
    ) -> Result<Self, SettingsFault> {
        let body = if secret {
            Body::Sealed(sealer.seal(key, value.as_bytes())?)
        } else {
            Body::Plain(value.to_owned())
        };
        let set_ms = clock::now_ms();
        Ok(Self { body, set_ms, by })
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
            (Some(sealed), _) => Body::Sealed(STANDARD.decode(sealed).map_err(|_| damaged())?),
            (None, Some(plain)) => Body::Plain(plain.to_owned()),
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
