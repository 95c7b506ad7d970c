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
    // The defaults of a DAG for failing and destructive calls are lost.
    assert_eq!(done.code(), 1, "{}", done.err());
    assert!(done.out().contains("server: away"), "{}", done.out());
}

#[test]
fn what_is_lost_is_said_beside_the_text_and_in_json() {
    let tramline = Tramline::new();
    let words = ["convert", "examples/graphs/loop.yaml", "--to", "dag"];
    let done = tramline.run(&words);
    assert_eq!((done.code(), done.out().as_str()), (1, ""));
    let lost = "lost in conversion: the edge back from `add` to `more`";
    assert!(done.err().contains(lost), "{}", done.err());
    assert!(done.err().contains("--lossy"), "{}", done.err());
    let path = tramline.data.path().join("lossy.json");
    let path = path.to_str().unwrap();
    let out = ["--out", path];
    assert_eq!(tramline.run(&[&words[..], &out].concat()).code(), 1);
    assert!(
        !std::path::Path::new(path).exists(),
        "it would do something else"
    );
    let forced = tramline.run(&[&words[..], &["--lossy"]].concat());
    assert_eq!(forced.code(), 1);
    assert!(forced.json().get("tasks").is_some());
    let json = tramline.run(&[
        "convert",
        "examples/graphs/loop.yaml",
        "--to",
        "ir",
        "--json",
    ]);
    assert_eq!((json.code(), json.text("from").as_str()), (1, "YAML graph"));
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
            // What is lost here matters only when a call fails, or is only checked.
            assert!(done.code() <= 1, "{}", done.err());
            let is_complete = !done.err().contains("lost in conversion");
            assert_eq!(done.code() == 0, is_complete, "{}", done.err());
            assert_eq!(outcome(&tramline, out, words), first, "{path} to {target}");
        }
    }
}

#[test]
fn every_written_document_passes_the_check() {
    let tramline = Tramline::new();
    let folder = crate::support::root().join("examples");
    // A document of the examples calls this one by its path.
    let called = folder.join("pflow/sort.pflow.md");
    std::fs::copy(called, tramline.data.path().join("sort.pflow.md")).unwrap();
    for (form, ending) in [
        ("graphs", "yaml"),
        ("dags", "json"),
        ("ir", "json"),
        ("pflow", "md"),
    ] {
        for entry in std::fs::read_dir(folder.join(form)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|found| found != ending) {
                continue;
            }
            for (target, ending) in [
                ("yaml", "yaml"),
                ("dag", "json"),
                ("ir", "json"),
                ("pflow-md", "pflow.md"),
            ] {
                let out = tramline.data.path().join(format!("out.{ending}"));
                let _ = std::fs::remove_file(&out);
                let (path, out) = (path.to_str().unwrap(), out.to_str().unwrap());
                let done = tramline.run(&["convert", path, "--to", target, "--out", out]);
                if !std::path::Path::new(out).exists() {
                    assert_ne!(done.code(), 0, "{path} to {target}");
                    assert!(
                        !done.err().contains("please report this"),
                        "{path} to {target}: {}",
                        done.err()
                    );
                    continue;
                }
                let checked = tramline.run(&["check", "--offline", out]);
                assert_eq!(checked.code(), 0, "{path} to {target}: {}", checked.err());
            }
        }
    }
}

#[test]
fn procedures_and_flowcharts_are_drawn_and_converted_to_their_chart() {
    let tramline = Tramline::new();
    let retail = "examples/sop/retail/retail.md";
    let drawn = tramline.run(&["graph", retail]);
    assert_eq!(drawn.code(), 0, "{}", drawn.err());
    assert!(drawn.out().starts_with("flowchart"), "{}", drawn.out());
    assert!(
        tramline
            .run(&["graph", retail, "--svg"])
            .out()
            .starts_with("<svg ")
    );
    let chart = tramline.data.path().join("chart.mmd");
    std::fs::write(
        &chart,
        "flowchart TD\n  A[Start] --> B{Is it so?}\n  B -->|yes| C([End])\n",
    )
    .unwrap();
    let chart = chart.to_str().unwrap();
    let dot = tramline.run(&["graph", chart, "--dot"]);
    assert!(
        dot.out().contains("\"A\" -> \"B\""),
        "{} {}",
        dot.out(),
        dot.err()
    );
    let mermaid = tramline.run(&["convert", retail, "--to", "mermaid"]);
    assert_eq!(mermaid.code(), 1, "{}", mermaid.err());
    assert!(
        mermaid.out().contains("flowchart") || mermaid.out().contains("graph"),
        "{}",
        mermaid.out()
    );
    let yaml = tramline.run(&["convert", chart, "--to", "yaml"]);
    assert_eq!(yaml.code(), 2);
    assert!(yaml.err().contains("is a procedure"), "{}", yaml.err());
}
