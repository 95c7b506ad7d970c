//! The overhead of an MCP call.

use crate::bench_env::{BenchEnv, figure, figures, start_client};
use crate::http_server::proxy;
use crate::nodes::{least, mcpgraph};
use crate::start::{fastmcp, hub};
use crate::storm::{McpRequest, client};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use crate::{Workload, document, documents, echo, ours};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "10 chained MCP calls",
    description: "One of ten sequential calls of an echo server over stdio. Graphs make the ten calls in one run, and the time \
         of a run without calls is subtracted; through a proxy the client makes the calls. The limit is the same \
         client calling the server directly; the second figure is the time added to that. mcp-proxy is called over \
         HTTP, since it serves nothing else.",
    measure,
};

const AIMS: [PeerTarget; 2] = [
    PeerTarget {
        description: "within 2x of the bare direct call",
        against: Baseline::Best(ProgramKind::Limit),
        times: 0.5,
    },
    PeerTarget {
        description: "faster than every peer",
        against: Baseline::Peers,
        times: 1.0,
    },
];

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let document = document(place)?;
    let repeats = place.pick(30, 100);
    let names = [
        Figure::less("one call of ten", "µs", &AIMS),
        Figure::less("added to a call", "µs", &[]),
    ];
    let direct = || {
        let mut command = Command::new(&place.echo);
        command.arg(echo::STDIO);
        through(command, "echo", repeats)
    };
    // The added time is relative to the direct call of the same turn.
    let added = |call: Result<f64>| {
        let call = call?;
        Ok(vec![call, call - direct()?])
    };
    let script = |venv: &str, script: &str| {
        let dir = place.fresh()?;
        let mut command = place.python(venv, script)?;
        command.arg("calls").arg(dir.path()).arg("10");
        command.arg(&place.echo).arg(echo::STDIO);
        figure(&figures(&command)?, "call_us")
    };
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || {
            added(ours(place, &document).and_then(|command| chained(command, repeats)))
        }),
        Contender::new("mcpgraph", ProgramKind::Scripted, || {
            added(mcpgraph(place, &document).and_then(|command| chained(command, repeats.min(30))))
        }),
        Contender::new("fastmcp (proxy)", ProgramKind::Scripted, || {
            added(fastmcp(place).and_then(|command| through(command, "echo", repeats.min(30))))
        }),
        Contender::new("mcp-agent", ProgramKind::Scripted, || {
            added(script("mcpagent", "mcp_agent_peer.py"))
        }),
        Contender::new("pflow", ProgramKind::Scripted, || {
            added(script("pflow", "pflow.py"))
        }),
        Contender::new("mcp-hub (proxy)", ProgramKind::Native, || {
            added(hub(place).and_then(|command| through(command, "echo", repeats)))
        }),
        Contender::new("mcp-proxy (proxy, HTTP)", ProgramKind::Native, || {
            let served = proxy(place)?;
            let echo = McpRequest::call("bench/echo", json!({"n": 7})).at("/");
            let times = client(served.address, &echo, repeats)?;
            let least = times.iter().min().context("no call was made")?;
            added(Ok(least.as_secs_f64() * 1e6))
        }),
        Contender::unsupported(
            "langgraph",
            ProgramKind::Scripted,
            "has no MCP client of its own",
        ),
        Contender::unsupported("dbos", ProgramKind::Scripted, "has no MCP client"),
        Contender::unsupported(
            "stepflow",
            ProgramKind::Native,
            "its MCP plugin answered `error routing component` when tried",
        ),
        Contender::new("direct", ProgramKind::Limit, || Ok(vec![direct()?])),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 7)))
}

/// Makes the calls in a graph.
fn chained(mut command: Command, repeats: usize) -> Result<f64> {
    let (mut talk, _watch) = start_client(&mut command)?;
    let none = least(&mut talk, "calls_0", (7, 7), repeats)?;
    let many = format!("calls_{}", documents::CALLS);
    let many = least(&mut talk, &many, (7, 7), repeats)?;
    Ok((many - none) / documents::CALLS as f64)
}

/// Makes the calls with a client, through whatever is in between.
fn through(mut command: Command, tool: &str, repeats: usize) -> Result<f64> {
    let (mut talk, _watch) = start_client(&mut command)?;
    talk.ask("tools/list", &json!({}))?;
    least(&mut talk, tool, (7, 7), repeats)
}
