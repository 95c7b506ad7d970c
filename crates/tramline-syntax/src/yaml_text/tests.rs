//! Written values read back unchanged.

use super::*;
use crate::document as documents;
use proptest::prelude::*;

fn back(value: &Value) -> Value {
    let text = document(value.as_object().unwrap());
    match documents::read(text.as_bytes()) {
        Ok(tree) => tree.root().value.clone(),
        Err(flaws) => panic!("{flaws:?}\n{text}"),
    }
}

/// Strings made of pieces that are special to YAML.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "key",
        "5",
        "1.5",
        "true",
        "null",
        "~",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        ": ",
        ":",
        " #",
        "#",
        "-",
        "- ",
        "---",
        "...",
        "?",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a",
        "*a",
        "!!str",
        "|",
        ">",
        "%",
        "@",
        "`",
        "'",
        "\"",
        "\\",
        "$",
        "$.a.b",
        "é",
        "日本",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "😀",
        "\r",
        "\u{7}",
        "=",
        "<<",
        "yes",
        "0x1F",
        "1e3",
        "a long run of words that is folded",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12).prop_map(|all| all.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no others", |n| n.is_finite())
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..5).prop_map(Value::object),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn it_reads_back(value in value()) {
        let whole = Value::object([("whole", value)]);
        prop_assert_eq!(back(&whole), whole);
    }
}

#[test]
fn it_is_pretty() {
    let value = Value::from_json(
        r#"{"version": "1.0", "server": {"name": "demo", "version": "1"},
            "tools": [{"name": "t", "description": "A rather long description that says in many words what the tool does and when to use it.",
            "nodes": [{"id": "entry", "type": "entry", "next": ["a", "b"]},
                      {"id": "a", "type": "transform", "transform": {"expr": "(\n  $x := 1;\n  $x + 1\n)\n"}, "next": "exit"},
                      {"id": "b", "type": "mcp", "args": {"path": "$.entry.directory", "note": "a: b"}, "next": "exit"}]}]}"#,
    );
    let text = document(value.unwrap().as_object().unwrap());
    assert_eq!(
        text,
        r#"version: '1.0'
server: {name: demo, version: '1'}

tools:
  - name: t
    description: >-
      A rather long description that says in many words what the tool does and when to use it.
    nodes:
      - {id: entry, type: entry, next: [a, b]}

      - id: a
        type: transform
        transform:
          expr: |
            (
              $x := 1;
              $x + 1
            )
        next: exit

      - id: b
        type: mcp
        args: {path: $.entry.directory, note: 'a: b'}
        next: exit
"#
    );
}
