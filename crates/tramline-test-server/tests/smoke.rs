//! The test server can also behave well. This test makes cargo build the program with the
//! workspace's tests.

use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn shakes_hands_in_both_eras_and_answers() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unruly"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#,
    ];
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.join("\n").as_bytes()).unwrap();
    stdin.write_all(b"\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<_> = said.lines().collect();
    assert_eq!(said.len(), 3);
    assert!(said[0].contains(r#""protocolVersion":"2025-06-18""#));
    assert!(said[1].contains(r#""supportedVersions":["2026-07-28"]"#));
    assert!(said[2].contains(r#""text":"3""#));
}
