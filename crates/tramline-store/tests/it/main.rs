//! The SQLite store under real conditions: other processes, kills, full and read-only disks,
//! damage.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking, and children report by printing"
)]

mod backup;
mod changes;
mod closing;
mod contents;
mod contract;
mod damage;
mod disk;
mod log;
mod opening;
mod processes;
mod relaxed_appends;
mod removal;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tramline_engine::ports::{Append, ClaimChange, JournalStore, RunIndexRow, RunStatus};
use tramline_store::Sqlite;
use tramline_workflow::ids::{RunId, Seq};

fn run(n: u64) -> RunId {
    RunId::new(1_700_000_000_000 + n as i64, u128::from(n))
}

fn chunk(run: &RunId, seen: Seq, body: Vec<u8>) -> Append {
    Append {
        run: run.clone(),
        seen,
        last: seen + 1,
        body,
        index_row: head(RunStatus::Running),
        claim: ClaimChange::Keep,
        documents: Vec::new(),
    }
}

fn head(status: RunStatus) -> RunIndexRow {
    RunIndexRow {
        status,
        workflow: "w".into(),
        session: None,
        started_ms: 1,
        updated_ms: 2,
    }
}

/// Appends `count` events of `bytes` each to new runs concurrently, so that their chunks
/// interleave.
async fn fill(store: &Arc<Sqlite>, runs: Range<u64>, count: Seq, bytes: usize) {
    let tasks: Vec<_> = runs
        .map(|n| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for seen in 0..count {
                    let chunk = chunk(&run(n), seen, vec![7; bytes]);
                    store.append(chunk).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Reports that something could not be tested here, which is a failure in CI.
fn not_run(why: &str) {
    eprintln!("NOT RUN: {why}");
    assert!(std::env::var_os("CI").is_none(), "not run in CI: {why}");
}

fn database(dir: &Path) -> std::path::PathBuf {
    dir.join("tramline.db")
}
