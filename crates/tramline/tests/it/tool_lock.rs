//! `tramline lock` and what `check` says when a server's tools change. The server is tramline itself, with a document that
//! has two releases.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A release of the server: the input schema of its tool, and its result schema.
fn release(folder: &Path, input: &Value, output: &Value) {
    let document = json!({
        "version": "1.0", "server": {"name": "notes", "version": "1"},
        "tools": [{
            "name": "find", "description": "Finds notes.", "inputSchema": input, "outputSchema": output,
            "nodes": [{"id": "entry", "type": "entry", "next": "exit"}, {"id": "exit", "type": "exit"}],
        }],
    });
    std::fs::write(folder.join("notes.json"), document.to_string()).unwrap();
}

/// The workflow that calls it.
fn workflow(folder: &Path) {
    let document = json!({
        "version": "1.0", "server": {"name": "mine", "version": "1"},
        "mcpServers": {"notes": {
            "command": env!("CARGO_BIN_EXE_tramline"),
            "args": ["serve", "notes.json", "--data-dir", folder.join("server-data")], "cwd": folder,
        }},
        "tools": [{
            "name": "find_notes", "description": "Finds notes.", "inputSchema": {"type": "object"},
            "nodes": [
                {"id": "entry", "type": "entry", "next": "find"},
                {"id": "find", "type": "mcp", "server": "notes", "tool": "find", "args": {"query": "x"}, "next": "exit"},
                {"id": "exit", "type": "exit"},
            ],
        }],
    });
    std::fs::write(folder.join("mine.json"), document.to_string()).unwrap();
}

fn tramline(folder: &Path, words: &[&str]) -> (i32, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_tramline"))
        .args(words)
        .args(["--trust", "--json", "--data-dir"])
        .arg(folder.join("data"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .current_dir(folder)
        .output()
        .unwrap();
    let said = serde_json::from_slice(&output.stdout);
    let said = said.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), said)
}

/// The codes and messages that `check` reports.
fn checked(folder: &Path) -> (i32, Vec<(String, String)>) {
    let (exit, said) = tramline(folder, &["check", "mine.json"]);
    let flaw = |flaw: &Value| {
        let text = |key: &str| flaw[key].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    };
    let flaws = said["flaws"].as_array().unwrap();
    (exit, flaws.iter().map(flaw).collect())
}

#[test]
fn a_release_that_breaks_a_workflow_is_an_error_and_another_change_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let input = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    let output = json!({"type": "object", "properties": {"notes": {"type": "array"}}, "required": ["notes"]});
    release(folder, &input, &output);
    workflow(folder);
    // Without a lock file nothing is compared.
    assert_eq!(checked(folder), (0, vec![]));
    let (exit, said) = tramline(folder, &["lock", "mine.json"]);
    assert_eq!((exit, &said[0]["tools"]), (0, &json!(1)), "{said}");
    assert_eq!(checked(folder), (0, vec![]));

    let mut more = input.clone();
    more["properties"]["limit"] = json!({"type": "integer"});
    release(folder, &more, &output);
    let (exit, flaws) = checked(folder);
    assert_eq!(
        (exit, flaws.len(), flaws[0].0.as_str()),
        (0, 1, "T0050"),
        "{flaws:?}"
    );

    let mut other = more.clone();
    other["required"] = json!(["query", "root"]);
    let loose = json!({"type": "object", "properties": {"notes": {"type": "array"}}});
    release(folder, &other, &loose);
    let (exit, flaws) = checked(folder);
    let broken = flaws.iter().find(|(code, _)| code == "T0051").unwrap();
    assert_eq!(exit, 2, "{flaws:?}");
    for says in [
        "`find_notes`",
        "`/root` is required now",
        "`/notes` may be missing now",
    ] {
        assert!(broken.1.contains(says), "{broken:?}");
    }

    let (exit, _) = tramline(folder, &["lock", "mine.json"]);
    assert_eq!(exit, 0);
    let (_, flaws) = checked(folder);
    assert!(
        !flaws
            .iter()
            .any(|(code, _)| code == "T0050" || code == "T0051"),
        "{flaws:?}"
    );
    std::fs::write(folder.join("tramline.lock"), "{").unwrap();
    let (exit, said) = tramline(folder, &["check", "mine.json"]);
    assert!(
        exit == 2
            && said["error"]["message"]
                .as_str()
                .unwrap()
                .contains("tramline lock"),
        "{said}"
    );
}
