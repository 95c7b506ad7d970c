//! Arbitrary bytes in any format: checked like `tramline check` does, and drawn if valid.

use tramline_formats::{ReadOptions, SourceKind};
use tramline_views::diagnostics;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for form in [None, SourceKind::detect("fuzzed.md", text)] {
        let _ = diagnostics::check(text, form, ReadOptions::default());
    }
}
