//! Any bytes in whatever format they are: read as `tramline check` reads, and drawn if they are good.

use tramline_core::formats::Hint;
use tramline_core::formats::checked;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for form in [None, checked::Form::of("fuzzed.md", text)] {
        let _ = checked::check(text, form, Hint::default());
    }
}
