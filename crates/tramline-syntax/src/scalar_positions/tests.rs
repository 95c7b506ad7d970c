//! Positions of characters in each scalar style.

use crate::document;

/// Parses a document and returns the location where `needle` starts in the string under `e`.
fn place(yaml: &str, needle: &str) -> (usize, usize) {
    let tree = document::read(yaml.as_bytes()).unwrap_or_else(|flaws| panic!("{flaws:?}"));
    let at = tree.root().at_pointer("/e");
    let value = at.value.as_str().unwrap();
    let byte = if needle == "END" {
        value.len()
    } else {
        let found = value.find(needle);
        found.unwrap_or_else(|| panic!("{needle:?} is not in {value:?}"))
    };
    let place = at.span_inside(&(byte..byte + needle.len()));
    (place.line, place.column)
}

#[test]
fn every_style_leads_back_to_its_place() {
    let cases = [
        ("e: abc X", "X", (1, 8)),
        ("e: abc\n  def X", "X", (2, 7)),
        ("e: abc   \n\n\n  def X", "X", (4, 7)),
        ("e: é ü X", "X", (1, 8)),
        ("e: &a !!str abc X", "X", (1, 17)),
        ("e: 'it''s X'", "X", (1, 11)),
        ("e: 'it''s X'", "'s", (1, 7)),
        ("e: 'it\n\n  is X'", "X", (3, 6)),
        ("e: !!str 'a X'", "X", (1, 13)),
        (r#"e: "a\n\u00e9\t\"X""#, "X", (1, 18)),
        (r#"e: "a\n\u00e9\t\"X""#, "é", (1, 8)),
        ("e: \"a  \n   b \\\n   X\"", "X", (3, 4)),
        ("e: \"a\\\n\n   X\"", "X", (3, 4)),
        ("e: |\n  abc\n  X\n", "X", (3, 3)),
        ("e: |\n  abc\n    X\n", "X", (3, 5)),
        ("e: |\n\n\n  abc\n\n  X\n", "X", (6, 3)),
        ("e: |2\n    abc\n   X\n", "X", (3, 4)),
        ("e: |-\n  abc X\n\n", "X", (2, 7)),
        ("e: |+\n  abc X\n\n", "X", (2, 7)),
        ("e: |1-  # why\n  abc\n X\n", "X", (3, 2)),
        ("e: !!str |\n  abc\n  é X\n", "X", (3, 5)),
        ("e: &a |\n\n  abc\n  X\n", "X", (4, 3)),
        ("e: |\n  &a !b\n  X\n", "X", (3, 3)),
        ("e: |\n  é日本 X\n", "X", (2, 7)),
        ("e: >\n  abc\n  X\n", "X", (3, 3)),
        ("e: >\n  abc\n\n  X\n", "X", (4, 3)),
        ("e: >-\n  abc\n    more\n  X\n", "X", (4, 3)),
        ("e: >2\n     abc\n  d\n  X\n", "X", (4, 3)),
        ("e: >\n\n  abc\n\n\n  X\n", "X", (6, 3)),
        ("{e: abc X}", "X", (1, 9)),
        ("{e: \"abc X\"}", "X", (1, 10)),
        ("{\"e\":\t\"\\ud83d\\ude00 \\/ X\"}", "X", (1, 24)),
        ("{e: 'abc\n X'}", "X", (2, 2)),
        ("e: |\r\n  abc\r\n  X\r\n", "X", (3, 3)),
        ("e: \"abc\r\n  X\"\r\n", "X", (2, 3)),
        ("\u{feff}e: abc X", "X", (1, 8)),
        ("x: ééé\ne: 'é' # é\ny: 1", "é", (2, 5)),
    ];
    for (yaml, needle, wanted) in cases {
        assert_eq!(place(yaml, needle), wanted, "{yaml:?}");
    }
}

#[test]
fn the_end_of_a_text_is_after_its_last_visible_character() {
    let cases = [
        ("e: abc", (1, 7)),
        ("e: 'abc'", (1, 8)),
        ("e: \"abc  \"", (1, 8)),
        ("e: |\n  abc\n  def\n\nx: 1\n", (3, 6)),
        ("e: >+\n  abc\n\n\n", (2, 6)),
    ];
    for (yaml, wanted) in cases {
        assert_eq!(place(yaml, "END"), wanted, "{yaml:?}");
    }
}

#[test]
fn a_place_covers_what_was_written() {
    let tree = document::read(b"e: \"a\\u00e9b\"").unwrap();
    let place = tree.root().at_pointer("/e").span_inside(&(1..3));
    assert_eq!((place.column, place.end_column), (6, 12));
}

#[test]
fn an_alias_leads_to_where_the_text_is_written() {
    assert_eq!(place("a: &x |\n  b X\ne: *x\n", "X"), (2, 5));
}
