//! Markdown workflows: the workflows they become, and every flaw with its location in the file.

use std::fmt::Write as _;
use std::path::Path;
use tramline_expr::Value;
use tramline_formats::{Format, ReadOptions, pflow_ir, pflow_markdown};
use tramline_syntax::document;
use tramline_workflow::flaw::{Flaw, FlawCode, Severity};
use tramline_workflow::workflow::{Action, Template, Workflow};

/// A document that uses every feature.
pub(crate) const GOOD: &str = r#"---
name: all
created_at: 2026-01-01
executionLimits: {maxNodeExecutions: 100}
---

# Something of everything

Does **everything**.

* even a list

## Notes

- nothing here means anything

### nor here

## Inputs

### url

Where to look.

- type: string
- required: true
- stdin: true

### tags

- type: array
- default: ["a", "b"]

## Steps

### fetch

Gets the feed: `items` is there.

* never empty

- type: http
- url: ${url}?q=a: b # c
- method: POST
- headers:
    Authorization: Bearer ${url}
    # a remark
    X-Tag: ${tags[0]}
- timeout: 5
- retry: { max: 3, wait: 0.5, backoff: exponential }
- on-error: sorry   # if it is away
- next: read

````yaml body
query: ${url}
list: [${tags[0]}, {a: ${tags[1]}}]
text: |
  ### no heading
  ```
  no fence
````

### sorry

- type: write-file
- file_path: log.txt
- content: |
    ## not a section

    ```
    still text
- next: end

### read

- type: read-file
- path: ${name}
- inputs: { name: "${file.path ?? \"x\"}" }
- approval: required

````yaml batch
items: ${fetch.response.items}
as: file
parallel: true
error_handling: continue
````

### run

- type: shell
- stdin: ${read.results}
- idempotent: true
- timeout: 2m

~~~shell command
echo "${read.results[0].content}" $${HOME} | wc -c
```
exit 0
~~~

### done

- type: transform
- expr: {"n": 1}.n + 1

## Outputs

### n

How many.

- source: ${done}

### lines

```text source
${run.stdout.lines ?? []}
```
"#;

pub(crate) fn hint<'a>() -> ReadOptions<'a> {
    ReadOptions {
        format: Some(Format::Markdown),
        ..ReadOptions::default()
    }
}

fn read(text: &str) -> Workflow {
    let read = tramline_formats::read(text.as_bytes(), ReadOptions::default());
    let read = read.unwrap_or_else(|flaws| panic!("{flaws:#?}\n{text}"));
    assert_eq!(read.format, Format::Markdown);
    assert_eq!(read.document.warnings, []);
    (*read.document.workflows[0].workflow).clone()
}

pub(crate) fn good() -> String {
    // A `transform` takes its expression as text, so an object must not precede it.
    GOOD.replace("- expr: {\"n\": 1}.n + 1", "- expr: 1 + 1")
}

fn arguments<'w>(workflow: &'w Workflow, id: &str) -> (String, &'w Template) {
    let node = workflow.nodes.iter().find(|node| node.id == id).unwrap();
    match &node.action {
        Action::Call { tool, arguments } => (tool.to_string(), arguments),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_read() {
    let workflow = read(&good());
    assert_eq!(workflow.name, "all");
    assert_eq!(workflow.title.as_deref(), Some("Something of everything"));
    let description = workflow.description.as_deref();
    assert_eq!(description, Some("Does **everything**.\n\n* even a list"));
    assert_eq!(workflow.limits.steps_max, 100);
    let node = |id: &str| workflow.nodes.iter().find(|node| node.id == id).unwrap();
    let purpose = node("fetch").purpose.as_deref();
    assert_eq!(
        purpose,
        Some("Gets the feed: `items` is there.\n\n* never empty")
    );
    assert_eq!(node("fetch").timeout_ms, Some(5_000));
    let retry = node("fetch").retry.unwrap();
    assert_eq!((retry.max, retry.wait_ms, retry.backoff), (2, 500, 2.0));
    assert!(node("read").approval.is_some());
    assert_eq!(node("run").timeout_ms, Some(120_000));
    assert_eq!(node("run").repeatable, Some(true));
    let schema = workflow.input_schema.as_ref().unwrap().to_json();
    let wanted = r#"{"type":"object","properties":{"url":{"type":"string","description":"Where to look."},"tags":{"type":"array","default":["a","b"]}},"required":["url"]}"#;
    assert_eq!(schema, wanted);
    let edges: Vec<_> = workflow
        .edges
        .iter()
        .map(|edge| format!("{} {} {}", edge.from, edge.label, edge.to))
        .collect();
    let wanted = [
        "entry default fetch",
        "fetch default read",
        "fetch error sorry",
        "read default run",
        "run default done",
        "sorry default outputs",
        "done default outputs",
        "outputs default exit",
    ];
    assert_eq!(edges, wanted);
}

#[test]
fn parameters_are_arguments() {
    let workflow = read(&good());
    let (tool, told) = arguments(&workflow, "fetch");
    let told = format!("{told:?}");
    assert_eq!(tool, "builtin:http");
    for part in [
        // A value after its key is taken verbatim.
        r#"& \"?q=a: b # c\""#,
        "X-Tag",
        "entry.tags[0] ?? ",
        // Blocks may contain text that looks like markup.
        "### no heading\\n```\\nno fence\\n",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let (_, told) = arguments(&workflow, "sorry");
    let content = Value::object([
        ("path", Value::from("log.txt")),
        ("content", "## not a section\n\n```\nstill text\n".into()),
        ("create_dirs", true.into()),
    ]);
    assert_eq!(*told, Template::Literal(content));
    // A node's own inputs are replaced by their values.
    let (_, told) = arguments(&workflow, "read");
    let wanted = "Expr(\"$file.path ?? \\\"x\\\"\")";
    assert!(format!("{told:?}").contains(wanted), "{told:?}");
    let (tool, told) = arguments(&workflow, "run");
    assert_eq!(tool, "builtin:shell");
    let told = format!("{told:?}");
    assert!(told.contains("read[0].content"), "{told}");
    assert!(told.contains(r#"${HOME} | wc -c\\n```\\nexit 0"#), "{told}");
    let outputs = workflow.nodes.iter().find(|node| node.id == "outputs");
    let told = format!("{:?}", outputs.unwrap().action);
    assert!(told.contains("run.json.lines ?? []"), "{told}");
}

#[test]
fn what_is_written_out_reads_back() {
    let servers = Value::object::<&str>([]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut documents = vec![("good".to_owned(), read(&good()))];
    for kind in ["ir", "pflow", "dags", "graphs"] {
        for entry in std::fs::read_dir(folder.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            let read =
                tramline_formats::read(&std::fs::read(&path).unwrap(), ReadOptions::default());
            let read = read.unwrap().document;
            let all = read.workflows.iter();
            documents.extend(all.map(|graph| (name.clone(), (*graph.workflow).clone())));
        }
    }
    assert!(documents.len() > 20);
    for (name, workflow) in documents {
        let written = pflow_markdown::write(&servers, &workflow);
        let again = match tramline_formats::read(written.text.as_bytes(), hint()) {
            Ok(read) => (*read.document.workflows[0].workflow).clone(),
            // What could not be carried over is listed, and an argument may be among it.
            Err(flaws) if !written.losses.is_empty() => {
                let explained = |flaw: &Flaw| {
                    flaw.code == FlawCode::BadArgument || flaw.code.severity() == Severity::Warning
                };
                assert!(flaws.iter().all(explained), "{flaws:#?}\n{}", written.text);
                continue;
            }
            Err(flaws) => panic!("{name}: {flaws:#?}\n{}", written.text),
        };
        if !written.losses.is_empty() {
            continue;
        }
        let ir = |workflow| pflow_ir::write(&servers, workflow);
        let key = |workflow: &Workflow| {
            let mut nodes = workflow.nodes.clone();
            let mut edges = workflow.edges.clone();
            nodes.sort_by(|a, b| a.id.cmp(&b.id));
            edges.sort_by_key(|edge| (edge.from.clone(), edge.label.clone(), edge.to.clone()));
            (nodes, edges)
        };
        let through =
            tramline_formats::read(ir(&workflow).text.as_bytes(), ReadOptions::default()).unwrap();
        let through = &through.document.workflows[0].workflow;
        assert_eq!(key(&again), key(through), "{name}\n{}", written.text);
    }
}

/// One flaw on a few lines: code, location, pointer, message, suggestion.
fn line(flaw: &Flaw) -> String {
    let place = &flaw.span;
    format!(
        "  {} {}:{}-{}:{} {}\n      {}\n      {}\n",
        flaw.code.as_str(),
        place.line,
        place.column,
        place.end_line,
        place.end_column,
        place.pointer,
        flaw.message,
        flaw.suggestion.as_deref().unwrap_or("-"),
    )
}

#[test]
fn every_flaw_of_every_broken_document_is_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken_markdown");
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.sort();
    assert!(paths.len() >= 8);
    let mut table = String::new();
    for path in paths {
        let flaws = match tramline_formats::read(&std::fs::read(&path).unwrap(), hint()) {
            Ok(_) => panic!("{} is accepted as valid", path.display()),
            Err(flaws) => flaws,
        };
        let advised = |flaw: &Flaw| flaw.suggestion.is_some();
        assert!(flaws.iter().all(advised), "{}: {flaws:#?}", path.display());
        let fatal = |flaw: &Flaw| flaw.code.severity() == Severity::Error;
        assert!(flaws.iter().any(fatal));
        writeln!(table, "{}", path.file_name().unwrap().display()).unwrap();
        flaws.iter().for_each(|flaw| table += &line(flaw));
    }
    let path = folder.join("expected.txt");
    if std::env::var_os("TRAMLINE_BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (found, wanted) in table.lines().zip(expected.lines()) {
        assert_eq!(found, wanted, "set TRAMLINE_BLESS to accept the changes");
    }
    assert_eq!(table.len(), expected.len());
}

#[test]
fn names_and_contents_decide_the_format() {
    assert_eq!(
        Format::of_file("a-b.pflow.md"),
        (Some(Format::Markdown), "a-b")
    );
    assert_eq!(Format::of_file("a.b.yaml"), (None, "a.b"));
    assert_eq!(Format::of_file(".env"), (None, ".env"));
    let yaml = "# Title\n## Steps\n# comments only\ntools: []\n";
    let flaws = tramline_formats::read(yaml.as_bytes(), ReadOptions::default()).unwrap_err();
    assert!(flaws.iter().all(|flaw| flaw.code != FlawCode::Syntax));
    assert!(tramline_formats::read(good().as_bytes(), ReadOptions::default()).is_ok());
}

#[test]
fn large_documents_are_answered_in_time() {
    let mut text = String::from("# Large\n\n## Steps\n");
    for number in 0..5_000 {
        text += &format!(
            "\n### n{number}\n\nReads.\n\n- type: read-file\n- path: ${{missing{number}}}\n"
        );
    }
    let flaws = tramline_formats::read(text.as_bytes(), ReadOptions::default()).unwrap_err();
    assert!(flaws.len() < 1_000);
    let deep = "[".repeat(document::DEPTH_MAX + 10);
    let text = format!("## Steps\n\n### a\n\n- type: transform\n- expr: {deep}\n");
    let flaws = tramline_formats::read(text.as_bytes(), ReadOptions::default()).unwrap_err();
    assert!(flaws.iter().any(|flaw| flaw.span.line == 6), "{flaws:?}");
}
