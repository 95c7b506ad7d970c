//! What is trusted, what a reload holds back, and how it is shown.

use super::*;
use tramline_core::Value;
use tramline_mcp::config::read_servers;

fn servers(json: &str) -> Vec<ServerConfig> {
    read_servers(&Value::from_json(json).unwrap(), "").unwrap()
}

fn one(json: &str) -> ServerConfig {
    servers(&format!(r#"{{"s":{json}}}"#)).remove(0)
}

#[test]
fn whatever_changes_what_is_started_changes_the_digest() {
    let plain = r#"{"command":"a","args":["b"],"env":{"K":"${V}"}}"#;
    let same = r#"{"command":"a","args":["b"],"env":{"K":"${V}"},"timeout_ms":5000}"#;
    assert_eq!(digest(&one(plain)), digest(&one(same)));
    for other in [
        r#"{"command":"c","args":["b"],"env":{"K":"${V}"}}"#,
        r#"{"command":"a","args":["c"],"env":{"K":"${V}"}}"#,
        r#"{"command":"a","args":["b"],"env":{"K":"${W}"}}"#,
        r#"{"command":"a","args":["b"],"env":{"L":"${V}"}}"#,
        r#"{"command":"a","args":["b"],"env":{"K":"${V}"},"cwd":"/x"}"#,
        r#"{"type":"http","url":"http://a/b"}"#,
    ] {
        assert_ne!(digest(&one(plain)), digest(&one(other)), "{other}");
    }
}

#[test]
fn trust_is_kept_in_a_private_file_and_only_there() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config::at(dir.path().join("data"));
    let store = TrustStore::of(&config).unwrap();
    let server = one(r#"{"command":"a"}"#);
    let gate = StartGate::of_trusted([], Some(store.clone()), "is not trusted".into());
    assert!(gate.check(&server).is_err());
    store.add([&server], "g.yaml").unwrap();
    store.add([&server], "g.yaml").unwrap();
    assert_eq!(
        std::fs::read_to_string(store.path())
            .unwrap()
            .lines()
            .count(),
        1
    );
    // It counts at once, without another start.
    assert!(gate.check(&server).is_ok());
    assert!(gate.check(&one(r#"{"command":"b"}"#)).is_err());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let readable = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(store.path(), readable).unwrap();
        assert!(
            store.read().is_empty(),
            "one that came with a repository is not believed"
        );
        store.add([&one(r#"{"command":"c"}"#)], "g.yaml").unwrap();
        assert_eq!(store.read().len(), 1, "nothing of it is kept");
    }
}

#[test]
fn a_reload_takes_what_starts_the_same_and_holds_the_rest_back() {
    let before =
        servers(r#"{"a":{"command":"a"},"b":{"command":"b"},"c":{"command":"c","disabled":true}}"#);
    let gate = StartGate::of_trusted(&before, None, "is new".into());
    let now = servers(
        r#"{"a":{"command":"a","timeout_ms":5000},"b":{"command":"b","args":["-c"]},"c":{"command":"c"},"d":{"command":"d"}}"#,
    );
    let (taken, held) = gate.reloaded(before.clone(), now.clone());
    assert_eq!(taken[0], now[0], "another time-out is taken");
    assert_eq!(taken[1], before[1]);
    assert_eq!(taken[2], before[2]);
    assert_eq!(taken[3], now[3]);
    assert!(
        gate.check(&taken[3]).is_err(),
        "it is there, and not started"
    );
    let said: Vec<_> = held.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "server `b` differs in its arguments",
            "server `c` is no longer disabled",
            "server `d` is new"
        ]
    );
    let (taken, held) = StartGate::open().reloaded(before, now.clone());
    assert_eq!((taken, held.len()), (now, 0));
}

#[test]
fn a_description_names_what_is_taken_and_shows_no_escapes() {
    let server = one(
        r#"{"command":"sh","args":["-c","rm \u001b[2J\u202e"],"env":{"K":"${AWS_KEY}"},"cwd":"${settings.DIR}"}"#,
    );
    let lines = described(&server).join("\n");
    for part in [
        "s: starts sh -c '",
        "sets K=${AWS_KEY}",
        "variables AWS_KEY",
        "settings DIR",
    ] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    assert!(!lines.contains(['\u{1b}', '\u{202e}']), "{lines:?}");
}
