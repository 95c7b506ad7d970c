//! For any bytes, a reader returns a document or flaws with locations. It never panics.

use proptest::prelude::*;
use tramline_formats::yaml_graph;
use tramline_workflow::flaw::Flaw;

/// A document that uses every feature, to be corrupted.
const GOOD: &str = r#"version: "1.0"
server: {name: demo, version: "1.0.0"}
mcpServers:
  files: {command: npx, args: [-y, "x"], env: {A: "b"}}
executionLimits: &limits
  maxNodeExecutions: 100
tools:
  - name: sort
    description: >-
      Sorts
      é things
    inputSchema: {type: object, properties: {path: {type: string}}, required: [path]}
    executionLimits: {<<: *limits}
    nodes:
      - {id: start, type: entry, next: [list, other]}
      - id: list
        type: mcp
        server: files
        tool: list_directory
        args: {path: "$.start.path", deep: [{expr: '$.start.path & ''c'''}, {value: "$5"}]}
        timeout: 5s
        retry: {max: 2, wait_ms: 5}
        on-error: done
        next: way
      - {id: other, type: transform, transform: {expr: "'\u00e9' & 1"}, next: way}
      - id: way
        type: switch
        conditions:
          - {rule: {">": [{var: "list.count"}, 10]}, next: many}
        next: done
      - id: many
        type: transform
        transform:
          expr: |2-
              { 'many': true,
                "é": 1 }
        next: done
      - {id: done, type: exit}
"#;

/// Pieces that are special to YAML, JSON or the reader.
const PIECES: [&str; 44] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "  ",
    "- ",
    ": ",
    ":",
    ",",
    "[",
    "]",
    "{",
    "}",
    "#",
    "&a ",
    "*a",
    "!!str ",
    "!x ",
    "|",
    ">",
    "|2+\n",
    "'",
    "\"",
    "\\",
    "\\u00",
    "---\n",
    "...\n",
    "%YAML",
    "<<: ",
    "~",
    "$",
    "${",
    "é",
    "日本",
    "\u{feff}",
    "\u{85}",
    "\0",
    "id",
    "next",
    "type: switch",
    "nodes:",
    "1e999",
    "? ",
];

fn sane(text: &[u8], flaws: &[Flaw]) {
    assert!(!flaws.is_empty());
    let lines = 2 + text.iter().filter(|b| matches!(b, b'\n' | b'\r')).count();
    for flaw in flaws {
        let place = &flaw.span;
        assert!((1..=lines).contains(&place.line), "{flaw}");
        assert!(place.column >= 1, "{flaw}");
        let end = (place.end_line, place.end_column);
        assert!(end >= (place.line, place.column), "{flaw:?}");
    }
}

fn try_reading(bytes: &[u8]) {
    if let Err(flaws) = yaml_graph::read(bytes) {
        sane(bytes, &flaws);
    }
}

fn corrupted() -> impl Strategy<Value = String> {
    let change = (
        any::<prop::sample::Index>(),
        0..40usize,
        prop::sample::select(&PIECES[..]),
    );
    prop::collection::vec(change, 1..6).prop_map(|changes| {
        let mut text = GOOD.to_owned();
        for (at, cut, piece) in changes {
            let starts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
            let first = at.index(starts.len());
            let last = (first + cut / 4).min(starts.len() - 1);
            text.replace_range(starts[first]..starts[last], piece);
        }
        text
    })
}

#[test]
fn the_good_document_is_good() {
    let document = yaml_graph::read(GOOD.as_bytes()).unwrap();
    assert_eq!(document.warnings, []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_reading(&bytes);
    }

    #[test]
    fn random_pieces_are_answered(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)
    ) {
        try_reading(pieces.concat().as_bytes());
    }

    #[test]
    fn corrupted_documents_are_answered(text in corrupted()) {
        try_reading(text.as_bytes());
    }

    #[test]
    fn cut_documents_are_answered(length in 0..GOOD.len()) {
        try_reading(&GOOD.as_bytes()[..length]);
    }
}
