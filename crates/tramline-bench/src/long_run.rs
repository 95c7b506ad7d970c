//! A run of 100,000 turns: the cost of a step at its end relative to its start, and the memory.

use crate::graphs;
use crate::processes::status_bytes;
use crate::report::{BenchReport, FigureTarget};
use crate::steps::{engine, run};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::process::Command;
use tramline::engine::ports::RunFilter;
use tramline::workflow::journal::{Event, RunEvent};

/// The argument with which this program runs the measurement in its own process.
pub(crate) const CHILD: &str = "--long-run";

const TURNS: usize = 100_000;
const STRETCH: u32 = 20_000;
const ROUNDS: usize = 3;

pub(crate) fn measure(report: &mut BenchReport) -> Result<()> {
    let (mut first, mut last, mut peak) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let output = Command::new(std::env::current_exe()?).arg(CHILD).output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let figures: Value = serde_json::from_slice(&output.stdout)?;
        let figure = |name: &str| figures[name].as_f64().context("a figure");
        first = first.min(figure("first_us")?);
        last = last.min(figure("last_us")?);
        peak = peak.min(figure("peak_mb")?);
    }
    let name = format!("step of a run of {TURNS} turns");
    report.add(
        format!("{name}, first 10,000 turns"),
        first,
        "us",
        FigureTarget::None,
    );
    report.add(
        format!("{name}, last 10,000 turns"),
        last,
        "us",
        FigureTarget::None,
    );
    report.add(
        format!("{name}, last relative to first"),
        last / first,
        "times",
        FigureTarget::Under(1.5),
    );
    report.add(
        format!("peak resident, run of {TURNS} turns"),
        peak,
        "MB",
        FigureTarget::None,
    );
    Ok(())
}

/// Runs the long run alone in this process and prints its figures.
pub(crate) fn child() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let graph = graphs::turns()?;
    let runtime = crate::runtime()?;
    let figures = runtime.block_on(async {
        let engine = engine(Some(dir.path()))?;
        run(&engine, &graph, TURNS).await?;
        let peak = status_bytes(std::process::id(), "VmHWM:")?;
        let page = engine.runs(RunFilter::default()).await?;
        let entries = engine
            .load(&page.rows.first().context("a run")?.run)
            .await?
            .entries;
        let steps = (2 * TURNS + 3) as u32;
        // The journal's own timestamps: millisecond precision over many milliseconds.
        let at = |wanted: u32| {
            let is_wanted = |event: &Event| {
                matches!(event, Event::Run(RunEvent::StepFinished { step, .. }) if *step == wanted)
            };
            let found = entries.iter().find(|entry| is_wanted(&entry.event));
            found.map(|entry| entry.at_ms).context("a step")
        };
        let per_step = |from: u32| -> Result<f64> {
            Ok((at(from + STRETCH)? - at(from)?) as f64 * 1e3 / f64::from(STRETCH))
        };
        Ok::<Value, anyhow::Error>(json!({
            "first_us": per_step(1)?,
            "last_us": per_step(steps - STRETCH)?,
            "peak_mb": peak / 1e6,
        }))
    })?;
    println!("{figures}");
    Ok(())
}
