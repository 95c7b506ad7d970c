//! Parsing of valid and invalid document text.

use super::*;
use tramline_expr::Value;

fn json(text: &str) -> Value {
    read(text.as_bytes())
        .unwrap_or_else(|flaws| panic!("{text:?}: {flaws:?}"))
        .root()
        .value
        .clone()
}

/// Error code, line and column.
type ReportedFlaw = (FlawCode, usize, usize);

fn first(bytes: &[u8]) -> ReportedFlaw {
    let flaws = read(bytes).map(|_| ()).unwrap_err();
    (flaws[0].code, flaws[0].span.line, flaws[0].span.column)
}

#[test]
fn yaml_becomes_the_value_json_would_have() {
    let cases = [
        ("a: 1\nb: [x, 'y', \"z\"]", r#"{"a":1,"b":["x","y","z"]}"#),
        ("a: &x {k: v}\nb: *x", r#"{"a":{"k":"v"},"b":{"k":"v"}}"#),
        (
            "a: &x {k: v, l: 1}\nb:\n  <<: *x\n  k: w",
            r#"{"a":{"k":"v","l":1},"b":{"k":"w","l":1}}"#,
        ),
        (
            "a: &x {k: 1}\nb: &y {l: 2}\nc: {<<: [*x, *y]}",
            r#"{"a":{"k":1},"b":{"l":2},"c":{"k":1,"l":2}}"#,
        ),
        (
            "a: !!str 5\nb: !!int 7\nc: ! 5",
            r#"{"a":"5","b":7,"c":"5"}"#,
        ),
        ("'1': x", r#"{"1":"x"}"#),
        ("&k a: 1\nb: *k", r#"{"a":1,"b":"a"}"#),
        ("\u{feff}a: |\r\n  x\r\n  y\r\n", r#"{"a":"x\ny\n"}"#),
        ("---\na: 1\n...\n", r#"{"a":1}"#),
        (
            "{\n\t\"a\":\t1,\n\t\"b\": [\"\\ud83d\\ude00\", -1.5e3, true, null]\n}",
            r#"{"a":1,"b":["😀",-1500.0,true,null]}"#,
        ),
        ("{\"<<\": 1}", r#"{"<<":1}"#),
        ("a:\nb: ~", r#"{"a":null,"b":null}"#),
    ];
    for (text, wanted) in cases {
        assert_eq!(json(text), Value::from_json(wanted).unwrap(), "{text:?}");
    }
}

#[test]
fn places_are_kept_for_every_part() {
    let tree = read("a:\n  - b: é\n    c: x\n".as_bytes()).unwrap();
    let at = tree.root().at_pointer("/a/0/c").source_span();
    assert_eq!((at.line, at.column, at.end_column), (3, 8, 9));
    assert_eq!(at.pointer, "/a/0/c");
    let tree = read(b"{\"a~/\": {\"b\": [1, \"x\"]}}").unwrap();
    let at = tree.root().at_pointer("/a~0~1/b/1").source_span();
    assert_eq!(
        (at.line, at.column, at.pointer.as_str()),
        (1, 19, "/a~0~1/b/1")
    );
}

#[test]
fn what_cannot_be_read_says_where() {
    let cases: [(&[u8], ReportedFlaw); 16] = [
        (b"", (FlawCode::Unreadable, 1, 1)),
        (b"# only this\n", (FlawCode::Unreadable, 1, 1)),
        (b"a: 1\nb: \xff\n", (FlawCode::Unreadable, 2, 4)),
        (b"\xff\xfea\0", (FlawCode::Unreadable, 1, 1)),
        (b"a: 1\nb: \0\n", (FlawCode::Unreadable, 2, 4)),
        (b"a:\n\tb: 1\n", (FlawCode::Syntax, 2, 1)),
        (b"a: 1\na: 2\n", (FlawCode::Duplicate, 2, 1)),
        (b"{\"a\": 1,\n \"a\": 2}", (FlawCode::Duplicate, 2, 2)),
        (b"1: x\n", (FlawCode::WrongType, 1, 1)),
        (b"? [a]\n: x\n", (FlawCode::WrongType, 1, 3)),
        (b"a: .inf\n", (FlawCode::WrongType, 1, 4)),
        (b"a: !thing x\n", (FlawCode::WrongType, 1, 4)),
        (b"a: !!int x\n", (FlawCode::WrongType, 1, 4)),
        (b"a: 1\n---\nb: 1\n", (FlawCode::TooMany, 2, 1)),
        (b"a: &x [*x]\n", (FlawCode::Syntax, 1, 8)),
        (b"{\"a\": 1e999}", (FlawCode::WrongType, 1, 7)),
    ];
    for (bytes, wanted) in cases {
        assert_eq!(first(bytes), wanted, "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn size_depth_and_aliases_are_bounded() {
    let huge = vec![b' '; BYTES_MAX + 1];
    assert_eq!(first(&huge), (FlawCode::Unreadable, 1, 1));
    let deep = "[".repeat(5_000);
    assert_eq!(first(deep.as_bytes()).0, FlawCode::Unreadable);
    let deep = "[".repeat(100) + &"]".repeat(100);
    assert_eq!(
        first(deep.as_bytes()),
        (FlawCode::Unreadable, 1, DEPTH_MAX + 1)
    );
    let many = format!("[{}]", "1,".repeat(VALUES_MAX + 1).trim_end_matches(','));
    assert_eq!(first(many.as_bytes()).0, FlawCode::TooMany);
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        laughs += &format!("a{level}: &a{level} [{below}]\n");
    }
    assert_eq!(first(laughs.as_bytes()), (FlawCode::TooMany, 6, 10));
}

#[test]
fn many_flaws_are_reported_at_once_and_in_order() {
    let flaws = read(b"b: .nan\na: 1\na: 2\n2: x\n")
        .map(|_| ())
        .unwrap_err();
    let found: Vec<_> = flaws
        .iter()
        .map(|flaw| (flaw.span.line, flaw.code))
        .collect();
    let wanted = [
        (1, FlawCode::WrongType),
        (3, FlawCode::Duplicate),
        (4, FlawCode::WrongType),
    ];
    assert_eq!(found, wanted);
}
