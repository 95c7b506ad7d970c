//! Arbitrary bytes from a client over stdio: every answer is a line of JSON, and the server exits
//! at the end of its input.

use super::serving;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// Time within which a server exits after the end of its input, with all its calls.
const END_MAX: Duration = Duration::from_secs(10);

const HELLO: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"f\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

pub(crate) fn check(bytes: &[u8]) {
    let (Some(runtime), Some(server)) = (serving::runtime(), serving::server()) else {
        panic!("the server cannot be started");
    };
    runtime.block_on(async {
        let (mut ours, theirs) = duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let serving = tokio::spawn(server.serve_over(input, output));
        let talking = async {
            let _ = ours.write_all(HELLO).await;
            let _ = ours.write_all(bytes).await;
            let _ = ours.write_all(b"\n").await;
            let _ = ours.shutdown().await;
            let mut said = Vec::new();
            let _ = ours.read_to_end(&mut said).await;
            said
        };
        let said = tokio::time::timeout(END_MAX, talking).await;
        assert!(
            said.is_ok(),
            "the server does not exit at the end of its input"
        );
        for line in said.unwrap_or_default().split(|byte| *byte == b'\n') {
            let is_json =
                line.is_empty() || serde_json::from_slice::<serde_json::Value>(line).is_ok();
            assert!(is_json, "{:?}", String::from_utf8_lossy(line));
        }
        let ended = tokio::time::timeout(END_MAX, serving).await;
        assert!(
            !matches!(ended, Ok(Err(ref panicked)) if panicked.is_panic()),
            "{ended:?}"
        );
    });
}
