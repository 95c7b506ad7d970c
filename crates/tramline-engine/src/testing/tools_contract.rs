//! The contract of every `Tools`, checked with three plain tools.
//!
//! The implementation under test offers, on one server, `echo` (read-only; returns its arguments),
//! `fail` (fails with `message`) and `sleep` (takes `ms`). A violation panics.

use crate::ports::{ToolCallRequest, Tools};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tramline_expr::Value;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// More than any call below should take on a busy machine, and far less than the sleeps it cuts
/// off.
const SOON: Duration = Duration::from_secs(5);

/// A sleep that is never waited for.
const LONG_MS: u64 = 600_000;

/// Checks every promise, one after the other, on the same tools.
pub async fn tools_contract(tools: Arc<dyn Tools>, server: &str) {
    let suite = Suite {
        tools,
        server: server.to_owned(),
    };
    suite.finds_and_lists().await;
    suite.gives_outputs_and_failures().await;
    suite.does_not_know_what_is_not_there().await;
    suite.cancels().await;
    suite.times_out().await;
    suite.runs_calls_side_by_side().await;
    suite.gives_outputs_and_failures().await;
}

struct Suite {
    tools: Arc<dyn Tools>,
    server: String,
}

impl Suite {
    fn call(&self, tool: &str, arguments: Value) -> ToolCallRequest {
        ToolCallRequest {
            tool: self.name(tool),
            arguments,
            key: "contract".into(),
            timeout: Duration::from_secs(30),
            cancel: CancellationToken::new(),
            progress: None,
            upstream: None,
        }
    }

    fn name(&self, tool: &str) -> ToolName {
        ToolName::new(self.server.as_str(), tool)
    }

    async fn kind(&self, call: ToolCallRequest) -> FailureKind {
        self.failure(call).await.kind
    }

    async fn failure(&self, call: ToolCallRequest) -> Failure {
        let name = call.tool.clone();
        match self.tools.call(call).await {
            Ok(output) => panic!("{name} should have failed, but returned {output}"),
            Err(failure) => failure,
        }
    }

    async fn finds_and_lists(&self) {
        let echo = self.name("echo");
        let found = self.tools.find(&echo).await;
        let found = found.unwrap_or_else(|failure| panic!("finding echo: {failure}"));
        assert_eq!(found.name, echo);
        assert_eq!(found.hints.read_only, Some(true), "echo is read-only");
        assert!(found.hints.repeatable());
        assert_eq!(found.input_schema.get("type"), Some(&"object".into()));
        let known = self.tools.known(&echo);
        assert!(known.is_some(), "a tool that was found is known");
        let listings = self.tools.list().await;
        let ours = listings
            .iter()
            .find(|listing| listing.server == self.server);
        let tools = ours.and_then(|listing| listing.tools.as_ref().ok());
        let tools = tools.unwrap_or_else(|| panic!("{} is not listed", self.server));
        assert!(tools.iter().any(|tool| tool.name == echo));
    }

    async fn gives_outputs_and_failures(&self) {
        let arguments = Value::object([
            ("z", Value::from(1)),
            ("a", Value::array([Value::Null, true.into(), 2.5.into()])),
            ("text", "häßlich \u{1F600} \"quoted\"\n".into()),
        ]);
        let output = self.tools.call(self.call("echo", arguments.clone())).await;
        let output = output.unwrap_or_else(|failure| panic!("echo: {failure}"));
        assert_eq!(
            output.to_json(),
            arguments.to_json(),
            "echo keeps values and order"
        );
        let message = Value::object([("message", "on purpose".into())]);
        let failure = self.failure(self.call("fail", message)).await;
        assert_eq!(failure.kind, FailureKind::Tool);
        assert_eq!(failure.message, "on purpose");
        let list = Value::array([1.into()]);
        let kind = self.kind(self.call("echo", list)).await;
        assert_eq!(kind, FailureKind::BadArguments, "arguments are an object");
    }

    async fn does_not_know_what_is_not_there(&self) {
        let kind = self.kind(self.call("ecko", Value::Null)).await;
        assert_eq!(kind, FailureKind::UnknownTool);
        let mut call = self.call("echo", Value::Null);
        call.tool = ToolName::new("no-such-server", "echo");
        assert_eq!(self.kind(call).await, FailureKind::UnknownTool);
        for name in [self.name("ecko"), ToolName::new("no-such-server", "echo")] {
            assert!(self.tools.known(&name).is_none());
            let found = self.tools.find(&name).await;
            assert_eq!(found.err().map(|f| f.kind), Some(FailureKind::UnknownTool));
        }
    }

    async fn cancels(&self) {
        let sleep = Value::object([("ms", LONG_MS.into())]);
        let call = self.call("sleep", sleep.clone());
        let cancel = call.cancel.clone();
        let start = Instant::now();
        let later = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cancel.cancel();
        };
        let (kind, ()) = tokio::join!(self.kind(call), later);
        assert_eq!(kind, FailureKind::Cancelled);
        let call = self.call("sleep", sleep);
        call.cancel.cancel();
        assert_eq!(
            self.kind(call).await,
            FailureKind::Cancelled,
            "cancelled before it started"
        );
        assert!(start.elapsed() < SOON, "a cancelled call ends soon");
    }

    async fn times_out(&self) {
        let mut call = self.call("sleep", Value::object([("ms", LONG_MS.into())]));
        call.timeout = Duration::from_millis(200);
        let start = Instant::now();
        assert_eq!(self.kind(call).await, FailureKind::Timeout);
        assert!(start.elapsed() < SOON, "a call ends at its timeout");
    }

    async fn runs_calls_side_by_side(&self) {
        let start = Instant::now();
        let calls = (0..20).map(|_| {
            let sleep = Value::object([("ms", 500.into())]);
            self.tools.call(self.call("sleep", sleep))
        });
        for output in futures_util::future::join_all(calls).await {
            assert!(output.is_ok(), "{output:?}");
        }
        // One after the other would take ten seconds.
        assert!(start.elapsed() < SOON, "calls must run concurrently");
    }
}
