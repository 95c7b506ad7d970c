//! No process is left behind: not after a shutdown, a drop, a lost runtime or our own sudden death.

use crate::support::{Bench, assert_failure, config, json, mark, marked, options, unruly, until};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tramline_engine::ports::Tools;
use tramline_mcp_client::config::read;
use tramline_mcp_client::{ServerState, Servers};
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::ToolName;

/// The mark under which the helper below starts its server.
const HELPER_MARK: &str = "TRAMLINE_TEST_HELPER_MARK";

#[tokio::test]
async fn a_shutdown_leaves_nothing() {
    let bench = Bench::with(r#"["--grandchild"]"#, "", options());
    bench.works().await;
    until("both processes", || bench.processes().len() == 2).await;
    let sleeping = bench.call("sleep", r#"{"ms":60000}"#);
    let closing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        bench.servers.shutdown().await;
        assert_eq!(bench.processes(), [0_u32; 0]);
    };
    let (slept, ()) = tokio::join!(sleeping, closing);
    assert_failure(
        &slept.unwrap_err(),
        FailureKind::Unavailable,
        "was shut down",
    );
    let failure = bench.call("echo", "{}").await.unwrap_err();
    assert_failure(&failure, FailureKind::Unavailable, "was shut down");
    assert!(matches!(
        bench.servers.status()[0].state,
        ServerState::NotStarted
    ));
    bench.servers.shutdown().await;
}

#[tokio::test]
async fn a_shutdown_during_the_start_leaves_nothing() {
    let bench = Bench::with(r#"["--never-initialize"]"#, "", options());
    let call = bench.call("echo", "{}");
    let closing = async {
        until("the start", || !bench.processes().is_empty()).await;
        bench.servers.shutdown().await;
    };
    let (failure, ()) = tokio::join!(call, closing);
    assert_failure(
        &failure.unwrap_err(),
        FailureKind::Unavailable,
        "was shut down",
    );
    until("the end", || bench.processes().is_empty()).await;
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_stdin_gets_a_signal() {
    let bench = Bench::with(r#"["--ignore-eof"]"#, "", options());
    bench.works().await;
    let start = Instant::now();
    bench.servers.shutdown().await;
    assert!(start.elapsed() >= options().stop_grace && start.elapsed() < Duration::from_secs(5));
    assert_eq!(bench.processes(), [0_u32; 0]);
}

#[tokio::test]
async fn a_server_that_ignores_signals_is_killed_with_its_children() {
    let mark = mark();
    // A signal that a shell ignores is also ignored by the program that it execs.
    let script = format!(
        "trap '' TERM; exec {} --ignore-eof --grandchild",
        unruly().display()
    );
    let text = format!(
        r#"{{"mcpServers": {{"u": {{"command": "sh", "args": ["-c", "{script}"],
            "env": {{"UNRULY_MARK": "{mark}"}}}}}}}}"#
    );
    let servers = Servers::new(read(&json(&text)).unwrap(), options());
    servers.find(&ToolName::new("u", "echo")).await.unwrap();
    until("both processes", || marked(&mark).len() == 2).await;
    servers.shutdown().await;
    until("the end", || marked(&mark).is_empty()).await;
}

#[tokio::test]
async fn dropping_leaves_nothing() {
    let bench = Bench::with(r#"["--grandchild"]"#, "", options());
    bench.works().await;
    until("both processes", || bench.processes().len() == 2).await;
    let Bench { servers, mark } = bench;
    drop(servers);
    until("the end", || marked(&mark).is_empty()).await;
}

#[test]
fn losing_the_runtime_leaves_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let bench = Bench::with(r#"["--grandchild", "--ignore-eof"]"#, "", options());
    runtime.block_on(bench.works());
    runtime.block_on(until("both processes", || bench.processes().len() == 2));
    drop(runtime);
    let start = Instant::now();
    while !bench.processes().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(10), "still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Not a test: the process that the next test kills.
#[tokio::test]
#[ignore = "run by a_sudden_death_leaves_nothing"]
async fn helper() {
    let Ok(mark) = std::env::var(HELPER_MARK) else {
        return;
    };
    let servers = Servers::new(config(&mark, "[]", ""), options());
    servers.find(&ToolName::new("u", "echo")).await.unwrap();
    println!("\nready");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_sudden_death_leaves_nothing() {
    let mark = mark();
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::helper", "--ignored", "--nocapture"])
        .env(HELPER_MARK, &mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(helper.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    assert_eq!(marked(&mark).len(), 1);
    helper.kill().unwrap();
    helper.wait().unwrap();
    until("the end", || marked(&mark).is_empty()).await;
}
