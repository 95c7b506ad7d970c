//! The memory and disk usage of a thousand open SOP sessions on one large procedure.

use crate::report::{BenchReport, FigureTarget};
use crate::{NODES, no_tools};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use tramline_engine::{Engine, EngineOptions, SopStart, ToolRouter};
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_store::Sqlite;
use tramline_workflow::sop::Sop;

/// Number of open sessions.
const SESSIONS: usize = 1_000;

/// Starts them as a front end does, each with its own copy of the procedure.
pub(crate) async fn measure(report: &mut BenchReport) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let store = Arc::new(Sqlite::open(dir.path())?);
    let tools = Arc::new(ToolRouter::new(Arc::new(no_tools::NoTools)));
    let engine = Engine::new(store, tools, EngineOptions::default());
    let text = procedure();
    let before = resident()?;
    for _ in 0..SESSIONS {
        engine.start_sop_session(sop_start(read(&text)?)).await?;
    }
    let memory = (resident()? - before) / 1e6;
    let name = format!("{SESSIONS} sessions on {NODES} nodes, memory");
    report.add(name, memory, "MB", FigureTarget::Under(40.0));
    let disk = disk(dir.path())? / 1e6;
    let name = format!("{SESSIONS} sessions on {NODES} nodes, disk");
    report.add(name, disk, "MB", FigureTarget::Under(20.0));
    Ok(())
}

fn sop_start(sop: Sop) -> SopStart {
    SopStart {
        sops: vec![Arc::new(sop)],
        files: Vec::new(),
        session: None,
        origin: Value::Null,
        owner: None,
        by: None,
        ttl_ms: None,
        pinned: None,
    }
}

fn read(text: &str) -> Result<Sop> {
    let read = sop_markdown::read(text.as_bytes(), "bench");
    Ok(read.map_err(|flaws| anyhow::anyhow!("{flaws:?}"))?.sop)
}

/// A procedure whose nodes have realistic instructions.
fn procedure() -> String {
    let mut text =
        String::from("---\nagent: bench\n---\n## SOP Flowchart\n```mermaid\nflowchart TD\n");
    for at in 1..NODES {
        let _ = writeln!(
            text,
            "  N{}[\"Step\"] --> N{at}[\"Step number {at}\"]",
            at - 1
        );
    }
    text.push_str("```\n\n## Node Prompts\n");
    for at in 0..NODES {
        let words = "Read this before you continue, and ask if it is unclear. ".repeat(3);
        let _ = writeln!(text, "### N{at}\n{words}\n");
    }
    text
}

fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    Ok(kib
        .context("no VmRSS in /proc/self/status")?
        .parse::<f64>()?
        * 1024.0)
}

fn disk(dir: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes as f64)
}
