//! Redaction: known secrets are replaced by their names, wherever and however they are written.

use super::forms::forms;
use aho_corasick::{AhoCorasick, MatchKind};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tramline_core::failure::Failure;
use tramline_core::{Map, Str, Value};

/// A secret of so many bytes stands in no document by chance.
const SURE_BYTES_MIN: usize = 8;

/// Finds all forms of all known secrets in one pass.
#[derive(Clone, Default)]
pub(super) struct Redactor {
    /// Nothing where there is nothing to find.
    search: Option<AhoCorasick>,
    /// What each form is replaced by.
    marks: Vec<Str>,
    /// Which forms are those of long secrets: they stand nowhere by chance.
    sure: Vec<bool>,
    /// Whether a secret can be a number.
    numbers: bool,
}

impl Redactor {
    /// Looks for these, each with the name it is replaced by.
    pub(super) fn new<'s>(
        secrets: impl IntoIterator<Item = (&'s str, &'s str)>,
    ) -> Result<Self, String> {
        let mut found: BTreeMap<String, (Str, bool)> = BTreeMap::new();
        let mut numbers = false;
        for (name, secret) in secrets {
            let mark = Str::from(format!("[redacted:{name}]"));
            numbers |= secret.trim().parse::<f64>().is_ok();
            for form in forms(secret) {
                let sure = secret.len() >= SURE_BYTES_MIN;
                found.entry(form).or_insert_with(|| (mark.clone(), sure));
            }
        }
        if found.is_empty() {
            return Ok(Self::default());
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(found.keys())
            .map_err(|error| format!("the secrets are too many to look for: {error}"))?;
        let (marks, sure) = found.into_values().unzip();
        Ok(Self {
            search: Some(search),
            marks,
            sure,
            numbers,
        })
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// The mark of a long secret that a text holds.
    pub(super) fn held(&self, text: &str) -> Option<Str> {
        let mut found = self.search.as_ref()?.find_iter(text);
        let sure = found.find(|found| self.sure[found.pattern().as_usize()])?;
        Some(self.marks[sure.pattern().as_usize()].clone())
    }

    /// A text without secrets.
    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.search {
            Some(search) if search.is_match(text) => {
                Cow::Owned(search.replace_all(text, &self.marks))
            }
            Some(_) | None => Cow::Borrowed(text),
        }
    }

    /// The same value without secrets, if it has any.
    pub(super) fn changed(&self, value: &Value) -> Option<Value> {
        self.search.as_ref()?;
        match value {
            Value::String(text) => self.changed_text(text).map(Value::from),
            Value::Number(_) if self.numbers => {
                self.changed_text(&value.to_json()).map(Value::from)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
            Value::Array(items) => self.changed_items(items).map(Value::from),
            Value::Object(map) => self.changed_map(map).map(Value::from),
        }
    }

    fn changed_items(&self, items: &[Value]) -> Option<Vec<Value>> {
        let mut changed: Option<Vec<Value>> = None;
        for (at, item) in items.iter().enumerate() {
            if let Some(new) = self.changed(item) {
                changed
                    .get_or_insert_with(|| items[..at].to_vec())
                    .push(new);
            } else if let Some(list) = &mut changed {
                list.push(item.clone());
            }
        }
        changed
    }

    fn changed_map(&self, map: &Map) -> Option<Map> {
        let mut changed: Option<Map> = None;
        for (at, (key, value)) in map.iter().enumerate() {
            let (new_key, new) = (self.changed_text(key), self.changed(value));
            if changed.is_none() && (new_key.is_some() || new.is_some()) {
                let same = map.iter().take(at);
                changed = Some(
                    same.map(|(key, value)| (key.clone(), value.clone()))
                        .collect(),
                );
            }
            if let Some(map) = &mut changed {
                let key = new_key.map_or_else(|| key.clone(), Str::from);
                map.insert(key, new.unwrap_or_else(|| value.clone()));
            }
        }
        changed
    }

    /// A failure without secrets.
    pub(super) fn failure(&self, mut failure: Failure) -> Failure {
        if let Some(message) = self.changed_text(&failure.message) {
            failure.message = message;
        }
        if let Some(data) = failure.data.as_ref().and_then(|data| self.changed(data)) {
            failure.data = Some(data);
        }
        failure
    }

    fn changed_text(&self, text: &str) -> Option<String> {
        match self.text(text) {
            Cow::Owned(changed) => Some(changed),
            Cow::Borrowed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    const SECRET: &str = "p@ss wörd/+=?\"\\>>>~~~123";

    fn redactor() -> Redactor {
        Redactor::new([("KEY", SECRET), ("PIN", "48213377")]).unwrap()
    }

    #[test]
    fn every_form_is_found_inside_longer_texts() {
        let redactor = redactor();
        let quoted = serde_json::Value::from(SECRET).to_string();
        for form in [
            SECRET,
            &quoted,
            &quoted.replace('ö', "\\u00f6"),
            "p%40ss%20w%C3%B6rd%2F%2B%3D%3F%22%5C%3E%3E%3E~~~123",
            "p%40ss%20w%c3%b6rd%2f%2b%3d%3f%22%5c%3e%3e%3e~~~123",
            "p%40ss+w%C3%B6rd%2F%2B%3D%3F%22%5C%3E%3E%3E%7E%7E%7E123",
            "p@ss%20w%C3%B6rd/+=?%22%5C%3E%3E%3E~~~123",
        ] {
            let text = redactor.text(form).into_owned();
            assert!(text.contains("[redacted:KEY]"), "{form}: {text}");
            let around = format!("before {form} after");
            let text = redactor.text(&around);
            assert!(
                text.starts_with("before ") && text.ends_with(" after"),
                "{text}"
            );
            assert!(!text.contains("123"), "{text}");
        }
    }

    #[test]
    fn base64_is_found_at_every_place_with_and_without_padding() {
        let redactor = redactor();
        for before in 0..7 {
            for after in 0..5 {
                let text = format!("{}{SECRET}{}", "u".repeat(before), ":".repeat(after));
                for coded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    for coded in [coded.as_str(), coded.trim_end_matches('=')] {
                        let shown = redactor.text(coded).into_owned();
                        assert!(shown.contains("[redacted:KEY]"), "{text}: {shown}");
                        // At most a letter at each end is of the secret.
                        let left = shown.replace("[redacted:KEY]", "");
                        assert!(left.trim_end_matches('=').len() <= (before + after) * 4 / 3 + 4);
                    }
                }
            }
        }
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(redactor.text(&hex), "[redacted:KEY]");
        assert_eq!(redactor.text(&hex.to_uppercase()), "[redacted:KEY]");
    }

    #[test]
    fn values_are_cleaned_in_keys_numbers_and_depth_and_shared_where_clean() {
        let redactor = redactor();
        let dirty = Value::from_json(
            r#"{"a":[1,{"48213377":true}],"n":48213377,"deep":[[[["x 48213377"]]]],"ok":"y"}"#,
        );
        let clean = redactor.changed(&dirty.unwrap()).unwrap().to_json();
        let wanted = r#"{"a":[1,{"[redacted:PIN]":true}],"n":"[redacted:PIN]","deep":[[[["x [redacted:PIN]"]]]],"ok":"y"}"#;
        assert_eq!(clean, wanted);
        let plain = Value::from_json(r#"{"a":[1,2,{"b":"c"}]}"#).unwrap();
        assert_eq!(redactor.changed(&plain), None);
        assert!(Redactor::new([]).unwrap().is_empty());
    }

    #[test]
    fn the_lines_of_a_long_key_are_found_alone() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n";
        let redactor = Redactor::new([("PEM", key)]).unwrap();
        let text = redactor
            .text("line 2: AQEFAASCBKcwggSjAgEAAoIB")
            .into_owned();
        assert_eq!(text, "line 2: [redacted:PEM]");
    }
}
