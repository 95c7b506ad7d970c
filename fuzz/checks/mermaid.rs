//! Arbitrary bytes as a flowchart: parsed and printed without change, or rejected with flaws that
//! have positions.

use super::places;
use tramline_syntax::mermaid;

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
