//! Clients of other makes against `tramline serve`: each lists and calls the same tools, over both
//! transports and in every era of the protocol that it knows, and sees the same.

use crate::clients::examples;
use crate::served::{Http, installed, node, serve, tools};
use crate::support::root;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
const TOKEN: &str = "secret";

/// Which client talks, and how it is started.
#[derive(Clone, Copy)]
enum Client {
    /// A script for Python in `tests/clients`.
    Python(&'static str),
    /// A script for node in `tests/clients`.
    Node(&'static str),
    /// The inspector's command line, once per request.
    Inspector,
}

/// Where the server is.
enum Server<'a> {
    Stdio(&'a Path),
    Http(&'a str),
}

impl Client {
    /// The program and its first arguments, or nothing after saying what is missing.
    fn program(self) -> Option<Vec<PathBuf>> {
        let script = |name: &str| {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/clients")
                .join(name)
        };
        Some(match self {
            Self::Python(name) => vec![installed("venv/bin/python")?, script(name)],
            Self::Node(name) => vec![node()?, script(name)],
            Self::Inspector => vec![
                node()?,
                installed(
                    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
                )?,
            ],
        })
    }

    /// Lists and calls; says what came back.
    fn talk(self, program: &[PathBuf], server: &Server<'_>, protocol: &str) -> Value {
        if matches!(self, Self::Inspector) {
            return inspect(program, server, protocol);
        }
        let mode = if protocol == LEGACY {
            "legacy"
        } else {
            protocol
        };
        let mut spec = json!({"mode": mode, "calls": calls()});
        match server {
            Server::Http(url) => {
                spec["http"] = json!(url);
                spec["token"] = json!(TOKEN);
            }
            Server::Stdio(data) => {
                let command = serve(&examples(), data);
                let words = command.get_args().map(|word| word.to_str().unwrap());
                let args: Vec<_> = words.collect();
                spec["stdio"] = json!({
                    "command": env!("CARGO_BIN_EXE_tramline"), "args": args, "cwd": root(),
                });
            }
        }
        let said = output(
            Command::new(&program[0])
                .args(&program[1..])
                .arg(spec.to_string()),
        );
        assert_eq!(said["protocol"], protocol);
        said
    }
}

/// The JSON that a command prints.
fn output(command: &mut Command) -> Value {
    let output = command
        .env("TRAMLINE_TOOLS", tools())
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let told = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {command:?}\n{told}")
    })
}

/// The same through the inspector, which makes one request each time it is started.
fn inspect(program: &[PathBuf], server: &Server<'_>, protocol: &str) -> Value {
    let era = if protocol == LEGACY {
        "legacy"
    } else {
        "modern"
    };
    let ask = |words: &[&str]| {
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]).arg("--cli");
        match server {
            Server::Stdio(data) => {
                let serve = serve(&examples(), data);
                command.arg(serve.get_program()).args(serve.get_args());
            }
            Server::Http(url) => {
                let token = format!("Authorization: Bearer {TOKEN}");
                command.args([url, "--transport", "http", "--header", &token]);
            }
        }
        command.args(["--format", "json", "--quiet", "--protocol-era", era]);
        output(command.args(words))["result"].clone()
    };
    let results = calls().as_array().unwrap().clone().into_iter().map(|call| {
        let arguments = call["arguments"].to_string();
        let tool = call["tool"].as_str().unwrap();
        let words = [
            "--method",
            "tools/call",
            "--tool-name",
            tool,
            "--tool-args-json",
            &arguments,
        ];
        let result = ask(&words);
        let content = result["content"].as_array().unwrap();
        let text: Vec<_> = content.iter().map(|block| &block["text"]).collect();
        let structured = &result["structuredContent"];
        json!({"is_error": result["isError"], "structured": structured, "text": text})
    });
    let results: Vec<_> = results.collect();
    json!({"tools": ask(&["--method", "tools/list"])["tools"], "results": results})
}

/// What every client calls.
fn calls() -> Value {
    json!([
        {"tool": "choose_shipping", "arguments": {"weight_kg": 25}},
        {"tool": "read_lines", "arguments": {"path": "no-such-file.txt"}},
        {"tool": "choose_shipping", "arguments": {"weight_kg": "heavy"}},
        {"tool": "write_note", "arguments": {"path": "target/never-written.txt", "text": "x"}},
        {"tool": "summarize", "arguments": {"numbers": [1, 2, 3]}},
    ])
}

/// What every client must see, however it is connected.
fn check(said: &Value) {
    let tools = said["tools"].as_array().unwrap();
    let shipping = tools
        .iter()
        .find(|tool| tool["name"] == "choose_shipping")
        .unwrap();
    assert_eq!(shipping["inputSchema"]["required"], json!(["weight_kg"]));
    assert_eq!(
        shipping["outputSchema"]["required"],
        json!(["service", "price"])
    );
    let [chosen, failed, refused, paused, summary] = said["results"].as_array().unwrap().as_slice()
    else {
        panic!("{said}");
    };
    assert_eq!(chosen["is_error"], false);
    assert_eq!(
        chosen["structured"],
        json!({"service": "freight", "price": 77.5})
    );
    assert_eq!(text(chosen), chosen["structured"]);

    let error = &text(failed)["error"];
    assert_eq!(failed["is_error"], true, "{failed}");
    assert_eq!(error["node"], "read");
    assert!(error["run_id"].as_str().unwrap().starts_with("run_"));
    assert_eq!(refused["is_error"], true);
    let message = text(refused)["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains("weight_kg"), "{message}");

    assert_eq!(paused["is_error"], true);
    let waits = &text(paused)["error"]["waiting"][0];
    assert_eq!(waits["waits_for"], "approval", "{paused}");
    assert!(waits["checkpoint_id"].as_str().unwrap().starts_with("chk_"));
    assert_eq!(summary["is_error"], false, "{summary}");
}

/// The text of a result, read as JSON.
fn text(result: &Value) -> Value {
    serde_json::from_str(result["text"][0].as_str().unwrap()).unwrap()
}

/// The steps that were told of in a call.
fn steps(result: &Value) -> Vec<&str> {
    let told = result["progress"].as_array().unwrap();
    told.iter()
        .map(|told| told["message"].as_str().unwrap())
        .collect()
}

/// Every step of every call was told of, for clients that wait for what was told.
fn check_progress(said: &Value) {
    let results = &said["results"];
    let whole = [
        "entry is done",
        "choose is done",
        "freight is done",
        "exit is done",
    ];
    assert_eq!(steps(&results[0]), whole);
    assert!(steps(&results[1]).contains(&"read begins (builtin:read-file)"));
    assert!(steps(&results[3]).contains(&"compose is done"));
}

/// Lets a client talk over both transports in each of these eras.
fn both(client: Client, protocols: &[&str], also: fn(&Value)) {
    let Some(program) = client.program() else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let mut command = serve(&examples(), data.path());
    command.env("TRAMLINE_TOKEN", TOKEN);
    let http = Http::start(command);
    let url = http.url();
    let elsewhere = tempfile::tempdir().unwrap();
    for protocol in protocols {
        for server in [Server::Http(&url), Server::Stdio(elsewhere.path())] {
            let said = client.talk(&program, &server, protocol);
            check(&said);
            also(&said);
        }
    }
}

#[test]
fn the_python_sdk() {
    both(
        Client::Python("python_sdk.py"),
        &[LEGACY, MODERN],
        check_progress,
    );
}

#[test]
fn fastmcp() {
    both(
        Client::Python("fastmcp_client.py"),
        &[LEGACY, MODERN],
        check_progress,
    );
}

#[test]
fn the_typescript_sdk_of_2025() {
    both(Client::Node("typescript_v1.cjs"), &[LEGACY], |_| ());
}

#[test]
fn the_typescript_sdk_of_2026() {
    both(Client::Node("typescript_v2.cjs"), &[LEGACY, MODERN], |_| ());
}

#[test]
fn the_inspector() {
    both(Client::Inspector, &[LEGACY, MODERN], |_| ());
}
