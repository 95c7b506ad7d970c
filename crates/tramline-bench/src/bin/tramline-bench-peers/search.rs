//! The time of a search over many tools.

use crate::Workload;
use crate::bench_env::{BenchEnv, figure, figures};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// Timed queries; the median counts.
const QUERIES: usize = 100;
const SIZES: [usize; 2] = [1_000, 10_000];

pub(crate) const WORKLOAD: Workload = Workload {
    name: "Registry of 1,000 and 10,000 tools",
    description: "One lexical search over that many tools, the median of a hundred queries or of as many as fit into 15 \
         seconds, in the process and without a model. fastmcp searches with its BM25 transform, called by its client \
         in the same process. The limit is a scan of all names.",
    measure,
};

const QUICK: PeerTarget = PeerTarget {
    description: "under 300 µs at 1,000 tools",
    against: Baseline::Number(300.0),
    times: 1.0,
};
const AHEAD: PeerTarget = PeerTarget {
    description: "ahead of every peer",
    against: Baseline::Peers,
    times: 1.0,
};

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let files = SIZES.map(|count| catalogue(place, count));
    let [few, many] = files;
    let files = [few?, many?];
    let names = [
        Figure::less("one search of 1,000", "µs", &[QUICK, AHEAD]),
        Figure::less("one search of 10,000", "µs", &[AHEAD]),
    ];
    let each = |command: &dyn Fn() -> Result<Command>, name: &str| {
        let mut found = Vec::new();
        for file in &files {
            let mut command = command()?;
            command.arg("search").arg(file);
            found.push(figure(&figures(&command)?, name)?);
        }
        Ok(found)
    };
    let own = || Ok(Command::new(place.ours("tramline-bench-ours")?));
    let no_model = "searches only with a language model";
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || each(&own, "search_us")),
        Contender::new("fastmcp", ProgramKind::Scripted, || {
            each(&|| place.python("fastmcp", "fastmcp_tool.py"), "search_us")
        }),
        Contender::unsupported("pflow", ProgramKind::Scripted, no_model),
        Contender::unsupported("mcpgraph", ProgramKind::Scripted, "has no search"),
        Contender::unsupported("langgraph", ProgramKind::Scripted, "has no tool search"),
        Contender::unsupported("dbos", ProgramKind::Scripted, "has no tool search"),
        Contender::unsupported("mcp-agent", ProgramKind::Scripted, "has no tool search"),
        Contender::unsupported("stepflow", ProgramKind::Native, "has no tool search"),
        Contender::unsupported("mcp-hub", ProgramKind::Native, "has no tool search"),
        Contender::new("a scan of all names", ProgramKind::Limit, || {
            each(&own, "look_us")
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(1, 3)))
}

/// Tools with names and descriptions from a small vocabulary, and queries of the same words.
fn catalogue(place: &BenchEnv, count: usize) -> Result<PathBuf> {
    const VERBS: [&str; 10] = [
        "create", "list", "update", "delete", "search", "export", "import", "sync", "merge",
        "archive",
    ];
    const THINGS: [&str; 20] = [
        "invoice", "customer", "ticket", "branch", "message", "calendar", "event", "file",
        "folder", "table", "report", "contract", "order", "payment", "image", "playlist", "build",
        "secret", "device", "route",
    ];
    const WHERE: [&str; 10] = [
        "warehouse",
        "mailbox",
        "repository",
        "workspace",
        "cluster",
        "account",
        "project",
        "channel",
        "dataset",
        "shop",
    ];
    let words = |at: usize| {
        let at = at * 7_919;
        (VERBS[at % 10], THINGS[at / 10 % 20], WHERE[at / 200 % 10])
    };
    let tools = (0..count).map(|at| {
        let (verb, thing, place) = words(at);
        json!({"name": format!("{verb}_{thing}_{at}"), "description": format!(
            "Use this to {verb} one {thing} or several of them in the {place} number {at}. Returns the {thing} after the change.")})
    });
    let queries = (0..QUERIES).map(|at| {
        let (verb, thing, place) = words(at * 31 + 5);
        format!("{verb} the {thing} of my {place}")
    });
    let (tools, queries): (Vec<Value>, Vec<String>) = (tools.collect(), queries.collect());
    let path = place.dir.path().join(format!("tools-{count}.json"));
    std::fs::write(
        &path,
        json!({"tools": tools, "queries": queries}).to_string(),
    )?;
    Ok(path)
}
