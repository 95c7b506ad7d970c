//! Small help with words: which known name did the writer mean.

/// The known name nearest to `given`, if one is near enough to be what was meant.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Comparing against more names than this costs more than the hint is worth.
    const NAMES_MAX: usize = 10_000;
    let folded = given.to_lowercase();
    known
        .take(NAMES_MAX)
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
