//! Measures Tramline next to its peers: the same work, side by side, in one run.
//!
//! `cargo xtask bench peers` installs the peers, builds ours as it is shipped and runs this; what
//! comes out is data, and `docs/benchmarks.md` is made of it. Everybody works turn about, so that what
//! disturbs the machine disturbs all; the page shows medians and how far the turns lie apart.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, bail};
use place::Place;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

mod calls;
#[path = "../tramline-bench-graphs/documents.rs"]
mod documents;
#[path = "../tramline-bench-graphs/echo.rs"]
mod echo;
mod http;
mod layers;
mod nodes;
mod paused;
mod place;
mod search;
mod served;
mod start;
#[path = "../tramline-bench-graphs/storm.rs"]
mod storm;
mod table;
#[path = "../tramline-bench-graphs/talk.rs"]
mod talk;
mod turns;
mod wide;

/// A piece of work that everybody does.
struct Workload {
    name: &'static str,
    /// What is done, and what beside it is the limit.
    says: &'static str,
    measure: fn(&Place) -> Result<Vec<Value>>,
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
            other => bail!(
                "`{other}` is not known; there are --peers DIR, --quick, --n8n and --only 1,3"
            ),
        }
    }
    let place = Place::new(
        peers.context("--peers says where they are installed")?,
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
        // What could not be measured is told, and the others are.
        let (figures, why) = match (workload.measure)(&place) {
            Ok(figures) => (figures, None),
            Err(error) => (Vec::new(), Some(format!("{error:#}"))),
        };
        let took = began.elapsed().as_secs_f64();
        told.push(json!({
            "number": number, "name": workload.name, "says": workload.says, "took_s": took, "figures": figures, "why": why,
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
            .with_context(|| {
                format!(
                    "`{part}` is no workload; there are 1 to {}",
                    WORKLOADS.len()
                )
            })
    };
    text.split(',').map(number).collect()
}

/// A server over standard streams: ours, of the document that is measured.
fn ours(place: &Place, document: &std::path::Path) -> Result<std::process::Command> {
    let mut command = std::process::Command::new(place.ours("tramline")?);
    command
        .arg("serve")
        .arg(document)
        .arg("--data-dir")
        .arg(place.dir.path().join("data"));
    Ok(command)
}

/// The document that is measured.
fn document(place: &Place) -> Result<PathBuf> {
    let path = place.dir.path().join("bench.yaml");
    documents::write(&path, &place.echo)?;
    Ok(path)
}
