//! Measures the engine against its targets; `cargo xtask bench engine` builds and runs it.
//!
//! Other load on the machine only ever adds time: every figure is the minimum of several turns, and
//! what is compared is measured in the same minute.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Result, bail};
use report::BenchReport;

mod calls;
mod disk;
mod graphs;
mod long_run;
mod processes;
mod report;
mod steps;
mod telemetry;

/// One part of the benchmark.
type BenchPart = (&'static str, fn(&mut BenchReport) -> Result<()>);

const PARTS: [BenchPart; 6] = [
    ("steps", steps::measure),
    ("disk", disk::measure),
    ("calls", calls::measure),
    ("processes", processes::measure),
    ("long", long_run::measure),
    ("telemetry", telemetry::measure),
];

fn main() -> Result<()> {
    let mut json = false;
    let mut wanted = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            long_run::CHILD => return long_run::child(),
            name if PARTS.iter().any(|(part, _)| *part == name) => wanted.push(argument),
            other => bail!(
                "unknown argument `{other}`; use --json or the parts {}",
                parts()
            ),
        }
    }
    let mut report = BenchReport::new(!json);
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|part| part == name) {
            measure(&mut report)?;
        }
    }
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}

fn parts() -> String {
    PARTS.map(|(name, _)| name).join(", ")
}

/// A runtime like that of `tramline serve`.
fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    Ok(built)
}
