//! Paused workflows: the memory of each, and how soon one resumes after a restart.

use crate::bench_env::{BenchEnv, KillTimer, figure, figures, start_client};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use crate::talk::StdioClient;
use crate::{Workload, echo};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The minimum that must be known about a paused workflow.
const GIVEN: &str = r#"{"workflow":"asks","input":{"n":1},"waits_at":"ask"}"#;
/// Requests in flight before answers are read.
const AT_ONCE: usize = 16;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "10,000 paused workflows",
    description: "Workflows that wait for a person: the memory that each adds to the process after a warm-up with as many, the \
         memory of the process with all of them, the time until a new process with the same data is ready, and the \
         time until the first workflow resumes. A peer starts as many as it can in 30 seconds. pflow has no process \
         for a paused workflow: resuming starts one. The limit is the bare data in memory.",
    measure,
};

const MEMORY: [PeerTarget; 1] = [PeerTarget {
    description: "at least 10x less memory than any peer",
    against: Baseline::Peers,
    times: 10.0,
}];
const AHEAD: [PeerTarget; 1] = [PeerTarget {
    description: "ahead of every peer",
    against: Baseline::Peers,
    times: 1.0,
}];

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let document = document(place)?;
    let (ours, theirs) = (place.pick(2_000, 10_000), place.pick(200, 10_000));
    let names = [
        Figure::less("memory for each", "bytes", &MEMORY),
        Figure::less("memory of the process", "MB", &[]),
        Figure::less("restart until ready", "ms", &AHEAD),
        Figure::less("first one resumes", "ms", &AHEAD),
    ];
    let script = |venv: &str, script: &str| {
        let dir = place.fresh()?;
        let command = |what: &str| {
            let mut command = place.python(venv, script)?;
            command.arg(what).arg(dir.path()).arg(theirs.to_string());
            Ok::<_, anyhow::Error>(command)
        };
        let paused = figures(&command("paused")?)?;
        let bytes = figure(&paused, "paused_bytes")?;
        let process = figure(&paused, "process_bytes")? / 1e6;
        let began = Instant::now();
        let first = figure(&figures(&command("go_on")?)?, "first_ms")?;
        let whole = began.elapsed().as_secs_f64() * 1e3;
        Ok(vec![bytes, process, whole - first, first])
    };
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || {
            served(place, &document, ours)
        }),
        Contender::new("langgraph", ProgramKind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", ProgramKind::Scripted, || {
            script("durable", "dbos_peer.py")
        }),
        Contender::unsupported(
            "stepflow",
            ProgramKind::Native,
            "its workflows do not wait for a person",
        ),
        Contender::unsupported("mcpgraph", ProgramKind::Scripted, "its graphs do not wait"),
        Contender::new("pflow", ProgramKind::Scripted, || {
            let dir = place.fresh()?;
            let mut command = place.python("pflow", "pflow.py")?;
            command.arg("go_on").arg(dir.path());
            let first = figure(&figures(&command)?, "first_ms")?;
            Ok(vec![f64::NAN, f64::NAN, f64::NAN, first])
        })
        .without_sample("has no process for a paused workflow"),
        Contender::unsupported(
            "mcp-agent",
            ProgramKind::Scripted,
            "waits durably only with Temporal",
        ),
        Contender::unsupported("fastmcp", ProgramKind::Scripted, "has no workflows"),
        Contender::new("the bare data", ProgramKind::Limit, || {
            Ok(vec![GIVEN.len() as f64])
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(1, 2)))
}

fn served(place: &BenchEnv, document: &Path, count: usize) -> Result<Vec<f64>> {
    let data = place.fresh()?;
    let start = || -> Result<(StdioClient, KillTimer)> {
        let mut command = Command::new(place.ours("tramline")?);
        command
            .arg("serve")
            .arg(document)
            .args(["--toolsets", "graphs,debug", "--data-dir"])
            .arg(data.path());
        start_client(&mut command)
    };
    let (mut talk, watch) = start()?;
    let call = json!({"name": "asks", "arguments": {"n": 1}});
    let waits = talk.ask("tools/call", &call)?;
    let waiting = &waits["structuredContent"]["error"]["waiting"][0];
    let checkpoint = waiting["checkpoint_id"].as_str();
    let checkpoint = checkpoint.with_context(|| format!("{waits}"))?.to_owned();
    // Warm-up: bounded caches are filled before the measurement starts.
    pause(&mut talk, &call, count)?;
    let before = resident(talk.process())?;
    pause(&mut talk, &call, count)?;
    let process = resident(talk.process())?;
    let each = (process - before) / count as f64;
    drop((talk, watch));
    let began = Instant::now();
    let (mut talk, _watch) = start()?;
    talk.ask("tools/list", &json!({}))?;
    let restart = began.elapsed();
    let began = Instant::now();
    let answer = json!({"checkpoint_id": checkpoint, "answer": "proceed"});
    let done = talk.ask(
        "tools/call",
        &json!({"name": "run_answer", "arguments": answer}),
    )?;
    let first = began.elapsed();
    ensure!(done["isError"] != true, "{done}");
    Ok(vec![
        each,
        process / 1e6,
        restart.as_secs_f64() * 1e3,
        first.as_secs_f64() * 1e3,
    ])
}

fn pause(talk: &mut StdioClient, call: &Value, count: usize) -> Result<()> {
    for _ in 0..count / AT_ONCE {
        talk.ask_many("tools/call", call, AT_ONCE)?;
    }
    Ok(())
}

/// The resident memory of a process, in bytes.
fn resident(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    Ok(kib.context("no VmRSS in /proc")?.parse::<f64>()? * 1024.0)
}

fn document(place: &BenchEnv) -> Result<PathBuf> {
    let text = format!(
        "version: '1.0'\nserver: {{name: bench, version: '1.0.0'}}\n\
         mcpServers: {{echo: {{command: {:?}, args: [{}]}}}}\n\
         tools:\n  - name: asks\n    description: Measured.\n    inputSchema: {{type: object}}\n    nodes:\n\
         \x20     - {{id: entry, type: entry, next: ask}}\n\
         \x20     - {{id: ask, type: mcp, server: echo, tool: echo, approval: true, args: {{n: $.entry.n}}, next: exit}}\n\
         \x20     - {{id: exit, type: exit}}\n",
        place.echo.display().to_string(),
        echo::STDIO
    );
    let path = place.dir.path().join("asks.yaml");
    std::fs::write(&path, text)?;
    Ok(path)
}
