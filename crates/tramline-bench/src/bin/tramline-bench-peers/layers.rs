//! Layers of tasks with a durable checkpoint after each, alone and with many concurrent workflows.

use crate::Workload;
use crate::bench_env::{BenchEnv, figure, figures};
use crate::table::{Baseline, Contender, Figure, PeerTarget, ProgramKind, side_by_side};
use anyhow::Result;
use serde_json::Value;
use std::io::Write;
use std::process::Command;
use std::time::Instant;

/// Workflows that share the disk in the second part.
const WORKFLOWS: usize = 64;
/// Bytes of a record: about what one of our checkpoints writes.
const RECORD_BYTES: usize = 2_048;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "20 layers of 5 tasks with a checkpoint each",
    description: "Empty tasks in layers, on the same disk; after each layer the workflow pauses, its state is durable, and it \
         is resumed. langgraph writes a checkpoint and continues by itself, dbos records a layer as one step. The \
         limit is an append of 2 KB with a sync.",
    measure,
};

const ALONE: [PeerTarget; 2] = [
    PeerTarget {
        description: "at most 1.5x a disk sync",
        against: Baseline::Best(ProgramKind::Limit),
        times: 1.0 / 1.5,
    },
    PeerTarget {
        description: "ahead of every peer",
        against: Baseline::Peers,
        times: 1.0,
    },
];
const MANY: [PeerTarget; 1] = [PeerTarget {
    description: "at least 20x more than the best peer",
    against: Baseline::Peers,
    times: 20.0,
}];

fn measure(place: &BenchEnv) -> Result<Vec<Value>> {
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
        Contender::new("Tramline", ProgramKind::Ours, || {
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
        Contender::new("langgraph", ProgramKind::Scripted, || {
            script("durable", "langgraph_peer.py")
        }),
        Contender::new("dbos", ProgramKind::Scripted, || {
            script("durable", "dbos_peer.py")
        }),
        Contender::new("stepflow", ProgramKind::Native, || {
            script("stepflow", "stepflow.py")
        }),
        Contender::unsupported("mcpgraph", ProgramKind::Scripted, "stores nothing"),
        Contender::unsupported("pflow", ProgramKind::Scripted, "has no checkpoints"),
        Contender::unsupported(
            "mcp-agent",
            ProgramKind::Scripted,
            "durable only with Temporal",
        ),
        Contender::unsupported("fastmcp", ProgramKind::Scripted, "has no workflows"),
        Contender::new("append and sync", ProgramKind::Limit, || {
            Ok(vec![bare(place, 1)?, 1e3 / bare(place, WORKFLOWS)?])
        }),
    ];
    Ok(side_by_side(&names, all, place.pick(2, 5)))
}

/// Milliseconds per record when `group` records share a sync.
fn bare(place: &BenchEnv, group: usize) -> Result<f64> {
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
