//! Runs the checks of the core's fuzz targets on every seed and on small mutations of it, in every
//! build.

use std::path::Path;

#[path = "../../../../fuzz/checks/detected.rs"]
mod detected;
#[path = "../../../../fuzz/checks/expression.rs"]
mod expression;
#[path = "../../../../fuzz/checks/json_dag.rs"]
mod json_dag;
#[path = "../../../../fuzz/checks/mermaid.rs"]
mod mermaid;
#[path = "../../../../fuzz/checks/pflow_ir.rs"]
mod pflow_ir;
#[path = "../../../../fuzz/checks/pflow_markdown.rs"]
mod pflow_markdown;
#[path = "../../../../fuzz/checks/places.rs"]
mod places;
#[path = "../../../../fuzz/checks/plan.rs"]
mod plan;
#[path = "../../../../fuzz/checks/sop_markdown.rs"]
mod sop_markdown;
#[path = "../../../../fuzz/checks/transcript.rs"]
mod transcript;
#[path = "../../../../fuzz/checks/yaml_graph.rs"]
mod yaml_graph;

/// Runs a check on every seed, and on mutations of it where that is cheap.
fn run(target: &str, damages: usize, check: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut seeds = 0;
    for entry in std::fs::read_dir(dir.join(target)).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        check(&bytes);
        for number in 0..damages {
            check(&damaged(&bytes, number));
        }
        seeds += 1;
    }
    assert!(seeds > 0, "{target} has no seeds");
}

/// The bytes truncated, duplicated, flipped, extended or shortened; deterministic for a number.
fn damaged(bytes: &[u8], number: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = number.wrapping_mul(2_654_435_761) % bytes.len().max(1);
    match number % 5 {
        0 => bytes.truncate(at),
        1 => bytes.extend_from_within(at..),
        2 => bytes[at] ^= 1 << (number % 8),
        3 => bytes.insert(at, b"{}[]:,\"'&*|\n\t\0\xff"[number % 15]),
        _ => drop(bytes.remove(at)),
    }
    bytes
}

#[test]
fn readers_keep_their_promises() {
    run("detected", 20, detected::check);
    run("expression", 60, expression::check);
    run("json_dag", 60, json_dag::check);
    run("mermaid", 60, mermaid::check);
    run("pflow_ir", 60, pflow_ir::check);
    run("pflow_markdown", 40, pflow_markdown::check);
    run("plan", 100, plan::check);
    run("sop_markdown", 40, sop_markdown::check);
    run("transcript", 60, transcript::check);
    run("yaml_graph", 60, yaml_graph::check);
}
