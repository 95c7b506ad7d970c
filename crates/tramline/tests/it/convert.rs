//! Every format through the command line: read, drawn, converted, run.

use crate::support::Tramline;
use tramline::expr::Value;

const READING: &str = "examples/dags/reading.json";
const CHOICE: &str = "examples/ir/choice.json";

#[test]
fn every_format_is_checked_and_run() {
    let tramline = Tramline::new();
    let retail = "examples/sop/retail/retail.md";
    let checked = tramline.run(&[
        "check",
        READING,
        CHOICE,
        "examples/graphs/loop.yaml",
        retail,
    ]);
    assert_eq!(checked.code(), 0, "{}", checked.err());
    assert!(checked.err().contains("4 documents valid"));
    let done = tramline.run(&["run", CHOICE, "directory=examples/data", "--json"]);
    assert_eq!(done.text("status"), "completed", "{}", done.err());
    let data = tramline.data.path().join("unknown.json");
    std::fs::write(&data, "{\"a\": 1}").unwrap();
    let unknown = tramline.run(&["check", data.to_str().unwrap()]);
    assert_eq!(unknown.code(), 2);
    let words = "cannot tell which format this document is in";
    assert!(unknown.err().contains(words), "{}", unknown.err());
}

#[test]
fn a_name_comes_from_the_file_where_the_document_has_none() {
    let tramline = Tramline::new();
    let path = tramline.data.path().join("my plan.json");
    let text = r#"{"tasks": [{"id": "a", "tool": "builtin:read-file", "arguments": {"path": "examples/data/prices.csv"}}]}"#;
    std::fs::write(&path, text).unwrap();
    let done = tramline.run(&["run", path.to_str().unwrap(), "my_plan", "--json"]);
    assert_eq!(done.text("status"), "completed", "{}", done.err());
}

#[test]
fn pictures_are_drawn_in_every_form() {
    let tramline = Tramline::new();
    let mermaid = tramline.run(&["graph", CHOICE]);
    assert!(
        mermaid.out().starts_with("flowchart TD\n"),
        "{}",
        mermaid.out()
    );
    assert!(
        mermaid.out().contains("few -->|\"count #60; 3\"| read"),
        "{}",
        mermaid.out()
    );
    let dot = tramline.run(&["graph", READING, "--dot"]);
    assert!(dot.out().contains("\"list\" -> \"plan\";"), "{}", dot.out());
    let path = tramline.data.path().join("x.svg");
    let words = [
        "graph",
        "examples/graphs/parallel.yaml",
        "compare",
        "--svg",
        "--out",
    ];
    let svg = tramline.run(&[&words[..], &[path.to_str().unwrap()]].concat());
    assert_eq!((svg.code(), svg.out().as_str()), (0, ""), "{}", svg.err());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    let json = tramline.run(&["graph", CHOICE, "--dot", "--json"]);
    assert!(json.text("text").starts_with("digraph"));
    let both = tramline.run(&["graph", CHOICE, "--dot", "--svg"]);
    assert_eq!(both.code(), 2);
    let several = tramline.run(&["graph", "examples/graphs/parallel.yaml"]);
    assert_eq!(several.code(), 2);
    assert!(
        several.err().contains("name one of compare, summarize"),
        "{}",
        several.err()
    );
}

#[test]
fn documents_are_converted_without_their_servers() {
    let tramline = Tramline::new();
    let path = tramline.data.path().join("away.json");
    let text = r#"{"tasks": [{"id": "a", "tool": "away:tool"}]}"#;
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(tramline.run(&["check", path]).code(), 2);
    let done = tramline.run(&["convert", path, "--to", "yaml"]);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert!(done.out().contains("server: away"), "{}", done.out());
}

#[test]
fn what_is_lost_is_said_beside_the_text_and_in_json() {
    let tramline = Tramline::new();
    let done = tramline.run(&["convert", "examples/graphs/loop.yaml", "--to", "dag"]);
    assert_eq!(done.code(), 0);
    assert!(done.json().get("tasks").is_some());
    let words = "lost in conversion: the edge back from `add` to `more`";
    assert!(done.err().contains(words), "{}", done.err());
    let json = tramline.run(&[
        "convert",
        "examples/graphs/loop.yaml",
        "--to",
        "ir",
        "--json",
    ]);
    assert_eq!(json.text("from"), "YAML graph");
    let lost = json.json().get("lost").unwrap().clone();
    let wanted = [
        "`minimum` of the input `n`",
        "`maximum` of the input `n`",
        "the output schema",
    ];
    assert_eq!(lost, Value::array(wanted.map(Value::from)));
}

/// Runs a document; returns the outcome without the run's id.
fn outcome(tramline: &Tramline, path: &str, words: &[&str]) -> Value {
    let done = tramline.run(&[&["run", path], words, &["--json"]].concat());
    let json = done.json();
    assert_eq!(
        json.get("status"),
        Some(&"completed".into()),
        "{path}: {json} {}",
        done.err()
    );
    json.get("result").unwrap().clone()
}

#[test]
fn what_is_converted_runs_and_gives_the_same() {
    let tramline = Tramline::new();
    let cases: [(&str, &[&str], &[&str]); 5] = [
        (READING, &[], &["yaml", "dag"]),
        (CHOICE, &["directory=examples/data/drafts"], &["yaml", "ir"]),
        ("examples/ir/fallback.json", &["path=gone"], &["yaml", "ir"]),
        (
            "examples/ir/first_file.json",
            &["directory=examples/data/drafts"],
            &["yaml", "ir"],
        ),
        ("examples/graphs/loop.yaml", &["n=4"], &["yaml", "ir"]),
    ];
    for (path, words, targets) in cases {
        let first = outcome(&tramline, path, words);
        for target in targets {
            let ending = if *target == "yaml" { "yaml" } else { "json" };
            let out = tramline.data.path().join(format!("out.{ending}"));
            let out = out.to_str().unwrap();
            let done = tramline.run(&["convert", path, "--to", target, "--out", out]);
            assert_eq!(done.code(), 0, "{}", done.err());
            assert_eq!(outcome(&tramline, out, words), first, "{path} to {target}");
        }
    }
}
