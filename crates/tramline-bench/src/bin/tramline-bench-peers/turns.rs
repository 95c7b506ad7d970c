//! Loops: whether a turn costs more in a longer run.

use crate::bench_env::{BenchEnv, figure, figures, start_client};
use crate::nodes::mcpgraph;
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use crate::talk::StdioClient;
use crate::{Workload, document, ours};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "Loops",
    description: "The cost of one turn of a loop that adds up, with 100 to 100,000 turns. Loops that would take longer than 30 \
         seconds are not run. Growth is the most expensive turn of all loops relative to a turn of the loop of 100. \
         Runs of Tramline and dbos are durable; the others store nothing. The limit is evaluating the bare expression \
         of a turn as often.",
    measure,
};

/// Microseconds that a loop may take, estimated from the previous one; longer loops are not run.
const LOOP_US_MAX: f64 = 30e6;

const AHEAD: PeerTarget = PeerTarget {
    description: "ahead of every peer",
    against: Baseline::Peers,
    times: 1.0,
};
const LINEAR: PeerTarget = PeerTarget {
    description: "linear: no turn costs 1.5x a turn of the shortest loop",
    against: Baseline::Number(1.5),
    times: 1.0,
};

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let document = document(place)?;
    let sizes: &[u64] = place.pick(
        &[100, 300, 1_000, 10_000],
        &[100, 300, 1_000, 10_000, 100_000],
    );
    let mut names: Vec<Figure> = sizes
        .iter()
        .map(|size| Figure::less(format!("one turn of {size}"), "µs", &[AHEAD]))
        .collect();
    names.push(Figure::less("growth", "times", &[LINEAR]));
    let served = |mut command: Command| {
        let (mut talk, _watch) = start_client(&mut command)?;
        measure_sizes(sizes, |turns| looped(&mut talk, turns))
    };
    let script = |venv: &str, script: &str| {
        measure_sizes(sizes, |turns| {
            let dir = place.fresh()?;
            let mut command = place.python(venv, script)?;
            command.arg("turns").arg(dir.path()).arg(turns.to_string());
            figure(&figures(&command)?, "turn_us")
        })
    };
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || {
            served(ours(place, &document)?)
        }),
        Contender::new("mcpgraph", ProgramKind::Scripted, || {
            served(mcpgraph(place, &document)?)
        }),
        Contender::new("langgraph", ProgramKind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", ProgramKind::Scripted, || {
            script("durable", "dbos_peer.py")
        }),
        Contender::new("pflow", ProgramKind::Scripted, || {
            script("pflow", "pflow.py")
        }),
        Contender::new("the bare expression", ProgramKind::Limit, || {
            measure_sizes(sizes, |turns| {
                let mut command = Command::new(place.ours("tramline-bench-ours")?);
                command.arg("turns").arg(turns.to_string());
                figure(&figures(&command)?, "turn_us")
            })
        }),
        Contender::unsupported("mcp-agent", ProgramKind::Scripted, "its workflows are code"),
        Contender::unsupported("fastmcp", ProgramKind::Scripted, "has no graphs"),
        Contender::new("stepflow", ProgramKind::Native, || {
            script("stepflow", "stepflow.py")
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(1, 2)))
}

/// Measures each size, until one would take too long; then appends the growth.
fn measure_sizes(sizes: &[u64], mut turn: impl FnMut(u64) -> Result<f64>) -> Result<Vec<f64>> {
    let first = turn(sizes[0])?;
    let mut found = vec![first];
    let (mut last, mut worst) = (first, first);
    for size in &sizes[1..] {
        if last * *size as f64 > LOOP_US_MAX {
            break;
        }
        last = turn(*size)?;
        worst = worst.max(last);
        found.push(last);
    }
    // Sizes that were not run have no sample, so that later figures keep their index.
    found.resize(sizes.len(), f64::NAN);
    found.push(worst / first);
    Ok(found)
}

/// Microseconds per turn of a loop; for short loops the best of three.
fn looped(talk: &mut StdioClient, turns: u64) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..if turns > 1_000 { 1 } else { 3 } {
        let (sum, took) = talk.call("turns", turns)?;
        ensure!(sum == turns * (turns + 1) / 2, "{sum} after {turns} turns");
        best = best.min(took.as_secs_f64() * 1e6 / turns as f64);
    }
    Ok(best)
}
