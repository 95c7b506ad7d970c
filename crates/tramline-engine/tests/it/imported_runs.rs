//! Runs imported from a file, and forks on a server for agents: the same rules apply as to a
//! document that an agent submits.

use crate::support::graphs;
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, ForkRequest, JournalPoint, RunOwner, RunStart,
};
use tramline_expr::{Str, Value};
use tramline_workflow::authority::ApprovalSource;
use tramline_workflow::journal::{Budget, Pause};

fn tools() -> Arc<FakeTools> {
    let wipes = ToolHints {
        destructive: Some(true),
        ..ToolHints::default()
    };
    let echo = |given: Value| async { Ok(given) };
    Arc::new(FakeTools::new().tool("t", "wipe", wipes, echo))
}

/// The export file of a run that never called anything, of a workflow without approvals.
async fn written() -> String {
    let engine = Engine::new(
        Arc::new(MemoryStore::new()),
        tools() as _,
        EngineOptions::default(),
    );
    let graph = graphs(
        r"- name: wipe
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: it}
    - {id: it, type: mcp, server: t, tool: wipe, args: {}, next: exit}
    - {id: exit, type: exit}",
    )
    .remove(0);
    let start = RunStart::new(graph, Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    handle.wait().await.unwrap();
    let file = engine.export(&run).await.unwrap();
    let mut file: serde_json::Value = serde_json::from_slice(&file).unwrap();
    file["journal"].as_array_mut().unwrap().truncate(1);
    file.to_string()
}

#[tokio::test]
async fn a_fork_of_a_run_that_was_brought_in_asks_before_it_destroys() {
    let tools = tools();
    let budget = Budget {
        calls: Some(7),
        ..Budget::default()
    };
    let options = EngineOptions {
        budget: Some(budget),
        ..EngineOptions::default()
    };
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::new(store, Arc::clone(&tools) as _, options);
    engine.serve_agents();
    let (run, _) = engine
        .import(&written().await, RunOwner::default())
        .await
        .unwrap();
    let branch = ForkRequest::at(JournalPoint::Event(1));
    let fork = engine.fork(&run, branch).await.unwrap().handle;
    let id = fork.run.clone();
    let ended = fork.wait().await.unwrap();
    let DriveOutcome::Paused(pauses) = ended else {
        panic!("the run did not pause: {ended:?}");
    };
    assert!(
        matches!(
            &pauses[0].1,
            Pause::Approval {
                source: Some(ApprovalSource::Destructive),
                ..
            }
        ),
        "{pauses:?}"
    );
    assert_eq!(tools.calls().len(), 0);
    let started = engine.load(&id).await.unwrap().run.started.clone();
    assert_eq!(started.operator_budget, Some(budget));
}
