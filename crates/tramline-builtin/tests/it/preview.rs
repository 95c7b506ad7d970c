//! Previews of what a file tool would change: nothing is touched.

use crate::builtin;
use tramline_builtin::{Builtin, SERVER};
use tramline_engine::ports::Tools;
use tramline_expr::Value;
use tramline_views::pause_view::FileChange;
use tramline_workflow::ids::ToolName;

async fn preview(tools: &Builtin, tool: &str, arguments: &str) -> FileChange {
    let arguments = Value::from_json(arguments).unwrap();
    let name = ToolName::new(SERVER, tool);
    tools.preview(&name, &arguments).await.unwrap()
}

#[tokio::test]
async fn a_preview_shows_the_difference_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let tools = builtin(dir.path(), &[]);
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("a"), "one\ntwo\n").unwrap();
    std::fs::write(at("b"), "one\n").unwrap();
    std::fs::write(at("bytes"), [0xff, 0xfe, 0]).unwrap();
    std::fs::write(at("large"), "x".repeat(1 << 20)).unwrap();
    let diff = |change: &FileChange| change.diff.clone().unwrap_or_default();
    let note = |change: &FileChange| change.note.clone().unwrap_or_default();

    let made = preview(
        &tools,
        "write-file",
        r#"{"path":"new/c","content":"x\n","create_dirs":true}"#,
    )
    .await;
    assert_eq!(
        (made.change, diff(&made).as_str()),
        ("create", "@@ -0,0 +1,1 @@\n+x\n")
    );
    let written = preview(&tools, "write-file", r#"{"path":"a","content":"one\n2\n"}"#).await;
    assert_eq!(written.change, "replace");
    assert_eq!(diff(&written), "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    let same = preview(
        &tools,
        "write-file",
        r#"{"path":"a","content":"one\ntwo\n"}"#,
    )
    .await;
    assert_eq!((same.change, same.diff), ("unchanged", None));
    let binary = preview(&tools, "write-file", r#"{"path":"bytes","content":"x"}"#).await;
    assert!(
        note(&binary).contains("3 bytes of binary data"),
        "{binary:?}"
    );
    let large = preview(&tools, "write-file", r#"{"path":"large","content":"x"}"#).await;
    assert!(note(&large).contains("too large to compare"), "{large:?}");
    let gone = preview(&tools, "delete-file", r#"{"path":"a"}"#).await;
    assert_eq!(
        (gone.change, diff(&gone).contains("-two")),
        ("delete", true)
    );
    let moved = preview(
        &tools,
        "move-file",
        r#"{"from":"a","to":"b","overwrite":true}"#,
    )
    .await;
    assert_eq!(
        (moved.change, diff(&moved).contains("+two")),
        ("move", true)
    );
    for (tool, arguments, part) in [
        ("copy-file", r#"{"from":"a","to":"b"}"#, "overwrite: true"),
        (
            "move-file",
            r#"{"from":"none","to":"b"}"#,
            "none does not exist",
        ),
        (
            "write-file",
            r#"{"path":"/etc/passwd","content":"x"}"#,
            "outside the allowed roots",
        ),
        ("write-file", r#"{"path":"../x","content":"x"}"#, "`..`"),
    ] {
        let refused = preview(&tools, tool, arguments).await;
        assert_eq!(refused.change, "unchanged", "{refused:?}");
        assert!(note(&refused).contains(part), "{part}: {refused:?}");
        assert_eq!(refused.diff, None);
    }
    assert_eq!(std::fs::read_to_string(at("a")).unwrap(), "one\ntwo\n");
    assert_eq!(std::fs::read_to_string(at("b")).unwrap(), "one\n");
    assert!(!at("new").exists());
    let http = ToolName::new(SERVER, "http");
    assert_eq!(tools.preview(&http, &Value::Null).await, None);
}
