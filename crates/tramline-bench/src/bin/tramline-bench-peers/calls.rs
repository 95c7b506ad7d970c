//! What a call of a server costs on its way through.

use crate::nodes::{least, mcpgraph};
use crate::place::{Place, figure, figures, talk_to};
use crate::served::proxy;
use crate::start::{fastmcp, hub};
use crate::storm::{Ask, client};
use crate::table::{Against, Aim, Contender, Figure, Kind, side_by_side};
use crate::{Workload, document, documents, echo, ours};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "10 chained MCP calls",
    says: "One call of ten, one after the other, of a server over standard streams that gives back what it gets. Graphs make \
           the ten calls in one run, less a run without; through a proxy the client makes them. The limit is the same client \
           at the same server with nothing between. Added is what is above that. mcp-proxy is called over HTTP, since it serves \
           nothing else.",
    measure,
};

const AIMS: [Aim; 2] = [
    Aim {
        says: "within 2x of the bare direct call",
        against: Against::Best(Kind::Limit),
        times: 0.5,
    },
    Aim {
        says: "faster than every peer",
        against: Against::Peers,
        times: 1.0,
    },
];

fn measure(place: &Place) -> Result<Vec<Value>> {
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
    // What is added is over the direct call of the same turn.
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
        Contender::new("Tramline", Kind::Ours, || {
            added(ours(place, &document).and_then(|command| chained(command, repeats)))
        }),
        Contender::new("mcpgraph", Kind::Scripted, || {
            added(mcpgraph(place, &document).and_then(|command| chained(command, repeats.min(30))))
        }),
        Contender::new("fastmcp (proxy)", Kind::Scripted, || {
            added(fastmcp(place).and_then(|command| through(command, "echo", repeats.min(30))))
        }),
        Contender::new("mcp-agent", Kind::Scripted, || {
            added(script("mcpagent", "mcp_agent_peer.py"))
        }),
        Contender::new("pflow", Kind::Scripted, || {
            added(script("pflow", "pflow.py"))
        }),
        Contender::new("mcp-hub (proxy)", Kind::Native, || {
            added(hub(place).and_then(|command| through(command, "echo", repeats)))
        }),
        Contender::new("mcp-proxy (proxy, HTTP)", Kind::Native, || {
            let served = proxy(place)?;
            let echo = Ask::call("bench/echo", json!({"n": 7})).at("/");
            let times = client(served.address, &echo, repeats)?;
            let least = times.iter().min().context("no call was made")?;
            added(Ok(least.as_secs_f64() * 1e6))
        }),
        Contender::cannot("langgraph", Kind::Scripted, "has no MCP client of its own"),
        Contender::cannot("dbos", Kind::Scripted, "has no MCP client"),
        Contender::cannot(
            "stepflow",
            Kind::Native,
            "its MCP plugin answered `error routing component` when tried",
        ),
        Contender::new("direct", Kind::Limit, || Ok(vec![direct()?])),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 7)))
}

/// A graph that makes the calls.
fn chained(mut command: Command, repeats: usize) -> Result<f64> {
    let (mut talk, _watch) = talk_to(&mut command)?;
    let none = least(&mut talk, "calls_0", (7, 7), repeats)?;
    let many = format!("calls_{}", documents::CALLS);
    let many = least(&mut talk, &many, (7, 7), repeats)?;
    Ok((many - none) / documents::CALLS as f64)
}

/// A client that makes the calls, of whatever stands between.
fn through(mut command: Command, tool: &str, repeats: usize) -> Result<f64> {
    let (mut talk, _watch) = talk_to(&mut command)?;
    talk.ask("tools/list", &json!({}))?;
    least(&mut talk, tool, (7, 7), repeats)
}
