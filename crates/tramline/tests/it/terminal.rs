//! Hostile texts on a terminal: servers, documents and file names cannot control it or fake a line.
#![cfg(target_os = "linux")]

use crate::support::Tramline;
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tramline_test_server::program;

/// Renames the window, rings, clears the screen, moves up a line, colours with C1, reverses the
/// text direction, and imitates a line of ours.
const HOSTILE: &str = "EVIL\u{1b}]0;PWNED\u{7}\u{1b}[2J\u{1b}[1A\u{9b}31m\u{7f}\u{202e}txt\u{2066}\u{200f}\u{61c}\u{2028}\r\nerror: FAKED\n└─ completed in 1 ms";

/// A placeholder for the latest run.
const LATEST: &str = "LATEST";

/// Runs the command on a pseudo-terminal and returns all its output.
fn on_terminal(place: &Tramline, words: &[&str]) -> String {
    let quoted = |word: &&str| format!("'{}'", word.replace('\'', "'\\''"));
    let mut line = vec![quoted(&env!("CARGO_BIN_EXE_tramline"))];
    for word in words {
        let id = (*word == LATEST).then(|| place.run(&["trace", "latest"]).text("run_id"));
        line.push(quoted(&id.as_deref().unwrap_or(word)));
    }
    let mut script = Command::new("script")
        .args(["-qec", &line.join(" "), "/dev/null"])
        .env("TRAMLINE_DATA_DIR", place.data_dir())
        .env("TERM", "xterm")
        .env_remove("TRAMLINE_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` of util-linux gives a terminal");
    // The answer to a prompt, if there is one: later.
    let typed = script.stdin.as_mut().unwrap().write_all(b"l\n");
    typed.unwrap();
    let output = script.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn assert_steers_nothing(shown: &str, what: &str) {
    assert!(shown.contains("EVIL"), "{what} does not show it: {shown:?}");
    for bad in [
        "\u{1b}]",
        "\u{7}",
        "\u{1b}[2J",
        "\u{9b}",
        "\u{7f}",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{61c}",
        "\u{2028}",
    ] {
        assert!(
            !shown.contains(bad),
            "{what} lets {bad:?} through: {shown:?}"
        );
    }
}

/// The same, where all untrusted text is inside a line of ours.
fn assert_harmless(shown: &str, what: &str) {
    assert_steers_nothing(shown, what);
    for line in shown.split(['\n', '\r']) {
        let faked = line.starts_with("error: FAKED") || line.starts_with("└─ completed in 1 ms");
        assert!(!faked, "{what} fakes a line: {shown:?}");
    }
}

/// A client configuration whose server describes itself with this.
fn servers(folder: &Path, says: &str) -> String {
    let path = folder.join("mcp.json");
    let unruly = program::test_server().unwrap();
    let servers = json!({"mcpServers": {"u": {"command": unruly, "env": {"UNRULY_SAYS": says}}}});
    fs::write(&path, servers.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A document whose texts are all hostile, and that calls a hostile tool.
fn document(folder: &Path, name: &str, node: &str) -> String {
    let text = json!({
        "version": "1.0",
        "server": {"name": "s", "version": "1"},
        "tools": [{
            "name": "t",
            "description": HOSTILE,
            "inputSchema": {"type": "object"},
            "nodes": [
                {"id": "entry", "type": "entry", "next": "act"},
                serde_json::from_str::<serde_json::Value>(node).unwrap(),
                {"id": "exit", "type": "exit"},
            ],
        }],
    });
    let path = folder.join(name);
    fs::write(&path, text.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_servers_say_steers_no_terminal() {
    let (place, folder) = (Tramline::new(), tempfile::tempdir().unwrap());
    let servers = servers(folder.path(), HOSTILE);
    let call = r#"{"id": "act", "type": "mcp", "server": "u", "tool": "says", "args": {}, "next": "exit"}"#;
    let path = document(folder.path(), "says.json", call);
    for words in [
        vec!["registry", "list", "--mcp-config", &servers],
        vec!["registry", "search", "txt", "--mcp-config", &servers],
        vec!["registry", "show", "u:says", "--mcp-config", &servers],
        vec!["registry", "list", "--json", "--mcp-config", &servers],
        vec!["run", &path, "--mcp-config", &servers],
        vec!["run", &path, "--json", "--mcp-config", &servers],
        vec!["runs", "show", LATEST],
        vec!["runs", "show", LATEST, "--full"],
        vec!["trace", "latest"],
        vec!["trace", "latest", "--json"],
    ] {
        assert_harmless(&on_terminal(&place, &words), &words[..2].join(" "));
    }
    // The output for scripts keeps its meaning.
    let listed = place.run(&["registry", "list", "--json", "--mcp-config", &servers]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out()).unwrap();
    assert!(listed.to_string().contains("PWNED"), "{listed}");
}

#[test]
fn what_documents_say_steers_no_terminal() {
    let (place, folder) = (Tramline::new(), tempfile::tempdir().unwrap());
    let servers = servers(folder.path(), "nothing");
    let node = json!({
        "id": "act", "type": "mcp", "server": "u", "tool": "text", "approval": HOSTILE,
        "args": {"text": HOSTILE, HOSTILE: HOSTILE}, "next": "exit",
    });
    let asks = document(folder.path(), "asks.json", &node.to_string());
    let node = json!({
        "id": "act", "type": "mcp", "server": "u", "tool": "text", "args": {"text": HOSTILE},
        "next": "exit",
    });
    let tells = document(folder.path(), "tells.json", &node.to_string());
    let node = json!({"id": "act", "type": HOSTILE, HOSTILE: 1, "next": HOSTILE});
    let wrong = document(folder.path(), "wrong.json", &node.to_string());
    for words in [
        vec!["run", &asks, "--mcp-config", &servers],
        vec!["runs", "show", LATEST],
        vec!["check", "--offline", &wrong],
    ] {
        assert_harmless(&on_terminal(&place, &words), &words[..2].join(" "));
    }
    let raw = folder.path().join("raw.yaml");
    fs::write(&raw, format!("tools:\n  - name: EVIL{HOSTILE}\n    x: [\n")).unwrap();
    let framed = on_terminal(&place, &["check", "--offline", raw.to_str().unwrap()]);
    assert_steers_nothing(&framed, "check");
    let saved = place.run(&["library", "save", &tells, "--name", "tells"]);
    assert_eq!(saved.code(), 0, "{}", saved.err());
    let listed = on_terminal(&place, &["library", "list"]);
    assert_harmless(&listed, "library list");
    // Results and documents may have several lines.
    for words in [
        vec!["run", &tells, "--mcp-config", &servers],
        vec!["convert", &tells, "--to", "yaml"],
        vec!["library", "show", "tells"],
    ] {
        assert_steers_nothing(&on_terminal(&place, &words), &words[..2].join(" "));
    }
    // To a file or a pipe a result is written unchanged.
    let told = place.run(&["run", &tells, "--mcp-config", &servers]);
    assert_eq!(told.out(), format!("{HOSTILE}\n"));
}

#[test]
fn names_of_files_and_words_of_the_command_line_steer_no_terminal() {
    let (place, folder) = (Tramline::new(), tempfile::tempdir().unwrap());
    let name = HOSTILE.replace('/', "");
    let path = folder.path().join(&name);
    fs::write(&path, "tools: [").unwrap();
    let path = path.to_str().unwrap();
    let absent = format!("{path}-absent");
    let option = format!("--{name}");
    for words in [
        vec!["check", "--offline", path],
        vec!["run", path],
        vec!["run", &absent],
        vec!["graph", &absent],
        vec!["sop", "check", &absent],
        vec!["library", "show", &name],
        vec!["explain", &name],
        vec!["settings", "get", &name],
        vec![&option],
        vec!["runs", "show", &name],
        vec![&name],
    ] {
        assert_harmless(&on_terminal(&place, &words), words[0]);
    }
}
