//! Starting on first use, once for all calls; both handshakes; tool lists that change; configuration.

use crate::support::{self, Bench, assert_failure, call, json, options, until};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_engine::ports::Tools;
use tramline_mcp_client::config::read;
use tramline_mcp_client::{ClientOptions, Era, ServerState, Servers};
use tramline_test_server::processes;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::ToolName;

fn era(bench: &Bench) -> Era {
    match bench.servers.status().remove(0).state {
        ServerState::Ready { era, .. } => era,
        other => panic!("not ready: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_at_the_first_call_and_once_for_all_calls() {
    let bench = Bench::with(r#"["--slow-start", "200"]"#, "", options());
    assert!(matches!(
        bench.servers.status()[0].state,
        ServerState::NotStarted
    ));
    assert!(bench.servers.known(&ToolName::new("u", "echo")).is_none());
    assert!(bench.processes().is_empty());
    let calls = (0..50).map(|_| bench.call("echo", r#"{"a":1}"#));
    for output in futures_util::future::join_all(calls).await {
        assert_eq!(output, Ok(json(r#"{"a":1}"#)));
    }
    assert_eq!(bench.processes(), [bench.pid()]);
    assert!(bench.servers.known(&ToolName::new("u", "echo")).is_some());
    let ServerState::Ready { tools, .. } = bench.servers.status()[0].state else {
        panic!("not ready");
    };
    assert_eq!(tools, 23);
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_stop_the_start() {
    let bench = Bench::with(r#"["--slow-start", "500"]"#, "", options());
    let failure = bench.call_within("echo", "{}", 100).await;
    assert_failure(&failure, FailureKind::Timeout, "was not ready");
    let pids = bench.processes();
    let cancelled = call("echo", "{}");
    let cancel = cancelled.cancel.clone();
    let (failure, ()) = tokio::join!(bench.servers.call(cancelled), async { cancel.cancel() });
    assert_failure(&failure.unwrap_err(), FailureKind::Cancelled, "u:echo");
    bench.works().await;
    assert_eq!(bench.processes(), pids);
}

#[tokio::test]
async fn each_era_is_found_out_fast_and_remembered() {
    let bench = Bench::plain();
    bench.works().await;
    assert_eq!(era(&bench), Era::Legacy);
    let bench = Bench::with(r#"["--modern-only"]"#, "", options());
    for _ in 0..2 {
        bench.works().await;
        assert_eq!(era(&bench), Era::Modern);
        bench.call("close", "{}").await.unwrap_err();
    }
    let bench = Bench::with("[]", r#", "protocol": "modern""#, options());
    bench.works().await;
    assert_eq!(era(&bench), Era::Modern);
    let start = Instant::now();
    let bench = Bench::with(r#"["--ignore-unknown"]"#, "", options());
    bench.works().await;
    assert_eq!(era(&bench), Era::Legacy);
    assert!(start.elapsed() < Duration::from_secs(5));
    let bench = Bench::with(
        r#"["--modern-only"]"#,
        r#", "protocol": "legacy""#,
        options(),
    );
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(
        &failure,
        FailureKind::Unavailable,
        "only protocol version 2026-07-28 is supported",
    );
}

#[tokio::test]
async fn lists_all_pages_and_lists_again_when_told() {
    let bench = Bench::with(r#"["--pages", "5", "--list-changed"]"#, "", options());
    let listing = bench.servers.list().await.remove(0);
    assert!(listing.tools.unwrap().len() >= 23);
    let late = ToolName::new("u", "late");
    until("the late tool", || bench.servers.known(&late).is_some()).await;
    assert_eq!(bench.call("late", "{}").await, Ok("better late".into()));
    let add = bench.servers.known(&ToolName::new("u", "add")).unwrap();
    assert!(add.hints.repeatable() && add.hints.read_only.is_none());
    let record = bench.servers.known(&ToolName::new("u", "record")).unwrap();
    assert!(!record.hints.repeatable());
}

#[tokio::test]
async fn listens_for_changes_in_the_newer_era() {
    let bench = Bench::with(r#"["--modern-only", "--list-changed"]"#, "", options());
    bench.works().await;
    let late = ToolName::new("u", "late");
    until("the late tool", || bench.servers.known(&late).is_some()).await;
    assert_eq!(bench.call("late", "{}").await, Ok("better late".into()));
}

#[tokio::test]
async fn an_unused_server_is_stopped_and_comes_back() {
    let bench = Bench::with("[]", r#", "idle_timeout_ms": 200"#, options());
    bench.works().await;
    let output = bench.call("sleep", r#"{"ms":500}"#).await;
    assert_eq!(output, Ok("slept 500 ms".into()));
    until("the stop", || bench.processes().is_empty()).await;
    let idle = || matches!(bench.servers.status()[0].state, ServerState::NotStarted);
    until("the state", idle).await;
    assert!(bench.servers.known(&ToolName::new("u", "echo")).is_some());
    bench.works().await;
}

#[tokio::test]
async fn children_see_little_of_our_environment() {
    let lookup = |name: &str| match name {
        "TOKEN" => Some("hush".to_owned()),
        "SECRET" => Some("not for them".to_owned()),
        name => std::env::var(name).ok(),
    };
    let options = ClientOptions {
        lookup: Arc::new(lookup),
        ..options()
    };
    let path = crate::support::unruly();
    let text = format!(
        r#"{{"servers": {{"u": {{"command": {path:?}, "cwd": "/tmp",
            "env": {{"KEY": "Bearer ${{TOKEN}}", "PORT": "${{NO:-80}}"}}}}}}}}"#
    );
    let servers = Servers::new(read(&json(&text)).unwrap(), options);
    servers.find(&ToolName::new("u", "echo")).await.unwrap();
    let ServerState::Ready { pid: Some(pid), .. } = servers.status()[0].state else {
        panic!("not ready");
    };
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    let mut names: Vec<_> = environment.split_terminator('\0').collect();
    assert!(names.contains(&"KEY=Bearer hush") && names.contains(&"PORT=80"));
    names.retain(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        ![
            "KEY", "PORT", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
        ]
        .contains(&name)
    });
    assert!(names.is_empty(), "{names:?}");
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    assert_eq!(cwd, std::fs::canonicalize("/tmp").unwrap());
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let text = r#"{"mcpServers": {
        "missing": {"command": "no-such-program-anywhere"},
        "unset": {"command": "true", "env": {"A": "${NO_SUCH_VARIABLE}"}},
        "nowhere": {"command": "true", "cwd": "/no/such/place"},
        "silent": {"command": "true"},
        "off": {"command": "true", "disabled": true},
        "header": {"url": "http://127.0.0.1:9/mcp", "headers": {"bad name": "x"}},
        "refused": {"url": "http://127.0.0.1:9/mcp?key=${HOME}"},
        "old": {"type": "sse", "url": "http://127.0.0.1:9/sse"}
    }}"#;
    let servers = Servers::new(read(&json(text)).unwrap(), options());
    for (server, says) in [
        ("missing", "`no-such-program-anywhere` not found"),
        ("unset", "`env.A` uses ${NO_SUCH_VARIABLE}"),
        ("nowhere", "`/no/such/place` is not a directory"),
        ("silent", "exited with code 0 before it was ready"),
        ("off", "is disabled"),
        ("header", "`headers.bad name` is not a valid"),
        ("refused", "http://127.0.0.1:9/mcp: "),
        ("old", "only the HTTP+SSE transport of 2024-11-05"),
    ] {
        let failure = servers.find(&ToolName::new(server, "x")).await.unwrap_err();
        assert_failure(&failure, FailureKind::Unavailable, says);
        assert!(
            failure.message.contains(&format!("`{server}`")),
            "{failure}"
        );
    }
    let listings = servers.list().await;
    assert_eq!(listings.len(), 8);
    assert!(listings.iter().all(|listing| listing.tools.is_err()));
}

#[tokio::test]
async fn an_address_with_a_key_is_not_told() {
    let text = r#"{"mcpServers":{"far":{"url":"http://127.0.0.1:1/mcp?key=hush"}}}"#;
    let configs = read(&json(text)).unwrap();
    let servers = Servers::new(configs, ClientOptions::default());
    let failure = servers.find(&ToolName::new("far", "x")).await.unwrap_err();
    assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
    servers.shutdown().await;
}

#[tokio::test]
async fn servers_are_exchanged_without_touching_those_that_stay() {
    let mark = support::mark();
    let servers = Servers::new(support::config(&mark, "[]", ""), options());
    servers.call(support::call("echo", "{}")).await.unwrap();
    let before = support::marked(&mark);
    servers.replace(support::config(&mark, "[]", ""));
    servers.call(support::call("echo", "{}")).await.unwrap();
    assert_eq!(support::marked(&mark), before);
    // A changed configuration is a new server; the old one stops when its calls are done.
    servers.replace(support::config(&mark, "[]", r#", "timeout_ms": 9000"#));
    servers.call(support::call("echo", "{}")).await.unwrap();
    support::until("the old process is gone", || {
        let now = support::marked(&mark);
        now.len() == 1 && now != before
    })
    .await;
    servers.replace([]);
    support::until("all are gone", || support::marked(&mark).is_empty()).await;
    let gone = servers.call(support::call("echo", "{}")).await.unwrap_err();
    support::assert_failure(&gone, FailureKind::UnknownTool, "no server `u`");
    servers.shutdown().await;
}

/// Backoffs that are too long to pass by chance.
fn with_long_rests() -> ClientOptions {
    ClientOptions {
        backoff_first: Duration::from_secs(3),
        ..options()
    }
}

#[tokio::test]
async fn a_call_waits_for_the_next_start_of_a_server_that_fell() {
    let bench = Bench::with("[]", "", with_long_rests());
    bench.works().await;
    bench.call("close", "{}").await.unwrap_err();
    let resting = || {
        matches!(
            bench.servers.status()[0].state,
            ServerState::BackingOff { .. }
        )
    };
    until("the backoff", resting).await;
    // All calls in the meantime wait for the same start.
    let waiting = (0..20).map(|_| bench.works());
    futures_util::future::join_all(waiting).await;
}

#[tokio::test]
async fn calls_while_a_server_is_killed_again_and_again_wait_for_its_next_start() {
    let options = ClientOptions {
        // After the third kill, the backoff is longer than a call to a server that cannot start waits.
        backoff_first: Duration::from_millis(700),
        ..options()
    };
    let bench = Bench::with("[]", "", options);
    bench.works().await;
    for kill in 0..3 {
        processes::kill_marked(&bench.mark);
        until("the backoff", || {
            matches!(
                bench.servers.status()[0].state,
                ServerState::BackingOff { .. }
            )
        })
        .await;
        let waiting = (0..20).map(|_| bench.call("echo", r#"{"still":"here"}"#));
        for output in futures_util::future::join_all(waiting).await {
            assert_eq!(output, Ok(json(r#"{"still":"here"}"#)), "kill {kill}");
        }
    }
}

#[tokio::test]
async fn a_call_that_has_no_time_for_the_next_start_fails_at_once() {
    let options = ClientOptions {
        backoff_first: Duration::from_secs(60),
        backoff_max: Duration::from_secs(60),
        ..options()
    };
    let bench = Bench::with("[]", "", options);
    bench.works().await;
    bench.call("close", "{}").await.unwrap_err();
    until("the backoff", || {
        matches!(
            bench.servers.status()[0].state,
            ServerState::BackingOff { .. }
        )
    })
    .await;
    let failure = bench.call_within("echo", "{}", 30_000).await;
    assert_failure(&failure, FailureKind::Unavailable, "next attempt in");
    let data = failure.data.as_ref().unwrap();
    assert_eq!(data.get("sent"), Some(&false.into()), "{failure:?}");
    // Far from its timeout, and from the next start.
    let left = data.get("retry_in_ms").unwrap().as_f64().unwrap();
    assert!(left > 30_000.0, "{left}");
}

#[tokio::test]
async fn a_server_that_cannot_start_is_not_waited_for() {
    let options = ClientOptions {
        backoff_first: Duration::from_secs(20),
        ..options()
    };
    let bench = Bench::with(r#"["--exit-at-start"]"#, "", options);
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::Unavailable, "exited with code 7");
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::Unavailable, "next attempt in");
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_the_next_start() {
    let options = ClientOptions {
        backoff_first: Duration::from_secs(30),
        ..options()
    };
    let bench = Bench::with("[]", "", options);
    bench.works().await;
    bench.call("close", "{}").await.unwrap_err();
    until("the backoff", || {
        matches!(
            bench.servers.status()[0].state,
            ServerState::BackingOff { .. }
        )
    })
    .await;
    let call = bench.call("echo", "{}");
    let (failure, ()) = tokio::join!(call, bench.servers.shutdown());
    assert_failure(
        &failure.unwrap_err(),
        FailureKind::Unavailable,
        "was shut down",
    );
}
