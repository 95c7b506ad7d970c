//! Parallel calls in one run.

use crate::bench_env::{BenchEnv, figure, figures, start_client};
use crate::http_server::proxy;
use crate::start::{fastmcp, hub};
use crate::storm::{McpRequest, run_load};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use crate::{Workload, echo, ours};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

const WIDTH: usize = 50;
const SLEEP_MS: u64 = 50;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "50 parallel calls of 50 ms",
    description: "Fifty parallel calls, each of which takes 50 ms: the ideal is 50 ms. The limit is the same calls, made \
         directly. In langgraph, dbos and stepflow nodes sleep in the process and no server is called; through a \
         proxy the client makes the parallel calls. The startup time of pflow is subtracted.",
    measure,
};

const AIMS: [PeerTarget; 2] = [
    PeerTarget {
        description: "within 1.05x of the ideal",
        against: Baseline::Number(SLEEP_MS as f64),
        times: 1.0 / 1.05,
    },
    PeerTarget {
        description: "ahead of every peer",
        against: Baseline::Peers,
        times: 1.0,
    },
];

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let document = document(place)?;
    let names = [Figure::less("fifty calls", "ms", &AIMS)];
    let script = |venv: &str, script: &str| {
        let dir = place.fresh()?;
        let mut command = place.python(venv, script)?;
        command.arg("wide").arg(dir.path()).arg("1");
        command.arg(&place.echo).arg(echo::STDIO);
        Ok(vec![figure(&figures(&command)?, "wide_ms")?])
    };
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || {
            let (mut talk, _watch) = start_client(&mut ours(place, &document)?)?;
            best(|| {
                let began = Instant::now();
                let done = talk.ask("tools/call", &json!({"name": "wide", "arguments": {}}))?;
                ensure!(done["isError"] != true, "{done}");
                Ok(began.elapsed().as_secs_f64() * 1e3)
            })
        }),
        Contender::new("langgraph", ProgramKind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", ProgramKind::Scripted, || {
            script("durable", "dbos_peer.py")
        }),
        Contender::new("mcp-agent", ProgramKind::Scripted, || {
            script("mcpagent", "mcp_agent_peer.py")
        }),
        Contender::new("fastmcp (proxy)", ProgramKind::Scripted, || {
            at_once(&mut fastmcp(place)?)
        }),
        Contender::new("mcp-hub (proxy)", ProgramKind::Native, || {
            at_once(&mut hub(place)?)
        }),
        Contender::new("mcp-proxy (proxy, HTTP)", ProgramKind::Native, || {
            let served = proxy(place)?;
            let sleep = McpRequest::call("bench/sleep", json!({"ms": SLEEP_MS})).at("/");
            best(|| Ok(run_load(served.address, &sleep, WIDTH, 1)?.total_ms))
        }),
        Contender::unsupported(
            "mcpgraph",
            ProgramKind::Scripted,
            "its graphs are sequential",
        ),
        Contender::new("pflow", ProgramKind::Scripted, || {
            script("pflow", "pflow.py")
        }),
        Contender::new("stepflow", ProgramKind::Native, || {
            script("stepflow", "stepflow.py")
        }),
        Contender::new("direct", ProgramKind::Limit, || {
            at_once(Command::new(&place.echo).arg(echo::STDIO))
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

/// All requests are sent before the first answer is read.
fn at_once(command: &mut Command) -> Result<Vec<f64>> {
    let (mut talk, _watch) = start_client(command)?;
    talk.ask("tools/list", &json!({}))?;
    let call = json!({"name": "sleep", "arguments": {"ms": SLEEP_MS}});
    best(|| {
        let began = Instant::now();
        talk.ask_many("tools/call", &call, WIDTH)?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    })
}

/// The best of three, after a warm-up.
fn best(mut turn: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    turn()?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        best = best.min(turn()?);
    }
    Ok(vec![best])
}

fn document(place: &BenchEnv) -> Result<PathBuf> {
    let names: Vec<String> = (0..WIDTH).map(|at| format!("s{at}")).collect();
    let mut text = format!(
        "version: '1.0'\nserver: {{name: bench, version: '1.0.0'}}\nmcpServers: {{u: {{command: {:?}, args: [{}]}}}}\n\
         tools:\n  - name: wide\n    description: Measured.\n    inputSchema: {{type: object}}\n    nodes:\n\
         \x20     - {{id: entry, type: entry, next: [{}]}}\n",
        place.echo.display().to_string(),
        echo::STDIO,
        names.join(", ")
    );
    for name in &names {
        writeln!(
            text,
            "      - {{id: {name}, type: mcp, server: u, tool: sleep, next: all, args: {{ms: {SLEEP_MS}}}}}"
        )?;
    }
    text.push_str("      - {id: all, type: transform, join: all, next: exit, transform: {expr: '{ \"n\": 1 }'}}\n      - {id: exit, type: exit}\n");
    let path = place.dir.path().join("wide.yaml");
    std::fs::write(&path, text)?;
    Ok(path)
}
