//! The JSON Schemas for editors are up to date on disk and agree with the reader.

use crate::{dialects, shared};
use std::path::{Path, PathBuf};
use tramline_formats::{json_dag, pflow_ir, yaml_graph};
use tramline_syntax::document;
use tramline_workflow::schema::Checker;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn checker() -> Checker {
    Checker::new(&yaml_graph::json_schema()).unwrap()
}

fn check(checker: &Checker, name: &str, text: &[u8]) {
    let tree = document::read(text).unwrap();
    let verdict = checker.check(tree.root().value);
    assert_eq!(verdict, Ok(()), "{name}");
}

#[test]
fn the_schema_on_disk_is_fresh() {
    for (file, schema) in [
        ("yaml-graph", yaml_graph::json_schema()),
        ("json-dag", json_dag::json_schema()),
        ("pflow-ir", pflow_ir::json_schema()),
    ] {
        let path = workspace().join(format!("schemas/{file}.schema.json"));
        let fresh = schema.to_json_pretty() + "\n";
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == fresh,
            "{} is stale: run `cargo xtask schemas`",
            path.display()
        );
    }
}

#[test]
fn good_documents_fit_the_schema() {
    let checker = checker();
    let examples = std::fs::read_dir(workspace().join("examples/graphs"));
    let ours = examples
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let ours = ours.filter(|path| path.extension().is_some_and(|end| end == "yaml"));
    for path in ours.chain(shared::documents()) {
        let name = path.display().to_string();
        let text = std::fs::read(&path).unwrap();
        check(&checker, &name, &text);
        if let Err(flaws) = yaml_graph::read(&text) {
            panic!("{name}: {flaws:#?}");
        }
    }
    for (what, text) in dialects::variants() {
        // The schema requires a type, although the reader accepts legacy files without one.
        if what != "ends without a type" {
            check(&checker, what, text.as_bytes());
        }
    }
}

#[test]
fn examples_in_json_fit_their_schemas() {
    for (folder, schema) in [
        ("dags", json_dag::json_schema()),
        ("ir", pflow_ir::json_schema()),
    ] {
        let checker = Checker::new(&schema).unwrap();
        let entries = std::fs::read_dir(workspace().join("examples").join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        for path in paths {
            let text = std::fs::read(&path).unwrap();
            check(&checker, &path.display().to_string(), &text);
        }
        let slip = document::read(br#"{"tasks": [{"id": 5}], "nodes": [{"id": "a"}]}"#).unwrap();
        assert!(checker.check(slip.root().value).is_err());
    }
}

#[test]
fn the_schema_finds_slips_while_one_writes() {
    let checker = checker();
    let today = dialects::TODAY;
    let slips = [
        ("type: entry, next: list", "type: entry"),
        ("type: mcp", "type: mpc"),
        ("server: files", "sever: files"),
        ("transform: {expr:", "transform: {exp:"),
        ("name: sort", "name: sort it"),
        ("description: Sorts", "description: 5"),
        ("inputSchema: {type: object}", "inputSchema: {type: string}"),
        ("next: many}", "nxt: many}"),
    ];
    for (from, to) in slips {
        assert!(today.contains(from), "{from}");
        let text = today.replacen(from, to, 1);
        let tree = document::read(text.as_bytes()).unwrap();
        assert!(checker.check(tree.root().value).is_err(), "{to}");
    }
}
