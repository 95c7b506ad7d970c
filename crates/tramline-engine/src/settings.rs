//! Settings: keys and secrets that documents and servers name and never hold.
//!
//! They are kept in the store, secrets sealed; the environment wins over what is kept. Whoever has
//! the settings also knows what must not be seen, so the same place redacts: a value that came
//! back from a tool is replaced by its name before anything else sees it.

use crate::seams::{Sealer, Store};
use record::Record;
use redact::Redactor;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::settings::is_key;
use tramline_core::workflow::Template;
use tramline_core::{Str, Value};

mod fault;
mod forms;
mod marks;
mod record;
mod redact;
mod shown;
mod strength;
#[cfg(test)]
mod tests;
mod tools;

pub use fault::SettingsFault;
pub use record::Setter;
pub(crate) use redact::SecretStrength;
pub use shown::{Shown, Source};
pub use strength::{NotHidden, SECRET_BYTES_MIN, STRONG_BYTES_MIN, is_strong, not_hidden};
pub(crate) use tools::Discreet;

/// Under what settings are kept.
const KIND: &str = "settings";
/// What the name of a variable begins with that is a setting; the key follows, in capitals and with
/// `_` for what is neither letter nor digit.
pub const VARIABLE: &str = "TRAMLINE_SETTING_";
/// A longer value is refused, in bytes: a key with its certificate has room.
pub const VALUE_BYTES_MAX: usize = 8 << 10;
/// All secrets together are no longer than this, in bytes: each of their forms is looked for in
/// everything that comes back.
pub const ALL_BYTES_MAX: usize = 64 << 10;
/// More settings are refused.
pub const SETTINGS_MAX: usize = 256;
/// So many values that were replaced are still looked for: servers may hold on to them.
const FORMER_MAX: usize = 256;
/// What another process has set is seen after so long.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// Settings, and what must not be seen. Clones share everything.
#[derive(Clone)]
pub struct Settings(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Sealer>,
    /// From the environment, by the rest of the variable's name.
    variables: BTreeMap<Str, Str>,
    state: RwLock<State>,
    /// Whether there is anything to redact; spares everybody the lock where there is not.
    secretive: AtomicBool,
    /// When they were last read. Held while they are read.
    read: tokio::sync::Mutex<Option<Instant>>,
    /// The same, to be looked at without waiting.
    fresh: RwLock<Option<Instant>>,
}

#[derive(Default)]
struct State {
    kept: BTreeMap<Str, Kept>,
    /// Secrets that are no settings, by what they are called.
    others: BTreeMap<Str, Str>,
    /// Secrets as they once were, and their keys.
    former: Vec<(Str, Str)>,
    redactor: Arc<Redactor>,
    /// What names each key outside of workflows.
    users: Vec<(Str, String)>,
}

/// A setting that the store has.
#[derive(Clone, PartialEq)]
struct Kept {
    secret: bool,
    set_ms: i64,
    by: Setter,
    value: Result<Str, String>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Settings")
    }
}

impl Settings {
    /// The settings of a store, and those among the given variables of the environment.
    pub fn new(
        store: Arc<dyn Store>,
        sealer: Arc<dyn Sealer>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsFault> {
        let mut variables = BTreeMap::new();
        for (name, value) in environment {
            if let Some(rest) = name.strip_prefix(VARIABLE).filter(|rest| is_key(rest)) {
                bounded(rest, &value)?;
                variables.insert(Str::from(rest), Str::from(value));
            }
        }
        let settings = Self(Arc::new(Inner {
            store,
            sealer,
            variables,
            state: RwLock::default(),
            secretive: AtomicBool::new(false),
            read: tokio::sync::Mutex::default(),
            fresh: RwLock::default(),
        }));
        settings.change(|_| {})?;
        Ok(settings)
    }

    /// Sets a setting for the operator; a secret is sealed. What the environment says still wins.
    pub async fn set(&self, key: &str, value: &str, secret: bool) -> Result<(), SettingsFault> {
        self.set_by(Setter::Operator, key, value, secret).await
    }

    /// Sets a setting for somebody. An agent changes nothing that the operator has set, and its
    /// secrets are long and mixed enough to hide nothing but themselves.
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
        bounded(key, value)?;
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
                self.is_agents(key, seen.as_deref())?;
            }
            self.has_room(key, value, secret)?;
            let record = Record::of(key, value, secret, by, &*self.0.sealer)?;
            // What somebody else sets meanwhile is looked at before it is replaced.
            let record = record.to_bytes();
            if self.0.store.swap(KIND, key, seen, record).await? {
                return self.reload().await;
            }
        }
    }

    /// Refuses a key that an agent may not set.
    fn is_agents(&self, key: &str, seen: Option<&[u8]>) -> Result<(), SettingsFault> {
        let why = if self.0.variables.contains_key(variable(key).as_str()) {
            "it comes from the environment"
        } else {
            match seen.map(|body| Record::from_bytes(key, body)) {
                None => return Ok(()),
                Some(Ok(record)) if record.by == Setter::Agent => return Ok(()),
                Some(_) => "the operator has set it",
            }
        };
        let key = key.to_owned();
        Err(SettingsFault::Operators { key, why })
    }

    /// Whether one more may be kept; and whether the key is the one that the others are under.
    fn has_room(&self, key: &str, value: &str, secret: bool) -> Result<(), SettingsFault> {
        let state = self.state();
        let others = || state.kept.iter().filter(|(other, _)| *other != key);
        if others().count() >= SETTINGS_MAX {
            let message = format!("there are {SETTINGS_MAX} settings already; forget one first");
            return Err(SettingsFault::TooMuch(message));
        }
        let mut bytes = value.len();
        // One that cannot be opened is not replaced either: its key may come back.
        for (other, kept) in state.kept.iter().filter(|(_, kept)| kept.secret) {
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
                "all secrets together would be longer than {ALL_BYTES_MAX} bytes; forget one first"
            );
            return Err(SettingsFault::TooMuch(message));
        }
        Ok(())
    }

    /// Forgets a setting. Whether it was kept.
    pub async fn unset(&self, key: &str) -> Result<bool, SettingsFault> {
        self.reload().await?;
        let there = self.state().kept.contains_key(key);
        self.0.store.forget(KIND, &[key.to_owned()]).await?;
        self.reload().await?;
        Ok(there)
    }

    /// Reads what is kept, unless that was done a moment ago.
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
            // What is known already goes on being hidden; a store in trouble says so elsewhere.
            Err(SettingsFault::Store(_)) if read.is_some() => {}
            Err(fault) => return Err(fault),
        }
        self.mark(&mut read);
        Ok(())
    }

    /// Reads what is kept now.
    pub async fn reload(&self) -> Result<(), SettingsFault> {
        let mut read = self.0.read.lock().await;
        self.read().await?;
        self.mark(&mut read);
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        let fresh = self.0.fresh.read().unwrap_or_else(PoisonError::into_inner);
        fresh.is_some_and(|at| at.elapsed() < FRESH_FOR)
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
            // One that was forgotten meanwhile is passed over.
            let Some(body) = self.0.store.get(KIND, &key).await? else {
                continue;
            };
            kept.insert(Str::from(key.as_str()), self.open(&key, &body));
        }
        if self.state().kept == kept {
            return Ok(());
        }
        self.change(|state| {
            let before = std::mem::replace(&mut state.kept, kept);
            for (key, before) in before {
                if let (true, Ok(value)) = (before.secret, before.value)
                    && state
                        .kept
                        .get(&key)
                        .is_none_or(|now| now.value.as_ref() != Ok(&value))
                {
                    state.former.push((key, value));
                }
            }
            let over = state.former.len().saturating_sub(FORMER_MAX);
            state.former.drain(..over);
        })
    }

    fn open(&self, key: &str, body: &[u8]) -> Kept {
        let opened = Record::from_bytes(key, body);
        let (secret, set_ms, by) = match &opened {
            Ok(record) => (record.is_secret(), record.set_ms, record.by),
            Err(_) => (true, 0, Setter::Operator),
        };
        let value = opened.and_then(|record| record.value(key, &*self.0.sealer));
        Kept {
            secret,
            set_ms,
            by,
            value: value.map(Str::from).map_err(|fault| fault.to_string()),
        }
    }

    /// Changes what is known, and with it what is looked for.
    fn change(&self, change: impl FnOnce(&mut State)) -> Result<(), SettingsFault> {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let kept = state.kept.iter().filter(|(_, kept)| kept.secret);
        let kept = kept.filter_map(|(key, kept)| Some((key, kept.value.as_ref().ok()?)));
        let former = state.former.iter().map(|(key, value)| (key, value));
        let secrets = self.0.variables.iter().chain(kept).chain(&state.others);
        let secrets = secrets.chain(former);
        let secrets = secrets.filter(|(_, secret)| not_hidden(secret).is_none());
        let redactor = Redactor::new(secrets.map(|(key, secret)| (key.as_str(), secret.as_str())))
            .map_err(SettingsFault::TooMuch)?;
        self.0
            .secretive
            .store(!redactor.is_empty(), Ordering::Release);
        state.redactor = Arc::new(redactor);
        Ok(())
    }

    fn state(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The secrets that are not searched for, as they were last read, each with why.
    pub fn not_hidden(&self) -> Vec<(Str, NotHidden)> {
        let state = self.state();
        let kept = state.kept.iter().filter(|(_, kept)| kept.secret);
        let kept = kept.filter_map(|(key, kept)| Some((key, kept.value.as_ref().ok()?)));
        let all = self.0.variables.iter().chain(kept).chain(&state.others);
        all.filter_map(|(name, secret)| Some((name.clone(), not_hidden(secret)?)))
            .collect()
    }

    /// One more secret that is no setting, such as a caller's token. What is too short or too common
    /// is not hidden: see [`Settings::not_hidden`].
    pub fn also_hide(&self, name: &str, secret: &str) -> Result<(), SettingsFault> {
        self.change(|state| {
            state.others.insert(name.into(), secret.into());
        })
    }

    /// Says what names settings outside of workflows, in the place of what was said before.
    pub fn told_users(&self, users: Vec<(Str, String)>) {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        state.users = users;
    }

    /// The value of a setting as last read; nothing if it is not set.
    pub fn value(&self, key: &str) -> Option<Result<Str, String>> {
        if let Some(value) = self.0.variables.get(variable(key).as_str()) {
            return Some(Ok(value.clone()));
        }
        self.state().kept.get(key).map(|kept| kept.value.clone())
    }

    /// The arguments of a call with the settings that its template names.
    pub(crate) async fn fill_in(
        &self,
        template: &Template,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        let cannot = |message: String| Failure::new(FailureKind::BadArguments, message);
        let read = self.refresh().await;
        read.map_err(|fault| cannot(fault.to_string()))?;
        tramline_core::settings::fill_in(template, arguments, &|key| match self.value(key) {
            Some(Ok(value)) => Ok(value),
            Some(Err(fault)) => Err(cannot(fault)),
            None => Err(cannot(missing(key))),
        })
    }

    fn redactor(&self) -> Option<Arc<Redactor>> {
        let secretive = self.0.secretive.load(Ordering::Acquire);
        secretive.then(|| Arc::clone(&self.state().redactor))
    }

    /// A text without secrets.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redactor() {
            None => Cow::Borrowed(text),
            Some(redactor) => redactor.text(text),
        }
    }

    /// The name of a secret that a text holds, among those to be looked for.
    pub(crate) fn held(&self, which: SecretStrength, text: impl FnOnce() -> String) -> Option<Str> {
        self.redactor()?.held(&text(), which)
    }

    /// A value without secrets.
    pub fn redact(&self, value: Value) -> Value {
        let changed = self
            .redactor()
            .and_then(|redactor| redactor.changed(&value));
        changed.unwrap_or(value)
    }

    /// A failure without secrets.
    pub fn redact_failure(&self, failure: Failure) -> Failure {
        match self.redactor() {
            None => failure,
            Some(redactor) => redactor.failure(failure),
        }
    }
}

/// What to say of a setting that is not there.
pub fn missing(key: &str) -> String {
    format!(
        "the setting `{key}` is not set; set it with: tramline settings set {key} (or {VARIABLE}{} \
         in the environment)",
        variable(key)
    )
}

/// The rest of the name of the variable that sets a key.
fn variable(key: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    key.chars().map(plain).collect()
}

fn bounded(key: &str, value: &str) -> Result<(), SettingsFault> {
    if value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the value of `{key}` is longer than {VALUE_BYTES_MAX} bytes");
    Err(SettingsFault::TooMuch(message))
}
