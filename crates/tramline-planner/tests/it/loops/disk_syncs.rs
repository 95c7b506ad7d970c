//! How often a request waits for the disk.

use super::tools;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::testing::{CountingStore, MemoryStore};
use tramline_planner::loop_runner::{LoopRequest, LoopRunner};
use tramline_planner::{ServiceOptions, Services};

#[tokio::test]
async fn a_request_waits_once_for_the_disk() {
    let store = CountingStore::new(MemoryStore::default());
    let services = Services::new(
        Arc::new(store.clone()),
        Arc::new(tools()),
        ServiceOptions::default(),
    );
    let runner = LoopRunner::new(services.planner);
    let plan = json!([{"id": "a", "tool": "mock_tool_a", "args": {"foo": "x"}},
        {"tool": "m:mock_tool_b", "args": {"x": "$OUTPUT[a].ran"}}]);
    let asks = |text: &str, plan: &Json| LoopRequest::new(text).plan(plan.clone()).session("s");
    // The first one lists the tools, which are then stored.
    let first = runner.run(asks("do it", &plan)).await;
    assert!(first.unwrap().success());
    let before = (store.synced(), store.relaxed());
    let second = runner.run(asks("do it once more", &plan)).await;
    assert!(second.unwrap().success());
    assert_eq!(store.synced() - before.0, 1, "its journal");
    assert!(
        store.relaxed() >= before.1 + 2,
        "memory, and the plan history"
    );
}
