//! Every kind of misbehavior ends in a clear failure, and the next call works.

use crate::support::{Bench, assert_failure, options};
use std::time::{Duration, Instant};
use tramline_expr::Value;
use tramline_mcp_client::{ClientOptions, ServerState};
use tramline_workflow::failure::FailureKind;

#[tokio::test]
async fn a_call_that_hangs_times_out_and_the_server_stays() {
    let bench = Bench::plain();
    bench.works().await;
    let pid = bench.pid();
    let failure = bench.call_within("hang", "{}", 200).await;
    assert_failure(
        &failure,
        FailureKind::Timeout,
        "u:hang did not answer within 200ms",
    );
    bench.works().await;
    assert_eq!(bench.pid(), pid);
}

#[tokio::test]
async fn a_server_that_freezes_is_replaced() {
    let bench = Bench::plain();
    bench.works().await;
    let pid = bench.pid();
    let failure = bench.call_within("freeze", "{}", 200).await;
    assert_failure(&failure, FailureKind::Timeout, "u:freeze");
    bench.works().await;
    assert_ne!(bench.pid(), pid);
    assert_eq!(bench.processes().len(), 1);
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_tells_its_last_words() {
    let bench = Bench::plain();
    bench.works().await;
    let pid = bench.pid();
    let other = bench.call("sleep", r#"{"ms":60000}"#);
    let crash = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        bench.call("crash", "{}").await
    };
    let (other, crash) = tokio::join!(other, crash);
    for failure in [other.unwrap_err(), crash.unwrap_err()] {
        assert_failure(&failure, FailureKind::Unavailable, "exited with code 3");
        assert!(failure.may_have_happened);
        let data = failure.data.unwrap();
        let stderr = data.get("stderr").and_then(Value::as_array).unwrap();
        assert_eq!(stderr, [Value::from("unruly: about to crash")]);
        assert_eq!(data.get("exit_code"), Some(&3.into()));
        assert_eq!(data.get("sent"), Some(&true.into()));
    }
    bench.works().await;
    assert_ne!(bench.pid(), pid);
}

#[tokio::test]
async fn a_server_that_leaves_quietly_is_started_again() {
    let bench = Bench::plain();
    for _ in 0..5 {
        let failure = bench.call("close", "{}").await.unwrap_err();
        assert_failure(&failure, FailureKind::Unavailable, "exited with code 0");
        bench.works().await;
    }
}

#[tokio::test]
async fn floods_are_borne_or_end_the_server() {
    let bench = Bench::plain();
    for arguments in [
        r#"{"bytes":8000000}"#,
        r#"{"bytes":8000000,"kind":"line"}"#,
        r#"{"bytes":8000000,"kind":"messages"}"#,
        r#"{"bytes":40000000,"kind":"line"}"#,
    ] {
        let output = bench.call("flood", arguments).await;
        assert_eq!(output, Ok("flooded".into()), "{arguments}");
        bench.works().await;
    }
    let pid = bench.pid();
    let failure = bench
        .call("flood", r#"{"bytes":200000000}"#)
        .await
        .unwrap_err();
    assert_failure(
        &failure,
        FailureKind::BadAnswer,
        "flooded its standard output",
    );
    bench.works().await;
    let failure = bench
        .call("flood", r#"{"bytes":300000000,"kind":"line"}"#)
        .await;
    assert_failure(
        &failure.unwrap_err(),
        FailureKind::BadAnswer,
        "sent a line of more than",
    );
    bench.works().await;
    assert_ne!(bench.pid(), pid);
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_own_call_only() {
    let bench = Bench::plain();
    bench.works().await;
    let pid = bench.pid();
    let sleeping = bench.call("sleep", r#"{"ms":1000}"#);
    let big = async {
        for arguments in [
            r#"{"bytes":50000000}"#,
            r#"{"bytes":50000000,"id_last":true}"#,
        ] {
            let failure = bench.call("big", arguments).await.unwrap_err();
            assert_failure(
                &failure,
                FailureKind::BadAnswer,
                "over the limit of 16777216 bytes",
            );
        }
    };
    let (slept, ()) = tokio::join!(sleeping, big);
    assert_eq!(slept, Ok("slept 1000 ms".into()));
    let output = bench.call("big", r#"{"bytes":5000000}"#).await.unwrap();
    assert_eq!(output.as_str().map(str::len), Some(5_000_000));
    bench.works().await;
    assert_eq!(bench.pid(), pid);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 400_000, "peak of {peak} kB");
}

#[tokio::test]
async fn a_dripping_answer_comes_or_times_out() {
    let bench = Bench::plain();
    let output = bench.call("drip", r#"{"ms":2}"#).await;
    assert_eq!(output, Ok("drop by drop".into()));
    let failure = bench.call_within("drip", r#"{"ms":20}"#, 200).await;
    assert_failure(&failure, FailureKind::Timeout, "u:drip");
    bench.works().await;
}

#[tokio::test]
async fn much_on_stderr_is_read_and_let_go() {
    let bench = Bench::plain();
    let output = bench.call("stderr", r#"{"lines":200000}"#).await;
    assert_eq!(output, Ok("complained".into()));
    let failure = bench.call("crash", "{}").await.unwrap_err();
    let data = failure.data.unwrap();
    let stderr = data.get("stderr").and_then(Value::as_array).unwrap();
    assert_eq!(stderr.len(), 20);
    assert_eq!(stderr[18].as_str(), Some("unruly: complaint 199999"));
    bench.works().await;
}

#[tokio::test]
async fn a_server_that_exits_at_start_is_tried_again_more_and_more_rarely() {
    let options = ClientOptions {
        backoff_first: Duration::from_millis(400),
        ..options()
    };
    let bench = Bench::with(r#"["--exit-at-start"]"#, "", options);
    let start = Instant::now();
    for _ in 0..2 {
        let failure = bench.call("echo", "{}").await.unwrap_err();
        assert_failure(
            &failure,
            FailureKind::Unavailable,
            "exited with code 7 before it was ready",
        );
        assert_failure(
            &failure,
            FailureKind::Unavailable,
            "exiting at start, as requested",
        );
        assert!(!failure.may_have_happened);
        let data = failure.data.unwrap();
        assert!(data.get("stderr").is_some());
        assert_eq!(data.get("sent"), Some(&false.into()));
    }
    // The second call waited for the restart, which was due soon.
    assert!(start.elapsed() >= Duration::from_millis(400));
    // Then the backoff gets longer than a call waits.
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::Unavailable, "exited with code 7");
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::Unavailable, "exited with code 7");
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::Unavailable, "next attempt in");
    assert!(failure.data.unwrap().get("retry_in_ms").is_some());
    let state = bench.servers.status().remove(0).state;
    assert!(matches!(state, ServerState::BackingOff { .. }), "{state:?}");
    assert_eq!(bench.processes(), [0_u32; 0]);
}

#[tokio::test]
async fn a_server_that_never_shakes_hands_is_given_up_in_time() {
    let options = ClientOptions {
        start_timeout: Duration::from_millis(600),
        ..options()
    };
    let bench = Bench::with(r#"["--never-initialize"]"#, "", options);
    let failure = bench.call_within("echo", "{}", 200).await;
    assert_failure(
        &failure,
        FailureKind::Timeout,
        "was not ready for u:echo in 200ms",
    );
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(
        &failure,
        FailureKind::Unavailable,
        "did not finish its handshake in 600ms",
    );
    crate::support::until("the process to go", || bench.processes().is_empty()).await;
}
