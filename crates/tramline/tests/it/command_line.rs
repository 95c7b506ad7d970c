//! The command line as a person meets it: help, names of runs, tables, prompts and errors, on real
//! pseudo-terminals of several widths.

use crate::support::{CommandResult, Tramline};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

mod servers;

const FILES: &str = "examples/graphs/file_utils.yaml";
const COUNT: [&str; 4] = ["run", FILES, "count_files", "directory=examples/data"];
/// Lines of the terminal that say how wide it is.
const WIDTHS: [usize; 2] = [80, 200];

/// The command on a terminal of this width.
fn terminal(place: &Tramline, words: &[&str], columns: usize) -> Child {
    let quoted = |word: &&str| format!("'{}'", word.replace('\'', "'\\''"));
    let words: Vec<_> = [env!("CARGO_BIN_EXE_tramline")]
        .iter()
        .chain(words)
        .map(quoted)
        .collect();
    let line = format!("stty cols {columns}; exec {}", words.join(" "));
    Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(crate::support::root())
        .env("TRAMLINE_DATA_DIR", place.data_dir())
        .env("TERM", "xterm")
        .env_remove("TRAMLINE_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` of util-linux gives a terminal")
}

/// Runs the command on a terminal of this width with this input, and returns everything shown.
fn on_terminal(place: &Tramline, words: &[&str], columns: usize, typed: &str) -> String {
    let mut script = terminal(place, words, columns);
    let written = script.stdin.as_mut().unwrap().write_all(typed.as_bytes());
    written.unwrap();
    let output = script.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the command on a terminal and types each line once one more question was asked.
fn in_conversation(place: &Tramline, words: &[&str], question: &str, typed: &[&str]) -> String {
    let mut script = terminal(place, words, 80);
    let (mut input, mut output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let (mut shown, mut chunk) = (Vec::new(), [0; 4096]);
    for (asked, line) in typed.iter().enumerate() {
        while String::from_utf8_lossy(&shown).matches(question).count() <= asked {
            let bytes = output.read(&mut chunk).unwrap();
            assert!(bytes > 0, "{}", String::from_utf8_lossy(&shown));
            shown.extend_from_slice(&chunk[..bytes]);
        }
        input.write_all(line.as_bytes()).unwrap();
    }
    output.read_to_end(&mut shown).unwrap();
    script.wait().unwrap();
    String::from_utf8_lossy(&shown).into_owned()
}

/// The lines without escape sequences.
fn plain_lines(shown: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let end = after
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(after.len(), |end| end + 1);
        rest = &after[end..];
    }
    plain.push_str(rest);
    plain
        .lines()
        .map(|line| line.trim_end_matches('\r').to_owned())
        .collect()
}

fn json_of(done: &CommandResult) -> Value {
    serde_json::from_str(&done.out())
        .unwrap_or_else(|error| panic!("{error}: {} {}", done.out(), done.err()))
}

#[test]
fn the_command_alone_says_what_to_do_next() {
    let place = Tramline::new();
    let alone = place.run(&[]);
    assert_eq!(alone.code(), 0, "{}", alone.err());
    for says in [
        "tramline init hello",
        "tramline run hello/",
        "tramline mcp install",
        "tramline --help",
    ] {
        assert!(alone.out().contains(says), "{}", alone.out());
    }
    assert!(!place.data_dir().exists(), "looking creates nothing");
    let note = place.data.path().join("note.txt");
    let waits = place.run(&[
        "run",
        "examples/graphs/approval.yaml",
        "write_note",
        &format!("path={}", note.display()),
        "text=x",
        "--root",
        place.data.path().to_str().unwrap(),
    ]);
    assert_eq!(waits.code(), 4, "{}", waits.err());
    let alone = place.run(&[]);
    assert!(
        alone.out().contains("1 run waits for an answer"),
        "{}",
        alone.out()
    );
}

#[test]
fn help_is_grouped_and_fits_80_columns() {
    let place = Tramline::new();
    let help = place.run(&["--help"]).out();
    let mut from = 0;
    for heading in [
        "Build:",
        "Run:",
        "Inspect:",
        "Agents:",
        "Set up:",
        "Examples:",
        "Global options:",
    ] {
        let at = help
            .find(&format!("\n{heading}\n"))
            .unwrap_or_else(|| panic!("{heading}: {help}"));
        assert!(at > from || heading == "Build:", "{heading}: {help}");
        from = at;
    }
    for words in [
        vec!["--help"],
        vec!["run", "--help"],
        vec!["runs", "approve", "--help"],
    ] {
        for line in plain_lines(&on_terminal(&place, &words, 80, "")) {
            assert!(line.chars().count() <= 80, "{words:?}: {line}");
        }
    }
    let run = place.run(&["run", "--help"]).out();
    for heading in [
        "Options:",
        "Access options:",
        "Global options:",
        "Examples:",
    ] {
        assert!(run.contains(heading), "{heading}: {run}");
    }
    // The environment does not appear in usage lines.
    let wrong = place.run(&["run"]);
    assert!(!wrong.err().contains("--data-dir"), "{}", wrong.err());
    assert_eq!(place.run(&["validate", FILES, "--offline"]).code(), 0);
}

#[test]
fn errors_have_one_json_shape_and_are_said_once() {
    let place = Tramline::new();
    for words in [
        vec!["runs", "show", "../x", "--json"],
        vec!["dev", "--json"],
        vec!["run", "--json"],
        vec!["runs", "show", "latest", "--json"],
        vec!["explain", "T9999", "--json"],
        vec!["run", "nowhere.yaml", "--json"],
    ] {
        let done = place.run(&words);
        assert_eq!(done.code(), 2, "{words:?}");
        let told = json_of(&done);
        assert_eq!(told["status"], "error", "{words:?}: {told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(!message.starts_with("error:"), "{words:?}: {message}");
    }
    let failed = place.run(&["run", FILES, "count_files", "directory=nowhere"]);
    assert_eq!(
        failed.err().matches("No such file").count(),
        1,
        "{}",
        failed.err()
    );
    assert!(
        failed.err().contains("tramline explain T0501"),
        "{}",
        failed.err()
    );
    assert!(!failed.err().contains("os error"), "{}", failed.err());
    let quiet = place.run(&["run", FILES, "count_files", "directory=nowhere", "--quiet"]);
    assert_eq!(
        quiet.err().matches("No such file").count(),
        1,
        "{}",
        quiet.err()
    );
    let broken = place.data.path().join("broken.yaml");
    std::fs::write(
        &broken,
        "tools: 5\nserver: {name: s, version: '1'}\nversion: '1.0'\n",
    )
    .unwrap();
    let flawed = place.run(&["run", broken.to_str().unwrap()]);
    let first = flawed.err().lines().next().unwrap().to_owned();
    let says = first.split_once(": ").unwrap().1;
    assert_eq!(flawed.err().matches(says).count(), 1, "{}", flawed.err());
}

#[test]
fn no_error_shows_a_number_of_the_operating_system() {
    let place = Tramline::new();
    let there = place.data.path().join("no/such/file");
    let there = there.to_str().unwrap();
    for words in [
        vec!["run", there],
        vec!["check", there],
        vec!["serve", there],
        vec!["sop", "check", there],
        vec!["graph", FILES, "count_files", "--out", there],
        vec![
            "convert",
            FILES,
            "count_files",
            "--to",
            "yaml",
            "--out",
            there,
        ],
        vec![
            "run",
            FILES,
            "count_files",
            "directory=.",
            "--config",
            there,
        ],
        vec![
            "run",
            FILES,
            "count_files",
            "directory=.",
            "--mcp-config",
            there,
        ],
        vec!["run", FILES, "count_files", "directory=.", "--root", there],
        vec!["library", "import", there],
        vec!["mcp", "list", "--project", there],
        vec!["runs", "--data-dir", "/proc/nothing"],
        vec!["eval", "1", "--input", &format!("@{there}")],
    ] {
        let done = place.run(&words);
        assert_ne!(done.code(), 0, "{words:?}");
        let said = done.out() + &done.err();
        assert!(!said.contains("os error"), "{words:?}: {said}");
        assert!(!said.trim().is_empty(), "{words:?}");
    }
}

#[test]
fn a_run_is_named_by_latest_or_the_start_of_its_id() {
    let place = Tramline::new();
    let (first, second) = (
        place.run(&[&COUNT[..], &["--json"]].concat()),
        place.run(&[&COUNT[..], &["--json"]].concat()),
    );
    let (first, second) = (first.text("run_id"), second.text("run_id"));
    let common = first
        .chars()
        .zip(second.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let start = &first[..common + 1];
    for (name, id) in [
        ("latest", second.as_str()),
        (start, &first),
        (start.trim_start_matches("run_"), &first),
        (&format!("{start}…"), &first),
        (&second, &second),
    ] {
        assert_eq!(
            place.run(&["runs", "show", name, "--json"]).text("run_id"),
            id,
            "{name}"
        );
        assert_eq!(place.run(&["trace", name]).text("run_id"), id, "{name}");
    }
    for words in [
        vec!["replay", "latest", "--json"],
        vec!["eval", "list.path", "--run", "latest"],
        vec!["runs", "compare", "latest", start],
        vec!["runs", "export", "latest"],
        vec!["audit", "--run", "latest"],
        vec!["runs", "fork", "latest", "--at", "2", "--json"],
        vec!["runs", "rm", start],
    ] {
        let done = place.run(&words);
        assert_eq!(done.code(), 0, "{words:?}: {}", done.err());
    }
    assert_eq!(
        place.run(&["runs", "show", &first]).code(),
        2,
        "it was removed"
    );
    let several = place.run(&["runs", "show", &first[..7]]);
    assert_eq!(several.code(), 2);
    assert!(
        several.err().contains("several runs start with run_"),
        "{}",
        several.err()
    );
    assert!(several.err().contains(&second), "{}", several.err());
    let none = place.run(&["runs", "show", "run_nothere"]);
    assert!(
        none.err().contains("there is no run run_nothere"),
        "{}",
        none.err()
    );
    let empty = Tramline::new();
    assert!(
        empty
            .run(&["runs", "show", "latest"])
            .err()
            .contains("no runs yet")
    );
}

#[test]
fn a_question_is_answered_by_the_start_of_its_checkpoint_or_its_run() {
    let place = Tramline::new();
    let root = place.data.path().to_str().unwrap().to_owned();
    let ask = |name: &str| {
        let path = format!("path={root}/{name}");
        let asked = place.run(&[
            "run",
            "examples/graphs/approval.yaml",
            "write_note",
            &path,
            "text=x",
            "--root",
            &root,
            "--json",
        ]);
        json_of(&asked)["waiting"][0]["checkpoint_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    ask("one");
    assert_eq!(
        place.run(&["runs", "approve", "latest", "--quiet"]).code(),
        0
    );
    assert!(
        Path::new(&format!("{root}/one")).exists(),
        "approve continues the run"
    );
    let point = ask("two");
    let (run, seq) = point.rsplit_once('_').unwrap();
    let short = format!("{}_{seq}", &run[..run.len() - 2]);
    let done = place.run(&["runs", "approve", &short, "--quiet"]);
    assert_eq!(done.code(), 0, "{}", done.err());
    ask("three");
    assert_eq!(place.run(&["runs", "answer", "latest", "--no"]).code(), 0);
    assert!(!Path::new(&format!("{root}/three")).exists());
}

#[test]
fn tables_have_headers_and_fit_the_terminal() {
    let place = Tramline::new();
    assert_eq!(place.run(&COUNT).code(), 0);
    let saved = place.run(&[
        "library",
        "save",
        FILES,
        "--tool",
        "count_files",
        "--name",
        "a-workflow-with-a-rather-long-name-for-a-table",
    ]);
    assert_eq!(saved.code(), 0, "{}", saved.err());
    assert_eq!(
        place
            .run(&[
                "settings",
                "set",
                "KEY",
                "plain words that are long enough to be cut",
                "--plain"
            ])
            .code(),
        0
    );
    for (words, header) in [
        (vec!["runs"], "RUN"),
        (vec!["runs", "list"], "RUN"),
        (vec!["library", "list"], "NAME"),
        (
            vec![
                "library",
                "versions",
                "a-workflow-with-a-rather-long-name-for-a-table",
            ],
            "VERSION",
        ),
        (vec!["registry", "list"], "TOOL"),
        (vec!["registry", "search", "read", "a", "file"], "SURE"),
        (vec!["settings", "list"], "KEY"),
        (vec!["audit", "--table"], "TIME"),
    ] {
        for columns in WIDTHS {
            let lines = plain_lines(&on_terminal(&place, &words, columns, ""));
            assert!(
                lines[0].trim_start().starts_with(header),
                "{words:?}: {lines:?}"
            );
            for line in &lines {
                assert!(
                    line.chars().count() <= columns,
                    "{words:?} at {columns}: {line}"
                );
            }
        }
        let piped = place.run(&words).out();
        assert!(!piped.contains('…'), "nothing is cut in a pipe: {piped}");
    }
    let wide = on_terminal(&place, &["registry", "list"], 200, "");
    let narrow = on_terminal(&place, &["registry", "list"], 80, "");
    assert!(narrow.contains('…') && wide.len() > narrow.len());
    let runs = plain_lines(&on_terminal(&place, &["runs"], 80, ""));
    assert!(
        runs[1].contains("just now") || runs[1].contains(" s ago"),
        "{runs:?}"
    );
}

#[test]
fn empty_lists_say_so_and_lists_have_one_shape() {
    let place = Tramline::new();
    for (words, key) in [
        (vec!["runs"], "runs"),
        (vec!["library", "list"], "workflows"),
        (vec!["settings", "list"], "settings"),
        (vec!["learn", "show"], "lessons"),
    ] {
        let text = place.run(&words);
        assert_eq!(text.code(), 0, "{words:?}");
        assert!(
            !text.err().trim().is_empty() && text.out().is_empty(),
            "{words:?}: {} {}",
            text.out(),
            text.err()
        );
        let list = json_of(&place.run(&[&words[..], &["--json"]].concat()));
        assert_eq!(
            (&list[key], &list["count"]),
            (&json!([]), &json!(0)),
            "{words:?}: {list}"
        );
    }
    assert!(!place.run(&["audit"]).err().trim().is_empty());
    for (words, key) in [
        (vec!["check", FILES, "--offline"], "flaws"),
        (vec!["registry", "list"], "nodes"),
        (vec!["registry", "search", "file"], "nodes"),
        (vec!["explain"], "codes"),
        (vec!["schema"], "schemas"),
        (vec!["init", "--list"], "templates"),
        (vec!["mcp", "list"], "clients"),
    ] {
        let list = json_of(&place.run(&[&words[..], &["--json"]].concat()));
        let count = list[key]
            .as_array()
            .unwrap_or_else(|| panic!("{words:?}: {list}"))
            .len();
        assert_eq!(list["count"], count, "{words:?}: {list}");
    }
}

#[test]
fn a_person_at_the_terminal_views_and_decides() {
    let place = Tramline::new();
    let root = place.data.path().to_str().unwrap();
    let path = place.data.path().join("note.txt");
    let words = [
        "run",
        "examples/graphs/approval.yaml",
        "write_note",
        &format!("path={}", path.display()),
        "text=hello",
        "--root",
        root,
    ];
    let later = on_terminal(&place, &words, 80, "l\n");
    assert!(!path.exists() && later.contains("[v]iew"), "{later}");
    let viewed = in_conversation(&place, &words, "[l]ater: ", &["v\n", "y\n"]);
    assert!(path.exists(), "{viewed}");
    assert!(viewed.matches("hello").count() >= 2, "{viewed}");
    assert!(viewed.contains("completed"), "{viewed}");
}
