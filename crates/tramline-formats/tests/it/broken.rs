//! Invalid documents: every flaw with its code, location and message, compared with one table.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tramline_formats::yaml_graph;
use tramline_syntax::document;
use tramline_workflow::flaw::{Flaw, FlawCode, Severity};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

fn documents() -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    found.sort();
    found
}

fn flaws(bytes: &[u8]) -> Vec<Flaw> {
    match yaml_graph::read(bytes) {
        Ok(document) => panic!("accepted as valid, with {:?}", document.warnings),
        Err(flaws) => flaws,
    }
}

/// One flaw on a few lines: code, location, pointer, message, suggestion.
fn line(flaw: &Flaw) -> String {
    let place = &flaw.span;
    let advice = flaw.suggestion.as_deref().unwrap_or("-");
    format!(
        "  {} {}:{}-{}:{} {}\n      {}\n      {advice}\n",
        flaw.code.as_str(),
        place.line,
        place.column,
        place.end_line,
        place.end_column,
        if place.pointer.is_empty() {
            "/"
        } else {
            &place.pointer
        },
        flaw.message,
    )
}

#[test]
fn every_flaw_of_every_broken_document_is_as_expected() {
    let mut table = String::new();
    for path in documents() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = flaws(&std::fs::read(&path).unwrap());
        let fatal = |flaw: &Flaw| flaw.code.severity() == Severity::Error;
        assert!(found.iter().any(fatal), "{name} has only warnings");
        writeln!(table, "{name}").unwrap();
        found.iter().for_each(|flaw| table += &line(flaw));
    }
    let path = folder().join("expected.txt");
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
fn there_are_many_broken_documents_and_each_flaw_has_a_place_and_advice() {
    let all = documents();
    assert!(all.len() >= 40);
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().count().max(1);
        for flaw in flaws(&bytes) {
            assert!(flaw.span.line >= 1 && flaw.span.column >= 1);
            assert!(flaw.span.line <= lines + 1, "{}: {flaw}", path.display());
            assert!(!flaw.message.is_empty());
            assert!(flaw.suggestion.is_some(), "{}: {flaw}", path.display());
            let ends = (flaw.span.end_line, flaw.span.end_column);
            assert!(
                ends >= (flaw.span.line, flaw.span.column),
                "{}: {flaw}",
                path.display()
            );
        }
    }
}

fn first(bytes: &[u8]) -> (FlawCode, usize) {
    let flaws = flaws(bytes);
    (flaws[0].code, flaws[0].span.line)
}

#[test]
fn huge_deep_and_multiplying_documents_are_refused() {
    let huge = vec![b'#'; document::BYTES_MAX + 1];
    assert_eq!(first(&huge), (FlawCode::Unreadable, 1));

    let mut deep = String::from("server: {name: x, version: '1'}\ntools:\n");
    for level in 0..=document::DEPTH_MAX {
        deep += &format!("{}a:\n", " ".repeat(level + 1));
    }
    assert_eq!(first(deep.as_bytes()).0, FlawCode::Unreadable);

    let mut laughs = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for pair in "abcdefghij".as_bytes().windows(2) {
        let (below, this) = (char::from(pair[0]), char::from(pair[1]));
        let many = format!("*{below}, ").repeat(9);
        laughs += &format!("{this}: &{this} [{many}]\n");
    }
    assert_eq!(first(laughs.as_bytes()).0, FlawCode::TooMany);
}

#[test]
fn a_flood_of_flaws_is_cut_short_and_says_so() {
    let mut text = String::from("server: {name: x, version: '1'}\ntools:\n");
    for _ in 0..2_000 {
        text += "  - {name: 'a b'}\n";
    }
    let flaws = flaws(text.as_bytes());
    assert!(flaws.len() < 1_000);
    assert_eq!(flaws.last().unwrap().code, FlawCode::TooMany);
}

#[test]
fn large_documents_and_long_names_are_answered_briefly() {
    let head = "server: {name: x, version: '1'}\ntools:\n  - name: t\n    description: d\n    \
                inputSchema: {type: object}\n    nodes:\n";
    let mut unknown = String::from(head);
    let mut text = String::from(head);
    for number in 0..5_000 {
        unknown += &format!("    - {{id: node{number}, type: exit, next: other{number}}}\n");
    }
    let long = "x".repeat(100_000);
    text += &format!(
        "    - {{id: {long}, type: entry, next: {long}y}}\n    - {{id: {long}y, nope: 1}}\n"
    );
    for text in [unknown, text] {
        let found = flaws(text.as_bytes());
        assert!(found.iter().all(|flaw| flaw.message.len() < 3_000));
    }
}
