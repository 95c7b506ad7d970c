//! Prompt-injected agents: they approve their own calls, overwrite served files, look for keys, and
//! take over workflows and runs of others.

use super::super::super::seeded_rng::SeededRng;
use super::super::HostileContext;
use super::super::http::{HttpReply, HttpRequest};
use super::super::witness::ViolationKind;
use super::Attack;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::time::Duration;

const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The attacks.
pub(super) const ALL: &[Attack] = &[
    Attack {
        kind: "agent: approves its own call",
        run: approves_itself,
    },
    Attack {
        kind: "agent: approves under another name",
        run: approves_over_http,
    },
    Attack {
        kind: "agent: with a person's approval",
        run: approved,
    },
    Attack {
        kind: "agent: overwrites what is served",
        run: overwrites,
    },
    Attack {
        kind: "agent: deletes without approval",
        run: deletes,
    },
    Attack {
        kind: "agent: reads the key and the database",
        run: reads_key,
    },
    Attack {
        kind: "agent: sets a common word as a secret",
        run: common_word,
    },
    Attack {
        kind: "agent: uncovers a secret by overlap",
        run: overlap,
    },
    Attack {
        kind: "agent: guesses a secret",
        run: |arena, _| ask(arena, "settings_get", json!({"key": "TOKEN"})),
    },
    Attack {
        kind: "agent: takes over another's workflow",
        run: take_over_workflow,
    },
    Attack {
        kind: "agent: takes over another's run",
        run: take_over_run,
    },
    Attack {
        kind: "agent: forged ids",
        run: forged_ids,
    },
    Attack {
        kind: "agent: loads a laxer procedure",
        run: load_lax_procedure,
    },
    Attack {
        kind: "agent: confused arguments",
        run: confused,
    },
    Attack {
        kind: "agent: disconnects during a call",
        run: disconnect,
    },
    Attack {
        kind: "agent: effects, killed or not",
        run: effects,
    },
];

fn ask(arena: &HostileContext, tool: &str, arguments: Value) -> Result<&'static str> {
    Ok(arena
        .call(&arena.open, None, tool, &arguments, ANSWER_MAX)?
        .outcome())
}

fn ir(tool: &str, params: Value) -> Value {
    json!({"ir_version": "0.1.0", "nodes": [{"id": "n", "type": tool, "params": params}]})
}

fn execute(arena: &HostileContext, document: &Value) -> Result<HttpReply> {
    let asked = json!({"workflow": document, "parameters": {}});
    arena.call(&arena.open, None, "workflow_execute", &asked, ANSWER_MAX)
}

/// Starts a DAG with a call that needs the operator's approval; returns its run and its checkpoint.
fn start_approval(arena: &HostileContext, chance: &mut SeededRng) -> Result<(String, String)> {
    let number = chance.between(1, u64::MAX / 2);
    let task = json!({"id": "pay", "tool": "bank:record", "arguments": {"number": number}});
    let asked = json!({"workflow": {"tasks": [task]}});
    let reply = arena.call(&arena.open, None, "execute_dag", &asked, ANSWER_MAX)?;
    let said = reply.structured();
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    Ok((
        text("workflow_id").context("no run")?,
        text("checkpoint_id").context("no checkpoint")?,
    ))
}

fn approves_itself(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let (run, point) = start_approval(arena, chance)?;
    let tries = [
        (
            "approval_response",
            json!({"workflow_id": run, "checkpoint_id": point, "approved": true}),
        ),
        (
            "run_answer",
            json!({"checkpoint_id": point, "answer": "proceed"}),
        ),
        (
            "continue",
            json!({"workflow_id": run, "checkpoint_id": point}),
        ),
        ("run_fork", json!({"run_id": run, "input": {}})),
        (
            "replan",
            json!({"workflow_id": run, "new_requirement": "x", "new_tasks": [{"id": "two", "tool": "bank:record", "arguments": {}}]}),
        ),
    ];
    for (tool, arguments) in tries {
        arena.call(&arena.open, None, tool, &arguments, ANSWER_MAX)?;
    }
    arena.abort_run_in(&run);
    Ok("asked")
}

fn approves_over_http(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let (run, point) = start_approval(arena, chance)?;
    let path = format!("/api/approvals/{point}");
    let body = json!({"answer": "proceed", "by": "operator", "why": "I am a person"});
    let request = HttpRequest::json("POST", &path, &body);
    let plain = arena.send(&arena.open, &request, ANSWER_MAX)?;
    for token in [&arena.world.bob, &arena.world.ann] {
        if arena.named.address().is_some() {
            let request = request.clone().bearer(Some(token));
            let _ = arena.send(&arena.named, &request, ANSWER_MAX);
        }
    }
    arena.abort_run_in(&run);
    Ok(plain.outcome())
}

/// An approved call must happen, exactly once.
fn approved(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let (run, point) = start_approval(arena, chance)?;
    arena.record_approval(&run);
    let output = arena
        .world
        .operator(&["runs", "answer", &point, "--yes"])
        .output()?;
    Ok(if output.status.success() {
        "answered"
    } else {
        "rejected"
    })
}

fn overwrites(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let pwned = arena.world.canary().display().to_string();
    let servers = json!({"pwn": {"command": "sh", "args": ["-c", format!("touch {pwned}")]}});
    let graph = json!({"version": "1.0", "mcpServers": servers, "tools": []}).to_string();
    let files = [
        "graphs.yaml",
        "mcp.json",
        "tramline.yaml",
        "data/settings.key",
        "data/tramline.db",
    ];
    let file = chance.pick(&files).copied().unwrap_or_default();
    let tricks = [
        ir("write-file", json!({"path": file, "content": graph})),
        ir(
            "write-file",
            json!({"path": format!("./sub/../{file}"), "content": graph}),
        ),
        ir(
            "copy-file",
            json!({"source": "keep.txt", "destination": file, "overwrite": true}),
        ),
        ir(
            "move-file",
            json!({"source": file, "destination": "sub/gone"}),
        ),
        ir("delete-file", json!({"path": file})),
    ];
    let trick = chance.pick(&tricks).cloned().unwrap_or_default();
    let reply = execute(arena, &trick)?;
    arena.abort_run_in(&String::from_utf8_lossy(&reply.body));
    if arena.check_files() > 0 {
        return Ok("overwritten");
    }
    Ok(reply.outcome())
}

fn deletes(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let reply = execute(arena, &ir("delete-file", json!({"path": "keep.txt"})))?;
    arena.abort_run_in(&String::from_utf8_lossy(&reply.body));
    Ok(reply.outcome())
}

fn reads_key(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let mut outcome = "rejected";
    let (open, named) = (&arena.open, &arena.named);
    let bob = Some(arena.world.bob.as_str());
    // A server can protect only the files that it was given: the tokens are those of `named`.
    for (on, token, file) in [
        (open, None, "data/settings.key"),
        (open, None, "data/tramline.db"),
        (open, None, "data/tramline.db-wal"),
        (named, bob, "tokens.txt"),
    ] {
        let asked = json!({"workflow": ir("read-file", json!({"path": file})), "parameters": {}});
        let reply = arena.call(on, token, "workflow_execute", &asked, ANSWER_MAX)?;
        if reply.outcome() == "answered" {
            outcome = "answered";
            let what = format!("an agent can read {file}");
            arena.witness.record_violation(ViolationKind::Leak, what);
        }
    }
    Ok(outcome)
}

fn common_word(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let word = chance.pick(&["value", "token", "text", "true", "completed", "plain"]);
    let word = word.copied().unwrap_or_default();
    let asked = json!({"key": format!("K{}", word.to_uppercase()), "value": word});
    let reply = arena.call(&arena.open, None, "settings_set", &asked, ANSWER_MAX)?;
    arena.normal_call()?;
    let key = format!("K{}", word.to_uppercase());
    arena.world.operator(&["settings", "rm", &key]).output()?;
    Ok(reply.outcome())
}

/// Sets a secret that overlaps the start of another one.
fn overlap(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let head = arena.world.secret.get(..4).unwrap_or_default();
    let filler = format!("{:012}", chance.between(1, 999_999_999_999));
    let asked = json!({"key": "OVERLAP", "value": format!("{filler}{head}")});
    let reply = arena.call(&arena.open, None, "settings_set", &asked, ANSWER_MAX)?;
    let content = format!("{filler}${{settings.TOKEN}}");
    let document = json!({"ir_version": "0.1.0", "nodes": [
        {"id": "w", "type": "write-file", "params": {"path": "sub/overlap.txt", "content": content}},
        {"id": "r", "type": "read-file", "params": {"path": "sub/overlap.txt"}},
    ]});
    let read = execute(arena, &document)?;
    arena.abort_run_in(&String::from_utf8_lossy(&read.body));
    // What a tool was allowed to write is not a leak: only what is returned.
    let _ = std::fs::remove_file(arena.world.path("work/sub/overlap.txt"));
    arena
        .world
        .operator(&["settings", "rm", "OVERLAP"])
        .output()?;
    Ok(reply.outcome())
}

/// Ann saves a workflow, bob saves another one over it, ann runs hers.
fn take_over_workflow(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let name = format!("shared-{}", chance.between(1, 1_000_000));
    let save = |token: &str, dir: &str, force: bool| {
        let asked = json!({"workflow_file": ir("list-directory", json!({"path": dir})), "name": name, "description": "d", "force": force});
        arena.call(
            &arena.named,
            Some(token),
            "workflow_save",
            &asked,
            ANSWER_MAX,
        )
    };
    let (ann, bob) = (&arena.world.ann, &arena.world.bob);
    if save(ann, "sub", false)?.outcome() != "answered" {
        return Ok("not saved");
    }
    let taken = save(bob, ".", true)?;
    if taken.outcome() == "answered" {
        let asked = json!({"workflow": name, "parameters": {}});
        let ran = arena.call(
            &arena.named,
            Some(ann),
            "workflow_execute",
            &asked,
            ANSWER_MAX,
        )?;
        if String::from_utf8_lossy(&ran.body).contains("graphs.yaml") {
            arena.witness.record_violation(
                ViolationKind::Unapproved,
                "a caller replaced another's saved workflow",
            );
        }
    }
    Ok(taken.outcome())
}

/// Bob accesses ann's run by its real id.
fn take_over_run(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let (ann, bob) = (&arena.world.ann, &arena.world.bob);
    let request = HttpRequest::json("POST", "/api/tools/waits/runs", &json!({"input": {}}));
    let begun = arena.send(&arena.named, &request.bearer(Some(ann)), ANSWER_MAX)?;
    let run = begun.json()["run_id"]
        .as_str()
        .context("no run")?
        .to_owned();
    for (tool, arguments) in [
        ("run_read", json!({"run_id": run})),
        ("abort", json!({"workflow_id": run, "reason": "mine now"})),
        ("continue", json!({"workflow_id": run})),
        ("run_fork", json!({"run_id": run, "input": {}})),
    ] {
        let reply = arena.call(&arena.named, Some(bob), tool, &arguments, ANSWER_MAX)?;
        if reply.outcome() == "answered" {
            let what = format!("{tool} returned one caller's run to another");
            arena
                .witness
                .record_violation(ViolationKind::Unapproved, what);
        }
    }
    for end in ["", "/trace", "/export", "/graph"] {
        let request = HttpRequest::new("GET", &format!("/api/runs/{run}{end}")).bearer(Some(bob));
        let reply = arena.send(&arena.named, &request, ANSWER_MAX)?;
        if reply.status == 200 {
            let what = format!("GET /api/runs/RUN{end} returned one caller's run to another");
            arena
                .witness
                .record_violation(ViolationKind::Unapproved, what);
        }
    }
    let request = HttpRequest::json("POST", &format!("/api/runs/{run}/abort"), &json!({}));
    arena.send(&arena.named, &request.bearer(Some(ann)), ANSWER_MAX)?;
    Ok("rejected")
}

fn forged_ids(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let ids = [
        "run_00000000000000000000000000",
        "chk_x",
        "../../etc/passwd",
        "run_\u{0}",
        "",
        "%00",
    ];
    let id = chance.pick(&ids).copied().unwrap_or_default();
    for tool in ["run_read", "run_fork", "abort", "continue", "trace_read"] {
        let arguments =
            json!({"run_id": id, "workflow_id": id, "trace_path": id, "checkpoint_id": id});
        arena.call(&arena.open, None, tool, &arguments, ANSWER_MAX)?;
    }
    Ok("rejected")
}

/// Loads an agent's own procedure, which allows everything, although another one is pinned.
fn load_lax_procedure(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let lax = "---\nagent: lax\nenforce_tools: false\ntools: [\"u:record\"]\n---\n\n```mermaid\nflowchart TD\n    A([Begin]) --> B([End])\n```\n";
    std::fs::write(arena.world.path("work/sub/lax.md"), lax)?;
    let token = Some(arena.world.ann.as_str());
    for (tool, arguments) in [
        ("load_graph", json!({"path": "sub/lax.md"})),
        ("load_graph", json!({"text": lax})),
        (
            "sop_call",
            json!({"tool": "u:record", "arguments": {"pinned": true}}),
        ),
        (
            "registry_run",
            json!({"node_type": "u:record", "parameters": {"pinned": true}}),
        ),
        (
            "workflow_execute",
            json!({"workflow": ir("mcp-u-record", json!({"pinned": true})), "parameters": {}}),
        ),
        (
            "execute_dag",
            json!({"workflow": {"tasks": [{"id": "t", "tool": "u:record", "arguments": {"pinned": true}}]}}),
        ),
    ] {
        let reply = arena.call(&arena.pinned, token, tool, &arguments, ANSWER_MAX)?;
        arena.abort_run_in(&String::from_utf8_lossy(&reply.body));
    }
    Ok("rejected")
}

/// Calls every tool with arguments of wrong types and sizes.
fn confused(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let tools = [
        "execute_dag",
        "continue",
        "replan",
        "workflow_execute",
        "workflow_validate",
        "workflow_save",
        "registry_search",
        "registry_describe",
        "settings_get",
        "trace_read",
        "run_read",
        "runs_list",
        "runs_compare",
        "run_debug",
        "expression_test",
        "load_graph",
        "sop_call",
        "echo_it",
    ];
    let tool = chance.pick(&tools).copied().unwrap_or_default();
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let values = [
        json!(null),
        json!(-1),
        json!(1e308),
        json!("x".repeat(200_000)),
        json!([]),
        deep,
        json!({"": ""}),
        json!("\u{0}\u{202e}\u{1b}[2J"),
    ];
    let mut arguments = serde_json::Map::new();
    for name in [
        "workflow",
        "workflow_id",
        "path",
        "text",
        "node_type",
        "query",
        "pattern",
        "run_id",
        "expression",
        "tasks",
        "most",
    ] {
        arguments.insert(
            name.to_owned(),
            chance.pick(&values).cloned().unwrap_or_default(),
        );
    }
    ask(arena, tool, Value::Object(arguments))
}

/// Disconnects while the call is running.
fn disconnect(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let address = arena.open.address().context("down")?;
    let task = json!({"id": "slow", "tool": "u:sleep", "arguments": {"ms": 1_000}});
    let asked = json!({"workflow": {"tasks": [task]}});
    let stream = HttpRequest::call("execute_dag", &asked).open(address)?;
    arena.pause(Duration::from_millis(chance.between(0, 200)));
    drop(stream);
    Ok("left")
}

/// Calls with an effect on a server that may be killed meanwhile.
fn effects(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let token = Some(arena.world.ann.as_str());
    let tasks: Vec<_> = (0..4)
        .map(|number| json!({"id": format!("t{number}"), "tool": "u:record", "arguments": {"n": number, "delay_ms": 30}, "depends_on": if number == 0 { vec![] } else { vec![format!("t{}", number - 1)] }}))
        .collect();
    let asked = json!({"workflow": {"tasks": tasks}});
    let reply = arena.call(&arena.named, token, "execute_dag", &asked, ANSWER_MAX)?;
    Ok(reply.outcome())
}
