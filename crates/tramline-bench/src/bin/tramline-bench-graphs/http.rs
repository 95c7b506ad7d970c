//! Many concurrent HTTP clients: calls per second and latency, next to a bare server.

use super::report::{BenchReport, FigureTarget};
use super::storm::{CLIENTS, McpRequest, kill_server, listening, run_load};
use super::{documents, echo, sibling_program};
use anyhow::{Context, Result};
use serde_json::json;
use std::process::{Command, Stdio};

const CALLS_EACH: usize = 100;

pub(crate) fn measure(report: &mut BenchReport) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let document = dir.path().join("bench.yaml");
    documents::write(&document, &std::env::current_exe()?)?;
    let mut ours = Command::new(sibling_program("tramline")?);
    ours.arg("serve")
        .arg(&document)
        .args(["--http", "127.0.0.1:0"]);
    ours.arg("--data-dir").arg(dir.path().join("data"));
    ours.stderr(Stdio::piped());
    let mut child = ours.spawn()?;
    let address = listening(child.stderr.take().context("standard error")?)?;
    let ask = McpRequest::call("transforms_1", json!({"n": 1}));
    let ours = run_load(address, &ask, CLIENTS, CALLS_EACH);
    kill_server(&mut child);
    let mut bare = Command::new(std::env::current_exe()?);
    bare.arg(echo::HTTP).stdout(Stdio::piped());
    let mut child = bare.spawn()?;
    let address = listening(child.stdout.take().context("standard output")?)?;
    let bare = run_load(address, &ask, CLIENTS, CALLS_EACH);
    kill_server(&mut child);
    let (ours, bare) = (ours?, bare?);
    for (what, storm) in [
        ("ours, each a durable run", &ours),
        ("a bare server", &bare),
    ] {
        let name = format!("{CLIENTS} HTTP clients, {what}");
        report.add(
            format!("{name}: calls"),
            storm.rate,
            "/s",
            FigureTarget::None,
        );
        report.add(
            format!("{name}: 50th percentile"),
            storm.median_ms,
            "ms",
            FigureTarget::None,
        );
        report.add(
            format!("{name}: 99th percentile"),
            storm.p99_ms,
            "ms",
            FigureTarget::None,
        );
    }
    Ok(())
}
