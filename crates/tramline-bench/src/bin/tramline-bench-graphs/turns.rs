//! Calls over stdio, ours and the other's in turns, with the same document.

use super::documents::{self, CALLS, TRANSFORMS};
use super::report::{BenchReport, FigureTarget};
use super::talk::StdioClient;
use super::{sibling_program, side_by_side};
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Repetitions of short calls; the minimum counts.
const REPEATS: usize = 60;
/// Repetitions of long calls.
const LONG_REPEATS: usize = 5;

/// Turns of the loop.
const TURNS: usize = 1_000;

/// The minimum times of each tool, in microseconds.
struct ToolTimes {
    transforms: [f64; 2],
    calls: [f64; 2],
    turns: f64,
}

pub(crate) fn measure(report: &mut BenchReport, peer: &Path) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let document = dir.path().join("bench.yaml");
    documents::write(&document, &std::env::current_exe()?)?;
    let mut ours = StdioClient::start(
        Command::new(sibling_program("tramline")?)
            .arg("serve")
            .arg(&document)
            .arg("--data-dir")
            .arg(dir.path().join("data")),
    )?;
    let mut theirs = StdioClient::start(Command::new("node").arg(peer).arg("-g").arg(&document))?;
    let mut direct =
        StdioClient::start(Command::new(std::env::current_exe()?).arg(super::echo::STDIO))?;
    let (our, their) = (times(&mut ours)?, times(&mut theirs)?);
    let bare = least(&mut direct, "echo", 1, 1, REPEATS)?;
    let per_node =
        |times: &ToolTimes| (times.transforms[1] - times.transforms[0]) / TRANSFORMS as f64;
    let name = "one transform node of 100";
    side_by_side(report, name, "us", per_node(&our), per_node(&their), 30.0);
    let per_call = |times: &ToolTimes| (times.calls[1] - times.calls[0]) / CALLS as f64;
    report.add(
        "a bare call of the echo server",
        bare,
        "us",
        FigureTarget::None,
    );
    report.add(
        "one MCP call of 10, ours",
        per_call(&our),
        "us",
        FigureTarget::Under(55.0),
    );
    report.add(
        "one MCP call of 10, mcpgraph",
        per_call(&their),
        "us",
        FigureTarget::None,
    );
    let name = "a loop of 1,000 turns";
    side_by_side(
        report,
        name,
        "ms",
        our.turns / 1e3,
        their.turns / 1e3,
        100.0,
    );
    report.add(
        "a whole run of one node, ours (durable)",
        our.transforms[0],
        "us",
        FigureTarget::None,
    );
    report.add(
        "a whole run of one node, mcpgraph (not durable)",
        their.transforms[0],
        "us",
        FigureTarget::None,
    );
    Ok(())
}

fn times(talk: &mut StdioClient) -> Result<ToolTimes> {
    let long = 1 + TRANSFORMS;
    let sum = (TURNS * (TURNS + 1) / 2) as u64;
    Ok(ToolTimes {
        transforms: [
            least(talk, "transforms_1", 1, 2, REPEATS)?,
            least(
                talk,
                &format!("transforms_{long}"),
                1,
                1 + long as u64,
                REPEATS,
            )?,
        ],
        calls: [
            least(talk, "calls_0", 7, 7, REPEATS)?,
            least(talk, &format!("calls_{CALLS}"), 7, 7, REPEATS)?,
        ],
        turns: least(talk, "turns", TURNS as u64, sum, LONG_REPEATS)?,
    })
}

/// The minimum time of a call that must return `wanted`, in microseconds.
fn least(talk: &mut StdioClient, tool: &str, n: u64, wanted: u64, repeats: usize) -> Result<f64> {
    let mut least = Duration::MAX;
    for _ in 0..repeats {
        let (given, took) = talk.call(tool, n)?;
        ensure!(
            given == wanted,
            "{tool} returned {given}, expected {wanted}"
        );
        least = least.min(took);
    }
    Ok(least.as_secs_f64() * 1e6)
}
