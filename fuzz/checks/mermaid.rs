//! Any bytes as a flowchart: one that prints as itself comes back, or flaws that have places.

use super::places;
use tramline_core::formats::mermaid;

pub(crate) fn check(bytes: &[u8]) {
    match mermaid::read(bytes) {
        Ok(diagram) => {
            let printed = mermaid::print(&diagram);
            let again = mermaid::read(printed.as_bytes());
            assert_eq!(again.ok().as_ref(), Some(&diagram));
        }
        Err(flaws) => places::check(&flaws),
    }
}
