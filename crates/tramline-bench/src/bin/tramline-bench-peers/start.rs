//! From nothing to the list of tools.

use crate::nodes::mcpgraph;
use crate::place::{Place, talk_to};
use crate::served::proxy;
use crate::storm::{Ask, client};
use crate::table::{Against, Aim, Contender, Figure, Kind, side_by_side};
use crate::{Workload, document, echo, ours};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "Cold start",
    says: "A process is started, shakes hands over its standard streams and lists its tools. The limit is a program that does \
           nothing else. mcp-proxy serves HTTP only, and is asked over that.",
    measure,
};

const AIMS: [Aim; 2] = [
    Aim {
        says: "at least 50x faster than any scripted peer",
        against: Against::Best(Kind::Scripted),
        times: 50.0,
    },
    Aim {
        says: "ahead of the compiled ones",
        against: Against::Best(Kind::Native),
        times: 1.0,
    },
];

fn measure(place: &Place) -> Result<Vec<Value>> {
    let document = document(place)?;
    let figures = [Figure::less("start to `tools/list`", "ms", &AIMS)];
    let turn = |command: Result<Command>| Ok(vec![listed(command?)?]);
    let none = "is no MCP server";
    let all = vec![
        Contender::new("Tramline", Kind::Ours, || turn(ours(place, &document))),
        Contender::new("mcpgraph", Kind::Scripted, || {
            turn(mcpgraph(place, &document))
        }),
        Contender::new("pflow", Kind::Scripted, || {
            place.python("pflow", "")?;
            let mut command = Command::new(place.peers.join("venvs/pflow/bin/pflow"));
            command.args(["mcp", "serve"]).env("HOME", place.dir.path());
            turn(Ok(command))
        }),
        Contender::new("fastmcp", Kind::Scripted, || turn(fastmcp(place))),
        Contender::new("mcp-agent", Kind::Scripted, || {
            let command = place.python("mcpagent", "mcp_agent_peer.py");
            turn(command.map(|mut command| {
                command.args(["serve", ".", "1"]);
                command.arg(&place.echo).arg(echo::STDIO);
                command
            }))
        }),
        Contender::new("mcp-hub", Kind::Native, || turn(hub(place))),
        Contender::new("mcp-proxy (HTTP)", Kind::Native, || {
            let began = Instant::now();
            let served = proxy(place)?;
            client(served.address, &Ask::list().at("/"), 1)?;
            Ok(vec![began.elapsed().as_secs_f64() * 1e3])
        }),
        Contender::cannot("langgraph", Kind::Scripted, none),
        Contender::cannot("dbos", Kind::Scripted, none),
        Contender::cannot("stepflow", Kind::Native, none),
        Contender::new("a bare program", Kind::Limit, || {
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
    let (mut talk, _watch) = talk_to(&mut command)?;
    let list = talk.ask("tools/list", &json!({}))?;
    let took = began.elapsed();
    ensure!(
        list["tools"].as_array().is_some_and(|all| !all.is_empty()),
        "no tools in {list}"
    );
    Ok(took.as_secs_f64() * 1e3)
}

/// A compiled proxy before one server.
pub(crate) fn hub(place: &Place) -> Result<Command> {
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

/// A scripted proxy before one server.
pub(crate) fn fastmcp(place: &Place) -> Result<Command> {
    let mut command = place.python("fastmcp", "fastmcp_proxy.py")?;
    command.arg("stdio").arg(&place.echo).arg(echo::STDIO);
    Ok(command)
}
