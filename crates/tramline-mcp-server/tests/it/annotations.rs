//! Annotations of a graph follow from its tools, once those are known.

use super::support::{ERAS, calling, connect, over, pure, services, tools};
use async_trait::async_trait;
use rmcp::model::ToolAnnotations;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tramline_engine::ports::{Exchange, ServerTools, Tool, ToolCallRequest, Tools};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_mcp_server::{Server, Toolset};
use tramline_workflow::failure::Failure;
use tramline_workflow::ids::ToolName;

/// Tools of a server that was not asked yet.
struct UnlistedTools {
    tools: FakeTools,
    asked: AtomicBool,
}

impl UnlistedTools {
    fn new() -> Self {
        let asked = AtomicBool::new(false);
        Self {
            tools: tools(),
            asked,
        }
    }
}

#[async_trait]
impl Tools for UnlistedTools {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        let asked = self.asked.load(Ordering::Relaxed);
        asked.then(|| self.tools.known(name)).flatten()
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.asked.store(true, Ordering::Relaxed);
        self.tools.find(name).await
    }

    async fn list(&self) -> Vec<ServerTools> {
        self.tools.list().await
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        self.tools.exchange(name, key)
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        self.asked.store(true, Ordering::Relaxed);
        self.tools.call(call).await
    }
}

fn server() -> Server {
    let graphs = vec![
        pure("thinks"),
        calling("reads", "look", ""),
        calling("acts", "work", ""),
    ];
    over(
        services(MemoryStore::default(), UnlistedTools::new()),
        &[Toolset::Graphs],
        graphs,
    )
}

fn claims(read_only: bool, destructive: bool, open_world: bool) -> Option<ToolAnnotations> {
    let claims = ToolAnnotations::new().read_only(read_only);
    let claims = claims.destructive(destructive).idempotent(!destructive);
    Some(claims.open_world(open_world))
}

#[tokio::test]
async fn nothing_is_claimed_before_it_is_known_and_clients_are_told_when_it_is() {
    for era in ERAS {
        let server = server();
        let mut client = connect(&server, era).await;
        let told = async |client: &super::support::Client| {
            let tools = client.tools().await.into_iter();
            tools.map(|tool| tool.annotations).collect::<Vec<_>>()
        };
        let pure = claims(true, false, false);
        assert_eq!(told(&client).await, [pure.clone(), None, None], "{era:?}");
        // The call starts the server; its annotations are known from then on.
        client.call("reads", json!({})).await;
        client.wait_tools_changed().await;
        let unsaid = claims(false, true, true);
        assert_eq!(told(&client).await, [pure.clone(), pure, unsaid], "{era:?}");
    }
}
