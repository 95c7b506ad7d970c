//! Measures how long the check of a graph with 500 nodes takes, without servers.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tramline_formats::ReadOptions;

/// Nodes of the graph.
const NODES: usize = 500;
/// Repetitions; the median is reported.
const ROUNDS: usize = 51;
/// What a check may take.
const LIMIT: Duration = Duration::from_millis(50);

/// Calls, transforms and switches that refer to each other.
fn document() -> String {
    let mut text = "server: {name: g, version: \"1\"}\ntools:\n  - name: g\n    description: d\n    \
                    inputSchema: {type: object, properties: {dir: {type: string}}}\n    nodes:\n      \
                    - {id: entry, type: entry, next: n0}\n"
        .to_owned();
    for at in 0..NODES {
        let next = match at + 1 < NODES {
            true => format!("n{}", at + 1),
            false => "exit".to_owned(),
        };
        let list = at - at % 3;
        // Writing to a string does not fail.
        let _ = match at % 3 {
            0 => writeln!(
                text,
                "      - {{id: n{at}, type: mcp, server: builtin, tool: list-directory, args: {{path: $.entry.dir}}, next: {next}}}"
            ),
            1 => writeln!(
                text,
                "      - {{id: n{at}, type: transform, transform: {{expr: '{{\"n\": $count(n{list}.entries[size > 10].name), \"of\": n{list}.path}}'}}, next: {next}}}"
            ),
            _ => writeln!(
                text,
                "      - {{id: n{at}, type: switch, conditions: [{{rule: {{\">\": [{{var: n{}.n}}, 3]}}, next: exit}}], next: {next}}}",
                at - 1
            ),
        };
    }
    text.push_str("      - {id: exit, type: exit}\n");
    text
}

fn main() -> ExitCode {
    let text = document();
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        if let Err(flaws) = tramline_formats::read(text.as_bytes(), ReadOptions::default()) {
            println!("the graph has flaws: {flaws:?}");
            return ExitCode::FAILURE;
        }
        times.push(begin.elapsed());
    }
    times.sort();
    let median = times[ROUNDS / 2];
    println!("check of {NODES} nodes: {median:?} at the median, limit {LIMIT:?}");
    match median <= LIMIT {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
