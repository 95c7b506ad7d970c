//! Any bytes as a workflow in markdown: a document comes back, or flaws that have places.

use super::places;
use tramline_core::formats::{self, Elsewhere, Format, Hint};

pub(crate) fn check(bytes: &[u8]) {
    let hint = Hint {
        format: Some(Format::Markdown),
        elsewhere: Elsewhere::Any,
        ..Hint::default()
    };
    match formats::read(bytes, hint) {
        Ok(read) => assert!(!read.document.workflows.is_empty()),
        Err(flaws) => places::check(&flaws),
    }
}
