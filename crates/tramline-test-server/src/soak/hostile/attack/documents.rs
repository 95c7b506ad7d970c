//! Untrusted documents: bombs of every format, checked and run.

use super::super::super::seeded_rng::SeededRng;
use super::super::HostileContext;
use super::super::http::HttpRequest;
use super::Attack;
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

/// A hostile document must be rejected or run within this time; longer runs are not waited for.
const RUN_MAX: Duration = Duration::from_secs(4);

/// References per level of the schema bomb, and the number of levels: 10^12 applications in total.
const REFERENCES: usize = 10;
const LEVELS: usize = 12;

macro_rules! document {
    ($kind:literal, $make:expr) => {
        Attack {
            kind: $kind,
            run: |arena, _| execute(arena, $make),
        }
    };
}

/// The attacks.
pub(super) const ALL: &[Attack] = &[
    document!("document: alias bomb", json!(aliases())),
    document!("document: deep nesting", json!("[".repeat(200_000))),
    document!(
        "document: deep JSON",
        json!(format!("{{\"nodes\":{}", "[".repeat(50_000)))
    ),
    document!("document: schema of 10^12 references", schema_bomb()),
    document!("document: JSONata that doubles", expression(DOUBLING)),
    document!("document: JSONata over a large range", expression(RANGE)),
    document!("document: endless JSONata", expression(FOR_EVER)),
    document!("document: regex that backtracks", expression(REGEX)),
    document!("document: huge map", huge_map()),
    document!("document: raises its own limits", raised()),
    document!("document: brings a server", brings_server()),
    document!(
        "document: reads a FIFO",
        file("read-file", json!({"path": "fifo"}))
    ),
    document!(
        "document: reads a device",
        file("read-file", json!({"path": "zero"}))
    ),
    document!(
        "document: escapes by a symlink",
        file("read-file", json!({"path": "out/precious.txt"}))
    ),
    document!(
        "document: escapes by ..",
        file(
            "write-file",
            json!({"path": "../outside/precious.txt", "content": "x"})
        )
    ),
    document!(
        "document: huge file",
        file(
            "write-file",
            json!({"path": "sub/huge.txt", "content": "h".repeat(3_000_000)})
        )
    ),
    Attack {
        kind: "document: workflow that calls itself",
        run: recursive_workflow,
    },
    Attack {
        kind: "document: flowchart of 20,000 nodes",
        run: flowchart,
    },
    Attack {
        kind: "document: many flaws at once",
        run: flaws,
    },
];

const DOUBLING: &str = "($f:=function($s,$n){$n=0?$s:$f($s&$s,$n-1)};$f(\"aaaaaaaa\",24))";
const RANGE: &str = "$map([1..900000], function($x){$x & \"aaaaaaaaaaaaaaaa\"})";
const FOR_EVER: &str = "($f:=function($n){$f($n+1)};$f(0))";
const REGEX: &str = "$match(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\", /^(a+)+$/)";

fn execute(arena: &HostileContext, document: Value) -> Result<&'static str> {
    // A placeholder for a path that no document may reach.
    let pwned = arena.world.canary().display().to_string();
    let text = document.to_string().replace(PWNED, &pwned);
    let document: Value = serde_json::from_str(&text)?;
    let asked = json!({"workflow": document, "parameters": {"a": 1}});
    let reply = arena.call(&arena.open, None, "workflow_execute", &asked, RUN_MAX)?;
    let body = String::from_utf8_lossy(&reply.body);
    arena.abort_run_in(&body);
    Ok(reply.outcome())
}

/// Placeholder for the path of a file that only a started command could create.
const PWNED: &str = "@PWNED@";

fn aliases() -> String {
    let mut text = "version: \"1.0\"\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    text + "tools: *a19\n"
}

fn schema_bomb() -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..LEVELS {
        let next = format!("#/$defs/d{}", level + 1);
        let references = vec![json!({"$ref": next}); REFERENCES];
        defs.insert(format!("d{level}"), json!({"allOf": references}));
    }
    defs.insert(format!("d{LEVELS}"), json!({"type": "object"}));
    let schema = json!({"type": "object", "allOf": [{"$ref": "#/$defs/d0"}], "$defs": defs});
    let nodes = json!([
        {"id": "entry", "type": "entry", "next": "exit"},
        {"id": "exit", "type": "exit"},
    ]);
    json!({"version": "1.0", "tools": [{"name": "bomb", "description": "b", "inputSchema": schema, "nodes": nodes}]})
}

fn transforming(nodes: Value, limits: Value) -> Value {
    json!({
        "version": "1.0", "executionLimits": limits,
        "tools": [{"name": "bomb", "description": "b", "inputSchema": {"type": "object"}, "nodes": nodes}],
    })
}

fn expression(text: &str) -> Value {
    let nodes = json!([
        {"id": "entry", "type": "entry", "next": "t"},
        {"id": "t", "type": "transform", "transform": {"expr": text}, "next": "exit"},
        {"id": "exit", "type": "exit"},
    ]);
    transforming(nodes, json!({"maxNodeExecutions": 100}))
}

fn huge_map() -> Value {
    let batch = json!({"items": (0..20_000).collect::<Vec<_>>(), "parallel": true, "max_concurrent": 1000, "error_handling": "continue"});
    json!({"ir_version": "0.1.0", "nodes": [
        {"id": "m", "type": "mcp-u-echo", "params": {"n": "${item}"}, "batch": batch},
    ]})
}

/// An endless loop, with limits as high as they can be written.
fn raised() -> Value {
    let nodes = json!([
        {"id": "entry", "type": "entry", "next": "t"},
        {"id": "t", "type": "transform", "transform": {"expr": "$join([1..2000].(\"x\" & $))"}, "next": "s"},
        {"id": "s", "type": "switch", "conditions": [{"rule": {"==": [1, 1]}, "target": "t"}, {"target": "exit"}]},
        {"id": "exit", "type": "exit"},
    ]);
    let limits = json!({"maxNodeExecutions": 1_000_000_000, "maxExecutionTimeMs": 100_000_000});
    transforming(nodes, limits)
}

fn brings_server() -> Value {
    let mut document = expression("1");
    let script = format!("touch {PWNED}");
    document["mcpServers"] = json!({"pwn": {"command": "sh", "args": ["-c", script]}});
    document["tools"][0]["nodes"] = json!([
        {"id": "entry", "type": "entry", "next": "go"},
        {"id": "go", "type": "mcp", "server": "pwn", "tool": "x", "args": {}, "next": "exit"},
        {"id": "exit", "type": "exit"},
    ]);
    document
}

fn file(tool: &str, params: Value) -> Value {
    json!({"ir_version": "0.1.0", "nodes": [{"id": "f", "type": tool, "params": params}]})
}

/// A saved workflow whose next version calls itself for each of fifty items.
fn recursive_workflow(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let name = format!("boom-{}", chance.between(1, 1_000_000));
    let save = |document: Value| {
        let asked =
            json!({"workflow_file": document, "name": name, "description": "b", "force": true});
        arena.call(&arena.open, None, "workflow_save", &asked, RUN_MAX)
    };
    save(file("list-directory", json!({"path": "sub"})))?;
    let items: Vec<u64> = (0..50).collect();
    let batch = json!({"items": items, "parallel": true, "max_concurrent": 50, "error_handling": "continue"});
    save(json!({"ir_version": "0.1.0", "nodes": [
        {"id": "again", "type": "workflow", "params": {"workflow": name}, "batch": batch},
    ]}))?;
    let asked = json!({"workflow": name, "parameters": {}});
    let reply = arena.call(&arena.open, None, "workflow_execute", &asked, RUN_MAX)?;
    arena.abort_open_runs();
    Ok(reply.outcome())
}

fn flowchart(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let mut text = "---\nagent: big\n---\n\n```mermaid\nflowchart TD\n".to_owned();
    for node in 0..20_000 {
        text += &format!("    N{node} --> N{}\n", (node * 7 + 1) % 20_000);
    }
    text += "```\n";
    let body = json!({"text": text, "format": "sop", "name": "big.md"});
    let reply = arena.send(
        &arena.open,
        &HttpRequest::json("POST", "/api/check", &body),
        RUN_MAX,
    )?;
    Ok(reply.outcome())
}

fn flaws(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let nodes: Vec<_> = (0..5_000)
        .map(|number| json!({"id": number, "type": "no such type", "next": []}))
        .collect();
    let document = transforming(json!(nodes), json!({"maxNodeExecutions": -1}));
    let asked = json!({"workflow": document});
    let reply = arena.call(&arena.open, None, "workflow_validate", &asked, RUN_MAX)?;
    Ok(reply.outcome())
}
