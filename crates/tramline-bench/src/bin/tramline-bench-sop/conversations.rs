//! What a thousand open conversations on one large procedure take, in memory and on disk.

use crate::report::{Aim, Report};
use crate::{NODES, nothing};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::formats::sop_markdown;
use tramline_core::sop::Sop;
use tramline_engine::{Engine, Guide, Options, Toolbox};
use tramline_store::Sqlite;

/// How many conversations are open.
const CONVERSATIONS: usize = 1_000;

/// Begins them as a front end does, each with a procedure of its own reading.
pub(crate) async fn measure(report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let store = Arc::new(Sqlite::open(dir.path())?);
    let tools = Arc::new(Toolbox::new(Arc::new(nothing::Nothing)));
    let engine = Engine::new(store, tools, Options::default());
    let text = procedure();
    let before = resident()?;
    for _ in 0..CONVERSATIONS {
        engine.guide(guide(read(&text)?)).await?;
    }
    let memory = (resident()? - before) / 1e6;
    let name = format!("{CONVERSATIONS} conversations on {NODES} nodes, memory");
    report.add(name, memory, "MB", Aim::Under(40.0));
    let disk = disk(dir.path())? / 1e6;
    let name = format!("{CONVERSATIONS} conversations on {NODES} nodes, disk");
    report.add(name, disk, "MB", Aim::Under(20.0));
    Ok(())
}

fn guide(sop: Sop) -> Guide {
    Guide {
        sops: vec![Arc::new(sop)],
        files: Vec::new(),
        session: None,
        origin: Value::Null,
        owner: None,
        ttl_ms: None,
        pinned: None,
    }
}

fn read(text: &str) -> Result<Sop> {
    let read = sop_markdown::read(text.as_bytes(), "bench");
    Ok(read.map_err(|flaws| anyhow::anyhow!("{flaws:?}"))?.sop)
}

/// A procedure whose nodes have instructions, as people write them.
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
        let words = "Read this before you go on, and ask if it is unclear. ".repeat(3);
        let _ = writeln!(text, "### N{at}\n{words}\n");
    }
    text
}

fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    Ok(kib.context("the system does not say")?.parse::<f64>()? * 1024.0)
}

fn disk(dir: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes as f64)
}
