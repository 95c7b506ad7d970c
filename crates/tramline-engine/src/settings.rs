//! Settings: values and secrets that documents and servers refer to by name and never contain.
//!
//! They are kept in the store, secrets encrypted; the environment takes precedence. Since this module knows all
//! secrets, it also redacts: a secret that comes back from a tool is replaced by its name before anything else sees it.

use crate::ports::{Cipher, Store};
use record::SettingRecord;
use redact::Redactor;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::Failure;
use tramline_workflow::journal::ContentDigest;
use tramline_workflow::setting_references::is_key;

mod encodings;
mod fault;
mod filled;
mod listing;
mod marks;
mod record;
mod redact;
mod redacting_tools;
mod strength;
#[cfg(test)]
mod tests;

pub use fault::SettingsFault;
pub(crate) use filled::FilledArguments;
pub use listing::{SettingSource, SettingView};
pub use record::Setter;
pub(crate) use redact::SecretStrength;
pub use redacting_tools::redacting;
pub use strength::{NotRedacted, SECRET_BYTES_MIN, STRONG_BYTES_MIN, is_strong, not_redacted};

/// The kind of these documents in the store.
const KIND: &str = "settings";
/// The prefix of environment variables that are settings. The key follows in upper case, with `_` for everything that
/// is neither letter nor digit.
pub const VARIABLE_PREFIX: &str = "TRAMLINE_SETTING_";
/// Longest value, in bytes: enough for a key with its certificate.
pub const VALUE_BYTES_MAX: usize = 8 << 10;
/// Total size of all secrets, in bytes, since every encoding of each of them is searched for in all results.
pub const ALL_BYTES_MAX: usize = 64 << 10;
/// Most settings that are stored.
pub const SETTINGS_MAX: usize = 256;
/// Most replaced values that are still redacted, because servers may keep using them.
const PREVIOUS_VALUES_MAX: usize = 256;
/// How old the cached settings may be before they are read again.
const CACHE_TTL: Duration = Duration::from_secs(1);

/// The settings and the redaction of secrets. Clones share everything.
#[derive(Clone)]
pub struct Settings(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Cipher>,
    /// From the environment, by the part of the variable's name after the prefix.
    variables: BTreeMap<Str, Str>,
    state: RwLock<SettingsState>,
    /// Whether there is anything to redact. Avoids the lock if there is not.
    has_secrets: AtomicBool,
    /// When the settings were last read. Locked during the read.
    read: tokio::sync::Mutex<Option<Instant>>,
    /// A copy of `read` that can be checked without waiting.
    fresh: RwLock<Option<Instant>>,
}

#[derive(Default)]
struct SettingsState {
    stored: BTreeMap<Str, StoredSetting>,
    /// Secrets that are not settings, by name.
    extra_secrets: BTreeMap<Str, Str>,
    /// Previous values of secrets, with their keys.
    previous_values: Vec<(Str, Str)>,
    redactor: Arc<Redactor>,
    /// Where each key is used outside of workflows.
    users: Vec<(Str, String)>,
}

/// A setting in the store.
#[derive(Clone, PartialEq)]
struct StoredSetting {
    secret: bool,
    set_ms: i64,
    by: Setter,
    value: Result<Str, String>,
    /// Changes whenever it is set: the digest of the record, where secrets are encrypted.
    version: Str,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Settings")
    }
}

impl Settings {
    /// The settings of a store, and those among the given environment variables.
    pub fn new(
        store: Arc<dyn Store>,
        sealer: Arc<dyn Cipher>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsFault> {
        let mut variables = BTreeMap::new();
        for (name, value) in environment {
            if let Some(rest) = name
                .strip_prefix(VARIABLE_PREFIX)
                .filter(|rest| is_key(rest))
            {
                check_length(rest, &value)?;
                variables.insert(Str::from(rest), Str::from(value));
            }
        }
        let settings = Self(Arc::new(Inner {
            store,
            sealer,
            variables,
            state: RwLock::default(),
            has_secrets: AtomicBool::new(false),
            read: tokio::sync::Mutex::default(),
            fresh: RwLock::default(),
        }));
        settings.change(|_| {})?;
        Ok(settings)
    }

    /// Sets a setting as the operator; a secret is encrypted. The environment still takes precedence.
    pub async fn set(&self, key: &str, value: &str, secret: bool) -> Result<(), SettingsFault> {
        self.set_by(Setter::Operator, key, value, secret).await
    }

    /// Sets a setting. An agent cannot change the operator's settings, and its secrets must be long and random enough
    /// to redact nothing but themselves.
    pub async fn set_by(
        &self,
        by: Setter,
        key: &str,
        value: &str,
        secret: bool,
    ) -> Result<(), SettingsFault> {
        if !is_key(key) {
            return Err(SettingsFault::BadKey { key: key.into() });
        }
        check_length(key, value)?;
        if secret && value.trim().len() < SECRET_BYTES_MIN {
            return Err(SettingsFault::TooShort { key: key.into() });
        }
        if by == Setter::Agent && secret && !is_strong(value) {
            return Err(SettingsFault::Guessable { key: key.into() });
        }
        loop {
            let seen = self.0.store.get(KIND, key).await?;
            self.reload().await?;
            if by == Setter::Agent {
                self.check_agent_may_set(key, seen.as_deref())?;
            }
            self.check_limits(key, value, secret)?;
            let record = SettingRecord::of(key, value, secret, by, &*self.0.sealer)?;
            // A concurrent change is examined before it is replaced.
            let record = record.to_bytes();
            if self.0.store.swap(KIND, key, seen, record).await? {
                return self.reload().await;
            }
        }
    }

    /// Rejects a key that an agent may not set.
    fn check_agent_may_set(&self, key: &str, seen: Option<&[u8]>) -> Result<(), SettingsFault> {
        let why = if self.0.variables.contains_key(variable_suffix(key).as_str()) {
            "it comes from the environment"
        } else {
            match seen.map(|body| SettingRecord::from_bytes(key, body)) {
                None => return Ok(()),
                Some(Ok(record)) if record.by == Setter::Agent => return Ok(()),
                Some(_) => "the operator has set it",
            }
        };
        let key = key.to_owned();
        Err(SettingsFault::OperatorOwned { key, why })
    }

    /// Checks the limits, and that the encryption key opens the existing secrets.
    fn check_limits(&self, key: &str, value: &str, secret: bool) -> Result<(), SettingsFault> {
        let state = self.state();
        let others = || state.stored.iter().filter(|(other, _)| *other != key);
        if others().count() >= SETTINGS_MAX {
            let message = format!("there are already {SETTINGS_MAX} settings; remove one first");
            return Err(SettingsFault::TooMuch(message));
        }
        let mut bytes = value.len();
        // A secret that cannot be decrypted is not replaced either: its encryption key may come back.
        for (other, kept) in state.stored.iter().filter(|(_, kept)| kept.secret) {
            match &kept.value {
                Ok(_) if other == key => {}
                Ok(value) => bytes += value.len(),
                Err(fault) if secret => {
                    let (key, fault) = (other.to_string(), fault.clone());
                    return Err(SettingsFault::Locked { key, fault });
                }
                Err(_) => {}
            }
        }
        if secret && bytes > ALL_BYTES_MAX {
            let message = format!(
                "all secrets together would exceed {ALL_BYTES_MAX} bytes; remove one first"
            );
            return Err(SettingsFault::TooMuch(message));
        }
        Ok(())
    }

    /// Removes a setting; `false` if it was not stored.
    pub async fn unset(&self, key: &str) -> Result<bool, SettingsFault> {
        self.reload().await?;
        let there = self.state().stored.contains_key(key);
        self.0.store.delete(KIND, &[key.to_owned()]).await?;
        self.reload().await?;
        Ok(there)
    }

    /// Reads the stored settings, unless they were read a moment ago.
    pub async fn refresh(&self) -> Result<(), SettingsFault> {
        if self.is_fresh() {
            return Ok(());
        }
        let mut read = self.0.read.lock().await;
        if self.is_fresh() {
            return Ok(());
        }
        match self.read().await {
            Ok(()) => {}
            // Known secrets stay redacted; a failing store is reported elsewhere.
            Err(SettingsFault::Store(_)) if read.is_some() => {}
            Err(fault) => return Err(fault),
        }
        self.mark(&mut read);
        Ok(())
    }

    /// Reads the stored settings now.
    pub async fn reload(&self) -> Result<(), SettingsFault> {
        let mut read = self.0.read.lock().await;
        self.read().await?;
        self.mark(&mut read);
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        let fresh = self.0.fresh.read().unwrap_or_else(PoisonError::into_inner);
        fresh.is_some_and(|at| at.elapsed() < CACHE_TTL)
    }

    fn mark(&self, read: &mut Option<Instant>) {
        let now = Some(Instant::now());
        *read = now;
        *self.0.fresh.write().unwrap_or_else(PoisonError::into_inner) = now;
    }

    async fn read(&self) -> Result<(), SettingsFault> {
        let mut kept = BTreeMap::new();
        for key in self
            .0
            .store
            .list(KIND)
            .await?
            .into_iter()
            .take(SETTINGS_MAX)
        {
            // A setting that was removed in the meantime is skipped.
            let Some(body) = self.0.store.get(KIND, &key).await? else {
                continue;
            };
            kept.insert(Str::from(key.as_str()), self.open(&key, &body));
        }
        if self.state().stored == kept {
            return Ok(());
        }
        self.change(|state| {
            let before = std::mem::replace(&mut state.stored, kept);
            for (key, before) in before {
                if let (true, Ok(value)) = (before.secret, before.value)
                    && state
                        .stored
                        .get(&key)
                        .is_none_or(|now| now.value.as_ref() != Ok(&value))
                {
                    state.previous_values.push((key, value));
                }
            }
            let over = state
                .previous_values
                .len()
                .saturating_sub(PREVIOUS_VALUES_MAX);
            state.previous_values.drain(..over);
        })
    }

    fn open(&self, key: &str, body: &[u8]) -> StoredSetting {
        let opened = SettingRecord::from_bytes(key, body);
        let (secret, set_ms, by) = match &opened {
            Ok(record) => (record.is_secret(), record.set_ms, record.by),
            Err(_) => (true, 0, Setter::Operator),
        };
        let value = opened.and_then(|record| record.value(key, &*self.0.sealer));
        StoredSetting {
            secret,
            set_ms,
            by,
            value: value.map(Str::from).map_err(|fault| fault.to_string()),
            version: ContentDigest::of(body).to_string().into(),
        }
    }

    /// Changes the state and rebuilds the redactor.
    fn change(&self, change: impl FnOnce(&mut SettingsState)) -> Result<(), SettingsFault> {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let kept = state.stored.iter().filter(|(_, kept)| kept.secret);
        let kept = kept.filter_map(|(key, kept)| Some((key, kept.value.as_ref().ok()?)));
        let former = state
            .previous_values
            .iter()
            .map(|(key, value)| (key, value));
        let secrets = self
            .0
            .variables
            .iter()
            .chain(kept)
            .chain(&state.extra_secrets);
        let secrets = secrets.chain(former);
        let secrets = secrets.filter(|(_, secret)| not_redacted(secret).is_none());
        let redactor = Redactor::new(secrets.map(|(key, secret)| (key.as_str(), secret.as_str())))
            .map_err(SettingsFault::TooMuch)?;
        self.0
            .has_secrets
            .store(!redactor.is_empty(), Ordering::Release);
        state.redactor = Arc::new(redactor);
        Ok(())
    }

    fn state(&self) -> std::sync::RwLockReadGuard<'_, SettingsState> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The secrets that are not redacted, as last read, with the reason.
    pub fn not_redacted(&self) -> Vec<(Str, NotRedacted)> {
        let state = self.state();
        let kept = state.stored.iter().filter(|(_, kept)| kept.secret);
        let kept = kept.filter_map(|(key, kept)| Some((key, kept.value.as_ref().ok()?)));
        let all = self
            .0
            .variables
            .iter()
            .chain(kept)
            .chain(&state.extra_secrets);
        all.filter_map(|(name, secret)| Some((name.clone(), not_redacted(secret)?)))
            .collect()
    }

    /// Redacts a secret that is not a setting, such as a caller's token. Values that are too short or too common are
    /// not redacted: see [`Settings::not_redacted`].
    pub fn redact_also(&self, name: &str, secret: &str) -> Result<(), SettingsFault> {
        self.change(|state| {
            state.extra_secrets.insert(name.into(), secret.into());
        })
    }

    /// Sets where settings are used outside of workflows, replacing the previous list.
    pub fn set_users(&self, users: Vec<(Str, String)>) {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        state.users = users;
    }

    /// The value of a setting as last read; `None` if it is not set.
    pub fn value(&self, key: &str) -> Option<Result<Str, String>> {
        if let Some(value) = self.0.variables.get(variable_suffix(key).as_str()) {
            return Some(Ok(value.clone()));
        }
        self.state().stored.get(key).map(|kept| kept.value.clone())
    }

    fn redactor(&self) -> Option<Arc<Redactor>> {
        let secretive = self.0.has_secrets.load(Ordering::Acquire);
        secretive.then(|| Arc::clone(&self.state().redactor))
    }

    /// A text without secrets.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redactor() {
            None => Cow::Borrowed(text),
            Some(redactor) => redactor.redact_text(text),
        }
    }

    /// The name of a secret that a text contains, among those of the given strength.
    pub(crate) fn find_secret(
        &self,
        which: SecretStrength,
        text: impl FnOnce() -> String,
    ) -> Option<Str> {
        self.redactor()?.find_secret(&text(), which)
    }

    /// A value without secrets.
    pub fn redact(&self, value: Value) -> Value {
        let changed = self
            .redactor()
            .and_then(|redactor| redactor.redact_value(&value));
        changed.unwrap_or(value)
    }

    /// A failure without secrets.
    pub fn redact_failure(&self, failure: Failure) -> Failure {
        match self.redactor() {
            None => failure,
            Some(redactor) => redactor.redact_failure(failure),
        }
    }
}

/// The message for a setting that is not set.
pub fn missing_message(key: &str) -> String {
    format!(
        "the setting `{key}` is not set; set it with: tramline settings set {key} (or {VARIABLE_PREFIX}{} \
         in the environment)",
        variable_suffix(key)
    )
}

/// The part of the environment variable's name after the prefix, for a key.
fn variable_suffix(key: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    key.chars().map(plain).collect()
}

fn check_length(key: &str, value: &str) -> Result<(), SettingsFault> {
    if value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the value of `{key}` is longer than {VALUE_BYTES_MAX} bytes");
    Err(SettingsFault::TooMuch(message))
}
