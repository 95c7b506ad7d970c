//! Copying, moving and deleting: the result, and what is rejected.

use crate::{builtin, call};
use tramline_engine::ports::Tools;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::ToolName;

#[tokio::test]
async fn files_are_copied_moved_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("a"), "hello").unwrap();
    let copied = call(
        &tools,
        "copy-file",
        r#"{"from":"a","to":"x/b","create_dirs":true}"#,
    );
    let copied = copied.await.unwrap();
    assert_eq!(
        copied.to_json(),
        r#"{"from":"a","to":"x/b","bytes":5,"copied":true}"#
    );
    assert_eq!(std::fs::read_to_string(at("x/b")).unwrap(), "hello");
    // The same copy again changes nothing; different content is not replaced without `overwrite`.
    let again = call(&tools, "copy-file", r#"{"from":"a","to":"x/b"}"#).await;
    assert!(again.is_ok());
    std::fs::write(at("x/b"), "other").unwrap();
    for tool in ["copy-file", "move-file"] {
        let failure = call(&tools, tool, r#"{"from":"a","to":"x/b"}"#)
            .await
            .unwrap_err();
        assert!(failure.message.contains("overwrite: true"), "{failure}");
    }
    assert_eq!(std::fs::read_to_string(at("x/b")).unwrap(), "other");
    let moved = call(
        &tools,
        "move-file",
        r#"{"from":"a","to":"x/b","overwrite":true}"#,
    );
    assert_eq!(moved.await.unwrap().get("moved"), Some(&true.into()));
    assert_eq!(std::fs::read_to_string(at("x/b")).unwrap(), "hello");
    assert!(!at("a").exists());
    let moved = call(&tools, "move-file", r#"{"from":"x/b","to":"c"}"#).await;
    assert!(moved.is_ok() && at("c").exists() && !at("x/b").exists());
    for there in [true, false] {
        let gone = call(&tools, "delete-file", r#"{"path":"c"}"#)
            .await
            .unwrap();
        assert_eq!(gone.get("deleted"), Some(&there.into()));
    }
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["x"], "no temporary files are left behind");
}

#[tokio::test]
async fn what_is_no_file_or_not_confirmed_stays() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    std::fs::create_dir(dir.path().join("d")).unwrap();
    std::fs::write(dir.path().join("f"), "x").unwrap();
    std::os::unix::fs::symlink("f", dir.path().join("link")).unwrap();
    for (tool, arguments, says) in [
        ("copy-file", r#"{"from":"d","to":"e"}"#, "is not a file"),
        ("move-file", r#"{"from":"d","to":"e"}"#, "is not a file"),
        ("move-file", r#"{"from":"link","to":"e"}"#, "is not a file"),
        ("move-file", r#"{"from":"nothing","to":"e"}"#, "nothing"),
        ("delete-file", r#"{"path":"d"}"#, "is a directory"),
        (
            "delete-file",
            r#"{"path":"f","confirm_delete":false}"#,
            "is not true",
        ),
        (
            "delete-file",
            r#"{"path":"f","confirm_delete":"true"}"#,
            "true or false",
        ),
    ] {
        let failure = call(&tools, tool, arguments).await.unwrap_err();
        assert!(failure.message.contains(says), "{tool}: {failure}");
    }
    let gone = call(&tools, "delete-file", r#"{"path":"link"}"#).await;
    assert!(gone.is_ok());
    assert!(dir.path().join("f").exists(), "only the symlink is gone");
}

#[tokio::test]
async fn nothing_leads_out() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    std::fs::write(dir.path().join("f"), "x").unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    let tools = builtin(dir.path(), &[]);
    for (tool, arguments) in [
        ("copy-file", r#"{"from":"link/secret","to":"g"}"#),
        ("copy-file", r#"{"from":"f","to":"link/g"}"#),
        ("copy-file", r#"{"from":"f","to":"../g"}"#),
        ("move-file", r#"{"from":"link/secret","to":"g"}"#),
        ("move-file", r#"{"from":"f","to":"link/g"}"#),
        ("delete-file", r#"{"path":"link/secret"}"#),
        ("delete-file", r#"{"path":"/etc/hostname"}"#),
    ] {
        let failure = call(&tools, tool, arguments).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Forbidden, "{tool}: {failure}");
    }
    assert!(outside.path().join("secret").exists());
    assert!(!outside.path().join("g").exists());
    assert!(dir.path().join("f").exists());
}

#[tokio::test]
async fn every_tool_says_what_it_takes_gives_and_does() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    let listed = tools.list().await.pop().unwrap().tools.unwrap();
    let names: Vec<_> = listed.iter().map(|tool| tool.name.tool.as_str()).collect();
    let wanted = [
        "copy-file",
        "delete-file",
        "finalize_summary",
        "http",
        "list-directory",
        "llm",
        "move-file",
        "read-file",
        "shell",
        "write-file",
    ];
    assert_eq!(names, wanted);
    for tool in &listed {
        for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()] {
            let kind = schema.unwrap().get("type");
            assert_eq!(kind, Some(&"object".into()), "{}", tool.name);
        }
    }
    let hints = |name| {
        let tool = tools.known(&ToolName::new("builtin", name)).unwrap();
        (tool.hints.destructive, tool.hints.idempotent)
    };
    assert_eq!(hints("move-file"), (Some(true), Some(false)));
    assert_eq!(hints("delete-file"), (Some(true), Some(true)));
    assert_eq!(hints("shell"), (Some(true), Some(false)));
}
