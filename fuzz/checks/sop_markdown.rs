//! Any bytes as a procedure: it comes back, or flaws that have places.

use super::places;
use tramline_core::formats::sop_markdown;

pub(crate) fn check(bytes: &[u8]) {
    if let Err(flaws) = sop_markdown::read(bytes, "fuzzed.md") {
        places::check(&flaws);
    }
}
