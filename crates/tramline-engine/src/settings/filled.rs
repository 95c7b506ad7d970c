//! The arguments of a call with its settings: as they are sent, and as they are written and shown.

use super::{Settings, missing_message, variable_suffix};
use std::collections::BTreeMap;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::journal::SettingVersions;
use tramline_workflow::setting_references::{self, REFERENCE_PREFIX};
use tramline_workflow::workflow::Template;

/// The version of a setting from the environment: only the operator can change it.
const ENVIRONMENT_VERSION: &str = "environment";

/// The arguments of a call.
pub(crate) struct FilledArguments {
    /// As they are sent. Only the call and the gate get these.
    pub(crate) sent: Value,
    /// As they are written and shown: with secrets by name.
    pub(crate) written: Value,
}

impl FilledArguments {
    /// Arguments without settings.
    pub(crate) fn plain(arguments: Value) -> Self {
        Self {
            sent: arguments.clone(),
            written: arguments,
        }
    }
}

impl Settings {
    /// The arguments of a call, with the settings that its template refers to.
    pub(crate) async fn fill_in(
        &self,
        template: &Template,
        arguments: &Value,
    ) -> Result<FilledArguments, Failure> {
        let read = self.refresh().await;
        read.map_err(|fault| cannot(fault.to_string()))?;
        // All values are read first, so that both forms have the same.
        let mut values: BTreeMap<Str, Result<Str, Failure>> = BTreeMap::new();
        for key in setting_references::keys_in(template) {
            let value = match self.value(&key) {
                Some(Ok(value)) => Ok(value),
                Some(Err(fault)) => Err(cannot(fault)),
                None => Err(cannot(missing_message(&key))),
            };
            values.insert(key, value);
        }
        let value = |key: &str| match values.get(key) {
            Some(value) => value.clone(),
            None => Err(cannot(missing_message(key))),
        };
        let by_name = |key: &str| -> Result<Str, Failure> {
            let value = value(key)?;
            match self.is_hidden(key, &value) {
                true => Ok(format!("{REFERENCE_PREFIX}{key}}}").into()),
                false => Ok(value),
            }
        };
        let sent = setting_references::fill_in(template, arguments, &value)?;
        let written = setting_references::fill_in(template, arguments, &by_name)?;
        // A value that reads like a reference would be replaced when the approved call is sent.
        for key in setting_references::open_keys(template, &written) {
            if !self.is_hidden(&key, &value(&key)?) {
                return Err(Failure::new(
                    FailureKind::Forbidden,
                    format!("the value of the setting `{key}` contains a reference to a setting"),
                ));
            }
        }
        Ok(FilledArguments { sent, written })
    }

    /// Whether a setting is shown by its name only: a secret, or a value that contains one.
    fn is_hidden(&self, key: &str, value: &str) -> bool {
        let is_variable = self.0.variables.contains_key(variable_suffix(key).as_str());
        let is_secret = || self.state().stored.get(key).is_none_or(|kept| kept.secret);
        is_variable || is_secret() || self.redact_text(value) != value
    }

    /// The version of a setting as last read, which changes whenever it is set.
    fn version(&self, key: &str) -> Option<Str> {
        if self.0.variables.contains_key(variable_suffix(key).as_str()) {
            return Some(ENVIRONMENT_VERSION.into());
        }
        let state = self.state();
        state.stored.get(key).map(|kept| kept.version.clone())
    }

    /// The versions of settings as last read.
    pub(crate) fn versions(&self, keys: &[Str]) -> SettingVersions {
        let versions = keys.iter().map(|key| {
            let version = self.version(key).unwrap_or_default();
            (key.clone(), version)
        });
        versions.collect()
    }

    /// A setting that has changed since these versions.
    pub(crate) fn changed_since<'v>(&self, versions: &'v SettingVersions) -> Option<&'v Str> {
        let mut versions = versions.iter();
        let changed =
            versions.find(|(key, version)| self.version(key).unwrap_or_default() != **version);
        changed.map(|(key, _)| key)
    }

    /// The places in a value where a secret was redacted, as JSON pointers.
    pub(crate) fn redacted_places(&self, value: &Value) -> Vec<Str> {
        let redactor = self.redactor();
        let has_mark = |text: &str| {
            super::marks::is_marked(text) || redactor.as_ref().is_some_and(|it| it.has_mark(text))
        };
        let mut places = Vec::new();
        visit(value, "", &has_mark, &mut places);
        places
    }
}

fn visit(value: &Value, place: &str, has_mark: &impl Fn(&str) -> bool, places: &mut Vec<Str>) {
    match value {
        Value::String(text) if has_mark(text) => places.push(place.into()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                visit(item, &format!("{place}/{at}"), has_mark, places);
            }
        }
        Value::Object(map) if map.keys().any(|key| has_mark(key)) => places.push(place.into()),
        Value::Object(map) => {
            for (key, value) in map.iter() {
                let key = key.replace('~', "~0").replace('/', "~1");
                visit(value, &format!("{place}/{key}"), has_mark, places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn cannot(message: String) -> Failure {
    Failure::new(FailureKind::BadArguments, message)
}
