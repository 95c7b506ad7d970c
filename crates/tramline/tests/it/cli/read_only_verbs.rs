//! The verbs that run no graph: `check`, `explain`, `completions`, `doctor` and `eval`.

use super::{APPROVAL, ERRORS, FILES};
use crate::support::{Tramline, root};
use std::io::Read;
use std::process::Stdio;

#[test]
fn every_broken_document_is_shown_at_its_place() {
    let tramline = Tramline::new();
    let folder = root().join("crates/tramline-formats/tests/broken");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        count += 1;
        let path = path.to_str().unwrap();
        let done = tramline.run(&["check", path, "--json"]);
        let flaws = done.json().get("flaws").unwrap().clone();
        let errors = flaws
            .as_array()
            .unwrap()
            .iter()
            .filter(|flaw| flaw.get("severity") == Some(&"error".into()));
        let expected = if errors.count() > 0 { 2 } else { 0 };
        assert_eq!(done.code(), expected, "{path}: {flaws}");
        for flaw in flaws.as_array().unwrap() {
            assert!(
                flaw.get("line").unwrap().as_u64() > Some(0),
                "{path}: {flaw}"
            );
            assert!(
                flaw.get("column").unwrap().as_u64() > Some(0),
                "{path}: {flaw}"
            );
            assert!(!flaw.get("message").unwrap().as_str().unwrap().is_empty());
        }
        // The frames for people are rendered without a panic too.
        let framed = tramline.run(&["check", path]);
        assert_eq!(framed.code(), expected, "{path}: {}", framed.err());
    }
    assert!(count >= 40, "only {count} documents");
}

#[test]
fn sound_documents_pass_the_check() {
    let tramline = Tramline::new();
    let done = tramline.run(&["check", FILES, ERRORS, APPROVAL]);
    assert_eq!((done.code(), done.err().trim()), (0, "3 documents valid"));
}

#[test]
fn codes_are_explained_and_shells_completed() {
    let tramline = Tramline::new();
    assert!(tramline.run(&["explain", "t0008"]).out().contains("T0008"));
    assert!(tramline.run(&["explain"]).out().lines().count() >= 30);
    assert!(
        tramline
            .run(&["completions", "bash"])
            .out()
            .contains("_tramline")
    );
    let doctor = tramline.run(&["doctor", FILES, "--json"]);
    assert_eq!(
        doctor.json().get("ok"),
        Some(&true.into()),
        "{}",
        doctor.out()
    );
}

#[test]
fn a_reader_that_goes_is_no_error() {
    let tramline = Tramline::new();
    let mut command = tramline.command(&["explain"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn expressions_and_rules_are_evaluated() {
    let tramline = Tramline::new();
    let input = r#"{"items":[{"p":2,"q":3},{"p":5,"q":1}]}"#;
    let sum = tramline.run(&["eval", "$sum(items.(p * q))", "--input", input]);
    assert_eq!((sum.code(), sum.out().trim()), (0, "11"));
    let told = tramline.run(&["eval", "items[0].p + 1", "--input", input, "--explain"]);
    assert!(told.out().contains("items[0].p  =>  2"), "{}", told.out());
    let rule = r#"{">": [{"var": "items.0.p"}, 1]}"#;
    let held = tramline.run(&["eval", rule, "--logic", "--input", input, "--json"]);
    assert_eq!(
        held.json().get("value"),
        Some(&true.into()),
        "{}",
        held.out()
    );
    let nothing = tramline.run(&["eval", "nowhere", "--input", "{}", "--json"]);
    assert_eq!(nothing.json().get("defined"), Some(&false.into()));
    let flawed = tramline.run(&["eval", "1 + * (", "--json"]);
    assert_eq!(flawed.code(), 2, "{}", flawed.out());
    assert!(
        flawed
            .json()
            .get("error")
            .unwrap()
            .get("position")
            .is_some()
    );
    let framed = tramline.run(&["eval", "1 + nothing('x')"]);
    assert_eq!(framed.code(), 1, "{}", framed.err());
    assert!(framed.err().contains("^"), "{}", framed.err());
    let endless = tramline.run(&[
        "eval",
        "($f := function($x) { $f($x) + 1 }; $f(1))",
        "--json",
    ]);
    assert_eq!(endless.code(), 1, "{}", endless.out());
    assert_eq!(tramline.run(&["eval", "{", "--logic"]).code(), 2);
}
