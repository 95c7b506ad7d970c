//! Pipes, devices and sockets in a root: opening them never blocks.

use crate::{builtin, call};
use nix::sys::stat::Mode;
use std::time::Duration;
use tramline_builtin::SERVER;
use tramline_engine::ports::Tools;
use tramline_expr::Value;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::ToolName;

#[tokio::test]
async fn a_pipe_keeps_no_thread() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    nix::unistd::mkfifo(&dir.path().join("pipe"), Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    std::fs::write(dir.path().join("good"), "good").unwrap();
    // More than the limit on concurrent calls, and more than there are threads.
    for _ in 0..600 {
        let read = call(&tools, "read-file", r#"{"path":"pipe"}"#).await;
        let failure = read.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tool, "{failure}");
        assert!(failure.message.contains("is not a file"), "{failure}");
    }
    for (tool, arguments) in [
        ("read-file", r#"{"path":"socket"}"#),
        ("copy-file", r#"{"from":"pipe","to":"new"}"#),
        ("copy-file", r#"{"from":"good","to":"pipe"}"#),
        ("move-file", r#"{"from":"pipe","to":"new"}"#),
    ] {
        let ended = tokio::time::timeout(Duration::from_secs(30), call(&tools, tool, arguments));
        let failure = ended.await.expect(tool).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tool, "{tool}: {failure}");
    }
    for (tool, arguments) in [
        ("write-file", r#"{"path":"pipe","content":"x"}"#),
        ("copy-file", r#"{"from":"good","to":"pipe"}"#),
        ("copy-file", r#"{"from":"pipe","to":"new"}"#),
        ("delete-file", r#"{"path":"pipe"}"#),
    ] {
        let arguments = Value::from_json(arguments).unwrap();
        let name = ToolName::new(SERVER, tool);
        let shown = tools.preview(&name, &arguments);
        let shown = tokio::time::timeout(Duration::from_secs(3), shown)
            .await
            .expect(tool);
        assert!(
            shown.unwrap().note.unwrap().contains("is not a file"),
            "{tool}"
        );
    }
    let read = tools.document("pipe", Duration::from_secs(5)).await;
    assert_eq!(read.unwrap_err().kind, FailureKind::Tool);
    assert!(
        call(&tools, "read-file", r#"{"path":"good"}"#)
            .await
            .is_ok()
    );
}
