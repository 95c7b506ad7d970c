//! Scrubs an intent: keeps its words and replaces all values by a placeholder.

use super::{quoted_ranges, scrub_within};

/// How much of an intent is stored, in characters: a paragraph.
const INTENT_CHARS_MAX: usize = 600;
/// The placeholder for a value.
const PLACEHOLDER: &str = "#";

/// An intent without quoted texts, numbers, addresses, paths, keys and anything else that looks like a value. The rest
/// shows what kind of request it was.
pub fn scrub_intent(text: &str) -> String {
    let mut plain = String::new();
    let mut from = 0;
    for span in quoted_ranges(text) {
        plain.push_str(&text[from..span.start]);
        plain.push_str(PLACEHOLDER);
        from = span.end;
    }
    plain.push_str(&text[from..]);
    let words = scrub_within(&plain, INTENT_CHARS_MAX);
    let kept = words
        .split(' ')
        .map(|word| if is_value(word) { PLACEHOLDER } else { word });
    kept.collect::<Vec<_>>().join(" ")
}

/// Whether a word is a value.
fn is_value(word: &str) -> bool {
    let core = word.trim_matches(|c: char| ".,;:!?()".contains(c));
    let odd = |c: char| c.is_numeric() || "/\\@=_<>{}[]|~^%$*+".contains(c);
    core.contains(odd) || core.contains("::")
}

#[cfg(test)]
mod tests {
    use super::scrub_intent;

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
            assert_eq!(scrub_intent(given), kept, "{given}");
        }
        assert!(scrub_intent(&"word ".repeat(5_000)).len() <= 600);
    }
}
