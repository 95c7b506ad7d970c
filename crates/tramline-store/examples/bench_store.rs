//! Measures the store against the bare disk: the same bytes, in the same directory, at the same
//! time.
//!
//! Run it with `cargo run --release -p tramline-store --example bench_store [DIR]`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at the first error"
)]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_engine::ports::{Append, ClaimChange, JournalStore, RunIndexRow, RunStatus};
use tramline_store::Sqlite;
use tramline_workflow::ids::RunId;

const BODY_BYTES: usize = 2_048;
const SINGLE_APPENDS: u64 = 2_000;
const GROUPED_APPENDS: u64 = 40_000;
const OPENINGS: usize = 50;
const CRASH_APPENDS: u64 = 180;
const CRASH_DIR: &str = "TRAMLINE_BENCH_CRASH_DIR";

#[tokio::main]
async fn main() {
    if let Some(dir) = std::env::var_os(CRASH_DIR) {
        return crash(Path::new(&dir)).await;
    }
    let base = std::env::args()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join(format!("tramline-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    openings(&dir);
    bare(&dir, 1, SINGLE_APPENDS);
    single(&dir).await;
    for writers in [64, 1_000] {
        bare(&dir, writers, GROUPED_APPENDS);
        grouped(&dir, writers, writers).await;
        grouped(&dir, writers, 16 * writers).await;
    }
    open_after_crash(&dir);
    claims(&dir).await;
    reads(&dir).await;
    std::fs::remove_dir_all(&dir).unwrap();
}

fn openings(dir: &Path) {
    let mut made = Vec::new();
    let mut opened = Vec::new();
    for at in 0..OPENINGS {
        let dir = dir.join(format!("open-{at}"));
        made.push(timed(|| drop_later(Sqlite::open(&dir).unwrap())));
        opened.push(timed(|| drop_later(Sqlite::open(&dir).unwrap())));
    }
    report("make a database", made);
    report("open a database", opened);
}

/// Opens a database whose process died with a nearly full log: the log is read first.
fn open_after_crash(dir: &Path) {
    let times = (0..10).map(|at| {
        let dir = dir.join(format!("crash-{at}"));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.env(CRASH_DIR, &dir).status().unwrap();
        timed(|| drop_later(Sqlite::open(&dir).unwrap()))
    });
    report("open a database after a crash", times.collect());
}

async fn crash(dir: &Path) {
    let store = Sqlite::open(dir).unwrap();
    for seen in 0..CRASH_APPENDS {
        store.append(chunk(&RunId::new(1, 1), seen)).await.unwrap();
    }
    std::process::exit(1);
}

/// Keeps closing out of the measurement.
fn drop_later(store: Sqlite) -> impl Drop {
    struct Later(Option<Sqlite>);
    impl Drop for Later {
        fn drop(&mut self) {
            self.0.take();
        }
    }
    Later(Some(store))
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let kept = work();
    let took = start.elapsed();
    drop(kept);
    took
}

/// Appends to a file with one sync per group of `group`.
fn bare(dir: &Path, group: u64, appends: u64) {
    let path = dir.join("bare.log");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    let body = vec![7; BODY_BYTES * group as usize];
    let start = Instant::now();
    let times = (0..appends / group)
        .map(|_| {
            timed(|| {
                file.write_all(&body).unwrap();
                file.sync_data().unwrap();
            })
        })
        .collect();
    let rate = appends as f64 / start.elapsed().as_secs_f64();
    report(&format!("bare file, groups of {group}: {rate:.0}/s"), times);
}

async fn single(dir: &Path) {
    let store = Sqlite::open(&dir.join("single")).unwrap();
    let run = RunId::new(1, 1);
    let mut times = Vec::new();
    for seen in 0..SINGLE_APPENDS {
        let start = Instant::now();
        store.append(chunk(&run, seen)).await.unwrap();
        times.push(start.elapsed());
    }
    let rate = SINGLE_APPENDS as f64 / times.iter().sum::<Duration>().as_secs_f64();
    report(&format!("store, 1 writer: {rate:.0}/s"), times);
}

async fn grouped(dir: &Path, writers: u64, runs: u64) {
    let store = Arc::new(Sqlite::open(&dir.join(format!("grouped-{writers}-{runs}"))).unwrap());
    let start = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| tokio::spawn(write(Arc::clone(&store), writer, writers, runs)))
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    report(
        &format!("store, {writers} writers, {runs} runs: {rate:.0}/s"),
        times,
    );
}

async fn write(store: Arc<Sqlite>, writer: u64, writers: u64, runs: u64) -> Vec<Duration> {
    let own: Vec<_> = (0..runs / writers)
        .map(|nth| RunId::new(nth as i64, u128::from(writer)))
        .collect();
    let mut times = Vec::new();
    for round in 0..GROUPED_APPENDS / writers {
        let run = &own[round as usize % own.len()];
        let start = Instant::now();
        let seen = round / own.len() as u64;
        store.append(chunk(run, seen)).await.unwrap();
        times.push(start.elapsed());
    }
    times
}

async fn claims(dir: &Path) {
    let store = Sqlite::open(&dir.join("single")).unwrap();
    let mut times = Vec::new();
    for at in 0..SINGLE_APPENDS {
        let run = RunId::new(2, u128::from(at));
        let start = Instant::now();
        store.claim(&run).await.unwrap();
        times.push(start.elapsed());
    }
    report("claim", times);
}

async fn reads(dir: &Path) {
    let store = Sqlite::open(&dir.join("single")).unwrap();
    let run = RunId::new(1, 1);
    let mut tail = Vec::new();
    for _ in 0..SINGLE_APPENDS {
        let start = Instant::now();
        assert_eq!(store.read(&run, SINGLE_APPENDS - 1).await.unwrap().len(), 1);
        tail.push(start.elapsed());
    }
    report("read the last chunk", tail);
    let start = Instant::now();
    assert_eq!(
        store.read(&run, 0).await.unwrap().len(),
        SINGLE_APPENDS as usize
    );
    report(
        &format!("read {SINGLE_APPENDS} chunks"),
        vec![start.elapsed()],
    );
}

fn chunk(run: &RunId, seen: u64) -> Append {
    Append {
        run: run.clone(),
        seen,
        last: seen + 1,
        body: vec![7; BODY_BYTES],
        index_row: RunIndexRow {
            status: RunStatus::Running,
            workflow: "bench".into(),
            session: None,
            started_ms: 1,
            updated_ms: seen as i64,
        },
        claim: ClaimChange::Keep,
        documents: Vec::new(),
    }
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{what:<46} p50 {:>8.3} ms   p99 {:>8.3} ms",
        at(0.5),
        at(0.99)
    );
}
