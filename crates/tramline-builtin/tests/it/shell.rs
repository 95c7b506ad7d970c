//! Commands: what they see, what comes back, and that nothing of them is left behind.

use crate::call;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_builtin::{Builtin, BuiltinAccess, SERVER};
use tramline_engine::ports::{ToolCallRequest, Tools};
use tramline_expr::Value;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::ToolName;

fn shell(root: &Path) -> Builtin {
    Builtin::new(BuiltinAccess {
        roots: vec![root.to_owned()],
        shell: true,
        ..BuiltinAccess::default()
    })
    .unwrap()
}

#[tokio::test]
async fn it_is_off_until_it_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let off = crate::builtin(dir.path(), &[]);
    let failure = call(&off, "shell", r#"{"command":"touch x"}"#)
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Forbidden);
    assert!(failure.message.contains("--allow-shell"), "{failure}");
    assert!(!dir.path().join("x").exists());
}

#[tokio::test]
async fn a_command_works_in_its_directory_with_what_it_is_given() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let tools = shell(dir.path());
    let arguments = r#"{"command":"pwd; cat; printf '%s' \"$ITEM\" >&2; echo","cwd":"sub",
        "stdin":{"a":1},"env":{"ITEM":"a'b \"$c"}}"#;
    let done = call(&tools, "shell", arguments).await.unwrap();
    let stdout = done.get("stdout").unwrap().as_str().unwrap();
    assert!(stdout.ends_with("/sub\n{\"a\":1}"), "{stdout}");
    assert_eq!(done.get("stderr"), Some(&"a'b \"$c".into()));
    assert_eq!(done.get("exit_code"), Some(&0.into()));
    let done = call(&tools, "shell", r#"{"command":"echo '[1, {\"b\": 2}]'"}"#).await;
    let done = done.unwrap();
    assert_eq!(done.get("json").unwrap().to_json(), r#"[1,{"b":2}]"#);
    let done = call(&tools, "shell", r#"{"command":"env | grep -c CARGO"}"#).await;
    let failure = done.unwrap_err();
    assert_eq!(failure.data.unwrap().get("stdout"), Some(&"0".into()));
    let done = call(&tools, "shell", r#"{"command":"printf '\\377'"}"#).await;
    assert_eq!(done.unwrap().get("encoding"), Some(&"base64".into()));
}

#[tokio::test]
async fn a_command_that_fails_is_a_failure_with_all_it_said() {
    let dir = tempfile::tempdir().unwrap();
    let tools = shell(dir.path());
    let command = r#"{"command":"echo some; echo broken >&2; exit 3"}"#;
    let failure = call(&tools, "shell", command).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tool);
    assert_eq!(
        failure.message,
        "the command ended with exit code 3: broken"
    );
    assert_eq!(failure.data.unwrap().get("stdout"), Some(&"some".into()));
    let kept = r#"{"command":"exit 3","ignore_errors":true}"#;
    let done = call(&tools, "shell", kept).await.unwrap();
    assert_eq!(done.get("exit_code"), Some(&3.into()));
    let flood = r#"{"command":"yes"}"#;
    let failure = call(&tools, "shell", flood).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadAnswer, "{failure}");
}

#[tokio::test]
async fn it_stays_inside() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let tools = shell(dir.path());
    for cwd in ["..", "/", "link", "file", "nothing"] {
        let arguments = Value::object([("command", "true".into()), ("cwd", cwd.into())]);
        let failure = call(&tools, "shell", &arguments.to_json()).await;
        assert_eq!(failure.unwrap_err().kind, FailureKind::Forbidden, "{cwd}");
    }
}

/// Whether a process exists and is running.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

async fn gone(file: &Path) {
    let pid = std::fs::read_to_string(file).unwrap();
    let begun = std::time::Instant::now();
    while lives(&pid) {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{pid} is still running"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let tools = shell(dir.path());
    let order = |command: &str, ms: u64, cancel: &CancellationToken| ToolCallRequest {
        tool: ToolName::new(SERVER, "shell"),
        arguments: Value::object([("command", command.into())]),
        key: "k".into(),
        timeout: Duration::from_millis(ms),
        cancel: cancel.clone(),
        progress: None,
        upstream: None,
    };
    // Background processes end with the command.
    let never = CancellationToken::new();
    let done = tools.call(order("sleep 600 & echo $! > one; echo done", 9_000, &never));
    assert_eq!(done.await.unwrap().get("stdout"), Some(&"done".into()));
    gone(&dir.path().join("one")).await;
    // And at the timeout.
    let late = tools.call(order("sh -c 'echo $$ > two; sleep 600'; true", 300, &never));
    assert_eq!(late.await.unwrap_err().kind, FailureKind::Timeout);
    gone(&dir.path().join("two")).await;
    // And on cancellation.
    let cancel = CancellationToken::new();
    let file = dir.path().join("three");
    let stop = async {
        while !std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')) {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let order = order("echo $$ > three; sleep 600", 9_000, &cancel);
    let (ended, ()) = tokio::join!(tools.call(order), stop);
    assert_eq!(ended.unwrap_err().kind, FailureKind::Cancelled);
    gone(&file).await;
}
