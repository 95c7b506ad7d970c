//! What every reader guarantees: a rejection has at least one flaw, and every flaw has a position.

use tramline_workflow::flaw::Flaw;

pub(crate) fn check(flaws: &[Flaw]) {
    assert!(!flaws.is_empty(), "rejected without a flaw");
    for flaw in flaws {
        let place = &flaw.span;
        assert!(place.line >= 1 && place.column >= 1, "{flaw:?}");
        let end = (place.end_line, place.end_column);
        assert!(end >= (place.line, place.column), "{flaw:?}");
    }
}
