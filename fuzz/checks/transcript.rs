//! Any text as recorded conversations: at least one comes back, or a reason.

use tramline_core::navigate::audit;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match audit::read(text) {
        Ok(transcripts) => assert!(!transcripts.is_empty()),
        Err(reason) => assert!(!reason.is_empty()),
    }
}
