//! Appends compared with the bare disk: the same bytes, the same directory, in turns.

use crate::report::{BenchReport, FigureTarget};
use anyhow::Result;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline::engine::ports::{Append, ClaimChange, JournalStore, RunIndexRow, RunStatus};
use tramline::store::Sqlite;
use tramline::workflow::ids::RunId;

const BODY_BYTES: usize = 2_048;
const TURNS: usize = 5;
const ALONE: u64 = 400;
const WRITERS: u64 = 64;
const GROUPED: u64 = 12_800;

pub(crate) fn measure(report: &mut BenchReport) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let store = Arc::new(Sqlite::open(dir.path())?);
    let runtime = crate::runtime()?;
    let mut best = [0.0_f64; 4];
    let mut runs = 0;
    for _ in 0..TURNS {
        let rates = [
            bare(dir.path(), 1, ALONE)?,
            runtime.block_on(ours(&store, 1, ALONE, &mut runs))?,
            bare(dir.path(), WRITERS, GROUPED)?,
            runtime.block_on(ours(&store, WRITERS, GROUPED, &mut runs))?,
        ];
        for (best, rate) in best.iter_mut().zip(rates) {
            *best = best.max(rate);
        }
    }
    let [bare_alone, ours_alone, bare_grouped, ours_grouped] = best;
    report.add(
        "bare append + sync of 2 KB, one at a time",
        bare_alone,
        "/s",
        FigureTarget::None,
    );
    report.add(
        "append to a journal, one at a time",
        ours_alone,
        "/s",
        FigureTarget::None,
    );
    let grouped = format!("bare append of 2 KB, one sync per {WRITERS}");
    report.add(grouped, bare_grouped, "/s", FigureTarget::None);
    let grouped = format!("append to a journal, {WRITERS} runs sharing syncs");
    report.add(grouped, ours_grouped, "/s", FigureTarget::None);
    Ok(())
}

fn bare(dir: &Path, group: u64, appends: u64) -> Result<f64> {
    let path = dir.join("bare.log");
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let body = vec![7; BODY_BYTES * group as usize];
    let began = Instant::now();
    for _ in 0..appends / group {
        file.write_all(&body)?;
        file.sync_data()?;
    }
    Ok(appends as f64 / began.elapsed().as_secs_f64())
}

/// The minimum time of an append to a file with its sync.
pub(crate) fn least_sync(dir: &Path) -> Result<Duration> {
    let path = dir.join("sync.log");
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut least = Duration::MAX;
    for _ in 0..ALONE {
        let began = Instant::now();
        file.write_all(&[7; BODY_BYTES])?;
        file.sync_data()?;
        least = least.min(began.elapsed());
    }
    Ok(least)
}

async fn ours(store: &Arc<Sqlite>, writers: u64, appends: u64, runs: &mut u64) -> Result<f64> {
    let began = Instant::now();
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..writers {
        *runs += 1;
        let (store, run) = (Arc::clone(store), RunId::new(1, u128::from(*runs)));
        all.spawn(async move {
            for seen in 0..appends / writers {
                store.append(chunk(&run, seen)).await?;
            }
            Ok::<(), anyhow::Error>(())
        });
    }
    while let Some(done) = all.join_next().await {
        done??;
    }
    Ok(appends as f64 / began.elapsed().as_secs_f64())
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
