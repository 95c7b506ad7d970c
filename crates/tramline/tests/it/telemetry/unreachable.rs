//! An unreachable receiver: nothing waits for it, and it is reported once.

use super::document;
use crate::support::{CommandResult, Tramline};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// How often a warning about the receiver was printed.
fn warnings(done: &CommandResult) -> usize {
    done.err().matches("telemetry cannot reach").count()
}

#[test]
fn a_receiver_that_is_away_costs_one_warning() {
    let home = Tramline::new();
    let path = document(home.data.path());
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let done = home
        .command(&["run", path.to_str().unwrap(), "look", "--json"])
        .env(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://me:pass-word-9@127.0.0.1:{port}"),
        )
        .env("OTEL_BSP_SCHEDULE_DELAY", "1")
        .output()
        .unwrap();
    let done = CommandResult(done);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert_eq!(warnings(&done), 1, "{}", done.err());
    assert!(!done.err().contains("pass-word-9"), "{}", done.err());
}

#[test]
fn a_receiver_that_never_answers_does_not_hold_a_run() {
    let home = Tramline::new();
    let path = document(home.data.path());
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    let done = home
        .command(&["run", path.to_str().unwrap(), "look", "--json"])
        .env(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://{}", deaf.local_addr().unwrap()),
        )
        .env("OTEL_BSP_MAX_QUEUE_SIZE", "2")
        .output()
        .unwrap();
    assert_eq!(CommandResult(done).code(), 0);
    // The rest gets three seconds, far less than a request may take.
    assert!(
        began.elapsed() < Duration::from_secs(9),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn what_cannot_be_done_is_said_before_anything_runs() {
    let home = Tramline::new();
    let path = document(home.data.path());
    let done = home
        .command(&["run", path.to_str().unwrap(), "look"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        .output()
        .unwrap();
    let done = CommandResult(done);
    assert_eq!(done.code(), 2);
    assert!(done.err().contains("http/protobuf"), "{}", done.err());
}
