//! Many concurrent HTTP clients.

use crate::bench_env::BenchEnv;
use crate::http_server::{HttpServerProcess, proxy};
use crate::storm::{CLIENTS, McpRequest, run_load};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use crate::{Workload, document, echo, ours};
use anyhow::Result;
use serde_json::{Value, json};
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "64 concurrent HTTP clients",
    description: "Each client calls a tool that adds one as fast as it is answered, over its own connection, in the protocol \
         of 2026-07-28, for mcp-agent in that of 2025-06-18 without sessions. In Tramline each call is a durable run \
         of a graph; the others store nothing. fastmcp and mcp-agent have the tool in their process, mcp-proxy \
         forwards calls to a bare server. The limit is a server with a fixed answer.",
    measure,
};

const SCRIPTED: PeerTarget = PeerTarget {
    description: "at least 10x any scripted peer",
    against: Baseline::Best(ProgramKind::Scripted),
    times: 10.0,
};
const NATIVE: PeerTarget = PeerTarget {
    description: "ahead of the compiled ones",
    against: Baseline::Best(ProgramKind::Native),
    times: 1.0,
};
const LOWER: PeerTarget = PeerTarget {
    description: "lower than every peer",
    against: Baseline::Peers,
    times: 1.0,
};

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let document = document(place)?;
    let calls = place.pick(30, 150);
    let names = [
        Figure::more(
            format!("calls, {CLIENTS} clients"),
            "/s",
            &[SCRIPTED, NATIVE],
        ),
        Figure::less("50th percentile", "ms", &[]),
        Figure::less("99th percentile", "ms", &[LOWER]),
    ];
    let add = McpRequest::call("transforms_1", json!({"n": 1}));
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || {
            let mut command = ours(place, &document)?;
            command.args(["--http", "127.0.0.1:0"]);
            load_figures(HttpServerProcess::address_on_stderr(command)?, &add, calls)
        }),
        Contender::new("fastmcp", ProgramKind::Scripted, || {
            let mut command = place.python("fastmcp", "fastmcp_tool.py")?;
            command.arg("http");
            load_figures(
                HttpServerProcess::address_on_stdout(command)?,
                &add,
                calls.min(50),
            )
        }),
        Contender::new("mcp-agent", ProgramKind::Scripted, || {
            let mut command = place.python("mcpagent", "mcp_agent_peer.py")?;
            command.arg("http");
            let add = add.clone().older("2025-06-18", "\"isError\":false");
            load_figures(
                HttpServerProcess::address_on_stdout(command)?,
                &add,
                calls.min(30),
            )
        }),
        Contender::new("mcp-proxy", ProgramKind::Native, || {
            let echo = McpRequest::call("bench/echo", json!({"n": 1})).at("/");
            load_figures(proxy(place)?, &echo, calls)
        }),
        Contender::unsupported("mcpgraph", ProgramKind::Scripted, "serves stdio only"),
        Contender::unsupported("pflow", ProgramKind::Scripted, "serves stdio only"),
        Contender::unsupported("mcp-hub", ProgramKind::Native, "serves stdio only"),
        Contender::unsupported("langgraph", ProgramKind::Scripted, "is not an MCP server"),
        Contender::unsupported("dbos", ProgramKind::Scripted, "is not an MCP server"),
        Contender::unsupported("stepflow", ProgramKind::Native, "is not an MCP server"),
        Contender::new("a bare server", ProgramKind::Limit, || {
            let mut command = Command::new(&place.echo);
            command.arg(echo::HTTP);
            load_figures(HttpServerProcess::address_on_stdout(command)?, &add, calls)
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

fn load_figures(served: HttpServerProcess, ask: &McpRequest, calls: usize) -> Result<Vec<f64>> {
    let storm = run_load(served.address, ask, CLIENTS, calls)?;
    Ok(vec![storm.rate, storm.median_ms, storm.p99_ms])
}
