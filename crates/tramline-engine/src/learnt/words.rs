//! What is kept of an intent: its words, with signs in the places of all values.

use crate::planner::literals::quotes;
use crate::uses::words::harmless_within;

/// So many characters of an intent are kept: a paragraph.
const INTENT_CHARS_MAX: usize = 600;
/// What stands where a value stood.
const VALUE: &str = "#";

/// An intent without what is quoted, numbers, addresses, paths, keys and whatever else looks like a value:
/// what is left says what kind of thing was wanted.
pub fn keepable(text: &str) -> String {
    let mut plain = String::new();
    let mut from = 0;
    for span in quotes(text) {
        plain.push_str(&text[from..span.start]);
        plain.push_str(VALUE);
        from = span.end;
    }
    plain.push_str(&text[from..]);
    let words = harmless_within(&plain, INTENT_CHARS_MAX);
    let kept = words
        .split(' ')
        .map(|word| if is_value(word) { VALUE } else { word });
    kept.collect::<Vec<_>>().join(" ")
}

/// Whether a word is a value rather than a word.
fn is_value(word: &str) -> bool {
    let core = word.trim_matches(|c: char| ".,;:!?()".contains(c));
    let odd = |c: char| c.is_numeric() || "/\\@=_<>{}[]|~^%$*+".contains(c);
    core.contains(odd) || core.contains("::")
}

#[cfg(test)]
mod tests {
    use super::keepable;

    #[test]
    fn values_are_replaced_and_words_stay() {
        for (given, kept) in [
            ("Mail \"the secret plan\" to ann@example.com.", "Mail # to"),
            (
                "read src/main.rs, then count 12 lines",
                "read # then count # lines",
            ),
            (
                "password is hunter2 for the site",
                "password is for the site",
            ),
            ("pay 4,500.00 from card 6222-0211", "pay # from card #"),
            ("open https://example.com/a now", "open now"),
            ("use sk-livedeadbeefcafe please", "use please"),
            ("it's Ann's turn", "it's Ann's turn"),
        ] {
            assert_eq!(keepable(given), kept, "{given}");
        }
        assert!(keepable(&"word ".repeat(5_000)).len() <= 600);
    }
}
