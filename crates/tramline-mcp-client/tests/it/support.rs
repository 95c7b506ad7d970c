//! Finds programs, builds configurations, and inspects processes from outside.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::{ToolCallRequest, Tools};
use tramline_expr::Value;
use tramline_mcp_client::config::{ServerConfig, read};
use tramline_mcp_client::{ClientOptions, ServerState, Servers};
use tramline_test_server::processes::MARK;
pub(crate) use tramline_test_server::processes::{mark, marked};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// More than any test should take on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) fn unruly() -> PathBuf {
    tramline_test_server::program::test_server().unwrap()
}

pub(crate) fn json(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

/// Short timeouts, so that tests of waiting are fast.
pub(crate) fn options() -> ClientOptions {
    ClientOptions {
        start_timeout: SOON,
        ping_timeout: Duration::from_millis(500),
        backoff_first: Duration::from_millis(10),
        stop_grace: Duration::from_millis(300),
        ..ClientOptions::default()
    }
}

/// Servers under test, with the mark of their processes.
pub(crate) struct Bench {
    pub(crate) servers: Arc<Servers>,
    pub(crate) mark: String,
}

/// The configuration of one server named `u`, with more fields as JSON members.
pub(crate) fn config(mark: &str, args: &str, more: &str) -> Vec<ServerConfig> {
    let path = unruly();
    let text = format!(
        r#"{{"mcpServers": {{"u": {{"command": {:?}, "args": {args},
            "env": {{"{MARK}": "{mark}", "UNRULY_LOG": "${{LOG:-/dev/null}}"}} {more}}}}}}}"#,
        path.to_str().unwrap()
    );
    read(&json(&text)).unwrap()
}

impl Bench {
    /// A well-behaved unruly server.
    pub(crate) fn plain() -> Self {
        Self::with("[]", "", options())
    }

    /// A server with arguments, more configuration and options.
    pub(crate) fn with(args: &str, more: &str, options: ClientOptions) -> Self {
        let mark = mark();
        let servers = Arc::new(Servers::new(config(&mark, args, more), options));
        Self { servers, mark }
    }

    /// Calls a tool with JSON arguments and plenty of time.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Result<Value, Failure> {
        self.servers.call(call(tool, arguments)).await
    }

    /// Calls a tool with little time.
    pub(crate) async fn call_within(&self, tool: &str, arguments: &str, ms: u64) -> Failure {
        let mut call = call(tool, arguments);
        call.timeout = Duration::from_millis(ms);
        self.servers.call(call).await.unwrap_err()
    }

    /// Checks that the next call works, whatever happened before.
    pub(crate) async fn works(&self) {
        let output = self.call("echo", r#"{"still":"here"}"#).await;
        assert_eq!(output, Ok(json(r#"{"still":"here"}"#)));
    }

    /// The process that handles calls now.
    pub(crate) fn pid(&self) -> u32 {
        match self.servers.status().remove(0).state {
            ServerState::Ready { pid, .. } => pid.unwrap(),
            other => panic!("not ready: {other:?}"),
        }
    }

    /// The processes that are still running, including grandchildren.
    pub(crate) fn processes(&self) -> Vec<u32> {
        marked(&self.mark)
    }
}

pub(crate) fn call(tool: &str, arguments: &str) -> ToolCallRequest {
    ToolCallRequest {
        tool: ToolName::new("u", tool),
        arguments: json(arguments),
        key: "key-1".into(),
        timeout: SOON,
        cancel: CancellationToken::new(),
        progress: None,
        upstream: None,
    }
}

pub(crate) fn assert_failure(failure: &Failure, kind: FailureKind, says: &str) {
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.message.contains(says), "{failure}");
}

/// Polls until a condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < SOON, "timed out waiting for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
