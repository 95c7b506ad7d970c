//! Debugging from the command line: the prompt, halts, time travel, forks, replays, comparisons.

use crate::support::{CommandResult, Tramline};
use std::io::Write;
use std::process::Stdio;
use tramline::expr::Value;

mod finished_runs;

const FILES: &str = "examples/graphs/file_utils.yaml";
const LOOP: &str = "examples/graphs/loop.yaml";
const APPROVAL: &str = "examples/graphs/approval.yaml";
const COUNT: [&str; 3] = [FILES, "count_files", "directory=examples/data"];

/// Loops, with pauses in between.
const ENDLESS: &str = "version: '1.0'
server: {name: s, version: '1'}
tools:
  - name: endless
    description: d
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: rest}
      - {id: rest, type: wait, for: 20ms, next: again}
      - {id: again, type: switch, conditions: [{rule: {'==': [1, 1]}, next: rest}], next: exit}
      - {id: exit, type: exit}
";

/// Runs a command with these lines piped in.
fn piped(tramline: &Tramline, words: &[&str], lines: &str) -> CommandResult {
    let mut command = tramline.command(words);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command may end before it has read all of them.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    CommandResult(child.wait_with_output().unwrap())
}

fn debug(tramline: &Tramline, more: &[&str], lines: &str) -> CommandResult {
    let words: Vec<_> = ["debug"]
        .iter()
        .chain(&COUNT)
        .chain(more)
        .copied()
        .collect();
    piped(tramline, &words, lines)
}

/// The newest run.
fn newest(tramline: &Tramline) -> String {
    let listed = tramline.run(&["runs", "--json"]).json();
    let row = listed.get("runs").unwrap().at(0).unwrap().clone();
    row.get("run_id").unwrap().as_str().unwrap().to_owned()
}

/// The printed JSON lines.
fn lines(done: &CommandResult) -> Vec<Value> {
    let out = done.out();
    out.lines()
        .map(|line| Value::from_json(line).unwrap())
        .collect()
}

fn halted_at(told: &Value) -> &str {
    let first = told.get("waiting").unwrap().at(0).unwrap();
    first.get("node").unwrap().as_str().unwrap()
}

#[test]
fn without_commands_it_halts_and_says_how_to_go_on() {
    let tramline = Tramline::new();
    let done = debug(&tramline, &[], "");
    assert_eq!(done.code(), 4, "{}", done.err());
    let run = newest(&tramline);
    for says in [
        "paused before entry (step)".to_owned(),
        format!("tramline debug --run {run}"),
        format!("tramline runs step {run}"),
        format!("tramline runs continue {run}"),
    ] {
        assert!(done.err().contains(&says), "{}", done.err());
    }
    let json = debug(&tramline, &["--break", "count", "--json"], "");
    let told = lines(&json);
    assert_eq!((json.code(), halted_at(&told[0])), (4, "count"));
    assert_eq!(told[1].get("status"), Some(&"paused".into()));
}

#[test]
fn a_piped_prompt_steps_prints_and_gives_outputs() {
    let tramline = Tramline::new();
    let script = "where\nstep\ns\nstate\np $count(list.entries)\nprint $previousNode().path\n\
        break exit if count.count = 7\nbreaks\nset {\"count\": 7}\ntrace\ncontinue\n";
    let done = debug(&tramline, &[], script);
    assert_eq!(done.code(), 0, "{}", done.err());
    for says in [
        "paused before entry (step)",
        "entry  {\"directory\":\"examples/data\"}",
        "\n3\n",
        "\"examples/data\"",
        "exit if count.count = 7",
        "every step",
        "asked   break at count: skip by",
        "\"count\": 7",
    ] {
        assert!(done.out().contains(says), "{says}: {}", done.out());
    }
    assert!(
        done.err().contains("paused before exit (breakpoint)"),
        "{}",
        done.err()
    );
}

#[test]
fn conditions_are_jsonata_or_rules_and_breakpoints_come_and_go() {
    let tramline = Tramline::new();
    let third = "add:$executionCount('add') = 2";
    let script = "p add.turn\ndelete add\nc\n";
    let words = ["debug", LOOP, "n=4", "--break", third];
    let done = piped(&tramline, &words, script);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert!(
        done.out().starts_with("2\nno breakpoints\n"),
        "{}",
        done.out()
    );
    let rule = r#"add:{"==": [{"var": "add.turn"}, 3]}"#;
    let words = ["debug", LOOP, "n=4", "--break", rule, "--json"];
    let done = piped(&tramline, &words, "p $nodeExecutions('more')\n");
    let told = lines(&done);
    assert_eq!(halted_at(&told[0]), "add");
    // The graph itself never uses the output of this node again.
    assert_eq!(
        told[1].get("value").unwrap().to_json(),
        r#"["add","add","add","add"]"#
    );
    for bad in ["--break=ad", "--break=add:1 +"] {
        let done = piped(&tramline, &["debug", LOOP, "n=4", bad], "");
        assert_eq!(done.code(), 2, "{}", done.err());
    }
}

#[test]
fn a_script_ends_where_it_cannot_be_followed() {
    let tramline = Tramline::new();
    for (line, says) in [
        ("stpe", "did you mean `step`?"),
        ("delete list", "no breakpoint at `list`"),
        ("break nowhere", "no node `nowhere`"),
        ("yes", "no open question accepts this answer"),
    ] {
        let done = debug(&tramline, &[], &format!("{line}\ncontinue\n"));
        assert_eq!(done.code(), 2, "{line}: {}", done.err());
        let back = format!("tramline debug --run {}", newest(&tramline));
        assert!(
            done.err().contains(says) && done.err().contains(&back),
            "{}",
            done.err()
        );
    }
}

#[test]
fn a_run_is_left_taken_up_again_and_stopped() {
    let tramline = Tramline::new();
    let left = debug(&tramline, &["--break", "count"], "detach\n");
    assert_eq!(left.code(), 4, "{}", left.err());
    let run = newest(&tramline);
    let again = piped(
        &tramline,
        &["debug", "--run", &run, "--break", "exit"],
        "breaks\nc\nstop\n",
    );
    assert_eq!(again.code(), 1, "{}", again.err());
    assert_eq!(again.out(), "count\nexit\n");
    assert!(
        again.err().contains("paused before exit"),
        "{}",
        again.err()
    );
    let shown = tramline.run(&["runs", "show", &run, "--json"]);
    assert_eq!(shown.text("status"), "aborted");
    let over = piped(&tramline, &["debug", "--run", &run], "");
    assert_eq!(over.code(), 2);
    assert!(over.err().contains("has ended (aborted)"), "{}", over.err());
}

#[test]
fn approvals_are_answered_at_the_prompt() {
    let tramline = Tramline::new();
    let root = tramline.data.path().to_str().unwrap().to_owned();
    let path = format!("path={root}/note.txt");
    let words = [
        "debug", APPROVAL, &path, "text=hi", "--root", &root, "--break", "exit",
    ];
    let done = piped(&tramline, &words, "where\nyes\np write.bytes\ncontinue\n");
    assert_eq!(done.code(), 0, "{} {}", done.out(), done.err());
    assert!(
        done.out().contains("write waits for approval"),
        "{}",
        done.out()
    );
    let unanswered = piped(&tramline, &words, "continue\n");
    assert_eq!(unanswered.code(), 2, "{}", unanswered.err());
    assert!(
        unanswered.err().contains("use yes, no"),
        "{}",
        unanswered.err()
    );
    let refused = piped(&tramline, &words, "no\n");
    assert_eq!(refused.code(), 3, "{}", refused.err());
}

#[test]
fn a_paused_run_is_watched_stepped_and_continued_from_anywhere() {
    let tramline = Tramline::new();
    debug(&tramline, &["--break", "list"], "");
    let run = newest(&tramline);
    let set = tramline.run(&[
        "runs",
        "watch",
        &run,
        "--break",
        "exit:count.count > 1",
        "--json",
    ]);
    let watch = set.json().get("watch").unwrap().clone();
    assert_eq!(
        watch.get("breaks").unwrap().at(0).unwrap().get("node"),
        Some(&"exit".into())
    );
    assert_eq!(
        tramline
            .run(&["runs", "watch", &run, "--break", "exti"])
            .code(),
        2
    );
    let stepped = tramline.run(&["runs", "step", &run, "--json"]);
    assert_eq!((stepped.code(), halted_at(&stepped.json())), (4, "count"));
    let halted = tramline.run(&["runs", "continue", &run, "--json"]);
    assert_eq!((halted.code(), halted_at(&halted.json())), (4, "exit"));
    let cleared = tramline.run(&["runs", "watch", &run, "--clear"]);
    assert_eq!(cleared.out().trim(), "no breakpoints");
    let done = tramline.run(&["runs", "continue", &run, "--json"]);
    assert_eq!(
        (done.code(), done.text("status").as_str()),
        (0, "completed")
    );
    for verb in ["step", "continue", "pause"] {
        let over = tramline.run(&["runs", verb, &run]);
        assert_eq!(over.code(), 2);
        assert!(over.err().contains("runs fork"), "{}", over.err());
    }
}

#[test]
fn a_run_that_another_process_drives_is_halted_and_freed_from_here() {
    let tramline = Tramline::new();
    let path = tramline.data.path().join("endless.yaml");
    std::fs::write(&path, ENDLESS).unwrap();
    let words = ["run", path.to_str().unwrap(), "--json"];
    let mut driver = tramline.command(&words);
    let child = driver
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let run = loop {
        let listed = tramline.run(&["runs", "--json"]).json();
        if let Some(row) = listed.get("runs").unwrap().at(0) {
            break row.get("run_id").unwrap().as_str().unwrap().to_owned();
        }
    };
    // Another process drives it: its events are followed, and it halts there.
    let done = piped(
        &tramline,
        &["debug", "--run", &run],
        "step\np $exists(entry)\ndetach\n",
    );
    assert_eq!(done.code(), 4, "{} {}", done.out(), done.err());
    assert_eq!(done.out(), "true\n", "{}", done.err());
    let paused = CommandResult(child.wait_with_output().unwrap());
    assert_eq!(paused.text("status"), "paused", "{}", paused.err());
    assert_eq!(tramline.run(&["runs", "abort", &run]).code(), 0);
}
