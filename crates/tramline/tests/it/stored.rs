//! Stored data on the command line: damaged, read-only, from a newer version.

use crate::support::Tramline;
use std::path::Path;
use std::process::Command;
use tramline::expr::Value;

/// A data directory with a few finished runs.
fn filled() -> Tramline {
    let tramline = Tramline::new();
    for _ in 0..3 {
        let done = tramline.run(&[
            "run",
            "examples/graphs/file_utils.yaml",
            "count_files",
            "directory=examples",
        ]);
        assert_eq!(done.code(), 0, "{}", done.err());
    }
    tramline
}

fn runs(tramline: &Tramline) -> Vec<String> {
    let listed = tramline.run(&["runs", "--json"]).json();
    let all = listed
        .get("runs")
        .and_then(Value::as_array)
        .unwrap()
        .to_vec();
    all.iter()
        .map(|run| run.get("run_id").unwrap().as_str().unwrap().to_owned())
        .collect()
}

/// Damages a database through SQL, as a disk would through its sectors.
fn damage(dir: &Path, sql: &str) {
    let script = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nassert c.execute(sys.argv[2]).rowcount\nc.commit()";
    let mut python = Command::new("python3");
    let done = python
        .args(["-c", script])
        .arg(dir.join("tramline.db"))
        .arg(sql)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

fn findings(tramline: &Tramline) -> (i32, Vec<(bool, String, String)>) {
    let done = tramline.run(&["doctor", "--deep", "--json"]);
    let json = done.json();
    let all = json
        .get("findings")
        .and_then(Value::as_array)
        .unwrap()
        .to_vec();
    let text = |one: &Value, key| one.get(key).unwrap().as_str().unwrap().to_owned();
    let each = all.iter().map(|one| {
        (
            one.get("ok") == Some(&true.into()),
            text(one, "what"),
            text(one, "says"),
        )
    });
    (done.code(), each.collect())
}

#[test]
fn doctor_deep_names_what_is_damaged_and_what_to_do() {
    let tramline = filled();
    let (code, found) = findings(&tramline);
    assert_eq!(code, 0, "{found:?}");
    let whole = found
        .iter()
        .find(|(_, what, _)| what == "stored data")
        .unwrap();
    assert!(whole.2.starts_with("3 runs with "), "{found:?}");
    let all = runs(&tramline);
    let of = |run: &str| format!("journal = (SELECT key FROM runs WHERE run = '{run}')");
    damage(
        &tramline.data_dir(),
        &format!(
            "UPDATE chunks SET body = zeroblob(length(body)) WHERE {}",
            of(&all[0])
        ),
    );
    damage(
        &tramline.data_dir(),
        &format!("DELETE FROM chunks WHERE {}", of(&all[1])),
    );
    // Without `--deep` it does not read everything, and says so.
    let plain = tramline.run(&["doctor"]);
    assert_eq!(plain.code(), 0, "{}", plain.out());
    assert!(plain.out().contains("--deep"), "{}", plain.out());
    let (code, found) = findings(&tramline);
    assert_eq!(code, 1, "{found:?}");
    for run in &all[..2] {
        let named = found.iter().find(|(_, what, _)| what == run).unwrap();
        assert!(
            !named.0 && named.2.contains("missing or damaged"),
            "{named:?}"
        );
        assert!(
            named
                .2
                .contains(&format!("tramline runs export {run} --out FILE")),
            "{named:?}"
        );
    }
    assert!(
        !found.iter().any(|(_, what, _)| *what == all[2]),
        "{found:?}"
    );
    let text = tramline.run(&["doctor", "--deep"]);
    assert_eq!(text.code(), 1);
    assert!(
        text.out().contains(&format!("✗ {}: of its ", all[0])),
        "{}",
        text.out()
    );
}

#[test]
fn a_damaged_log_is_told_of_before_it_is_written_over() {
    let tramline = filled();
    let log = tramline.data_dir().join("tramline.db-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    // In the page of the first frame, so that everything comes after it.
    bytes[32 + 24 + 100] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let _ = std::fs::remove_file(tramline.data_dir().join("tramline.db-shm"));
    let done = tramline.run(&["runs"]);
    assert_eq!(done.code(), 0, "{}", done.err());
    for part in ["is damaged", "commits", "doctor --deep", ".damaged-"] {
        assert!(done.err().contains(part), "{part}: {}", done.err());
    }
}

/// A file system that is remounted read-only, unmounted when dropped.
struct ReadOnlyMount(tempfile::TempDir);

impl ReadOnlyMount {
    fn run(&self, words: &[&str]) -> bool {
        let done = Command::new(words[0])
            .args(&words[1..])
            .arg(self.0.path())
            .output();
        done.is_ok_and(|done| done.status.success())
    }
}

impl Drop for ReadOnlyMount {
    fn drop(&mut self) {
        self.run(&["umount", "-l"]);
    }
}

#[test]
fn a_read_only_directory_is_read_and_not_written() {
    let disk = ReadOnlyMount(tempfile::tempdir().unwrap());
    if !disk.run(&["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs"]) {
        assert!(
            std::env::var_os("CI").is_none(),
            "cannot mount a file system"
        );
        return;
    }
    let tramline = filled();
    for entry in std::fs::read_dir(tramline.data_dir())
        .unwrap()
        .map(Result::unwrap)
    {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), disk.0.path().join(entry.file_name())).unwrap();
        }
    }
    assert!(disk.run(&["mount", "-o", "remount,ro"]));
    let there = disk.0.path().to_str().unwrap();
    let run = runs(&tramline).remove(0);
    for words in [
        &["runs", "--json"][..],
        &["runs", "show", &run],
        &["trace", &run],
        &["doctor"],
        &["doctor", "--deep"],
    ] {
        let done = tramline.run(&[words, &["--data-dir", there]].concat());
        assert_eq!(done.code(), 0, "{words:?}: {} {}", done.out(), done.err());
        assert!(
            done.err().contains("is read-only"),
            "{words:?}: {}",
            done.err()
        );
    }
    let written = [
        "run",
        "examples/graphs/file_utils.yaml",
        "count_files",
        "directory=examples",
        "--data-dir",
        there,
    ];
    let done = tramline.run(&written);
    assert_eq!(done.code(), 1, "{}", done.out());
    assert!(
        done.err()
            .contains("is read-only, and this command has to write"),
        "{}",
        done.err()
    );
}

#[test]
fn a_newer_directory_is_refused_and_left_as_it_is() {
    let tramline = filled();
    damage(&tramline.data_dir(), "UPDATE runs SET bytes = bytes");
    let script = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute('PRAGMA user_version = 99')";
    let mut python = Command::new("python3");
    let done = python
        .args(["-c", script])
        .arg(tramline.data_dir().join("tramline.db"))
        .status();
    assert!(done.unwrap().success());
    for words in [
        &["runs"][..],
        &["doctor"],
        &["doctor", "--deep"],
        &["serve"],
    ] {
        let done = tramline.run(words);
        assert_eq!(done.code(), 1, "{words:?}: {} {}", done.out(), done.err());
        let said = format!("{}{}", done.out(), done.err());
        assert!(
            said.contains("made by a newer Tramline"),
            "{words:?}: {said}"
        );
    }
}
