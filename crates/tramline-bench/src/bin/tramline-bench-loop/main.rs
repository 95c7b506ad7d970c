//! Measures what the planner loop itself takes: a model that answers at once, tools that do nothing.
//!
//! `cargo xtask bench loop` runs this. Everything else is as it is shipped: messages are remembered,
//! tools are searched, the plan is checked, journaled on the disk, run and summed up.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, bail, ensure};
use bare::Bare;
use report::{Aim, Report};
use std::sync::Arc;
use std::time::Instant;
use tramline::engine::loop_runner::{LoopRunner, Request};
use tramline::engine::{Engine, Options};
use tramline::store::Sqlite;
use tramline_engine::testing::Counted;

mod bare;
#[path = "../../report.rs"]
mod report;
mod seams;

/// Memory is looked at after so many requests for the first time.
const EARLY: usize = 1_000;
/// And after so many.
const LATE: usize = 10_000;
/// After so many requests the disk alone is timed once.
const BARE_EVERY: usize = 10;
/// So many conversations take turns.
const SESSIONS: usize = 100;

fn main() -> Result<()> {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other => bail!("`{other}` is not known; there is --json"),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut report = Report::new(!json);
    runtime.block_on(measure(&mut report))?;
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}

async fn measure(report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let store = Arc::new(Counted::new(Sqlite::open(&dir.path().join("data"))?));
    let durable = Arc::clone(&store);
    let engine = Engine::new(store, Arc::new(seams::Nothing::new()), Options::default());
    let runner = LoopRunner::new(engine.clone()).with_model(Arc::new(seams::AtOnce));
    let mut bare = Bare::new(dir.path())?;
    let (mut times, mut syncs) = (Vec::new(), Vec::new());
    let (mut early, mut late) = (0.0, 0.0);
    for number in 1..=LATE {
        let began = Instant::now();
        let request = Request::new(format!("do nothing with number {number}"));
        let session = format!("s{}", number % SESSIONS);
        let response = runner.run(request.session(session)).await?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(response.success(), "{:?}", response.problems);
        ensure!(
            response.results.len() == seams::STEPS,
            "{:?}",
            response.results
        );
        if number == EARLY {
            early = resident()?;
        }
        late = resident_at(number, late)?;
        if number % BARE_EVERY == 0 {
            syncs.push(bare.sync()?);
        }
    }
    engine.close().await;
    // The first ones open files and fill the index.
    let mut steady = times.split_off(EARLY / 10);
    steady.sort_by(f64::total_cmp);
    let at = |part: f64| steady[((steady.len() - 1) as f64 * part) as usize];
    let tools = seams::TOOLS;
    report.add(
        format!("a request, median, {tools} tools"),
        at(0.5),
        "ms",
        Aim::None,
    );
    report.add(
        "a request, 95th percentile",
        at(0.95),
        "ms",
        Aim::Under(5.0),
    );
    report.add("a request, 99th percentile", at(0.99), "ms", Aim::None);
    syncs.sort_by(f64::total_cmp);
    let sync = syncs[syncs.len() / 2];
    report.add("a bare write and sync, median", sync, "ms", Aim::None);
    report.add(
        "a request, median, in bare syncs",
        at(0.5) / sync,
        "",
        Aim::None,
    );
    report.add(
        "writes of a request that wait for the disk",
        durable.synced() as f64 / LATE as f64,
        "",
        Aim::Under(1.1),
    );
    let grown = (late - early) / 1e6;
    report.add(
        format!("resident after {EARLY} requests"),
        early / 1e6,
        "MB",
        Aim::None,
    );
    report.add(
        format!("resident after {LATE} requests"),
        late / 1e6,
        "MB",
        Aim::None,
    );
    report.add(
        "growth in between, share",
        grown * 1e6 / early,
        "",
        Aim::Under(0.05),
    );
    Ok(())
}

fn resident_at(number: usize, before: f64) -> Result<f64> {
    if number == LATE {
        resident()
    } else {
        Ok(before)
    }
}

/// What this process has in memory, in bytes.
fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    Ok(kib.context("no such figure")?.parse::<f64>()? * 1_024.0)
}
