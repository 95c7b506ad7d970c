//! Settings as they are listed: never a secret itself, only that it exists and where it is used.

use super::{
    NotRedacted, Setter, Settings, SettingsFault, VARIABLE_PREFIX, is_strong, not_redacted,
    variable_suffix,
};
use crate::ports::Workflows;
use tramline_expr::Str;
use tramline_workflow::setting_references::keys_by_node;

/// Shortest secret of which the ends are shown, in characters. The ends of a shorter one would reveal too much.
const ENDS_CHARS_MIN: usize = 20;
/// Characters shown of a secret's beginning, which identifies the kind of key.
const HEAD_CHARS: usize = 3;
/// Characters shown of a secret's end, by which its owner recognizes it.
const TAIL_CHARS: usize = 4;

/// A setting as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingView {
    /// Its key.
    pub key: Str,
    /// Whether it is a secret.
    pub secret: bool,
    /// Its value, masked if it is a secret, or why it cannot be read.
    pub value: Result<String, String>,
    /// Where it comes from.
    pub source: SettingSource,
    /// Why a secret is not redacted; `None` if it is.
    pub not_redacted: Option<NotRedacted>,
    /// Whether it is a secret that can be guessed by trial.
    pub guessable: bool,
    /// Whether an agent set it.
    pub by_agent: bool,
    /// When it was set, in milliseconds since 1970; `None` for environment variables.
    pub set_ms: Option<i64>,
    /// The servers and workflow nodes that use it.
    pub used_by: Vec<String>,
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// The store.
    Stored,
    /// An environment variable, which takes precedence over the store.
    Environment(String),
}

impl Settings {
    /// All settings as they are listed, by key.
    pub async fn list(&self, workflows: &dyn Workflows) -> Result<Vec<SettingView>, SettingsFault> {
        self.reload().await?;
        let mut keys: Vec<Str> = self.state().stored.keys().cloned().collect();
        for name in self.0.variables.keys() {
            if !keys.iter().any(|key| variable_suffix(key) == name.as_str()) {
                keys.push(name.clone());
            }
        }
        keys.sort();
        let shown = keys.iter().filter_map(|key| self.view(key, workflows));
        Ok(shown.collect())
    }

    /// One setting as it is listed.
    pub async fn get(
        &self,
        key: &str,
        workflows: &dyn Workflows,
    ) -> Result<Option<SettingView>, SettingsFault> {
        self.reload().await?;
        Ok(self.view(key, workflows))
    }

    fn view(&self, key: &str, workflows: &dyn Workflows) -> Option<SettingView> {
        let used_by = self.used_by(key, workflows);
        let name = variable_suffix(key);
        if let Some(value) = self.0.variables.get(name.as_str()) {
            return Some(SettingView {
                key: key.into(),
                secret: true,
                value: Ok(masked(value)),
                source: SettingSource::Environment(format!("{VARIABLE_PREFIX}{name}")),
                not_redacted: not_redacted(value),
                guessable: !is_strong(value),
                by_agent: false,
                set_ms: None,
                used_by,
            });
        }
        let state = self.state();
        let kept = state.stored.get(key)?;
        let value = kept.value.as_ref();
        let secret = value.ok().filter(|_| kept.secret);
        let shown = |value: &Str| match kept.secret {
            true => masked(value),
            false => value.to_string(),
        };
        Some(SettingView {
            key: key.into(),
            secret: kept.secret,
            value: value.map(shown).map_err(Clone::clone),
            source: SettingSource::Stored,
            not_redacted: secret.and_then(|value| not_redacted(value)),
            guessable: secret.is_some_and(|value| !is_strong(value)),
            by_agent: kept.by == Setter::Agent,
            set_ms: Some(kept.set_ms),
            used_by,
        })
    }

    /// The servers that use a key, as last reported, then the nodes of known workflows.
    fn used_by(&self, key: &str, workflows: &dyn Workflows) -> Vec<String> {
        let state = self.state();
        let users = state.users.iter().filter(|(used, _)| used == key);
        let mut all: Vec<String> = users.map(|(_, user)| user.clone()).collect();
        for name in workflows.names() {
            let Some(found) = workflows.find(&name) else {
                continue;
            };
            for node in keys_by_node(&found.graph.workflow)
                .remove(key)
                .unwrap_or_default()
            {
                all.push(format!("workflow {name}, node {node}"));
            }
        }
        all
    }
}

/// A masked secret: its ends, if enough between them stays hidden.
fn masked(secret: &str) -> String {
    let letters: Vec<char> = secret.chars().collect();
    if letters.len() < ENDS_CHARS_MIN {
        return "…".to_owned();
    }
    let head: String = letters[..HEAD_CHARS].iter().collect();
    let tail: String = letters[letters.len() - TAIL_CHARS..].iter().collect();
    format!("{head}…{tail}")
}
