//! Loops: whether a turn costs more the longer a run is.

use crate::nodes::mcpgraph;
use crate::place::{Place, figure, figures, talk_to};
use crate::table::{Against, Aim, Contender, Figure, Kind, side_by_side};
use crate::talk::Talk;
use crate::{Workload, document, ours};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "Loops",
    says: "A loop that adds up, of 100 turns to 100,000: what one turn costs. What would take longer than 30 seconds is not run. \
           Growth is a turn of the loop whose turns cost most against a turn of the one of 100. Tramline's run is durable, so are \
           dbos's; the others keep nothing. The limit is the bare expression of a turn, evaluated as often.",
    measure,
};

/// A loop that would take longer by its last turns is not run.
const LOOP_US_MAX: f64 = 30e6;

const AHEAD: Aim = Aim {
    says: "ahead of every peer",
    against: Against::Peers,
    times: 1.0,
};
const LINEAR: Aim = Aim {
    says: "linear: no turn costs 1.5x one of the shortest loop",
    against: Against::Number(1.5),
    times: 1.0,
};

fn measure(place: &Place) -> Result<Vec<Value>> {
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
        let (mut talk, _watch) = talk_to(&mut command)?;
        walk(sizes, |turns| looped(&mut talk, turns))
    };
    let script = |venv: &str, script: &str| {
        walk(sizes, |turns| {
            let dir = place.fresh()?;
            let mut command = place.python(venv, script)?;
            command.arg("turns").arg(dir.path()).arg(turns.to_string());
            figure(&figures(&command)?, "turn_us")
        })
    };
    let all = vec![
        Contender::new("Tramline", Kind::Ours, || served(ours(place, &document)?)),
        Contender::new("mcpgraph", Kind::Scripted, || {
            served(mcpgraph(place, &document)?)
        }),
        Contender::new("langgraph", Kind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", Kind::Scripted, || script("durable", "dbos_peer.py")),
        Contender::new("pflow", Kind::Scripted, || script("pflow", "pflow.py")),
        Contender::new("the bare expression", Kind::Limit, || {
            walk(sizes, |turns| {
                let mut command = Command::new(place.ours("tramline-bench-ours")?);
                command.arg("turns").arg(turns.to_string());
                figure(&figures(&command)?, "turn_us")
            })
        }),
        Contender::cannot("mcp-agent", Kind::Scripted, "its workflows are code"),
        Contender::cannot("fastmcp", Kind::Scripted, "has no graphs"),
        Contender::new("stepflow", Kind::Native, || {
            script("stepflow", "stepflow.py")
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(1, 2)))
}

/// Each size in turn, until one would take too long; then how much a turn grew at most.
fn walk(sizes: &[u64], mut turn: impl FnMut(u64) -> Result<f64>) -> Result<Vec<f64>> {
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
    // What was not run has no sample, and what comes after keeps its place.
    found.resize(sizes.len(), f64::NAN);
    found.push(worst / first);
    Ok(found)
}

/// Microseconds for a turn of a loop, the best of three short ones.
fn looped(talk: &mut Talk, turns: u64) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..if turns > 1_000 { 1 } else { 3 } {
        let (sum, took) = talk.call("turns", turns)?;
        ensure!(sum == turns * (turns + 1) / 2, "{sum} after {turns} turns");
        best = best.min(took.as_secs_f64() * 1e6 / turns as f64);
    }
    Ok(best)
}
