//! Workflows in markdown on the command line: run, checked, converted, with documents next to them.

use crate::support::Tramline;
use std::path::Path;
use tramline::Tramline as Library;
use tramline::config::Config;

const COUNT: &str = "examples/pflow/count_up.pflow.md";
const PARENT: &str = "examples/pflow/parent.pflow.md";

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn child(path: &str) -> String {
    format!("# Parent\n\n## Steps\n\n### inner\n\n- type: workflow\n- workflow: {path}\n")
}

#[test]
fn they_are_run_by_the_name_of_their_file() {
    let tramline = Tramline::new();
    let done = tramline.run(&["run", COUNT, "count_up", "target=2", "--json"]);
    assert_eq!(done.text("status"), "completed", "{}", done.err());
    let result = done.json().get("result").unwrap().to_json();
    let wanted = r#"{"total":2,"rounds":2,"stopped":"condition"}"#;
    assert_eq!(result, wanted);
}

#[test]
fn what_is_written_does_the_same() {
    let tramline = Tramline::new();
    for (file, input) in [
        (COUNT, "target=2"),
        (
            "examples/pflow/fallback.pflow.md",
            "path=examples/data/nothing.txt",
        ),
        (
            "examples/pflow/sort.pflow.md",
            "path=examples/data/prices.csv",
        ),
    ] {
        for (to, name) in [
            ("pflow-md", "x.pflow.md"),
            ("ir", "x.json"),
            ("yaml", "x.yaml"),
        ] {
            let path = tramline.data.path().join(name);
            let path = path.to_str().unwrap();
            let written = tramline.run(&["convert", file, "--to", to, "--out", path]);
            // Names of labels are lost, which matters to no result here.
            assert!(written.code() <= 1, "{}", written.err());
            let first = tramline.run(&["run", file, input, "--json"]).json();
            let done = tramline.run(&["run", path, input, "--json"]);
            let result = done.json().get("result").unwrap().to_json();
            assert_eq!(result, first.get("result").unwrap().to_json(), "{to}");
        }
    }
}

#[test]
fn others_beside_them_are_read_with_them() {
    let tramline = Tramline::new();
    let done = tramline.run(&["run", PARENT, "--json"]);
    assert_eq!(done.text("status"), "completed", "{}", done.err());
    let folder = tramline.data.path().join("docs");
    let deeper =
        "# Deeper\n\n## Steps\n\n### a\n\n- type: workflow\n- workflow: ../leaf.pflow.md\n";
    let leaf = "# Leaf\n\n## Steps\n\n### a\n\n- type: transform\n- expr: 6 * 7\n";
    write(&folder, "in/deeper.pflow.md", deeper);
    write(&folder, "leaf.pflow.md", leaf);
    let parent = write(&folder, "parent.pflow.md", &child("./in/deeper.pflow.md"));
    let checked = tramline.run(&["check", &parent]);
    assert_eq!(checked.code(), 0, "{}", checked.err());
    let done = tramline.run(&["run", &parent, "--json"]);
    let result = done.json().get("result").unwrap().to_json();
    assert_eq!(result, "42", "{}", done.err());
    // Missing, flawed or outside documents are reported where they are named.
    write(tramline.data.path(), "outside.pflow.md", leaf);
    std::os::unix::fs::symlink("../outside.pflow.md", folder.join("link.pflow.md")).unwrap();
    write(
        &folder,
        "flawed.pflow.md",
        "## Steps\n\n### a\n\n- type: nope\n",
    );
    for (path, says) in [
        (
            "./nothing.pflow.md",
            "cannot find document `./nothing.pflow.md`",
        ),
        ("./link.pflow.md", "is outside the directory"),
        (
            "../outside.pflow.md",
            "leads out of the document's directory",
        ),
        (
            "./flawed.pflow.md",
            "has 1 flaws; the first is at 5:9 [T0006]",
        ),
    ] {
        let parent = write(&folder, "parent.pflow.md", &child(path));
        let checked = tramline.run(&["check", &parent]);
        assert_eq!(checked.code(), 2, "{path}");
        let told = checked.err();
        assert!(told.contains(says) && told.contains(":8:13"), "{told}");
    }
}

#[test]
fn commands_run_only_where_they_are_allowed() {
    let tramline = Tramline::new();
    let text = "# Say\n\n## Steps\n\n### say\n\n- type: shell\n- command: echo '{\"n\": [1, 2]}'\n\n\
                ## Outputs\n\n### n\n\n- source: ${say.stdout.n[1]}\n";
    let file = write(tramline.data.path(), "say.pflow.md", text);
    let refused = tramline.run(&["run", &file]);
    assert_eq!(refused.code(), 1);
    assert!(refused.err().contains("--allow-shell"), "{}", refused.err());
    let done = tramline.run(&["run", &file, "--allow-shell", "--json"]);
    let result = done.json().get("result").unwrap().to_json();
    assert_eq!(result, r#"{"n":2}"#, "{}", done.err());
    let config = write(tramline.data.path(), "config.yaml", "shell: true\n");
    let done = tramline.run(&["run", &file, "--config", &config, "--json"]);
    assert_eq!(done.text("status"), "completed", "{}", done.err());
}

#[tokio::test]
async fn a_program_loads_them_with_what_is_beside_them() {
    let config = Config::in_memory().root(crate::support::root());
    let library = Library::open(config).unwrap();
    let path = crate::support::root().join(PARENT);
    let document = library.load_file(path).unwrap();
    let tools: Vec<_> = document.tools().map(|tool| tool.name).collect();
    assert_eq!(tools, ["parent"], "companions are not tools");
}
