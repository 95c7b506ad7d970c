//! Any bytes as a flowchart: one that prints as itself comes back, or flaws that have places.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tramline_core::formats::mermaid;

fuzz_target!(|bytes: &[u8]| {
    match mermaid::read(bytes) {
        Ok(diagram) => {
            let printed = mermaid::print(&diagram);
            let again = mermaid::read(printed.as_bytes());
            assert_eq!(again.ok().as_ref(), Some(&diagram));
        }
        Err(flaws) => {
            assert!(!flaws.is_empty());
            for flaw in flaws {
                assert!(flaw.place.line >= 1 && flaw.place.column >= 1);
                let end = (flaw.place.end_line, flaw.place.end_column);
                assert!(end >= (flaw.place.line, flaw.place.column));
            }
        }
    }
});
