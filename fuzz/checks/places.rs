//! What every reader promises: a refusal names at least one flaw, and every flaw has a place.

use tramline_core::flaw::Flaw;

pub(crate) fn check(flaws: &[Flaw]) {
    assert!(!flaws.is_empty(), "refused without a flaw");
    for flaw in flaws {
        let place = &flaw.place;
        assert!(place.line >= 1 && place.column >= 1, "{flaw:?}");
        let end = (place.end_line, place.end_column);
        assert!(end >= (place.line, place.column), "{flaw:?}");
    }
}
