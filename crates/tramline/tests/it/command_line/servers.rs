//! Servers in front of and behind the command line: their start, their failures, their logs and their names.

use super::{FILES, on_terminal};
use crate::support::Tramline;
use crate::test_servers::{Http, StdioClient, serve};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A document whose only server is started by this shell command.
fn with_server(folder: &Path, command: &str) -> String {
    let text = json!({
        "version": "1.0",
        "server": {"name": "s", "version": "1"},
        "mcpServers": {"slow": {"command": "sh", "args": ["-c", command]}},
        "tools": [{"name": "t", "description": "d", "inputSchema": {"type": "object"}, "nodes": [
            {"id": "entry", "type": "entry", "next": "it"},
            {"id": "it", "type": "mcp", "server": "slow", "tool": "add", "args": {"a": 1, "b": 2}, "next": "exit"},
            {"id": "exit", "type": "exit"},
        ]}],
    });
    let path = folder.join("server.json");
    std::fs::write(&path, text.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_start_of_a_server_is_shown_while_it_lasts() {
    let (place, folder) = (Tramline::new(), tempfile::tempdir().unwrap());
    let server = tramline_test_server::program::test_server().unwrap();
    let path = with_server(
        folder.path(),
        &format!("sleep 3; exec {}", server.display()),
    );
    let shown = on_terminal(&place, &["run", &path], 80, "");
    assert!(shown.contains("starting server slow"), "{shown}");
    assert!(shown.contains("completed"), "{shown}");
    let piped = place.run(&["run", &path]);
    assert!(
        piped.err().contains("starting server slow"),
        "{}",
        piped.err()
    );
}

#[test]
fn a_server_that_fails_shows_what_it_printed() {
    let (place, folder) = (Tramline::new(), tempfile::tempdir().unwrap());
    let many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo npm error $i >&2; done; exit 1";
    let path = with_server(folder.path(), many);
    let done = place.run(&["run", &path]);
    for line in 3..=12 {
        assert_eq!(
            done.err().matches(&format!("npm error {line}\n")).count(),
            1,
            "{}",
            done.err()
        );
    }
    assert!(
        !done.err().contains("npm error 2\n") && !done.err().contains("\\n"),
        "{}",
        done.err()
    );
    let path = with_server(folder.path(), "echo 'usage: slow [--port N]'; exit 0");
    let done = place.run(&["run", &path]);
    assert!(
        done.err().contains("usage: slow [--port N]"),
        "{}",
        done.err()
    );
}

#[test]
fn logging_at_a_level_leaves_out_the_libraries() {
    let (place, folder) = (Tramline::new(), tempfile::tempdir().unwrap());
    let server = tramline_test_server::program::test_server().unwrap();
    let path = with_server(folder.path(), &format!("exec {}", server.display()));
    let done = place.run(&["run", &path, "--log", "info"]);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert!(done.err().contains("tramline"), "{}", done.err());
    assert!(!done.err().contains("rmcp"), "{}", done.err());
    let all = place.run(&["run", &path, "--log", "info,rmcp=info"]);
    assert!(all.err().contains("rmcp"), "{}", all.err());
}

#[test]
fn an_interrupt_leaves_a_whole_line() {
    let (place, folder) = (Tramline::new(), tempfile::tempdir().unwrap());
    let path = with_server(folder.path(), "sleep 60");
    // Ctrl-C once the start of the server is shown: typed on the terminal.
    let line = format!(
        "stty cols 80; '{}' run '{path}'",
        env!("CARGO_BIN_EXE_tramline")
    );
    let mut script = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TRAMLINE_DATA_DIR", place.data_dir())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let mut output = script.stdout.take().unwrap();
    let mut chunk = [0; 4096];
    while !String::from_utf8_lossy(&shown).contains("starting server slow") {
        let bytes = output.read(&mut chunk).unwrap();
        assert!(bytes > 0, "{}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&chunk[..bytes]);
    }
    script.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    output.read_to_end(&mut shown).unwrap();
    script.wait().unwrap();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let id = place.run(&["runs", "--json"]).json();
    let id = id
        .get("runs")
        .unwrap()
        .at(0)
        .unwrap()
        .get("run_id")
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned();
    // Nothing is redrawn after the message, which would erase a part of it.
    let (_, rest) = shown
        .split_once("interrupted;")
        .unwrap_or_else(|| panic!("{shown}"));
    assert!(
        rest.contains(&format!("`tramline runs resume {id}` continues it")),
        "{shown}"
    );
    let (_, rest) = rest.split_once("continues it").unwrap();
    assert!(
        !rest.contains("\u{1b}[1A") && !rest.contains("\u{1b}[2K"),
        "{shown:?}"
    );
}

#[test]
fn http_addresses_are_short_and_the_root_leads_to_the_studio() {
    let place = Tramline::new();
    let server = Http::start(serve(&[PathBuf::from(FILES)], &place.data_dir()));
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        server.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 307"), "{answer}");
    assert!(
        answer.to_lowercase().contains("location: /studio"),
        "{answer}"
    );
    for (address, says) in [
        ("localhost", "localhost:8080"),
        ("example.com:80", "not an address of this machine"),
    ] {
        let done = place.run(&["serve", FILES, "--http", address]);
        assert_eq!(done.code(), 2);
        assert!(done.err().contains(says), "{}", done.err());
    }
}

#[test]
fn served_tools_can_have_a_prefix() {
    let place = Tramline::new();
    let child = serve(&[PathBuf::from(FILES)], &place.data_dir())
        .args([
            "--toolsets",
            "graphs,control",
            "--tool-prefix",
            "flow_",
            "--root",
            ".",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut client = StdioClient::start(child);
    let names = client.tools();
    assert!(
        names.iter().all(|name| name.starts_with("flow_")),
        "{names:?}"
    );
    assert!(names.contains(&"flow_continue".to_owned()), "{names:?}");
    for name in ["flow_count_files", "count_files"] {
        let called = client.call(name, &json!({"directory": "examples/data"}));
        assert_eq!(called["structuredContent"]["count"], 2, "{called}");
    }
    let bad = place.run(&["serve", FILES, "--tool-prefix", "a b"]);
    assert!(bad.err().contains("letters, digits"), "{}", bad.err());
}

#[test]
fn a_client_that_leaves_early_makes_no_noise() {
    let place = Tramline::new();
    let done = serve(&[PathBuf::from(FILES)], &place.data_dir())
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(said, "");
}
