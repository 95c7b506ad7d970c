//! The documents that both servers serve.

use anyhow::Result;
use std::fmt::Write as _;
use std::path::Path;

/// Transforms of the long chain beyond the short one.
pub(crate) const TRANSFORMS: usize = 100;
/// Calls of the long chain of calls.
pub(crate) const CALLS: usize = 10;

/// Writes the measured document. `echo` is the program of the called server.
pub(crate) fn write(path: &Path, echo: &Path) -> Result<()> {
    let mut text = format!(
        "version: '1.0'\nserver: {{name: bench, version: '1.0.0'}}\n\
         executionLimits: {{maxNodeExecutions: 10000000, maxExecutionTimeMs: 600000}}\n\
         mcpServers:\n  echo: {{command: '{}', args: [{}]}}\ntools:\n",
        echo.display(),
        super::echo::STDIO
    );
    for transforms in [1, 1 + TRANSFORMS] {
        tool(&mut text, &format!("transforms_{transforms}"), |nodes| {
            chain(nodes, transforms, |nodes, at| {
                let before = at - 1;
                writeln!(
                    nodes,
                    "        type: transform\n        transform: {{expr: '{{ \"n\": $.t{before}.n + 1 }}'}}"
                )
            })
        })?;
    }
    for calls in [0, CALLS] {
        tool(&mut text, &format!("calls_{calls}"), |nodes| {
            chain(nodes, calls, |nodes, _| {
                writeln!(
                    nodes,
                    "        type: mcp\n        server: echo\n        tool: echo\n        args: {{n: $.t0.n}}"
                )
            })
        })?;
    }
    tool(&mut text, "turns", |nodes| {
        nodes.push_str(
            "      - {id: entry, type: entry, next: add}\n\
             \x20     - id: add\n        type: transform\n        transform:\n          expr: |\n\
             \x20           $executionCount(\"add\") = 0 ? { \"n\": 1, \"sum\": 1 } : { \"n\": $nodeExecution(\"add\", -1).n + 1, \"sum\": $nodeExecution(\"add\", -1).sum + $nodeExecution(\"add\", -1).n + 1 }\n\
             \x20       next: more\n\
             \x20     - id: more\n        type: switch\n        conditions:\n\
             \x20         - {rule: {'<': [{var: $.add.n}, {var: $.entry.n}]}, target: add}\n\
             \x20         - {target: result}\n\
             \x20     - {id: result, type: transform, transform: {expr: '{ \"n\": $.add.sum }'}, next: exit}\n\
             \x20     - {id: exit, type: exit}\n",
        );
        Ok(())
    })?;
    std::fs::write(path, text)?;
    Ok(())
}

fn tool(
    text: &mut String,
    name: &str,
    nodes: impl FnOnce(&mut String) -> std::fmt::Result,
) -> Result<()> {
    let schema = "{type: object, properties: {n: {type: number}}, required: [n]}";
    writeln!(
        text,
        "  - name: {name}\n    description: Measured.\n    inputSchema: {schema}\n    outputSchema: {{type: object, properties: {{n: {{type: number}}}}}}\n    nodes:"
    )?;
    nodes(text)?;
    Ok(())
}

/// An entry, a chain of `count` nodes, an exit.
fn chain(
    nodes: &mut String,
    count: usize,
    node: impl Fn(&mut String, usize) -> std::fmt::Result,
) -> std::fmt::Result {
    writeln!(nodes, "      - {{id: t0, type: entry, next: t1}}")?;
    for at in 1..=count {
        writeln!(nodes, "      - id: t{at}\n        next: t{}", at + 1)?;
        node(nodes, at)?;
    }
    writeln!(nodes, "      - {{id: t{}, type: exit}}", count + 1)
}
