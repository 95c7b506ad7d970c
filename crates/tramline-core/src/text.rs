//! Small help with words: which known name was meant, how a name is shown, how long a time is.

/// Names in messages are cut here, in characters: a message is read, not scrolled through.
const NAME_CHARS_SHOWN: usize = 60;

/// A name as a message shows it: cut, and with control characters escaped.
pub fn shown(name: &str) -> String {
    let mut cut = String::new();
    for c in name.chars().take(NAME_CHARS_SHOWN) {
        if c.is_control() {
            cut.extend(c.escape_default());
        } else {
            cut.push(c);
        }
    }
    if name.chars().nth(NAME_CHARS_SHOWN).is_some() {
        cut.push('…');
    }
    cut
}

/// The known name nearest to `given`, if one is near enough to be what was meant.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Comparing against more names than this costs more than the hint is worth.
    const NAMES_MAX: usize = 1_000;
    /// Names longer than this, in bytes, are not compared: the cost grows with the square.
    const NAME_BYTES_MAX: usize = 100;
    if given.len() > NAME_BYTES_MAX {
        return None;
    }
    let folded = given.to_lowercase();
    known
        .take(NAMES_MAX)
        .filter(|name| name.len() <= NAME_BYTES_MAX)
        .map(|name| {
            (
                strsim::normalized_damerau_levenshtein(&folded, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// The milliseconds of a text like `500ms`, `1.5s`, `2m`, `1h`.
pub fn milliseconds(text: &str) -> Option<u64> {
    /// Ten years: far above every bound that a time is held to.
    const MS_MAX: f64 = 10.0 * 366.0 * 24.0 * 3_600_000.0;
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" | "min" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => return None,
    };
    let digits = digits.trim_end();
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = digits.parse().ok().filter(|_| plain)?;
    let ms = (number * unit).round();
    // Bounds are checked by the caller; beyond this the conversion would only saturate.
    (ms <= MS_MAX).then_some(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::{milliseconds, nearest};

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        assert_eq!(
            nearest("DO_CANCLE", ["DO_CANCEL", "START"].into_iter()),
            Some("DO_CANCEL")
        );
        assert_eq!(nearest("zebra", ["DO_CANCEL", "START"].into_iter()), None);
    }

    #[test]
    fn times_are_read_with_their_units() {
        let cases = [
            ("500ms", Some(500)),
            ("5s", Some(5_000)),
            ("1.5 s", Some(1_500)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("5", None),
            ("-5s", None),
            ("s", None),
            ("1e9s", None),
            ("99999999999h", None),
            ("5 parsecs", None),
        ];
        for (text, ms) in cases {
            assert_eq!(milliseconds(text), ms, "{text}");
        }
    }
}
