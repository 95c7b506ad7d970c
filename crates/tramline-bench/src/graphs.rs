//! The measured graphs, written as users write theirs.

use anyhow::{Context, Result, anyhow};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use tramline::formats::yaml_graph::{self, GraphDocument};
use tramline::workflow::graph::Graph;

const HEAD: &str = "version: '1.0'\nserver: {name: bench, version: '1.0.0'}\n\
    executionLimits: {maxNodeExecutions: 10000000, maxExecutionTimeMs: 3600000}\n";

/// A chain of transforms, each of which adds one to the previous output.
pub(crate) fn chain(transforms: usize) -> Result<Arc<Graph>> {
    first(&chain_document(transforms)?)
}

/// The same with its document.
pub(crate) fn chain_document(transforms: usize) -> Result<GraphDocument> {
    let mut nodes = String::from("  - {id: t0, type: entry, next: t1}\n");
    for at in 1..=transforms {
        let (before, after) = (at - 1, at + 1);
        writeln!(
            nodes,
            "  - {{id: t{at}, type: transform, next: t{after}, transform: {{expr: '{{ \"n\": t{before}.n + 1 }}'}}}}"
        )?;
    }
    writeln!(nodes, "  - {{id: t{}, type: exit}}", transforms + 1)?;
    document(&nodes)
}

/// A loop of a switch and a transform that uses its own previous output.
pub(crate) fn turns() -> Result<Arc<Graph>> {
    only(
        "  - {id: entry, type: entry, next: more}\n\
         \x20 - id: more\n    type: switch\n    conditions:\n\
         \x20     - {rule: {'<': [{var: \"$executionCount('add')\"}, {var: entry.n}]}, next: add}\n\
         \x20   next: exit\n\
         \x20 - id: add\n    type: transform\n    next: more\n    transform:\n      expr: |\n\
         \x20       ($turn := $executionCount(\"add\") + 1; { \"turn\": $turn, \"sum\": ($turn = 1 ? 0 : add.sum) + $turn })\n\
         \x20 - {id: exit, type: exit}\n",
    )
}

/// A chain of calls of one of the test server's tools.
pub(crate) fn calls(tool: &str, count: usize) -> Result<GraphDocument> {
    let mut nodes = String::from("  - {id: c0, type: entry, next: c1}\n");
    for at in 1..=count {
        let after = at + 1;
        writeln!(
            nodes,
            "  - {{id: c{at}, type: mcp, server: u, tool: {tool}, next: c{after}, args: {{text: $.c0.text, n: 1}}}}"
        )?;
    }
    writeln!(nodes, "  - {{id: c{}, type: exit}}", count + 1)?;
    document(&nodes)
}

/// Parallel calls, each of which sleeps.
pub(crate) fn wide(count: usize, ms: u64) -> Result<GraphDocument> {
    let names: Vec<String> = (0..count).map(|at| format!("s{at}")).collect();
    let mut nodes = format!(
        "  - {{id: entry, type: entry, next: [{}]}}\n",
        names.join(", ")
    );
    for name in &names {
        writeln!(
            nodes,
            "  - {{id: {name}, type: mcp, server: u, tool: sleep, next: all, args: {{ms: {ms}}}}}"
        )?;
    }
    nodes.push_str(
        "  - {id: all, type: transform, join: all, next: exit, transform: {expr: '1'}}\n",
    );
    nodes.push_str("  - {id: exit, type: exit}\n");
    document(&nodes)
}

/// One of our programs, beside this one.
pub(crate) fn sibling_program(program: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.parent().context("a folder")?.join(program);
    anyhow::ensure!(path.is_file(), "{} is not built", path.display());
    Ok(path)
}

/// The first graph of a document.
pub(crate) fn first(document: &GraphDocument) -> Result<Arc<Graph>> {
    document.workflows.first().cloned().context("a graph")
}

fn only(nodes: &str) -> Result<Arc<Graph>> {
    first(&read(&format!("{HEAD}{}", tool(nodes)))?)
}

fn document(nodes: &str) -> Result<GraphDocument> {
    let server = sibling_program("unruly")?;
    read(&format!(
        "{HEAD}mcpServers: {{u: {{command: {:?}}}}}\n{}",
        server.display().to_string(),
        tool(nodes)
    ))
}

fn tool(nodes: &str) -> String {
    let indented = nodes.lines().map(|line| format!("  {line}\n"));
    format!(
        "tools:\n- name: bench\n  description: A benchmark.\n  inputSchema: {{type: object}}\n  nodes:\n{}",
        indented.collect::<String>()
    )
}

fn read(text: &str) -> Result<GraphDocument> {
    yaml_graph::read(text.as_bytes()).map_err(|flaws| anyhow!("{flaws:?}\n{text}"))
}
