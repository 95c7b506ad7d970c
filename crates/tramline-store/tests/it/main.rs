//! The SQLite store against the world: other processes, kills, full and read-only disks, damage.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests speak by panicking, and children by printing"
)]

mod closing;
mod contract;
mod damage;
mod disk;
mod opening;
mod processes;
mod retention;
mod watching;

use std::path::Path;
use tramline_core::ids::{RunId, Seq};
use tramline_engine::seams::{Append, Head, Status, Store};
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

/// Adds `count` events of `bytes` each to a new run.
async fn fill(store: &Sqlite, run: &RunId, count: Seq, bytes: usize) {
    for seen in 0..count {
        store
            .append(chunk(run, seen, vec![7; bytes]))
            .await
            .unwrap();
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
