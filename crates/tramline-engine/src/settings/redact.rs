//! Redaction: known secrets are replaced by their names, in every encoding.
//!
//! Secrets may overlap: one may end with the characters that another begins with. So all matches are considered,
//! including nested ones, and the range they cover together is replaced as a whole.

use super::encodings::encodings;
use super::marks::MarkChooser;
use super::strength;
use aho_corasick::{AhoCorasick, MatchKind};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::failure::Failure;

/// Shortest secret that does not occur in a document by chance, in bytes.
const LONG_BYTES_MIN: usize = 8;

/// Finds all encodings of all known secrets in one pass.
#[derive(Clone, Default)]
pub(super) struct Redactor {
    /// `None` if there is nothing to find.
    search: Option<PatternSearch>,
    secrets: Vec<RedactedSecret>,
    /// By pattern, the secrets it encodes, as indices into `secrets`.
    owners: Vec<Vec<usize>>,
    /// Whether a secret can be part of a number.
    numbers: bool,
}

/// The same patterns twice: the fast automaton for "no match" cannot report overlapping matches.
#[derive(Clone)]
struct PatternSearch {
    any: AhoCorasick,
    overlapping: AhoCorasick,
}

/// A secret that is searched for.
#[derive(Clone)]
struct RedactedSecret {
    name: Str,
    /// Its replacement.
    mark: Str,
    /// It is too long to occur by chance.
    is_long: bool,
    /// It cannot be guessed.
    is_strong: bool,
}

/// Which secrets a document is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretStrength {
    /// Those that do not occur in a document by chance.
    Long,
    /// Those that cannot be guessed. Finding others would confirm a correct guess.
    Strong,
}

/// A range of a text that one or several overlapping secrets cover.
struct CoveredRange {
    start: usize,
    end: usize,
    /// The secrets, as indices into `secrets`.
    secrets: Vec<usize>,
}

impl CoveredRange {
    fn add(&mut self, secrets: &[usize]) {
        for secret in secrets {
            if !self.secrets.contains(secret) {
                self.secrets.push(*secret);
            }
        }
    }
}

impl Redactor {
    /// Searches for these secrets, each with the name that replaces it.
    pub(super) fn new<'s>(
        secrets: impl IntoIterator<Item = (&'s str, &'s str)>,
    ) -> Result<Self, String> {
        let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut hidden = Vec::new();
        for (name, secret) in secrets {
            for form in encodings(secret) {
                found.entry(form).or_default().push(hidden.len());
            }
            hidden.push(RedactedSecret {
                name: name.into(),
                mark: Str::default(),
                is_long: secret.len() >= LONG_BYTES_MIN,
                is_strong: strength::is_strong(secret),
            });
        }
        if found.is_empty() {
            return Ok(Self::default());
        }
        let search = PatternSearch::new(&found)?;
        let marks = MarkChooser::new(&search.any, found.keys().map(String::as_str).collect());
        for secret in &mut hidden {
            secret.mark = marks.mark(&secret.name).into();
        }
        let numeric = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        let numbers = found.keys().any(|form| form.bytes().all(numeric));
        Ok(Self {
            search: Some(search),
            secrets: hidden,
            owners: found.into_values().collect(),
            numbers,
        })
    }

    /// Whether there is nothing to search for.
    pub(super) fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// Whether a text contains the mark of a secret.
    pub(super) fn has_mark(&self, text: &str) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|secret| text.contains(secret.mark.as_str()))
    }

    /// The name of a secret that a text contains, among those of the given strength.
    pub(super) fn find_secret(&self, text: &str, which: SecretStrength) -> Option<Str> {
        let search = self.search.as_ref()?;
        if !search.any.is_match(text) {
            return None;
        }
        let found = search.overlapping.find_overlapping_iter(text);
        let mut found = found.flat_map(|one| &self.owners[one.pattern().as_usize()]);
        let wanted = |secret: &RedactedSecret| match which {
            SecretStrength::Long => secret.is_long,
            SecretStrength::Strong => secret.is_strong,
        };
        let secret = found.find(|secret| wanted(&self.secrets[**secret]))?;
        Some(self.secrets[*secret].name.clone())
    }

    /// A text without secrets.
    pub(super) fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.search {
            Some(search) if search.any.is_match(text) => Cow::Owned(self.replace(search, text)),
            Some(_) | None => Cow::Borrowed(text),
        }
    }

    fn replace(&self, search: &PatternSearch, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        for cover in self.covers(search, text) {
            clean.push_str(&text[done..cover.start]);
            let mut marks: Vec<&str> = Vec::with_capacity(cover.secrets.len());
            for secret in cover.secrets {
                let mark = self.secrets[secret].mark.as_str();
                if !marks.contains(&mark) {
                    clean.push_str(mark);
                    marks.push(mark);
                }
            }
            done = cover.end;
        }
        clean.push_str(&text[done..]);
        clean
    }

    /// The ranges of a text that secrets cover, in order and disjoint.
    fn covers(&self, search: &PatternSearch, text: &str) -> Vec<CoveredRange> {
        let mut covers: Vec<CoveredRange> = Vec::new();
        // Matches arrive in the order of their ends: one may reach back over several earlier ranges.
        for found in search.overlapping.find_overlapping_iter(text) {
            let owners = &self.owners[found.pattern().as_usize()];
            let apart = covers.iter().rposition(|cover| cover.end <= found.start());
            let first = apart.map_or(0, |apart| apart + 1);
            if first == covers.len() {
                covers.push(CoveredRange {
                    start: found.start(),
                    end: found.end(),
                    secrets: owners.clone(),
                });
                continue;
            }
            let swallowed: Vec<CoveredRange> = covers.drain(first + 1..).collect();
            let cover = &mut covers[first];
            cover.start = cover.start.min(found.start());
            cover.end = found.end();
            for other in swallowed {
                cover.add(&other.secrets);
            }
            cover.add(owners);
        }
        covers
    }

    /// The value without secrets, or `None` if it contains none.
    pub(super) fn redact_value(&self, value: &Value) -> Option<Value> {
        self.search.as_ref()?;
        match value {
            Value::String(text) => self.redact_if_found(text).map(Value::from),
            Value::Number(_) if self.numbers => {
                self.redact_if_found(&value.to_json()).map(Value::from)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
            Value::Array(items) => self.redact_items(items).map(Value::from),
            Value::Object(map) => self.redact_map(map).map(Value::from),
        }
    }

    fn redact_items(&self, items: &[Value]) -> Option<Vec<Value>> {
        let mut changed: Option<Vec<Value>> = None;
        for (at, item) in items.iter().enumerate() {
            if let Some(new) = self.redact_value(item) {
                changed
                    .get_or_insert_with(|| items[..at].to_vec())
                    .push(new);
            } else if let Some(list) = &mut changed {
                list.push(item.clone());
            }
        }
        changed
    }

    fn redact_map(&self, map: &Map) -> Option<Map> {
        let mut changed: Option<Map> = None;
        for (at, (key, value)) in map.iter().enumerate() {
            let (new_key, new) = (self.redact_if_found(key), self.redact_value(value));
            if changed.is_none() && (new_key.is_some() || new.is_some()) {
                let same = map.iter().take(at);
                changed = Some(
                    same.map(|(key, value)| (key.clone(), value.clone()))
                        .collect(),
                );
            }
            if let Some(map) = &mut changed {
                let key = new_key.map_or_else(|| key.clone(), Str::from);
                let key = self.unused_key(map, key);
                map.insert(key, new.unwrap_or_else(|| value.clone()));
            }
        }
        changed
    }

    /// A key that is not taken: two keys may become equal by redaction, and neither may be lost.
    fn unused_key(&self, map: &Map, key: Str) -> Str {
        let taken =
            |key: &str| map.get(key).is_some() || matches!(self.redact_text(key), Cow::Owned(_));
        if map.get(&key).is_none() {
            return key;
        }
        let numbered = (map.len()..).map(|number| format!("{key}#{number}"));
        let mut free = numbered.filter(|key| !taken(key));
        free.next().map_or(key, Str::from)
    }

    /// A failure without secrets.
    pub(super) fn redact_failure(&self, mut failure: Failure) -> Failure {
        if let Some(message) = self.redact_if_found(&failure.message) {
            failure.message = message;
        }
        if let Some(data) = failure
            .data
            .as_ref()
            .and_then(|data| self.redact_value(data))
        {
            failure.data = Some(data);
        }
        failure
    }

    fn redact_if_found(&self, text: &str) -> Option<String> {
        match self.redact_text(text) {
            Cow::Owned(changed) => Some(changed),
            Cow::Borrowed(_) => None,
        }
    }
}

impl PatternSearch {
    fn new(found: &BTreeMap<String, Vec<usize>>) -> Result<Self, String> {
        let build = |kind| {
            AhoCorasick::builder()
                .match_kind(kind)
                .build(found.keys())
                .map_err(|error| format!("there are too many secrets to redact: {error}"))
        };
        Ok(Self {
            any: build(MatchKind::LeftmostLongest)?,
            overlapping: build(MatchKind::Standard)?,
        })
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
            let text = redactor.redact_text(form).into_owned();
            assert!(text.contains("[redacted:KEY]"), "{form}: {text}");
            let around = format!("before {form} after");
            let text = redactor.redact_text(&around);
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
                        let shown = redactor.redact_text(coded).into_owned();
                        assert!(shown.contains("[redacted:KEY]"), "{text}: {shown}");
                        // At most one character at each end belongs to the secret.
                        let left = shown.replace("[redacted:KEY]", "");
                        assert!(left.trim_end_matches('=').len() <= (before + after) * 4 / 3 + 4);
                    }
                }
            }
        }
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(redactor.redact_text(&hex), "[redacted:KEY]");
        assert_eq!(redactor.redact_text(&hex.to_uppercase()), "[redacted:KEY]");
    }

    #[test]
    fn values_are_cleaned_in_keys_numbers_and_depth_and_shared_where_clean() {
        let redactor = redactor();
        let dirty = Value::from_json(
            r#"{"a":[1,{"48213377":true}],"n":48213377,"deep":[[[["x 48213377"]]]],"ok":"y"}"#,
        );
        let clean = redactor.redact_value(&dirty.unwrap()).unwrap().to_json();
        let wanted = r#"{"a":[1,{"[redacted:PIN]":true}],"n":"[redacted:PIN]","deep":[[[["x [redacted:PIN]"]]]],"ok":"y"}"#;
        assert_eq!(clean, wanted);
        let plain = Value::from_json(r#"{"a":[1,2,{"b":"c"}]}"#).unwrap();
        assert_eq!(redactor.redact_value(&plain), None);
        assert!(Redactor::new([]).unwrap().is_empty());
    }

    #[test]
    fn the_lines_of_a_long_key_are_found_alone() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n";
        let redactor = Redactor::new([("PEM", key)]).unwrap();
        let text = redactor
            .redact_text("line 2: AQEFAASCBKcwggSjAgEAAoIB")
            .into_owned();
        assert_eq!(text, "line 2: [redacted:PEM]");
    }
}
