//! Many clients at once over HTTP.

use crate::place::Place;
use crate::served::{Served, proxy};
use crate::storm::{Ask, CLIENTS, storm};
use crate::table::{Against, Aim, Contender, Figure, Kind, side_by_side};
use crate::{Workload, document, echo, ours};
use anyhow::Result;
use serde_json::{Value, json};
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "64 concurrent HTTP clients",
    says: "Each client calls a tool that adds one as fast as it is answered, over a connection of its own, in the protocol of \
           2026-07-28, mcp-agent in that of 2025-06-18 without sessions. Each call of ours is a durable run of a graph; the others \
           keep nothing. fastmcp and mcp-agent have the tool in their process, mcp-proxy passes calls on to a bare server. The limit \
           is a server that always gives the same answer.",
    measure,
};

const SCRIPTED: Aim = Aim {
    says: "at least 10x any scripted peer",
    against: Against::Best(Kind::Scripted),
    times: 10.0,
};
const NATIVE: Aim = Aim {
    says: "ahead of the compiled ones",
    against: Against::Best(Kind::Native),
    times: 1.0,
};
const LOWER: Aim = Aim {
    says: "lower than every peer",
    against: Against::Peers,
    times: 1.0,
};

fn measure(place: &Place) -> Result<Vec<Value>> {
    let document = document(place)?;
    let calls = place.pick(30, 150);
    let names = [
        Figure::more(
            format!("calls, {CLIENTS} clients"),
            "/s",
            &[SCRIPTED, NATIVE],
        ),
        Figure::less("half of them within", "ms", &[]),
        Figure::less("99 of 100 within", "ms", &[LOWER]),
    ];
    let add = Ask::call("transforms_1", json!({"n": 1}));
    let all = vec![
        Contender::new("Tramline", Kind::Ours, || {
            let mut command = ours(place, &document)?;
            command.args(["--http", "127.0.0.1:0"]);
            stormed(Served::says_aside(command)?, &add, calls)
        }),
        Contender::new("fastmcp", Kind::Scripted, || {
            let mut command = place.python("fastmcp", "fastmcp_tool.py")?;
            command.arg("http");
            stormed(Served::says(command)?, &add, calls.min(50))
        }),
        Contender::new("mcp-agent", Kind::Scripted, || {
            let mut command = place.python("mcpagent", "mcp_agent_peer.py")?;
            command.arg("http");
            let add = add.clone().older("2025-06-18", "\"isError\":false");
            stormed(Served::says(command)?, &add, calls.min(30))
        }),
        Contender::new("mcp-proxy", Kind::Native, || {
            let echo = Ask::call("bench/echo", json!({"n": 1})).at("/");
            stormed(proxy(place)?, &echo, calls)
        }),
        Contender::cannot("mcpgraph", Kind::Scripted, "serves standard streams only"),
        Contender::cannot("pflow", Kind::Scripted, "serves standard streams only"),
        Contender::cannot("mcp-hub", Kind::Native, "serves standard streams only"),
        Contender::cannot("langgraph", Kind::Scripted, "is no MCP server"),
        Contender::cannot("dbos", Kind::Scripted, "is no MCP server"),
        Contender::cannot("stepflow", Kind::Native, "is no MCP server"),
        Contender::new("a bare server", Kind::Limit, || {
            let mut command = Command::new(&place.echo);
            command.arg(echo::HTTP);
            stormed(Served::says(command)?, &add, calls)
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

fn stormed(served: Served, ask: &Ask, calls: usize) -> Result<Vec<f64>> {
    let storm = storm(served.address, ask, CLIENTS, calls)?;
    Ok(vec![storm.rate, storm.half, storm.most])
}
