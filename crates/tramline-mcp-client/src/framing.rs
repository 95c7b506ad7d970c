//! Framing of server output without a server, for the fuzzer.

use super::bounded_reader::BoundedReader;
use rmcp::RoleClient;
use rmcp::service::RxJsonRpcMessage;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// Bytes that arrive in pieces.
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

/// The bytes that pass the line limit, when they arrive in pieces of this size.
pub fn passed(bytes: &[u8], piece: usize, line_bytes_max: usize) -> Vec<u8> {
    let pieces = Pieces {
        rest: bytes,
        bytes: piece,
    };
    let mut lines = BoundedReader::new(pieces, line_bytes_max);
    let mut passed = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    if let Ok(runtime) = runtime {
        // A server that breaks the limits ends the stream with an error; what it sent before counts.
        let _ = runtime.block_on(lines.read_to_end(&mut passed));
    }
    passed
}

/// Whether a line is a valid protocol message.
pub fn is_message(line: &[u8]) -> bool {
    serde_json::from_slice::<RxJsonRpcMessage<RoleClient>>(line).is_ok()
}
