//! Measures Tramline next to its peers: the same work, side by side, in one run.
//!
//! `cargo xtask bench peers` installs the peers, builds ours in release mode and runs this. The
//! output is data, from which `docs/benchmarks.md` is generated. All programs take turns, so that
//! other load on the machine affects all; the page shows medians and ranges.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail};
use bench_env::BenchEnv;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

mod bench_env;
mod calls;
#[path = "../tramline-bench-graphs/documents.rs"]
mod documents;
#[path = "../tramline-bench-graphs/echo.rs"]
mod echo;
mod http;
mod http_server;
mod layers;
mod nodes;
mod paused;
mod search;
mod start;
#[path = "../tramline-bench-graphs/storm.rs"]
mod storm;
mod table;
#[path = "../tramline-bench-graphs/talk.rs"]
mod talk;
mod turns;
mod wide;

/// A piece of work that all programs do.
struct Workload {
    name: &'static str,
    /// What is done, and the limit it is compared with.
    description: &'static str,
    measure: fn(&BenchEnv) -> Result<Vec<Value>>,
}

const WORKLOADS: [Workload; 9] = [
    start::WORKLOAD,
    nodes::WORKLOAD,
    calls::WORKLOAD,
    wide::WORKLOAD,
    turns::WORKLOAD,
    layers::WORKLOAD,
    paused::WORKLOAD,
    http::WORKLOAD,
    search::WORKLOAD,
];

fn main() -> Result<()> {
    let (mut quick, mut n8n, mut peers, mut only) = (false, false, None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            echo::STDIO => return echo::stdio(),
            echo::HTTP => return echo::http(),
            "--quick" => quick = true,
            "--n8n" => n8n = true,
            "--peers" => peers = arguments.next().map(PathBuf::from),
            "--only" => only = numbers(&arguments.next().unwrap_or_default())?,
            other => {
                bail!("unknown argument `{other}`; use --peers DIR, --quick, --n8n or --only 1,3")
            }
        }
    }
    let place = BenchEnv::new(
        peers.context("--peers must name the directory of the installed peers")?,
        quick,
        n8n,
    )?;
    let mut told = Vec::new();
    for (at, workload) in WORKLOADS.iter().enumerate() {
        let number = at + 1;
        if !only.is_empty() && !only.contains(&number) {
            continue;
        }
        let began = Instant::now();
        eprintln!("{number} {}", workload.name);
        // A failed workload is reported, and the others still run.
        let (figures, why) = match (workload.measure)(&place) {
            Ok(figures) => (figures, None),
            Err(error) => (Vec::new(), Some(format!("{error:#}"))),
        };
        let took = began.elapsed().as_secs_f64();
        told.push(json!({
            "number": number, "name": workload.name, "says": workload.description, "took_s": took, "figures": figures, "why": why,
        }));
    }
    println!("{}", json!({ "quick": quick, "workloads": told }));
    Ok(())
}

fn numbers(text: &str) -> Result<Vec<usize>> {
    let number = |part: &str| {
        let number = part.trim().parse::<usize>().ok();
        number
            .filter(|number| (1..=WORKLOADS.len()).contains(number))
            .with_context(|| format!("`{part}` is not a workload; use 1 to {}", WORKLOADS.len()))
    };
    text.split(',').map(number).collect()
}

/// The command of our server over stdio, with the measured document.
fn ours(place: &BenchEnv, document: &std::path::Path) -> Result<std::process::Command> {
    let mut command = std::process::Command::new(place.ours("tramline")?);
    command
        .arg("serve")
        .arg(document)
        .arg("--data-dir")
        .arg(place.dir.path().join("data"));
    Ok(command)
}

/// The measured document.
fn document(place: &BenchEnv) -> Result<PathBuf> {
    let path = place.dir.path().join("bench.yaml");
    documents::write(&path, &place.echo)?;
    Ok(path)
}
