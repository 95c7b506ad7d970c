//! Arbitrary text as recorded SOP sessions: at least one is parsed, or there is a reason.

use tramline_sop::audit;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match audit::read(text) {
        Ok(transcripts) => assert!(!transcripts.is_empty()),
        Err(reason) => assert!(!reason.is_empty()),
    }
}
