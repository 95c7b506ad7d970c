//! Results of calls, what is sent with them, and how they are cut short.

use crate::support::{Bench, assert_failure, call, json, options};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tramline_engine::ports::Tools;
use tramline_expr::Value;
use tramline_mcp_client::ClientOptions;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::ToolName;

#[tokio::test]
async fn each_kind_of_answer_becomes_one_value() {
    let bench = Bench::plain();
    for (tool, arguments, expected) in [
        ("add", r#"{"a":1,"b":2}"#, "3"),
        ("text", r#"{"text":"plain words"}"#, r#""plain words""#),
        ("text", r#"{"text":"{\"a\":[1,2]}"}"#, r#"{"a":[1,2]}"#),
        ("nothing", "{}", "null"),
        (
            "structured",
            "{}",
            r#"{"z":1,"a":[1,2.5,null],"key":"key-1"}"#,
        ),
        ("garbage", "{}", r#""after the garbage""#),
        ("twice", "{}", r#""first""#),
    ] {
        let output = bench.call(tool, arguments).await.unwrap();
        assert_eq!(output.to_json(), expected, "{tool}");
    }
    let image = bench.call("image", "{}").await.unwrap();
    assert_eq!(image.get("mimeType"), Some(&"image/png".into()));
    let many = bench.call("many", "{}").await.unwrap();
    assert_eq!(many.at(0), Some(&"one".into()));
    assert_eq!(many.at(1), Some(&json(r#"{"two":2}"#)));
    let resource = many.at(3).unwrap().get("resource").unwrap();
    assert_eq!(resource.get("text"), Some(&"four".into()));
}

#[tokio::test]
async fn failures_say_what_kind_they_are() {
    let bench = Bench::plain();
    let failure = bench.call("fail", r#"{"message":"no"}"#).await.unwrap_err();
    assert_failure(&failure, FailureKind::Tool, "no");
    let content = failure.data.unwrap().get("content").cloned().unwrap();
    assert_eq!(content.at(0).unwrap().get("text"), Some(&"no".into()));
    let failure = bench.call("refuse", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::BadArguments, "refused on request");
    let failure = bench
        .call("refuse", r#"{"code":-32603}"#)
        .await
        .unwrap_err();
    assert_failure(&failure, FailureKind::Tool, "refused on request");
    let failure = bench.call("strutcured", "{}").await.unwrap_err();
    assert_failure(
        &failure,
        FailureKind::UnknownTool,
        "did you mean `structured`?",
    );
    let name = ToolName::new("uu", "echo");
    let failure = bench.servers.find(&name).await.unwrap_err();
    assert_failure(&failure, FailureKind::UnknownTool, "did you mean `u`?");
}

#[tokio::test]
async fn progress_is_told_and_keeps_a_call_alive() {
    let bench = Bench::plain();
    bench.works().await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut sleeping = call("sleep", r#"{"ms":1500,"steps":15}"#);
    sleeping.timeout = Duration::from_millis(700);
    let hearing = Arc::clone(&heard);
    sleeping.progress = Some(Arc::new(move |progress| {
        hearing.lock().unwrap().push(progress)
    }));
    let output = bench.servers.call(sleeping).await;
    assert_eq!(output, Ok("slept 1500 ms".into()));
    let heard = heard.lock().unwrap();
    assert!(heard.len() >= 14, "heard {}", heard.len());
    assert_eq!(heard[0].total, Some(15.0));
    assert!(heard[0].message.as_deref().unwrap().starts_with("step"));
}

#[tokio::test]
async fn progress_does_not_keep_a_call_alive_for_ever() {
    let options = ClientOptions {
        call_total_max: Duration::from_millis(600),
        ..options()
    };
    let bench = Bench::with("[]", "", options);
    bench.works().await;
    let failure = bench.call("sleep", r#"{"ms":60000,"steps":600}"#).await;
    assert_failure(
        &failure.unwrap_err(),
        FailureKind::Timeout,
        "maximum duration",
    );
}

#[tokio::test]
async fn the_servers_own_time_counts_if_shorter() {
    let bench = Bench::with("[]", r#", "timeout_ms": 300"#, options());
    bench.works().await;
    let failure = bench.call("hang", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::Timeout, "300ms");
}

/// The log that the server writes, with a line for each cancellation it receives.
async fn server_log(cut: impl AsyncFnOnce(&Bench)) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let path = log.to_str().unwrap().to_owned();
    let options = ClientOptions {
        lookup: Arc::new(move |name| match name {
            "LOG" => Some(path.clone()),
            name => std::env::var(name).ok(),
        }),
        ..options()
    };
    let bench = Bench::with("[]", "", options);
    bench.works().await;
    cut(&bench).await;
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    crate::support::until("the log", || read().ends_with('\n')).await;
    bench.works().await;
    read().lines().map(json).collect()
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_downstream() {
    let log = server_log(async |bench| {
        let sleeping = call("sleep", r#"{"ms":60000}"#);
        let cancel = sleeping.cancel.clone();
        let later = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            cancel.cancel();
        };
        let (output, ()) = tokio::join!(bench.servers.call(sleeping), later);
        assert_failure(&output.unwrap_err(), FailureKind::Cancelled, "u:sleep");
    })
    .await;
    assert_eq!(log, [json(r#"{"cancelled":"sleep","key":"key-1"}"#)]);
}

#[tokio::test]
async fn a_call_that_times_out_or_is_dropped_is_cancelled_downstream() {
    let log = server_log(async |bench| {
        let failure = bench.call_within("hang", "{}", 100).await;
        assert_failure(&failure, FailureKind::Timeout, "100ms");
    })
    .await;
    assert_eq!(log, [json(r#"{"cancelled":"hang","key":"key-1"}"#)]);
    let log = server_log(async |bench| {
        let dropped = bench.call("sleep", r#"{"ms":60000}"#);
        let _ = tokio::time::timeout(Duration::from_millis(100), dropped).await;
    })
    .await;
    assert_eq!(log, [json(r#"{"cancelled":"sleep","key":"key-1"}"#)]);
}

#[tokio::test]
async fn the_key_goes_with_the_call_and_the_effect_is_on_disk() {
    let log = server_log(async |bench| {
        let output = bench.call("record", r#"{"n":1,"delay_ms":10}"#).await;
        assert_eq!(output, Ok("recorded".into()));
    })
    .await;
    assert_eq!(
        log,
        [json(r#"{"key":"key-1","arguments":{"n":1,"delay_ms":10}}"#)]
    );
}

#[tokio::test]
async fn no_more_calls_run_at_once_than_allowed() {
    let bench = Bench::with("[]", r#", "max_concurrent": 2"#, options());
    bench.works().await;
    let start = Instant::now();
    let calls = (0..6).map(|_| bench.call("sleep", r#"{"ms":100}"#));
    for output in futures_util::future::join_all(calls).await {
        assert!(output.is_ok(), "{output:?}");
    }
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn a_flaky_tool_works_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("count");
    let arguments = format!(r#"{{"fail_times":2,"file":{:?}}}"#, file.to_str().unwrap());
    let bench = Bench::plain();
    for expected in [false, false, true] {
        assert_eq!(bench.call("flaky", &arguments).await.is_ok(), expected);
    }
}
