//! Settings as they are shown: a secret never, only that it is there and where it is used.

use super::{
    NotHidden, Setter, Settings, SettingsFault, VARIABLE, is_strong, not_hidden, variable,
};
use crate::seams::Workflows;
use tramline_core::Str;
use tramline_core::settings::uses;

/// A secret of fewer characters is shown as nothing but dots: its ends would tell too much of it.
const ENDS_CHARS_MIN: usize = 20;
/// So many characters are shown of its beginning, which says what kind of key it is.
const HEAD_CHARS: usize = 3;
/// And so many of its end, by which its owner knows it.
const TAIL_CHARS: usize = 4;

/// A setting as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its key.
    pub key: Str,
    /// Whether it is a secret.
    pub secret: bool,
    /// Its value, masked if it is a secret; or why it cannot be read.
    pub value: Result<String, String>,
    /// Where it comes from.
    pub source: Source,
    /// Why it is not redacted, if it is a secret and is not.
    pub not_hidden: Option<NotHidden>,
    /// Whether it is a secret that can be guessed by whoever may try values out.
    pub guessable: bool,
    /// Whether an agent has set it.
    pub by_agent: bool,
    /// When it was set, in milliseconds since 1970; nothing for the environment's.
    pub set_ms: Option<i64>,
    /// What names it: servers and nodes of workflows.
    pub used_by: Vec<String>,
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is kept in the store.
    Kept,
    /// A variable of the environment, which wins over what is kept.
    Environment(String),
}

impl Settings {
    /// All settings as they may be shown, by key.
    pub async fn list(&self, workflows: &dyn Workflows) -> Result<Vec<Shown>, SettingsFault> {
        self.reload().await?;
        let mut keys: Vec<Str> = self.state().kept.keys().cloned().collect();
        for name in self.0.variables.keys() {
            if !keys.iter().any(|key| variable(key) == name.as_str()) {
                keys.push(name.clone());
            }
        }
        keys.sort();
        let shown = keys.iter().filter_map(|key| self.shown(key, workflows));
        Ok(shown.collect())
    }

    /// One setting as it may be shown.
    pub async fn get(
        &self,
        key: &str,
        workflows: &dyn Workflows,
    ) -> Result<Option<Shown>, SettingsFault> {
        self.reload().await?;
        Ok(self.shown(key, workflows))
    }

    fn shown(&self, key: &str, workflows: &dyn Workflows) -> Option<Shown> {
        let used_by = self.used_by(key, workflows);
        let name = variable(key);
        if let Some(value) = self.0.variables.get(name.as_str()) {
            return Some(Shown {
                key: key.into(),
                secret: true,
                value: Ok(masked(value)),
                source: Source::Environment(format!("{VARIABLE}{name}")),
                not_hidden: not_hidden(value),
                guessable: !is_strong(value),
                by_agent: false,
                set_ms: None,
                used_by,
            });
        }
        let state = self.state();
        let kept = state.kept.get(key)?;
        let value = kept.value.as_ref();
        let secret = value.ok().filter(|_| kept.secret);
        let shown = |value: &Str| match kept.secret {
            true => masked(value),
            false => value.to_string(),
        };
        Some(Shown {
            key: key.into(),
            secret: kept.secret,
            value: value.map(shown).map_err(Clone::clone),
            source: Source::Kept,
            not_hidden: secret.and_then(|value| not_hidden(value)),
            guessable: secret.is_some_and(|value| !is_strong(value)),
            by_agent: kept.by == Setter::Agent,
            set_ms: Some(kept.set_ms),
            used_by,
        })
    }

    /// What names a key: servers as they were told, then nodes of the workflows at hand.
    fn used_by(&self, key: &str, workflows: &dyn Workflows) -> Vec<String> {
        let state = self.state();
        let users = state.users.iter().filter(|(used, _)| used == key);
        let mut all: Vec<String> = users.map(|(_, user)| user.clone()).collect();
        for name in workflows.names() {
            let Some(found) = workflows.find(&name) else {
                continue;
            };
            for node in uses(&found.graph.workflow).remove(key).unwrap_or_default() {
                all.push(format!("workflow {name}, node {node}"));
            }
        }
        all
    }
}

/// A secret as it may be shown: its ends, if enough stays hidden between them.
fn masked(secret: &str) -> String {
    let letters: Vec<char> = secret.chars().collect();
    if letters.len() < ENDS_CHARS_MIN {
        return "…".to_owned();
    }
    let head: String = letters[..HEAD_CHARS].iter().collect();
    let tail: String = letters[letters.len() - TAIL_CHARS..].iter().collect();
    format!("{head}…{tail}")
}
