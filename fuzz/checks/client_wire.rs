//! Arbitrary bytes as the output of a downstream server, in pieces of any size: no line that passes
//! exceeds its limit, and each is a message or is skipped.

use tramline_mcp_client::framing;

/// Bytes of a line: small, so that the limit is often reached.
const LINE_BYTES_MAX: usize = 64;

pub(crate) fn check(bytes: &[u8]) {
    let Some((piece, rest)) = bytes.split_first() else {
        return;
    };
    for piece in [usize::from(*piece).max(1), rest.len().max(1)] {
        let passed = framing::passed(rest, piece, LINE_BYTES_MAX);
        for line in passed.split(|byte| *byte == b'\n') {
            // An error that replaces an answer that was too long is ours, and has its id.
            let is_ours = line.starts_with(b"{\"jsonrpc\"") || line.starts_with(b"{\"id\"");
            let shown = String::from_utf8_lossy(line);
            assert!(line.len() <= LINE_BYTES_MAX || is_ours, "{shown:?}");
            let _ = framing::is_message(line);
        }
    }
}
