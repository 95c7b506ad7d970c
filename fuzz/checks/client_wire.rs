//! Any bytes as what a downstream server writes, cut into pieces of any size: no line that passes is longer
//! than its bound, and each is a message or is passed over.

use tramline_mcp::client::framing;

/// The bound on a line, in bytes: small, so that it is met often.
const LINE_BYTES_MAX: usize = 64;

pub(crate) fn check(bytes: &[u8]) {
    let Some((piece, rest)) = bytes.split_first() else {
        return;
    };
    for piece in [usize::from(*piece).max(1), rest.len().max(1)] {
        let passed = framing::passed(rest, piece, LINE_BYTES_MAX);
        for line in passed.split(|byte| *byte == b'\n') {
            // An error in the place of an answer that was too long is ours, and has its id.
            let is_ours = line.starts_with(b"{\"jsonrpc\"") || line.starts_with(b"{\"id\"");
            let shown = String::from_utf8_lossy(line);
            assert!(line.len() <= LINE_BYTES_MAX || is_ours, "{shown:?}");
            let _ = framing::is_message(line);
        }
    }
}
