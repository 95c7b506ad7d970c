//! The clients themselves read what `tramline mcp install` wrote, and connect to the server.
//!
//! Their `mcp list` exits with 0 even if a server fails, so its output is read. `cargo xtask setup`
//! installs them. Requests to other machines go to a proxy that does not exist.

use super::{HELLO, Home};
use crate::test_servers::{installed, node};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Nothing listens on this port.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Runs a client in the project of this home directory and returns everything it printed.
fn printed(home: &Home, program: &Path, words: &[&str]) -> String {
    let node = node().unwrap();
    let path = format!("{}:/usr/bin:/bin", node.parent().unwrap().display());
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(home.path().join("project"))
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", path)
        .env("CI", "1")
        .env("NO_COLOR", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .stdin(Stdio::null());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        command.env(name, NOWHERE);
    }
    let done = command.output().unwrap();
    let (out, err) = (done.stdout, done.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(&out),
        String::from_utf8_lossy(&err)
    )
}

/// A home directory in which a client has a server of ours, at user and at project scope.
fn configured(client: &str) -> Home {
    let home = Home::new();
    home.write("project/hello.yaml", HELLO);
    home.done(&["mcp", "install", client, "hello.yaml", "--name", "mine"]);
    home
}

/// The line about a server.
fn line_about(shown: &str, name: &str) -> String {
    let line = shown.lines().find(|line| line.contains(name));
    line.unwrap_or_else(|| panic!("no {name}: {shown}"))
        .to_owned()
}

#[test]
fn claude_code_connects() {
    let Some(claude) = installed("clients/node_modules/@anthropic-ai/claude-code-linux-x64/claude")
    else {
        return;
    };
    let home = configured("claude-code");
    let shown = printed(&home, &claude, &["mcp", "list"]);
    assert!(line_about(&shown, "mine").contains("Connected"), "{shown}");
    // What the client writes itself is understood, too.
    printed(
        &home,
        &claude,
        &[
            "mcp", "add", "--scope", "user", "other", "--", "/no/such", "program",
        ],
    );
    let listed = home.done(&["mcp", "list"]);
    assert_eq!(
        listed["clients"][0]["other_servers"],
        serde_json::json!(["other"])
    );
    home.done(&["mcp", "import", "claude-code", "--name", "mine"]);
    let shown = printed(&home, &claude, &["mcp", "list"]);
    assert!(line_about(&shown, "mine").contains("Connected"), "{shown}");
    assert!(!shown.contains("other:"), "{shown}");
    home.done(&["mcp", "import", "claude-code", "--name", "mine", "--undo"]);
    assert!(printed(&home, &claude, &["mcp", "list"]).contains("other:"));
}

#[test]
fn codex_reads_the_entry() {
    let program = "clients/node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex";
    let Some(codex) = installed(program) else {
        return;
    };
    let home = configured("codex");
    printed(
        &home,
        &codex,
        &["mcp", "add", "other", "--", "/no/such", "program"],
    );
    let shown = printed(&home, &codex, &["mcp", "list", "--json"]);
    let start = shown.find('[').unwrap_or_else(|| panic!("{shown}"));
    let mut values = serde_json::Deserializer::from_str(&shown[start..]).into_iter::<Value>();
    let servers = values.next().unwrap().unwrap();
    let mine = servers
        .as_array()
        .unwrap()
        .iter()
        .find(|server| server["name"] == "mine");
    let transport = &mine.unwrap()["transport"];
    assert_eq!(transport["type"], "stdio", "{shown}");
    assert!(
        transport["args"]
            .as_array()
            .unwrap()
            .contains(&"serve".into()),
        "{shown}"
    );
    home.done(&["mcp", "uninstall", "codex", "--name", "mine"]);
    let shown = printed(&home, &codex, &["mcp", "list"]);
    assert!(
        shown.contains("other") && !shown.contains("mine"),
        "{shown}"
    );
}

#[test]
fn gemini_connects() {
    let Some(gemini) = installed("clients/node_modules/.bin/gemini") else {
        return;
    };
    let home = configured("gemini");
    let shown = printed(&home, &gemini, &["mcp", "list"]);
    assert!(line_about(&shown, "mine").contains("Connected"), "{shown}");
}

#[test]
fn opencode_connects() {
    let Some(opencode) = installed("clients/node_modules/opencode-linux-x64/bin/opencode") else {
        return;
    };
    let home = configured("opencode");
    let shown = printed(&home, &opencode, &["mcp", "list"]);
    assert!(line_about(&shown, "mine").contains("connected"), "{shown}");
}
