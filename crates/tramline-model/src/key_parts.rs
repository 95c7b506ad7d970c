//! Finds parts of a key in the errors of an endpoint.
//!
//! Endpoints quote a rejected key in other forms than it was sent in: in upper or lower case, cut short, or
//! with its middle masked (`sk-ab***yz`). None of them is the key, and each gives some of it away.

use std::collections::HashSet;
use std::ops::Range;

/// Consecutive bytes of a key that are redacted: fewer occur in other words by chance.
const PART_BYTES_MIN: usize = 6;

/// Consecutive bytes of a key that are redacted beside a mask, which says that they are part of one.
const MASKED_PART_BYTES_MIN: usize = 3;

/// What replaces a key and its parts.
pub(crate) const MARK: &str = "[redacted:model-key]";

/// A text without the parts of the key, in any case.
pub(crate) fn redact_parts(text: &str, key: &str) -> String {
    let found = ranges(text, key);
    if found.is_empty() {
        return text.to_owned();
    }
    let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
    for range in found {
        clean.push_str(&text[done..range.start]);
        clean.push_str(MARK);
        done = range.end;
    }
    clean.push_str(&text[done..]);
    clean
}

/// The ranges of a text that show parts of the key, in order and apart.
fn ranges(text: &str, key: &str) -> Vec<Range<usize>> {
    let key = key.to_ascii_lowercase();
    let lower = text.to_ascii_lowercase();
    let size = PART_BYTES_MIN.min(key.len()).max(1);
    let parts: HashSet<&[u8]> = key.as_bytes().windows(size).collect();
    let places = lower.as_bytes().windows(size).enumerate();
    let unmasked = places
        .filter(|(_, window)| parts.contains(window))
        .map(|(start, _)| start..start + size);
    let mut found: Vec<_> = unmasked.chain(masked_words(&lower, &key)).collect();
    found.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in found {
        let range = whole_letters(text, range);
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// The range, with the whole of the letters at its ends.
fn whole_letters(text: &str, range: Range<usize>) -> Range<usize> {
    let start = (0..=range.start)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let end = (range.end..=text.len()).find(|at| text.is_char_boundary(*at));
    start.unwrap_or(0)..end.unwrap_or(text.len())
}

/// Words that mask a part of the key and show another one.
fn masked_words(text: &str, key: &str) -> Vec<Range<usize>> {
    let is_gap = |letter: char| letter.is_whitespace() || "\"'`,;()[]{}<>".contains(letter);
    let parts: HashSet<&[u8]> = key.as_bytes().windows(MASKED_PART_BYTES_MIN).collect();
    let (mut found, mut start) = (Vec::new(), 0);
    for word in text.split_inclusive(is_gap) {
        // Text around the key may be attached to what is shown: `key:sk-ab***yz.`
        let mut shown = word.as_bytes().windows(MASKED_PART_BYTES_MIN);
        if has_mask(word) && shown.any(|part| parts.contains(part)) {
            found.push(start..start + word.trim_end_matches(is_gap).len());
        }
        start += word.len();
    }
    found
}

fn has_mask(word: &str) -> bool {
    word.contains(['*', '•', '…']) || word.contains("...")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-proj-9aB3xKq77LmNzz0PqRsTuVwX";

    #[test]
    fn every_form_of_a_part_is_redacted() {
        for shown in [
            KEY,
            &KEY.to_uppercase(),
            &KEY.to_lowercase(),
            &KEY[..12],
            &KEY[10..],
            &KEY[9..17].to_uppercase(),
            "sk-proj-9aB3************VwX",
            "sk-…uVwX",
            "SK-P••••••••UVWX",
            "***vwx",
            "9aB3xKq7...TuVwX",
        ] {
            for text in [
                format!("Incorrect API key provided: {shown}. You can find yours in your account"),
                format!("key:{shown}"),
                format!("é{shown}é"),
                shown.to_owned(),
            ] {
                let clean = redact_parts(&text, KEY);
                assert!(clean.contains(MARK), "{text}: {clean}");
                let left = clean.replace(MARK, "").to_lowercase();
                let key = KEY.to_lowercase();
                let leaks = |size: usize| {
                    let mut parts = key.as_bytes().windows(size);
                    parts.any(|part| left.as_bytes().windows(size).any(|one| one == part))
                };
                assert!(!leaks(PART_BYTES_MIN), "{text}: {clean}");
                assert!(!left.contains("vwx"), "{text}: {clean}");
            }
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "",
            "The model `gpt-5` does not exist or you do not have access to it",
            "**Note**: the limit is 1000 tokens ... try again",
            "ключ неверен…",
        ] {
            assert_eq!(redact_parts(text, KEY), text);
        }
        assert_eq!(
            redact_parts("a short one", "ab"),
            "a short one".replace("ab", MARK)
        );
    }
}
