//! Transform steps: a single run, in memory and on disk, and many runs that share syncs.

use crate::graphs;
use crate::report::{BenchReport, FigureTarget};
use anyhow::{Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline::app;
use tramline::config::Config;
use tramline::engine::{DriveOutcome, Engine, RunStart};
use tramline::expr::Value;
use tramline::workflow::graph::Graph;
use tramline::workflow::journal::Outcome;

const CHAIN: usize = 100;
const TURNS: usize = 1_000;
const ROUNDS: usize = 60;
const SHARING: usize = 64;
const RUNS_EACH: usize = 20;

pub(crate) fn measure(report: &mut BenchReport) -> Result<()> {
    let (chain, turns) = (graphs::chain(CHAIN)?, graphs::turns()?);
    let dir = tempfile::tempdir()?;
    let runtime = crate::runtime()?;
    runtime.block_on(async {
        for (place, dir, aim) in [
            ("in memory", None, 3.0),
            ("durable", Some(dir.path()), 10.0),
        ] {
            let engine = engine(dir)?;
            let took = best(&engine, &chain, 0, ROUNDS).await?;
            let name = format!("transform step, {place}, chain of {CHAIN}");
            report.add(
                name,
                us(took) / CHAIN as f64,
                "us",
                FigureTarget::Under(aim),
            );
            let took = best(&engine, &turns, TURNS, ROUNDS).await?;
            let name = format!("step, {place}, loop of {TURNS} turns");
            let steps = 2 * TURNS + 3;
            report.add(
                name,
                us(took) / steps as f64,
                "us",
                FigureTarget::Under(aim),
            );
            let rate = concurrent_rate(&engine, &chain).await?;
            let name = format!("{SHARING} concurrent runs, {place}");
            report.add(name, rate, "steps/s", FigureTarget::None);
        }
        Ok(())
    })
}

/// An engine without servers.
pub(crate) fn engine(dir: Option<&Path>) -> Result<Engine> {
    let config = Config {
        data_dir: dir.map(Path::to_owned),
        ..Config::default()
    };
    Ok(app::open(&config, &[])?.engine)
}

/// The minimum time of a whole run, including its start and end.
pub(crate) async fn best(
    engine: &Engine,
    graph: &Arc<Graph>,
    n: usize,
    rounds: usize,
) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let began = Instant::now();
        run(engine, graph, n).await?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}

/// One run from its start to its durable end.
pub(crate) async fn run(engine: &Engine, graph: &Arc<Graph>, n: usize) -> Result<()> {
    let input = Value::object([("n", (n as u64).into()), ("text", "hello".into())]);
    let handle = engine
        .start(RunStart::new(Arc::clone(graph), input))
        .await?;
    match handle.wait().await? {
        DriveOutcome::Finished(Outcome::Completed { .. }) => Ok(()),
        other => bail!("the run did not complete: {other:?}"),
    }
}

async fn concurrent_rate(engine: &Engine, graph: &Arc<Graph>) -> Result<f64> {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..SHARING {
            let (engine, graph) = (engine.clone(), Arc::clone(graph));
            all.spawn(async move {
                for _ in 0..RUNS_EACH {
                    run(&engine, &graph, 0).await?;
                }
                Ok::<(), anyhow::Error>(())
            });
        }
        while let Some(done) = all.join_next().await {
            done??;
        }
        best = best.min(began.elapsed());
    }
    let steps = SHARING * RUNS_EACH * (CHAIN + 2);
    Ok(steps as f64 / best.as_secs_f64())
}

/// A time in microseconds.
pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
