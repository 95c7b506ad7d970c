//! Any bytes as a workflow in markdown: a document comes back, or flaws that have places.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tramline_core::formats::{self, Format, Hint};

fuzz_target!(|bytes: &[u8]| {
    let hint = Hint {
        format: Some(Format::Markdown),
        ..Hint::default()
    };
    match formats::read(bytes, hint) {
        Ok(read) => assert!(!read.document.workflows.is_empty()),
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
