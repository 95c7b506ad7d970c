//! The last steps of a long run cost as much as the first ones.
//!
//! Measured by what can be counted on any machine: events, journal bytes and memory per step.

use std::sync::Arc;
use tramline_engine::ports::JournalStore;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, EngineOptions, RunStart};
use tramline_expr::Value;
use tramline_formats::yaml_graph;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::Seq;
use tramline_workflow::journal::Outcome;

const TURNS: u64 = 100_000;

/// Journal bytes per step: `[at, {"StepFinished": {…}}]` with its output.
const BYTES_PER_STEP_MAX: f64 = 128.0;

/// Bytes of process memory per step, including the fake's journal.
const MEMORY_PER_STEP_MAX: f64 = 512.0;

fn graph() -> Arc<Graph> {
    let text = r#"
version: "1.0"
server: {name: flat, version: "1.0.0"}
executionLimits: {maxNodeExecutions: 1000000, maxExecutionTimeMs: 3600000}
tools:
  - name: flat
    description: Goes round.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: more}
      - id: more
        type: switch
        conditions:
          - {rule: {"<": [{var: "$executionCount('add')"}, {var: entry.n}]}, next: add}
        next: exit
      - id: add
        type: transform
        next: more
        transform:
          expr: '{ "turn": ($executionCount("add") + 1) % 10, "from": $previousNode() }'
      - {id: exit, type: exit}
"#;
    let document = yaml_graph::read(text.as_bytes()).unwrap();
    Arc::clone(document.workflows.first().unwrap())
}

/// The memory of this process, if the system reports it.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

async fn run(store: &MemoryStore, turns: u64) -> Vec<(Seq, usize)> {
    let engine = Engine::new(
        Arc::new(store.clone()),
        Arc::new(FakeTools::default()),
        EngineOptions::default(),
    );
    let input = Value::object([("n", turns.into())]);
    let handle = engine.start(RunStart::new(graph(), input)).await.unwrap();
    let id = handle.run.clone();
    let ended = handle.wait().await.unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    let chunks = store.read(&id, 0).await.unwrap();
    chunks
        .iter()
        .map(|chunk| (chunk.last, chunk.body.len()))
        .collect()
}

#[tokio::test]
async fn a_long_run_stays_flat() {
    // A short run first, for everything that is allocated once.
    run(&MemoryStore::new(), 1_000).await;
    let before = resident();
    let store = MemoryStore::new();
    let chunks = run(&store, TURNS).await;
    let steps = 2 * TURNS + 3;

    // One event per step, plus the first and last event of the run.
    let last = chunks.last().unwrap().0;
    assert_eq!(last, steps + 2);
    // Events are sent in batches: one sync for each would be slow.
    assert!(store.appends() < steps / 100, "{}", store.appends());

    // The journal grows as fast at the end as at the start; only the numbers get longer.
    let bytes = |from: Seq, to: Seq| -> f64 {
        let within = chunks.iter().filter(|(last, _)| (from..to).contains(last));
        let (events, bytes) = within.fold((0_usize, 0), |(count, sum), (_, len)| {
            (count + 1, sum + len)
        });
        bytes as f64 / events as f64
    };
    let tenth = last / 10;
    let (first, end) = (bytes(tenth, 2 * tenth), bytes(last - tenth, last));
    assert!(
        end < 1.1 * first,
        "{first} bytes per chunk, at the end {end}"
    );
    let total: usize = chunks.iter().map(|(_, len)| len).sum();
    let each = total as f64 / steps as f64;
    assert!(each < BYTES_PER_STEP_MAX, "{each} bytes per step");

    if let (Some(before), Some(after)) = (before, resident()) {
        let each = (after - before) / steps as f64;
        assert!(
            each < MEMORY_PER_STEP_MAX,
            "{each} bytes in memory per step"
        );
    }
}
