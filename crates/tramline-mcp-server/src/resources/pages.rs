//! Pages of lists: a cursor names where the next page begins.

use rmcp::ErrorData;
use std::fmt;
use tramline_workflow::ids::RunId;

/// Items on one page of a list.
pub(crate) const PAGE_ITEMS: usize = 100;

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// After this many items of what does not change by itself.
    Offset(usize),
    /// After this run, newest first; at the newest run without one.
    Runs(Option<RunId>),
}

impl Cursor {
    /// The cursor that a client sends back.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, ErrorData> {
        let Some(text) = text else {
            return Ok(Self::Offset(0));
        };
        let parsed = match text.split_once(':') {
            Some(("offset", number)) => number.parse().ok().map(Self::Offset),
            Some(("runs", "")) => Some(Self::Runs(None)),
            Some(("runs", run)) => run.parse().ok().map(|run| Self::Runs(Some(run))),
            Some(_) | None => None,
        };
        parsed.ok_or_else(Self::invalid)
    }

    /// The offset, for lists without runs.
    pub(crate) fn offset(self) -> Result<usize, ErrorData> {
        match self {
            Self::Offset(offset) => Ok(offset),
            Self::Runs(_) => Err(Self::invalid()),
        }
    }

    fn invalid() -> ErrorData {
        ErrorData::invalid_params("invalid cursor; list again without one", None)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "offset:{offset}"),
            Self::Runs(run) => write!(f, "runs:{}", run.as_ref().map_or("", RunId::as_str)),
        }
    }
}

/// The page at an offset, and the cursor of the next one.
pub(crate) fn static_page<T>(all: Vec<T>, offset: usize) -> (Vec<T>, Option<Cursor>) {
    let end = offset.saturating_add(PAGE_ITEMS);
    let next = (end < all.len()).then_some(Cursor::Offset(end));
    let page = all.into_iter().skip(offset).take(PAGE_ITEMS);
    (page.collect(), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_the_wire_and_others_are_refused() {
        for cursor in [
            Cursor::Offset(7),
            Cursor::Runs(None),
            Cursor::Runs(Some(RunId::new(1, 1))),
        ] {
            assert_eq!(Cursor::parse(Some(&cursor.to_string())).unwrap(), cursor);
        }
        for odd in ["", "7", "offset:x", "runs:x", "pages:1"] {
            assert!(Cursor::parse(Some(odd)).is_err(), "{odd}");
        }
    }

    #[test]
    fn pages_end_with_the_list() {
        let (page, next) = static_page((0..250).collect(), 200);
        assert_eq!((page.len(), next), (50, None));
        let (page, next) = static_page((0..250).collect::<Vec<_>>(), 0);
        assert_eq!(
            (page.len(), next),
            (PAGE_ITEMS, Some(Cursor::Offset(PAGE_ITEMS)))
        );
        assert_eq!(static_page(vec![1], usize::MAX), (vec![], None));
    }
}
