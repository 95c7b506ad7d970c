//! The framing of what servers write, without a server: what the fuzzer looks at.

use super::lines::BoundedLines;
use rmcp::RoleClient;
use rmcp::service::RxJsonRpcMessage;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// Bytes that come in pieces.
struct Pieces<'b> {
    rest: &'b [u8],
    bytes: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.bytes.min(buf.remaining()).min(self.rest.len());
        let (piece, rest) = self.rest.split_at(count);
        buf.put_slice(piece);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}

/// What passes the bound on lines, of bytes that come in pieces of this size.
pub fn passed(bytes: &[u8], piece: usize, line_bytes_max: usize) -> Vec<u8> {
    let pieces = Pieces {
        rest: bytes,
        bytes: piece,
    };
    let mut lines = BoundedLines::new(pieces, line_bytes_max);
    let mut passed = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    if let Ok(runtime) = runtime {
        // A server that is given up ends the stream with an error; what came before it counts.
        let _ = runtime.block_on(lines.read_to_end(&mut passed));
    }
    passed
}

/// Whether a line is a message of the protocol.
pub fn is_message(line: &[u8]) -> bool {
    serde_json::from_slice::<RxJsonRpcMessage<RoleClient>>(line).is_ok()
}
