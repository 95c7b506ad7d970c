//! Measures what the engine costs, against its aims; `cargo xtask bench engine` builds and runs it.
//!
//! Machines that measure are busy with other things, and what disturbs only ever adds: every
//! figure is the least of several turns, and what is compared is measured in the same minute.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Result, bail};
use report::Report;

mod calls;
mod disk;
mod graphs;
mod long;
mod processes;
mod report;
mod steps;
mod telemetry;

/// One part of the measuring.
type Part = (&'static str, fn(&mut Report) -> Result<()>);

const PARTS: [Part; 6] = [
    ("steps", steps::measure),
    ("disk", disk::measure),
    ("calls", calls::measure),
    ("processes", processes::measure),
    ("long", long::measure),
    ("telemetry", telemetry::measure),
];

fn main() -> Result<()> {
    let mut json = false;
    let mut wanted = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            long::CHILD => return long::child(),
            name if PARTS.iter().any(|(part, _)| *part == name) => wanted.push(argument),
            other => bail!(
                "`{other}` is not known; there are --json and the parts {}",
                parts()
            ),
        }
    }
    let mut report = Report::new(!json);
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

/// A runtime as `tramline serve` has it.
fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    Ok(built)
}
