//! Arbitrary bytes as a procedure: parsed, or rejected with flaws that have positions.

use super::places;
use tramline_formats::sop_markdown;

pub(crate) fn check(bytes: &[u8]) {
    if let Err(flaws) = sop_markdown::read(bytes, "fuzzed.md") {
        places::check(&flaws);
    }
}
