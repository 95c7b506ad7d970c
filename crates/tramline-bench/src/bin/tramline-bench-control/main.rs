//! Measures checkpoints: layers of tasks with a durable pause after each, next to other engines.
//!
//! `cargo xtask bench control` installs the others and runs this. All do the same work on the same
//! disk in the same minute: 20 layers of 5 empty tasks, with a durable checkpoint after each.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail, ensure};
use report::{BenchReport, FigureTarget};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

mod ours;
#[path = "../../report.rs"]
mod report;

/// Layers of a workflow.
pub(crate) const LAYERS: usize = 20;
/// Tasks per layer.
pub(crate) const TASKS: usize = 5;
/// Workflows that share the disk in the second part.
pub(crate) const WORKFLOWS: usize = 64;
/// Repetitions; the minimum counts.
const TURNS: usize = 5;

fn main() -> Result<()> {
    let mut json = false;
    let mut python = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--python" => python = arguments.next().map(PathBuf::from),
            other => bail!("unknown argument `{other}`; use --json or --python PROGRAM"),
        }
    }
    let python = python.context("--python must name the Python that runs the other engines")?;
    let mut report = BenchReport::new(!json);
    measure(&mut report, &python)?;
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}

fn measure(report: &mut BenchReport, python: &Path) -> Result<()> {
    let disk = least(bare_sync)?;
    report.add(
        "a bare append and sync of 2 KB",
        disk,
        "ms",
        FigureTarget::None,
    );
    let one = least(|dir| ours::checkpoint_ms(dir, 1))?;
    report.add("a checkpoint, ours", one, "ms", FigureTarget::None);
    report.add(
        "a checkpoint, ours, in bare syncs",
        one / disk,
        "x",
        FigureTarget::Under(1.5),
    );
    for (name, script) in [
        ("langgraph", include_str!("langgraph.py")),
        ("dbos", include_str!("dbos.py")),
    ] {
        let theirs = least(|dir| scripted(python, script, dir))?;
        report.add(
            format!("a checkpoint, {name}"),
            theirs,
            "ms",
            FigureTarget::None,
        );
        report.add(
            format!("a checkpoint, {name}, in ours"),
            theirs / one,
            "x",
            FigureTarget::None,
        );
    }
    let many = least(|dir| ours::checkpoint_ms(dir, WORKFLOWS))?;
    let rate = 1_000.0 / many;
    report.add(
        format!("checkpoints with {WORKFLOWS} workflows, ours"),
        rate,
        "/s",
        FigureTarget::Over(20_000.0),
    );
    Ok(())
}

/// The minimum of several turns, each in a new directory.
fn least(mut turn: impl FnMut(&Path) -> Result<f64>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..TURNS {
        let dir = tempfile::tempdir()?;
        least = least.min(turn(dir.path())?);
    }
    Ok(least)
}

/// The time of an append and a sync, in milliseconds.
fn bare_sync(dir: &Path) -> Result<f64> {
    const SYNCS: usize = 200;
    let mut file = std::fs::File::create(dir.join("bare"))?;
    let record = [7u8; 2_048];
    let began = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&record)?;
        file.sync_data()?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e3 / SYNCS as f64)
}

/// Another engine: its script prints the milliseconds of one checkpoint.
fn scripted(python: &Path, script: &str, dir: &Path) -> Result<f64> {
    let done = Command::new(python)
        .args(["-c", script])
        .arg(dir)
        .arg(LAYERS.to_string())
        .arg(TASKS.to_string())
        .output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{said}");
    let text = String::from_utf8_lossy(&done.stdout);
    let last = text.trim().lines().last().unwrap_or_default();
    last.parse().with_context(|| format!("{text}{said}"))
}
