//! Common configuration shapes, and every flaw with its location.

use super::*;
use tramline_expr::Value;

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

#[test]
fn reads_the_shapes_that_clients_share() {
    let read = |text: &str| read(&json(text)).unwrap();
    let servers = read(
        r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "x", 8080, true], "env": {"A": "${A}", "N": 1},
                      "cwd": "/tmp", "someoneElses": {"x": 1}},
            "far": {"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"},
                    "protocol": "modern", "timeout_ms": 5000, "max_concurrent": 3, "idle_timeout_ms": 60000},
            "old": {"type": "sse", "url": "http://x.test/sse", "disabled": true}
        }}"#,
    );
    assert_eq!(servers.len(), 3);
    let ServerEndpoint::Stdio { args, env, .. } = &servers[0].reach else {
        panic!("{:?}", servers[0]);
    };
    assert_eq!(args, &["-y", "x", "8080", "true"]);
    assert_eq!((env["A"].as_str(), env["N"].as_str()), ("${A}", "1"));
    assert_eq!(servers[1].protocol, Protocol::Modern);
    assert_eq!(servers[1].max_concurrent, Some(3));
    assert!(
        matches!(servers[2].reach, ServerEndpoint::Http { sse: true, .. }) && servers[2].disabled
    );
    for kind in ["http", "streamableHttp", "streamable-http"] {
        let text = format!(r#"{{"servers": {{"a": {{"type": "{kind}", "url": "http://x"}}}}}}"#);
        assert!(matches!(
            read(&text)[0].reach,
            ServerEndpoint::Http { sse: false, .. }
        ));
    }
    assert!(read("{}").is_empty());
}

#[test]
fn reports_all_flaws_at_once_with_their_places() {
    let flaws = read(&json(
        r#"{"mcpServers": {
            "a/b": {"comand": "x"}, "c": {"type": "htp", "url": "http://x"},
            "d": {"command": 5}, "e": {"url": "ftp://x"}, "f": 3,
            "g": {"command": "x", "args": "y", "env": [], "timeout_ms": -1, "protocol": "new"}
        }}"#,
    ))
    .unwrap_err();
    let places: Vec<_> = flaws.iter().map(|flaw| flaw.pointer.as_str()).collect();
    assert_eq!(
        places,
        [
            "/mcpServers/a~1b",
            "/mcpServers/c/type",
            "/mcpServers/d/command",
            "/mcpServers/e/url",
            "/mcpServers/f",
            "/mcpServers/g/args",
            "/mcpServers/g/env",
            "/mcpServers/g/protocol",
            "/mcpServers/g/timeout_ms",
        ]
    );
    let hint = |at: usize| flaws[at].suggestion.as_deref().unwrap();
    assert!(hint(0).contains("`command`") && hint(0).contains("`comand`"));
    assert!(hint(1).contains("`http`"));
    assert!(read(&json("[]")).is_err());
}

#[test]
fn expands_variables_only_when_asked() {
    let lookup = |name: &str| match name {
        "HOME" => Some("/home/me".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let expand = |text| expand(text, &lookup);
    assert_eq!(expand("${HOME}/x").unwrap(), "/home/me/x");
    assert_eq!(expand("${env:HOME}${HOME}").unwrap(), "/home/me/home/me");
    assert_eq!(expand("${NO:-a b}-${EMPTY:-c}").unwrap(), "a b-c");
    assert_eq!(expand("[${EMPTY}]").unwrap(), "[]");
    assert_eq!(expand("$HOME ${ open").unwrap(), "$HOME ${ open");
    assert_eq!(expand("a ${NO} b"), Err(UnsetVariable("NO".to_owned())));
}

#[test]
fn debugging_shows_no_values() {
    let text = r#"{"servers": {"a": {"command": "x", "args": ["--key=hush"], "env": {"K": "hush"}},
        "b": {"url": "http://x", "headers": {"K": "hush"}}}}"#;
    let shown = format!("{:?}", read(&json(text)).unwrap());
    assert!(!shown.contains("hush") && shown.contains('K'), "{shown}");
}
