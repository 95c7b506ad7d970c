//! Small help with words: which known name did the writer mean, and how a name is shown.

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

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        assert_eq!(
            nearest("DO_CANCLE", ["DO_CANCEL", "START"].into_iter()),
            Some("DO_CANCEL")
        );
        assert_eq!(nearest("zebra", ["DO_CANCEL", "START"].into_iter()), None);
    }
}
