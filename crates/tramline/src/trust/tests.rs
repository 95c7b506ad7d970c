//! What is trusted, what a reload holds back, and how it is described.

use super::*;
use tramline_expr::Value;
use tramline_mcp_client::config::read_servers;

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
    // It takes effect without a restart.
    assert!(gate.check(&server).is_ok());
    assert!(gate.check(&one(r#"{"command":"b"}"#)).is_err());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let readable = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(store.path(), readable).unwrap();
        assert!(
            store.read().is_empty(),
            "a file from a repository is not trusted"
        );
        store.add([&one(r#"{"command":"c"}"#)], "g.yaml").unwrap();
        assert_eq!(store.read().len(), 1, "its contents are discarded");
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
    let (taken, held) = gate.filter_reload(before.clone(), now.clone());
    assert_eq!(taken[0], now[0], "a changed timeout is applied");
    assert_eq!(taken[1], before[1]);
    assert_eq!(taken[2], before[2]);
    assert_eq!(taken[3], now[3]);
    assert!(
        gate.check(&taken[3]).is_err(),
        "it is listed but not started"
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
    let (taken, held) = StartGate::open().filter_reload(before, now.clone());
    assert_eq!((taken, held.len()), (now, 0));
}

#[test]
fn a_description_names_what_is_taken_and_shows_no_escapes() {
    let server = one(
        r#"{"command":"sh","args":["-c","rm \u001b[2J\u202e"],"env":{"K":"${AWS_KEY}"},"cwd":"${settings.DIR}"}"#,
    );
    let lines = describe(&server).join("\n");
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

#[test]
fn a_known_command_under_another_name_is_held_back() {
    let before = servers(r#"{"safe":{"command":"a"},"danger":{"command":"b"}}"#);
    let gate = StartGate::of_trusted(&before, None, "is new".into());
    let now =
        servers(r#"{"safe":{"command":"b"},"danger":{"command":"a"},"more":{"command":"a"}}"#);
    let (taken, held) = gate.filter_reload(before.clone(), now);
    let command = |name: &str| {
        let found = taken.iter().find(|server| &*server.name == name).unwrap();
        digest(found)
    };
    for server in &before {
        assert_eq!(command(&server.name), digest(server), "{}", server.name);
    }
    let mut said: Vec<_> = held.iter().map(ToString::to_string).collect();
    said.sort();
    assert_eq!(
        said,
        [
            "server `danger` differs in its command",
            "server `more` is new",
            "server `safe` differs in its command",
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    let store = TrustStore::of(&Config::at(dir.path().join("data"))).unwrap();
    let safe = before.iter().filter(|server| &*server.name == "safe");
    store.add(safe, "g.yaml").unwrap();
    let gate = StartGate::of_trusted([], Some(store), "is new".into());
    let trusted: Vec<_> =
        servers(r#"{"safe":{"command":"a"},"danger":{"command":"a"},"safe two":{"command":"a"}}"#)
            .iter()
            .filter(|server| gate.check(server).is_ok())
            .map(|server| server.name.to_string())
            .collect();
    assert_eq!(trusted, ["safe"]);
}

#[test]
fn a_reload_reports_no_server_that_did_not_change() {
    let before = servers(r#"{"a":{"command":"a"},"b":{"command":"b","disabled":true}}"#);
    let gate = StartGate::of_trusted([], None, "is not trusted".into());
    let now =
        servers(r#"{"a":{"command":"a","timeout_ms":5000},"b":{"command":"b","disabled":true}}"#);
    let (taken, held) = gate.filter_reload(before, now.clone());
    assert_eq!((taken, held), (now.clone(), Vec::new()));
    assert!(gate.check(&now[0]).is_err(), "it is still not started");
}

#[test]
fn a_description_shows_whole_values() {
    let long = format!("{} ; HIDDEN", "a".repeat(5_000));
    let started = one(&format!(
        r#"{{"command":"sh","env":{{"BASH_ENV":"{long}"}}}}"#
    ));
    assert!(describe(&started).join("\n").contains("HIDDEN"));
    let reached = one(
        r#"{"type":"http","url":"http://a/b","headers":{"X-Key":"${AWS_KEY}","X-Log":"\u001b[2J x"}}"#,
    );
    let lines = describe(&reached).join("\n");
    assert!(
        lines.contains("sends the header X-Key: ${AWS_KEY}"),
        "{lines}"
    );
    assert!(
        lines.contains("[2J x") && !lines.contains('\u{1b}'),
        "{lines:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_trust_file_that_other_users_can_replace_is_not_trusted() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let store = TrustStore::of(&Config::at(&data)).unwrap();
    let server = one(r#"{"command":"a"}"#);
    store.add([&server], "g.yaml").unwrap();
    assert_eq!(store.read().len(), 1);
    for open in [0o777, 0o720, 0o702] {
        mode(&data, open);
        assert!(store.read().is_empty(), "{open:o}");
        let fault = store.add([&server], "g.yaml").unwrap_err();
        assert!(fault.contains("chmod go-w"), "{fault}");
    }
    mode(&data, 0o755);
    assert_eq!(store.read().len(), 1);
    // Only root can give a file away.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(store.path(), Some(12_345), Some(12_345)).unwrap();
        assert!(store.read().is_empty(), "a file of another user");
        store.add([&server], "g.yaml").unwrap();
        assert_eq!(store.read().len(), 1, "its contents are discarded");
        std::os::unix::fs::chown(&data, Some(12_345), Some(12_345)).unwrap();
        assert!(store.read().is_empty(), "a directory of another user");
    }
}
