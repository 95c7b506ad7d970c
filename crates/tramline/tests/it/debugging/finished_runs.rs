//! Finished runs: past states, forks, replays, comparisons.

use super::{APPROVAL, COUNT, FILES, halted_at};
use crate::support::{Tramline, root};
use std::path::PathBuf;

/// A run that has ended.
fn counted(tramline: &Tramline) -> String {
    let words: Vec<_> = ["run"]
        .iter()
        .chain(&COUNT)
        .chain(&["--json"])
        .copied()
        .collect();
    tramline.run(&words).text("run_id")
}

/// A changed copy of a document, in the data directory.
fn changed(tramline: &Tramline, file: &str, from: &str, to: &str) -> PathBuf {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    assert!(text.contains(from));
    let path = tramline.data.path().join("changed.yaml");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    path
}

#[test]
fn a_run_is_shown_and_evaluated_as_it_stood() {
    let tramline = Tramline::new();
    let run = counted(&tramline);
    let then = tramline
        .run(&["runs", "show", &run, "--at", "1", "--json"])
        .json();
    let entry = r#"{"entry":{"directory":"examples/data"}}"#;
    assert_eq!(then.get("scope").unwrap().to_json(), entry);
    assert_eq!(then.get("next").unwrap().to_json(), r#"["list"]"#);
    let called = tramline
        .run(&["runs", "show", &run, "--at", "event:3", "--json"])
        .json();
    let open = called.get("open").unwrap().at(0).unwrap().clone();
    assert_eq!(open.get("node"), Some(&"list".into()), "{called}");
    let text = tramline.run(&["runs", "show", &run, "--at", "2"]);
    assert!(text.out().contains("next    count"), "{}", text.out());
    for at in ["99", "event:0", "event:999", "soon"] {
        assert_eq!(
            tramline.run(&["runs", "show", &run, "--at", at]).code(),
            2,
            "{at}"
        );
    }
    let now = tramline.run(&["eval", "count.count + 1", "--run", &run]);
    assert_eq!((now.code(), now.out().trim()), (0, "3"));
    let then = [
        "eval",
        "$exists(count)",
        "--run",
        &run,
        "--at",
        "2",
        "--json",
    ];
    assert_eq!(tramline.run(&then).json().get("value"), Some(&false.into()));
    let rule = r#"{"var": "entry.directory"}"#;
    let held = tramline.run(&["eval", rule, "--logic", "--run", &run]);
    assert_eq!(held.out().trim(), "\"examples/data\"");
}

#[test]
fn a_fork_goes_another_way_and_asks_before_it_repeats_an_effect() {
    let tramline = Tramline::new();
    let root = tramline.data.path().to_str().unwrap().to_owned();
    let path = format!("path={root}/note.txt");
    let plain = changed(
        &tramline,
        APPROVAL,
        "        approval: Replaces the note that is there.\n        args:",
        "        idempotent: false\n        args:",
    );
    let words = [
        "run",
        plain.to_str().unwrap(),
        &path,
        "text=hi",
        "--root",
        &root,
        "--json",
    ];
    let run = tramline.run(&words).text("run_id");
    let fork = ["runs", "fork", &run, "--at", "2", "--output", "\"ho\""];
    let asked = tramline.run(&fork);
    assert_eq!(asked.code(), 4, "{}", asked.err());
    for says in [
        "write  builtin:write-file",
        "each will be asked about",
        "runs answer chk_",
    ] {
        assert!(asked.err().contains(says), "{}", asked.err());
    }
    let note = || std::fs::read_to_string(tramline.data.path().join("note.txt")).unwrap();
    assert_eq!(note(), "hi\n");
    let mut words = fork.to_vec();
    words.extend(["--repeat-effects", "--json"]);
    let repeated = tramline.run(&words);
    assert_eq!(
        (repeated.code(), note().as_str()),
        (0, "ho"),
        "{}",
        repeated.out()
    );
    assert_eq!(repeated.text("forked_from"), run);
    let effect = repeated
        .json()
        .get("effects")
        .unwrap()
        .at(0)
        .unwrap()
        .clone();
    assert_eq!(effect.get("tool"), Some(&"builtin:write-file".into()));
    // It can be stepped through too.
    let halted = tramline.run(&[
        "runs", "fork", &run, "--at", "1", "--break", "compose", "--json",
    ]);
    assert_eq!((halted.code(), halted_at(&halted.json())), (4, "compose"));
    let compared = tramline.run(&["runs", "compare", &run, &repeated.text("run_id"), "--json"]);
    assert_eq!(
        (compared.code(), compared.json().get("same")),
        (1, Some(&false.into()))
    );
}

#[test]
fn another_input_begins_anew_and_the_fork_is_known_as_one() {
    let tramline = Tramline::new();
    let run = counted(&tramline);
    let input = r#"{"directory": "examples"}"#;
    let words = ["runs", "fork", &run, "--input", input, "--json"];
    let anew = tramline.run(&words);
    assert_eq!(anew.code(), 0, "{}", anew.err());
    assert_eq!(anew.text("forked_from"), run);
    let fork = anew.text("run_id");
    let shown = tramline.run(&["runs", "show", &fork, "--json"]).json();
    let from = shown.get("forked_from").unwrap();
    assert_eq!(from.get("run_id"), Some(&run.as_str().into()));
    assert_eq!(from.get("seq"), Some(&1.into()));
    let entry = shown.get("input").unwrap().get("directory");
    assert_eq!(entry, Some(&"examples".into()));
    let text = tramline.run(&["runs", "show", &fork]);
    let says = format!("forked  from {run} after event 1");
    assert!(text.out().contains(&says), "{}", text.out());
    let compared = tramline.run(&["runs", "compare", &run, &fork]);
    let says = "+ was forked from - after event 1";
    assert!(compared.out().contains(says), "{}", compared.out());
    let both = tramline
        .run(&["runs", "compare", &fork, &run, "--json"])
        .json();
    let forked = both.get("forked").unwrap();
    assert_eq!(forked.get("which"), Some(&"first".into()));
    for bad in [
        &["runs", "fork", &run][..],
        &["runs", "fork", &run, "--input", input, "--at", "1"],
        &["runs", "fork", &run, "--input", "{}"],
    ] {
        assert_eq!(tramline.run(bad).code(), 2, "{bad:?}");
    }
}

#[test]
fn a_replay_is_the_same_until_something_changes() {
    let tramline = Tramline::new();
    let run = counted(&tramline);
    let same = tramline.run(&["replay", &run]);
    assert_eq!(same.code(), 0, "{}", same.out());
    assert!(
        same.out().contains("the same: 4 steps equal"),
        "{}",
        same.out()
    );
    assert_eq!(
        tramline.run(&["replay", &run, "--against", FILES]).code(),
        0
    );
    let other = changed(
        &tramline,
        FILES,
        r#"kind = "file""#,
        r#"kind = "directory""#,
    );
    let other = other.to_str().unwrap();
    let differs = tramline.run(&["replay", &run, "--against", other, "count_files"]);
    assert_eq!(differs.code(), 1, "{}", differs.out());
    for says in [
        "= entry, list",
        "≠ count",
        "output /count\n      - 2\n      + 1",
    ] {
        assert!(differs.out().contains(says), "{}", differs.out());
    }
    changed(
        &tramline,
        FILES,
        "path: $.entry.directory",
        "path: elsewhere",
    );
    let unrecorded = tramline.run(&["replay", &run, "--against", other, "--json"]);
    assert_eq!(
        (unrecorded.code(), unrecorded.json().get("same")),
        (1, Some(&false.into()))
    );
    let unused = unrecorded
        .json()
        .get("unused")
        .unwrap()
        .at(0)
        .unwrap()
        .clone();
    assert_eq!(unused.get("tool"), Some(&"builtin:list-directory".into()));
    let text = tramline.run(&["replay", &run, "--against", other]);
    assert!(
        text.out().contains("+ [T0514] the journal has no call"),
        "{}",
        text.out()
    );
    // A replay is not stored.
    let runs = tramline.run(&["runs", "--json"]).json();
    assert_eq!(runs.get("runs").unwrap().as_array().unwrap().len(), 1);
}

#[test]
fn a_replay_starts_no_server() {
    let tramline = Tramline::new();
    let run = counted(&tramline);
    let mark = tramline.data.path().join("started");
    let servers = format!(
        "mcpServers:\n  s: {{command: touch, args: ['{}']}}\ntools:",
        mark.display()
    );
    let other = changed(&tramline, FILES, "tools:", &servers);
    let text = std::fs::read_to_string(&other).unwrap();
    std::fs::write(&other, text.replace("server: builtin", "server: s")).unwrap();
    let done = tramline.run(&["replay", &run, "--against", other.to_str().unwrap()]);
    assert_eq!(done.code(), 1, "{}", done.out());
    assert!(
        done.out().contains("T0514") && !mark.exists(),
        "{}",
        done.out()
    );
}

#[test]
fn runs_are_compared() {
    let tramline = Tramline::new();
    let run = counted(&tramline);
    let drafts = "directory=examples/data/drafts";
    let other = tramline
        .run(&["run", FILES, "count_files", drafts, "--json"])
        .text("run_id");
    let same = tramline.run(&["runs", "compare", &run, &run, "--json"]);
    assert_eq!(
        (same.code(), same.json().get("alike")),
        (0, Some(&4.into()))
    );
    let differ = tramline.run(&["runs", "compare", &run, &other]);
    assert_eq!(differ.code(), 1);
    assert!(
        differ.out().contains("input /directory"),
        "{}",
        differ.out()
    );
    assert_eq!(
        tramline
            .run(&["runs", "compare", &run, "run_nothere"])
            .code(),
        2
    );
}
