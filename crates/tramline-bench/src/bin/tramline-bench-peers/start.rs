//! From process start to the list of tools.

use crate::bench_env::{BenchEnv, start_client};
use crate::http_server::proxy;
use crate::nodes::mcpgraph;
use crate::storm::{McpRequest, client};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use crate::{Workload, document, echo, ours};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "Cold start",
    description: "A process starts, initializes an MCP connection over stdio and lists its tools. The limit is a program that \
         does nothing else. mcp-proxy serves HTTP only, and is measured over HTTP.",
    measure,
};

const AIMS: [PeerTarget; 2] = [
    PeerTarget {
        description: "at least 50x faster than any scripted peer",
        against: Baseline::Best(ProgramKind::Scripted),
        times: 50.0,
    },
    PeerTarget {
        description: "ahead of the compiled ones",
        against: Baseline::Best(ProgramKind::Native),
        times: 1.0,
    },
];

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let document = document(place)?;
    let figures = [Figure::less("start to `tools/list`", "ms", &AIMS)];
    let turn = |command: Result<Command>| Ok(vec![listed(command?)?]);
    let none = "is not an MCP server";
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || {
            turn(ours(place, &document))
        }),
        Contender::new("mcpgraph", ProgramKind::Scripted, || {
            turn(mcpgraph(place, &document))
        }),
        Contender::new("pflow", ProgramKind::Scripted, || {
            place.python("pflow", "")?;
            let mut command = Command::new(place.peers.join("venvs/pflow/bin/pflow"));
            command.args(["mcp", "serve"]).env("HOME", place.dir.path());
            turn(Ok(command))
        }),
        Contender::new("fastmcp", ProgramKind::Scripted, || turn(fastmcp(place))),
        Contender::new("mcp-agent", ProgramKind::Scripted, || {
            let command = place.python("mcpagent", "mcp_agent_peer.py");
            turn(command.map(|mut command| {
                command.args(["serve", ".", "1"]);
                command.arg(&place.echo).arg(echo::STDIO);
                command
            }))
        }),
        Contender::new("mcp-hub", ProgramKind::Native, || turn(hub(place))),
        Contender::new("mcp-proxy (HTTP)", ProgramKind::Native, || {
            let began = Instant::now();
            let served = proxy(place)?;
            client(served.address, &McpRequest::list().at("/"), 1)?;
            Ok(vec![began.elapsed().as_secs_f64() * 1e3])
        }),
        Contender::unsupported("langgraph", ProgramKind::Scripted, none),
        Contender::unsupported("dbos", ProgramKind::Scripted, none),
        Contender::unsupported("stepflow", ProgramKind::Native, none),
        Contender::new("a bare program", ProgramKind::Limit, || {
            let mut command = Command::new(&place.echo);
            command.arg(echo::STDIO);
            turn(Ok(command))
        }),
    ];
    Ok(side_by_side(&figures, all, place.pick(3, 9)))
}

/// Milliseconds until the tools are listed.
fn listed(mut command: Command) -> Result<f64> {
    let began = Instant::now();
    let (mut talk, _watch) = start_client(&mut command)?;
    let list = talk.ask("tools/list", &json!({}))?;
    let took = began.elapsed();
    ensure!(
        list["tools"].as_array().is_some_and(|all| !all.is_empty()),
        "no tools in {list}"
    );
    Ok(took.as_secs_f64() * 1e3)
}

/// A compiled proxy in front of one server.
pub(crate) fn hub(place: &BenchEnv) -> Result<Command> {
    let config = place.dir.path().join("hub.toml");
    let text = format!(
        "[servers.bench]\ncommand = {:?}\nargs = [{:?}]\n",
        place.echo.display().to_string(),
        echo::STDIO
    );
    std::fs::write(&config, text)?;
    let mut command = Command::new(place.cargo("mcp-hub")?);
    command.arg(config);
    Ok(command)
}

/// A scripted proxy in front of one server.
pub(crate) fn fastmcp(place: &BenchEnv) -> Result<Command> {
    let mut command = place.python("fastmcp", "fastmcp_proxy.py")?;
    command.arg("stdio").arg(&place.echo).arg(echo::STDIO);
    Ok(command)
}
