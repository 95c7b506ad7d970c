//! Ten thousand waiting workflows, across a restart.

use super::{ControlProject, TestTransport, layered, post, two};
use crate::test_servers::Http;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline::engine::testing::FakeTools;
use tramline::engine::{DriveOutcome, Engine, EngineOptions, RunStart};
use tramline::expr::Value;
use tramline::formats::{KnownServers, ReadOptions, json_dag};
use tramline::store::Sqlite;
use tramline::workflow::journal::SchedulePolicy;

const COUNT: usize = 10_000;
/// The memory limit of an idle server, in bytes: waiting workflows cost it nothing.
const BYTES_MAX: u64 = 128 << 20;
/// How many are started concurrently.
const AT_ONCE: usize = 500;

/// Leaves workflows behind that wait after their first layer.
async fn leave_waiting(desk: &ControlProject) -> String {
    let store = Sqlite::open(&desk.place.data_dir()).unwrap();
    let engine = Engine::new(
        Arc::new(store),
        Arc::new(FakeTools::contract_tools("u")),
        EngineOptions::default(),
    );
    let hint = ReadOptions {
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    let tasks = Value::from_json(&json!({"tasks": two()}).to_string()).unwrap();
    let graph = json_dag::read_value(&tasks, hint).unwrap().workflows[0].clone();
    let mut last = String::new();
    for _ in 0..COUNT / AT_ONCE {
        let mut handles = Vec::new();
        for _ in 0..AT_ONCE {
            let mut start = RunStart::new(graph.clone(), Value::object::<&str>([]));
            start.policy = SchedulePolicy::Layered;
            start.ttl_ms = Some(3_600_000);
            handles.push(engine.start(start).await.unwrap());
        }
        for handle in handles {
            last = handle.run.to_string();
            assert!(matches!(
                handle.wait().await.unwrap(),
                DriveOutcome::Paused(_)
            ));
        }
    }
    engine.close().await;
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_paused_workflows_survive_and_the_first_continue_is_quick() {
    let desk = ControlProject::new(TestTransport::Http);
    let last = leave_waiting(&desk).await;
    let began = Instant::now();
    let server = Http::start(desk.command());
    let up = began.elapsed();
    // This server starts the downstream server, so that the next measurement is about the store
    // alone.
    let warm = json!({"name": "execute_dag", "arguments": layered(two())});
    post(&server, &warm, None);
    let began = Instant::now();
    let go = json!({"name": "continue", "arguments": {"workflow_id": last}});
    let done = post(&server, &go, None);
    let took = began.elapsed();
    assert_eq!(done["status"], "complete", "{done}");
    let bytes = server.resident_bytes();
    println!("up after {up:?}, continued in {took:?}, {bytes:?} bytes resident");
    assert!(bytes.is_none_or(|bytes| bytes < BYTES_MAX), "{bytes:?}");
    // A few milliseconds; a debug build on a busy machine takes longer.
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(up < Duration::from_secs(10), "{up:?}");
}
