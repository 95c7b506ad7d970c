//! How often the journal is read for one reply. `cargo xtask tidy` names this test.

use super::{ControlFixture, call, diamond, layered};
use crate::support::{Client, Era, connect, over};
use serde_json::json;
use std::sync::Arc;
use tramline_engine::testing::{CountingStore, MemoryStore};
use tramline_mcp_server::Toolset;
use tramline_planner::{ServiceOptions, Services};

/// A client of a new process over the fixture's store, and the counts of that process.
async fn counted(fixture: &ControlFixture) -> (Client, CountingStore<MemoryStore>) {
    let store = CountingStore::new(fixture.store.process());
    let tools = Arc::new(fixture.tools());
    let services = Services::new(Arc::new(store.clone()), tools, ServiceOptions::default());
    let server = over(services, &[Toolset::Control], vec![]);
    (connect(&server, Era::Modern).await, store)
}

/// The client asks for progress, as most clients do: its notifications are the one reading of `execute_dag`.
#[tokio::test]
async fn a_reply_reads_the_journal_once() {
    let fixture = ControlFixture::new();
    let (client, store) = counted(&fixture).await;
    let paused = call(&client, "execute_dag", layered(diamond())).await;
    assert_eq!(paused["status"], "layer_complete");
    assert_eq!(store.reads(), 1, "execute_dag up to a pause");
    let next = json!({"workflow_id": paused["workflow_id"]});
    let paused = call(&client, "continue", next.clone()).await;
    assert_eq!(paused["layer_index"], 1);
    assert_eq!(store.reads(), 2, "continue in the same process");
    // Another process has nothing in hand.
    let (client, store) = counted(&fixture).await;
    let done = call(&client, "continue", next).await;
    assert_eq!(done["status"], "complete");
    assert_eq!(store.reads(), 1, "continue after a restart");
    let done = call(&client, "execute_dag", json!({"workflow": diamond()})).await;
    assert_eq!(done["status"], "complete");
    assert_eq!(store.reads(), 2, "execute_dag to the end");
}
