//! Measures graphs served as tools, next to another server of the same documents.
//!
//! `cargo xtask bench graphs` installs the other one, builds ours in release mode and runs this.
//! Both answer the same calls of the same documents in the same minute, in turns. Other load on the
//! machine only ever adds time, so every figure is the minimum of several turns.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail};
use report::{BenchReport, FigureTarget};
use std::path::PathBuf;

mod documents;
mod echo;
mod http;
#[path = "../../report.rs"]
mod report;
mod storm;
mod talk;
mod turns;

/// The parts of the benchmark.
const PARTS: [&str; 2] = ["stdio", "http"];

fn main() -> Result<()> {
    let mut json = false;
    let mut peer = None;
    let mut wanted = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            echo::STDIO => return echo::stdio(),
            echo::HTTP => return echo::http(),
            "--json" => json = true,
            "--peer" => peer = arguments.next().map(PathBuf::from),
            part if PARTS.contains(&part) => wanted.push(argument),
            other => {
                bail!("unknown argument `{other}`; use --json, --peer MAIN_JS or {PARTS:?}")
            }
        }
    }
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|one| one == part);
    let mut report = BenchReport::new(!json);
    if wants("stdio") {
        let peer = peer.context("--peer must name the other server's program")?;
        turns::measure(&mut report, &peer)?;
    }
    if wants("http") {
        http::measure(&mut report)?;
    }
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}

/// A program that was built beside this one.
fn sibling_program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.is_file(), "{} is not built", path.display());
    Ok(path)
}

/// Adds both sides of a figure, and their ratio.
fn side_by_side(
    report: &mut BenchReport,
    name: &str,
    unit: &'static str,
    ours: f64,
    theirs: f64,
    aim: f64,
) {
    report.add(format!("{name}, ours"), ours, unit, FigureTarget::None);
    report.add(
        format!("{name}, mcpgraph"),
        theirs,
        unit,
        FigureTarget::None,
    );
    let times = theirs / ours.max(f64::MIN_POSITIVE);
    report.add(
        format!("{name}, ratio"),
        times,
        "x",
        FigureTarget::Over(aim),
    );
}
