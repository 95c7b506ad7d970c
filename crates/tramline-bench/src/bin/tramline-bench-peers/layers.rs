//! Layers of tasks with a durable checkpoint after each, alone and with many workflows at once.

use crate::Workload;
use crate::place::{Place, figure, figures};
use crate::table::{Against, Aim, Contender, Figure, Kind, side_by_side};
use anyhow::Result;
use serde_json::Value;
use std::io::Write;
use std::process::Command;
use std::time::Instant;

/// So many workflows share the disk in the second part.
const WORKFLOWS: usize = 64;
/// About what a checkpoint of ours writes.
const RECORD_BYTES: usize = 2_048;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "20 layers of 5 tasks with a checkpoint each",
    says: "Tasks that do nothing, in layers, on the same disk; after each layer the workflow pauses, what it did is durable, and \
           it is told to go on. langgraph keeps a checkpoint and goes on by itself, dbos records a layer as one step. The limit \
           is an append of 2 KB and its sync.",
    measure,
};

const ALONE: [Aim; 2] = [
    Aim {
        says: "at most 1.5x a disk sync",
        against: Against::Best(Kind::Limit),
        times: 1.0 / 1.5,
    },
    Aim {
        says: "ahead of every peer",
        against: Against::Peers,
        times: 1.0,
    },
];
const MANY: [Aim; 1] = [Aim {
    says: "at least 20x more than the best peer",
    against: Against::Peers,
    times: 20.0,
}];

fn measure(place: &Place) -> Result<Vec<Value>> {
    let names = [
        Figure::less("one checkpoint", "ms", &ALONE),
        Figure::more(
            format!("checkpoints with {WORKFLOWS} workflows at once"),
            "/s",
            &MANY,
        ),
    ];
    let both = |mut turn: Box<dyn FnMut(usize) -> Result<f64> + '_>| {
        let one = turn(1)?;
        Ok(vec![one, 1e3 / turn(WORKFLOWS)?])
    };
    let script = |venv: &'static str, script: &'static str| {
        both(Box::new(move |workflows| {
            let dir = place.fresh()?;
            let mut command = place.python(venv, script)?;
            command
                .arg("layers")
                .arg(dir.path())
                .arg(workflows.to_string());
            figure(&figures(&command)?, "layer_ms")
        }))
    };
    let all = vec![
        Contender::new("Tramline", Kind::Ours, || {
            both(Box::new(|workflows| {
                let dir = place.fresh()?;
                let mut command = Command::new(place.ours("tramline-bench-ours")?);
                command
                    .arg("layers")
                    .arg(dir.path())
                    .arg(workflows.to_string());
                figure(&figures(&command)?, "layer_ms")
            }))
        }),
        Contender::new("langgraph", Kind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", Kind::Scripted, || script("durable", "dbos_peer.py")),
        Contender::new("stepflow", Kind::Native, || {
            script("stepflow", "stepflow.py")
        }),
        Contender::cannot("mcpgraph", Kind::Scripted, "keeps nothing"),
        Contender::cannot("pflow", Kind::Scripted, "keeps no checkpoints"),
        Contender::cannot("mcp-agent", Kind::Scripted, "durable only with Temporal"),
        Contender::cannot("fastmcp", Kind::Scripted, "has no workflows"),
        Contender::new("append and sync", Kind::Limit, || {
            Ok(vec![bare(place, 1)?, 1e3 / bare(place, WORKFLOWS)?])
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

/// Milliseconds for a record when so many share a sync.
fn bare(place: &Place, group: usize) -> Result<f64> {
    const SYNCS: usize = 100;
    let dir = place.fresh()?;
    let mut file = std::fs::File::create(dir.path().join("bare"))?;
    let records = vec![7u8; RECORD_BYTES * group];
    let began = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&records)?;
        file.sync_data()?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e3 / (SYNCS * group) as f64)
}
