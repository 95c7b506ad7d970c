//! Measures reading a large flowchart and deciding a move: `cargo run --release --example`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and fails loudly"
)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_sop::{MoveRequest, Procedure, SopSession};
use tramline_syntax::mermaid;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{self, Entry, SopStarted};

fn chart(nodes: usize) -> String {
    let mut text = String::from("flowchart TD\n  START --> N0\n");
    for at in 0..nodes {
        let next = at + 1;
        writeln!(text, "  N{at}[\"Step number {at}\"] -->|on| N{next}").unwrap();
    }
    text
}

fn main() {
    let text = chart(10_000);
    let mut best = f64::MAX;
    for _ in 0..20 {
        let begun = Instant::now();
        assert!(mermaid::read(text.as_bytes()).is_ok());
        best = best.min(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    println!("10,000 nodes read in {best:.1} ms (best of 20)");

    let sop = Arc::new(sop_markdown::read(chart(998).as_bytes(), "x").unwrap().sop);
    let begun = SopStarted {
        sops: vec![Arc::clone(&sop)],
        files: Vec::new(),
        session: None,
        by: "speed".into(),
        origin: Value::Null,
        owner: None,
        ttl_ms: None,
        pinned: None,
        carried: Vec::new(),
    };
    let procedure = Arc::new(Procedure::build(sop).unwrap());
    let mut walk = SopSession::start(RunId::new(1, 1), vec![procedure], begun, 0).unwrap();
    let mut times: Vec<f64> = Vec::new();
    for at in 0..1_000 {
        let node = match at {
            0 => "START".into(),
            at => format!("N{}", at - 1).into(),
        };
        let ask = MoveRequest {
            node: Some(node),
            ..MoveRequest::default()
        };
        let begun = Instant::now();
        let turn = tramline_sop::move_to(&walk, &ask);
        let mut body = Vec::new();
        for event in turn.events {
            let seq = walk.seq + 1;
            let entry = Entry {
                seq,
                at_ms: 0,
                event,
            };
            journal::encode(&entry, &mut body).unwrap();
            walk.apply(&entry).unwrap();
        }
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "a move among 1,000 nodes, decided, encoded and applied: {:.1} µs at the median, {:.1} µs at the 99th percentile",
        times[500], times[990]
    );
}
