//! The verbs that run graphs and show runs: their output and exit codes.

mod read_only_verbs;

use crate::support::Tramline;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use tramline::expr::Value;

const FILES: &str = "examples/graphs/file_utils.yaml";
const ERRORS: &str = "examples/graphs/errors.yaml";
const APPROVAL: &str = "examples/graphs/approval.yaml";

#[test]
fn a_result_goes_to_stdout_and_the_steps_beside_it() {
    let tramline = Tramline::new();
    let done = tramline.run(&["run", FILES, "count_files", "directory=examples/data"]);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert_eq!(done.json(), Value::object([("count", 2.into())]));
    for line in ["✓ entry", "builtin:list-directory", "completed in"] {
        assert!(done.err().contains(line), "{}", done.err());
    }
    assert!(
        !done.err().contains('\u{1b}'),
        "no colours when piped: {}",
        done.err()
    );
    let quiet = tramline.run(&[
        "run",
        FILES,
        "count_files",
        "directory=examples/data",
        "--quiet",
    ]);
    assert_eq!((quiet.code(), quiet.err().as_str()), (0, ""));
}

#[test]
fn scripts_read_json() {
    let tramline = Tramline::new();
    let done = tramline.run(&[
        "run",
        FILES,
        "count_files",
        "directory=examples/data",
        "--json",
    ]);
    assert_eq!(done.text("status"), "completed");
    assert_eq!(
        done.json().get("result"),
        Some(&Value::object([("count", 2.into())]))
    );
    assert!(done.text("run_id").starts_with("run_"));
    let failed = tramline.run(&["run", FILES, "count_files", "directory=nowhere", "--json"]);
    assert_eq!(
        (failed.code(), failed.text("status").as_str()),
        (1, "failed")
    );
    let error = failed.json().get("error").unwrap().clone();
    assert_eq!(error.get("node"), Some(&"list".into()), "{error}");
    assert_eq!(error.get("code"), Some(&"T0501".into()), "{error}");
}

#[test]
fn inputs_come_as_words_json_a_file_or_stdin() {
    let tramline = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in.json");
    std::fs::write(&file, r#"{"numbers": [1, 2, 3]}"#).unwrap();
    let at = format!("@{}", file.display());
    let graph = "examples/graphs/parallel.yaml";
    for words in [
        vec!["run", graph, "summarize", "numbers=[1,2,3]", "--json"],
        vec![
            "run",
            graph,
            "summarize",
            "--input",
            r#"{"numbers":[1,2,3]}"#,
            "--json",
        ],
        vec!["run", graph, "summarize", "--input", &at, "--json"],
    ] {
        let done = tramline.run(&words);
        assert_eq!(done.code(), 0, "{words:?} {}", done.out());
        assert_eq!(
            done.json().get("result").unwrap().get("sum"),
            Some(&6.into())
        );
    }
    let mut command = tramline.command(&["run", graph, "summarize", "--input", "-", "--json"]);
    let piped = std::fs::File::open(&file).unwrap();
    let done = command.stdin(Stdio::from(piped)).output().unwrap();
    assert!(done.status.success());
}

#[test]
fn bad_input_ends_with_two_and_says_what_to_do() {
    let tramline = Tramline::new();
    for (words, says) in [
        (vec!["run", "nowhere.yaml"], "cannot read nowhere.yaml"),
        (vec!["run", "examples"], "is a directory"),
        (vec!["run", FILES], "name one of count_files, sum_sizes"),
        (
            vec!["run", FILES, "count_flies"],
            "did you mean `count_files`?",
        ),
        (vec!["run", FILES, "count_files"], "directory"),
        (
            vec!["run", FILES, "count_files", "--input", "{"],
            "not JSON",
        ),
        (
            vec![
                "run",
                FILES,
                "count_files",
                "directory=x",
                "--root",
                "/nowhere",
            ],
            "--root",
        ),
        (
            vec!["runs", "show", "run_nothere"],
            "there is no run run_nothere",
        ),
        (vec!["runs", "show", "../x"], "is not a run id"),
        (vec!["runs", "rm"], "name runs"),
        (vec!["explain", "T9999"], "unknown code T9999"),
        (
            vec!["serve", FILES, "--http", "0.0.0.0:0"],
            "TRAMLINE_TOKEN",
        ),
        (vec!["serve", FILES, FILES], "two graphs are named"),
    ] {
        let done = tramline.run(&words);
        assert_eq!(done.code(), 2, "{words:?} {}", done.err());
        assert!(done.err().contains(says), "{words:?}: {}", done.err());
    }
}

#[test]
fn an_approval_pauses_and_an_answer_goes_on() {
    let tramline = Tramline::new();
    let path = tramline.data.path().join("note.txt");
    let root = tramline.data.path().to_str().unwrap();
    let words = [
        &format!("path={}", path.display()),
        "text=hello",
        "--root",
        root,
        "--json",
    ];
    let mut all = vec!["run", APPROVAL, "write_note"];
    all.extend(words);
    let paused = tramline.run(&all);
    assert_eq!(
        (paused.code(), paused.text("status").as_str()),
        (4, "paused")
    );
    let waiting = paused.json().get("waiting").unwrap().at(0).unwrap().clone();
    let checkpoint = waiting
        .get("checkpoint_id")
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!path.exists());
    let answered = tramline.run(&["runs", "answer", &checkpoint, "--yes", "--why", "fine"]);
    assert_eq!(answered.code(), 0, "{}", answered.err());
    let twice = tramline.run(&["runs", "answer", &checkpoint, "--no"]);
    assert_eq!(twice.code(), 2, "{}", twice.err());
    let run = paused.text("run_id");
    let done = tramline.run(&["runs", "resume", &run, "--json"]);
    assert_eq!(done.code(), 0, "{} {}", done.out(), done.err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\n");
    // The same with a rejection.
    let refused = tramline.run(&all);
    let waiting = refused
        .json()
        .get("waiting")
        .unwrap()
        .at(0)
        .unwrap()
        .clone();
    let checkpoint = waiting
        .get("checkpoint_id")
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned();
    tramline.run(&["runs", "answer", &checkpoint, "--no"]);
    let done = tramline.run(&["runs", "resume", &refused.text("run_id"), "--json"]);
    assert_eq!((done.code(), done.text("status").as_str()), (3, "rejected"));
}

#[test]
fn runs_are_listed_read_and_forgotten() {
    let tramline = Tramline::new();
    assert_eq!(
        tramline.run(&["runs", "--json"]).json().get("runs"),
        Some(&Value::array([]))
    );
    let first = tramline.run(&[
        "run",
        FILES,
        "count_files",
        "directory=examples/data",
        "--json",
    ]);
    let second = tramline.run(&["run", ERRORS, "read_lines", "path=nowhere", "--json"]);
    let runs = tramline
        .run(&["runs", "--json"])
        .json()
        .get("runs")
        .unwrap()
        .clone();
    let ids: Vec<_> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run.get("run_id").unwrap().as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        ids,
        [second.text("run_id"), first.text("run_id")],
        "newest first"
    );
    let failed = tramline.run(&["runs", "--json", "--status", "failed"]);
    assert_eq!(
        failed.json().get("runs").unwrap().as_array().unwrap().len(),
        1
    );
    let shown = tramline
        .run(&["runs", "show", &first.text("run_id"), "--json"])
        .json();
    let steps = shown.get("steps").unwrap().as_array().unwrap().to_vec();
    assert_eq!(steps.len(), 4);
    assert_eq!(
        steps[1].get("input").unwrap().to_json(),
        r#"{"path":"examples/data"}"#
    );
    assert!(steps[2].get("expression").is_some() && steps[2].get("output").is_some());
    let text = tramline.run(&["runs", "show", &second.text("run_id")]);
    assert!(
        text.out().contains("[T0501]") && text.out().contains(r#""node":"read""#),
        "{}",
        text.out()
    );
    assert_eq!(
        tramline
            .run(&["runs", "abort", &first.text("run_id")])
            .code(),
        2,
        "it is over"
    );
    let gone = tramline.run(&["runs", "rm", &first.text("run_id"), "--json"]);
    assert_eq!(gone.json().get("removed"), Some(&1.into()));
    assert_eq!(
        tramline
            .run(&["runs", "show", &first.text("run_id")])
            .code(),
        2
    );
}

#[test]
fn an_interrupted_run_can_be_resumed() {
    let tramline = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.yaml");
    let loops = "version: '1.0'\nserver: {name: s, version: '1'}\nexecutionLimits: {maxNodeExecutions: 100000000, maxExecutionTimeMs: 600000}\n\
        tools:\n  - name: slow\n    description: d\n    inputSchema: {type: object}\n    nodes:\n      - {id: entry, type: entry, next: a}\n\
        \x20     - {id: a, type: transform, transform: {expr: '1'}, next: s}\n\
        \x20     - {id: s, type: switch, conditions: [{rule: {'==': [{var: a}, 1]}, next: a}], next: exit}\n      - {id: exit, type: exit}\n";
    std::fs::write(&file, loops).unwrap();
    let mut command = tramline.command(&["run", file.to_str().unwrap()]);
    let mut child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    let run = first.split_whitespace().nth(1).unwrap().to_owned();
    std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(
        rest.contains(&format!("tramline runs resume {run}")),
        "{rest}"
    );
    let listed = tramline.run(&["runs", "--json"]).json();
    let row = listed.get("runs").unwrap().at(0).unwrap().clone();
    assert_eq!(row.get("status"), Some(&"running".into()), "{row}");
    assert_eq!(row.get("driven"), Some(&false.into()), "{row}");
    assert_eq!(tramline.run(&["runs", "abort", &run]).code(), 0);
}
