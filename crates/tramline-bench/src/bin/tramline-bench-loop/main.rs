//! Measures the overhead of the planner loop: a model that answers at once, tools that do nothing.
//!
//! `cargo xtask bench loop` runs this. Everything else is as shipped: messages are stored, tools
//! are searched, the plan is checked, journaled on disk, run and summarised.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail, ensure};
use bare::BareDisk;
use report::{BenchReport, FigureTarget};
use std::sync::Arc;
use std::time::Instant;
use tramline::planner::loop_runner::{LoopRequest, LoopRunner};
use tramline::planner::{ServiceOptions, Services};
use tramline::store::Sqlite;
use tramline_engine::testing::CountingStore;

mod bare;
mod fakes;
#[path = "../../report.rs"]
mod report;

/// Requests before the first measurement of memory.
const EARLY: usize = 1_000;
/// Requests before the second one.
const LATE: usize = 10_000;
/// Requests between two timings of the disk alone.
const BARE_EVERY: usize = 10;
/// Number of sessions that take turns.
const SESSIONS: usize = 100;

fn main() -> Result<()> {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other => bail!("unknown argument `{other}`; use --json"),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut report = BenchReport::new(!json);
    runtime.block_on(measure(&mut report))?;
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}

async fn measure(report: &mut BenchReport) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let store = Arc::new(CountingStore::new(Sqlite::open(&dir.path().join("data"))?));
    let durable = Arc::clone(&store);
    let services = Services::new(
        store,
        Arc::new(fakes::EchoTools::new()),
        ServiceOptions::default(),
    );
    let runner =
        LoopRunner::new(services.planner.clone()).with_model(Arc::new(fakes::InstantModel));
    let mut bare = BareDisk::new(dir.path())?;
    let (mut times, mut syncs) = (Vec::new(), Vec::new());
    let (mut early, mut late) = (0.0, 0.0);
    for number in 1..=LATE {
        let began = Instant::now();
        let request = LoopRequest::new(format!("do nothing with number {number}"));
        let session = format!("s{}", number % SESSIONS);
        let response = runner.run(request.session(session)).await?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(response.success(), "{:?}", response.problems);
        ensure!(
            response.results.len() == fakes::STEPS,
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
    services.engine.close().await;
    // The first requests open files and fill the index.
    let mut steady = times.split_off(EARLY / 10);
    steady.sort_by(f64::total_cmp);
    let at = |part: f64| steady[((steady.len() - 1) as f64 * part) as usize];
    let tools = fakes::TOOLS;
    report.add(
        format!("a request, median, {tools} tools"),
        at(0.5),
        "ms",
        FigureTarget::None,
    );
    report.add(
        "a request, 95th percentile",
        at(0.95),
        "ms",
        FigureTarget::Under(5.0),
    );
    report.add(
        "a request, 99th percentile",
        at(0.99),
        "ms",
        FigureTarget::None,
    );
    syncs.sort_by(f64::total_cmp);
    let sync = syncs[syncs.len() / 2];
    report.add(
        "a bare write and sync, median",
        sync,
        "ms",
        FigureTarget::None,
    );
    report.add(
        "a request, median, in bare syncs",
        at(0.5) / sync,
        "",
        FigureTarget::None,
    );
    report.add(
        "writes of a request that wait for the disk",
        durable.synced() as f64 / LATE as f64,
        "",
        FigureTarget::Under(1.1),
    );
    let grown = (late - early) / 1e6;
    report.add(
        format!("resident after {EARLY} requests"),
        early / 1e6,
        "MB",
        FigureTarget::None,
    );
    report.add(
        format!("resident after {LATE} requests"),
        late / 1e6,
        "MB",
        FigureTarget::None,
    );
    report.add(
        "growth in between, share",
        grown * 1e6 / early,
        "",
        FigureTarget::Under(0.05),
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

/// The resident memory of this process, in bytes.
fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    Ok(kib
        .context("no VmRSS in /proc/self/status")?
        .parse::<f64>()?
        * 1_024.0)
}
