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

#[tokio::test]
async fn no_call_replaces_or_deletes_what_is_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    nix::unistd::mkfifo(&dir.path().join("pipe"), Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("pipe", dir.path().join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    std::fs::write(dir.path().join("good"), "good").unwrap();
    for special in ["pipe", "link", "socket"] {
        let path = dir.path().join(special);
        let before = std::fs::symlink_metadata(&path).unwrap().file_type();
        for (tool, arguments) in [
            (
                "write-file",
                format!(r#"{{"path":"{special}","content":"x"}}"#),
            ),
            (
                "copy-file",
                format!(r#"{{"from":"good","to":"{special}","overwrite":true}}"#),
            ),
            (
                "copy-file",
                format!(r#"{{"from":"good","to":"{special}"}}"#),
            ),
            (
                "move-file",
                format!(r#"{{"from":"good","to":"{special}","overwrite":true}}"#),
            ),
            ("delete-file", format!(r#"{{"path":"{special}"}}"#)),
        ] {
            // A link is deleted without its target.
            if (special, tool) == ("link", "delete-file") {
                continue;
            }
            let name = ToolName::new(SERVER, tool);
            let given = Value::from_json(&arguments).unwrap();
            let preview = tools.preview(&name, &given);
            let shown = preview.await.unwrap().note.unwrap();
            assert!(shown.contains("would fail"), "{arguments}: {shown}");
            let ended =
                tokio::time::timeout(Duration::from_secs(30), call(&tools, tool, &arguments));
            let failure = ended.await.expect(tool).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Tool, "{tool} {arguments}");
            assert!(
                failure.message.contains("is not a file"),
                "{tool}: {failure}"
            );
        }
        let after = std::fs::symlink_metadata(&path).unwrap().file_type();
        assert_eq!(before, after, "{special}");
    }
    // A device outside of the roots cannot be reached by a link.
    std::os::unix::fs::symlink("/dev/null", dir.path().join("null")).unwrap();
    let read = call(&tools, "read-file", r#"{"path":"null"}"#).await;
    assert!(read.is_err());
    assert_eq!(
        std::fs::read_to_string(dir.path().join("good")).unwrap(),
        "good"
    );
}
