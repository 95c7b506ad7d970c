//! The SQLite store against the world: other processes, kills, full and read-only disks, damage.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests speak by panicking, and children by printing"
)]

mod closing;
mod contents;
mod contract;
mod damage;
mod disk;
mod jotting;
mod log;
mod opening;
mod processes;
mod removal;
mod watching;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tramline_core::ids::{RunId, Seq};
use tramline_engine::seams::{Append, Head, Hold, Status, Store};
use tramline_store::Sqlite;

fn run(n: u64) -> RunId {
    RunId::new(1_700_000_000_000 + n as i64, u128::from(n))
}

fn chunk(run: &RunId, seen: Seq, body: Vec<u8>) -> Append {
    Append {
        run: run.clone(),
        seen,
        last: seen + 1,
        body,
        head: head(Status::Running),
        hold: Hold::Keep,
        documents: Vec::new(),
    }
}

fn head(status: Status) -> Head {
    Head {
        status,
        workflow: "w".into(),
        session: None,
        started_ms: 1,
        updated_ms: 2,
    }
}

/// Adds `count` events of `bytes` each to new runs, all at once, so that their chunks lie mixed.
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

/// Says that something could not be tried here, which in CI is a failure.
fn not_run(why: &str) {
    eprintln!("NOT RUN: {why}");
    assert!(std::env::var_os("CI").is_none(), "not run in CI: {why}");
}

fn database(dir: &Path) -> std::path::PathBuf {
    dir.join("tramline.db")
}
