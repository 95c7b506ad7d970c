//! Reading a document starts nothing; running it does, and that is remembered.

use crate::support::{CommandResult, Tramline};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A stranger's document, and the file that exists once its command was started.
struct ForeignDocument {
    place: Tramline,
    folder: tempfile::TempDir,
    mark: PathBuf,
}

const NODES: &str = "    nodes:
      - { id: in, type: entry, next: act }
      - { id: act, type: mcp, server: pwn, tool: echo, args: {}, next: out }
      - { id: out, type: exit }
";

impl ForeignDocument {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("started");
        let stranger = Self {
            place: Tramline::new(),
            folder,
            mark,
        };
        std::fs::write(stranger.file(), stranger.text("mine")).unwrap();
        stranger
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("g.yaml")
    }

    fn text(&self, argument: &str) -> String {
        let command = format!("touch '{}'; exit 1", self.mark.display());
        format!(
            "version: '1'\nserver: {{ name: s, version: '1' }}\nmcpServers:\n  pwn:\n    command: sh\n    \
             args: [-c, \"{command}\", {argument}]\n    env: {{ KEY: '${{HOME}}', TOKEN: '${{settings.TOKEN}}' }}\n\
             tools:\n  - name: go\n    description: d\n    inputSchema: {{ type: object }}\n{NODES}"
        )
    }

    fn words<'a>(&self, before: &[&'a str], path: &'a str) -> Vec<&'a str> {
        [before, &[path]].concat()
    }

    fn run(&self, words: &[&str]) -> CommandResult {
        let file = self.file();
        self.place.run(&self.words(words, file.to_str().unwrap()))
    }

    fn was_started(&self) -> bool {
        let started = self.mark.exists();
        let _ = std::fs::remove_file(&self.mark);
        started
    }
}

#[test]
fn looking_starts_nothing_and_says_what_allows_it() {
    let stranger = ForeignDocument::new();
    for words in [
        &["check"] as &[_],
        &["check", "--json"],
        &["doctor"],
        &["graph"],
        &["registry", "list", "--file"],
        &["registry", "refresh", "--file"],
        &["registry", "search", "echo", "--file"],
        &["registry", "show", "pwn:echo", "--file"],
        &["convert", "--to", "ir"],
        &["library", "save"],
    ] {
        stranger.run(words);
        assert!(!stranger.was_started(), "{words:?}");
    }
    let checked = stranger.run(&["check"]);
    assert_eq!(checked.code(), 0, "{}", checked.err());
    let allow = format!(
        "tramline trust --data-dir {}",
        stranger.place.data_dir().display()
    );
    assert!(
        checked.err().contains("is not trusted yet"),
        "{}",
        checked.err()
    );
    assert!(checked.err().contains(&allow), "{}", checked.err());
    let told: serde_json::Value =
        serde_json::from_str(&stranger.run(&["check", "--json"]).out()).unwrap();
    assert_eq!(told["flaws"][0]["server"], "pwn", "{told}");
    assert_eq!(told["flaws"][0]["severity"], "warning", "{told}");
    assert!(
        told["flaws"][0]["allow"]
            .as_str()
            .unwrap()
            .starts_with(&allow),
        "{told}"
    );
    let doctor = stranger.run(&["doctor"]);
    assert_eq!(doctor.code(), 1, "{}", doctor.out());
    assert!(
        doctor.out().contains("is not trusted yet"),
        "{}",
        doctor.out()
    );
}

#[test]
fn trust_is_for_exactly_what_was_shown() {
    let stranger = ForeignDocument::new();
    let trusted = stranger.run(&["trust"]);
    assert_eq!(trusted.code(), 0, "{}", trusted.err());
    assert!(!stranger.was_started(), "to trust is not to start");
    for part in [
        "pwn: starts sh -c '",
        "sets KEY=${HOME}",
        "sets TOKEN=${settings.TOKEN}",
        "variables HOME",
        "settings TOKEN",
    ] {
        assert!(trusted.err().contains(part), "{part}: {}", trusted.err());
    }
    // Not started without the setting that it names.
    stranger
        .place
        .run(&["settings", "set", "TOKEN", "abcdefgh-12345678"]);
    stranger.run(&["check"]);
    assert!(stranger.was_started());
    // A change in it is another thing to start.
    std::fs::write(stranger.file(), stranger.text("other")).unwrap();
    stranger.run(&["check"]);
    assert!(!stranger.was_started());
    stranger.run(&["check", "--trust"]);
    assert!(stranger.was_started());
    stranger.run(&["doctor"]);
    assert!(stranger.was_started());
    // The same command in another directory starts something else.
    let elsewhere = tempfile::tempdir().unwrap();
    let file = stranger.file();
    let mut command = stranger.place.command(&["check", file.to_str().unwrap()]);
    command.current_dir(elsewhere.path()).output().unwrap();
    assert!(!stranger.was_started());
    let told = std::fs::read_to_string(stranger.place.data_dir().join("trusted")).unwrap();
    assert_eq!(told.lines().count(), 2, "{told}");
}

#[test]
fn the_user_s_own_configuration_is_trusted_by_being_named() {
    let stranger = ForeignDocument::new();
    let servers = stranger.folder.path().join("mcp.json");
    let command = format!("touch '{}'; exit 1", stranger.mark.display());
    let text =
        serde_json::json!({"mcpServers": {"own": {"command": "sh", "args": ["-c", command]}}});
    std::fs::write(&servers, text.to_string()).unwrap();
    let calls = stranger.text("x").replace("server: pwn", "server: own");
    let (head, tools) = calls.split_once("mcpServers").unwrap();
    let tools = tools.split_once("tools:").unwrap().1;
    std::fs::write(stranger.file(), format!("{head}tools:{tools}")).unwrap();
    stranger.run(&["check", "--mcp-config", servers.to_str().unwrap()]);
    assert!(stranger.was_started());
}

#[test]
fn a_run_is_the_user_s_word_and_is_remembered() {
    let stranger = ForeignDocument::new();
    stranger
        .place
        .run(&["settings", "set", "TOKEN", "abcdefgh-12345678"]);
    let done = stranger.run(&["run"]);
    assert!(stranger.was_started(), "{}", done.err());
    assert!(!done.err().contains("first time"), "{}", done.err());
    stranger.run(&["check"]);
    assert!(stranger.was_started());
}

/// Runs a command at a terminal; returns all its output.
fn at_a_terminal(place: &Tramline, file: &Path) -> String {
    let program = env!("CARGO_BIN_EXE_tramline");
    let line = format!("{program} run {}", file.display());
    let shown = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TRAMLINE_DATA_DIR", place.data_dir())
        .current_dir(crate::support::root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

#[test]
fn the_first_run_at_a_terminal_shows_what_is_started() {
    let stranger = ForeignDocument::new();
    let first = at_a_terminal(&stranger.place, &stranger.file());
    for part in [
        "for the first time",
        "pwn: starts sh -c",
        "variables HOME",
        "settings TOKEN",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let second = at_a_terminal(&stranger.place, &stranger.file());
    assert!(!second.contains("for the first time"), "{second}");
}
