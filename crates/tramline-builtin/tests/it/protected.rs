//! Files that a server is started from: no file tool changes them, whatever name leads there.

use crate::call;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tramline_builtin::{Builtin, BuiltinAccess, ProtectedPath, Protection, SERVER};
use tramline_engine::ports::Tools;
use tramline_expr::Value;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::ToolName;

/// A root with a served document, a key, a data directory, and names that lead there.
struct ProtectedFixture {
    dir: tempfile::TempDir,
    tools: Builtin,
}

impl ProtectedFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["data", "data/claims", "real", "free"] {
            std::fs::create_dir(at(folder)).unwrap();
        }
        for file in [
            "graphs.yaml",
            "settings.key",
            "data/tramline.db",
            "data/claims/one",
            "real/linked.yaml",
            "free/note.txt",
        ] {
            std::fs::write(at(file), file).unwrap();
        }
        symlink("real", at("docs")).unwrap();
        symlink("graphs.yaml", at("soft.yaml")).unwrap();
        symlink("data", at("soft-data")).unwrap();
        std::fs::hard_link(at("graphs.yaml"), at("free/hard.yaml")).unwrap();
        std::fs::hard_link(at("settings.key"), at("free/hard.key")).unwrap();
        std::fs::hard_link(at("data/claims/one"), at("free/hard.claim")).unwrap();
        let served =
            |path: PathBuf| ProtectedPath::new(path, "a served document", Protection::Unchanged);
        let protected = vec![
            served(at("graphs.yaml")),
            served(at("docs/linked.yaml")),
            served(at("gone.yaml")),
            served(at("gone/deep/g.yaml")),
            ProtectedPath::new(at("settings.key"), "the key", Protection::Secret),
            ProtectedPath::new(
                at("data"),
                "the data directory",
                Protection::SecretDirectory,
            ),
            ProtectedPath::new(
                at("later"),
                "the data directory",
                Protection::SecretDirectory,
            ),
        ];
        let tools = Builtin::new(BuiltinAccess {
            roots: vec![dir.path().to_owned()],
            protected,
            ..BuiltinAccess::default()
        })
        .unwrap();
        Self { dir, tools }
    }

    async fn refused(&self, tool: &str, arguments: &str) {
        let failure = call(&self.tools, tool, arguments).await;
        let failure = failure.expect_err(&format!("{tool} {arguments}"));
        assert_eq!(
            failure.kind,
            FailureKind::Forbidden,
            "{tool} {arguments}: {failure}"
        );
    }
}

/// Every file with its content.
fn all(dir: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() && !path.is_symlink() {
            true => {
                found.push((path.clone(), "a directory".to_owned()));
                found.extend(all(&path));
            }
            false => found.push((
                path.clone(),
                std::fs::read_to_string(&path).unwrap_or_default(),
            )),
        }
    }
    found.sort();
    found
}

/// Names that lead to something protected, or would if they were created.
const CHANGES: [&str; 21] = [
    "graphs.yaml",
    "./graphs.yaml",
    "GRAPHS.yaml",
    "soft.yaml",
    "free/hard.yaml",
    "docs",
    "docs/linked.yaml",
    "real/linked.yaml",
    "gone.yaml",
    "gone/deep/g.yaml",
    "gone/else",
    "settings.key",
    "free/hard.key",
    "free/hard.claim",
    "data/tramline.db",
    "data/tramline.db-wal",
    "data/new/deep",
    "data/claims/two",
    "soft-data/tramline.db",
    "later",
    "later/tramline.db",
];

#[tokio::test]
async fn no_file_tool_changes_what_is_protected() {
    let place = ProtectedFixture::new();
    let before = all(place.dir.path());
    let root = place.dir.path().to_str().unwrap();
    for path in CHANGES {
        for path in [path.to_owned(), format!("{root}/{path}")] {
            place
                .refused(
                    "write-file",
                    &format!(r#"{{"path":"{path}","content":"x","create_dirs":true}}"#),
                )
                .await;
            place
                .refused("delete-file", &format!(r#"{{"path":"{path}"}}"#))
                .await;
            for tool in ["copy-file", "move-file"] {
                for overwrite in [true, false] {
                    place
                        .refused(
                            tool,
                            &format!(
                                r#"{{"from":"free/note.txt","to":"{path}","overwrite":{overwrite},"create_dirs":true}}"#
                            ),
                        )
                        .await;
                }
            }
            place
                .refused(
                    "move-file",
                    &format!(r#"{{"from":"{path}","to":"free/new"}}"#),
                )
                .await;
        }
    }
    assert_eq!(all(place.dir.path()), before);
}

#[tokio::test]
async fn keys_and_the_data_directory_cannot_be_read_either() {
    let place = ProtectedFixture::new();
    for path in [
        "settings.key",
        "free/hard.key",
        "free/hard.claim",
        "data/tramline.db",
        "data/claims/one",
        "soft-data/claims/one",
        "soft-data/tramline.db",
    ] {
        place
            .refused("read-file", &format!(r#"{{"path":"{path}"}}"#))
            .await;
        place
            .refused(
                "copy-file",
                &format!(r#"{{"from":"{path}","to":"free/new"}}"#),
            )
            .await;
        let arguments = format!(r#"{{"from":"{path}","to":"free/new"}}"#);
        let arguments = Value::from_json(&arguments).unwrap();
        let shown = place
            .tools
            .preview(&ToolName::new(SERVER, "copy-file"), &arguments)
            .await;
        let shown = shown.unwrap();
        assert!(shown.note.unwrap().contains("would fail"), "{path}");
        let read = place
            .tools
            .document(path, std::time::Duration::from_secs(5))
            .await;
        assert_eq!(read.unwrap_err().kind, FailureKind::Forbidden, "{path}");
    }
    for path in ["data", "data/claims", "soft-data", "soft-data/claims"] {
        place
            .refused("list-directory", &format!(r#"{{"path":"{path}"}}"#))
            .await;
    }
    // A served document is not secret.
    for path in [
        "graphs.yaml",
        "soft.yaml",
        "free/hard.yaml",
        "docs/linked.yaml",
    ] {
        let read = call(
            &place.tools,
            "read-file",
            &format!(r#"{{"path":"{path}"}}"#),
        )
        .await;
        assert!(read.is_ok(), "{path}: {read:?}");
    }
    assert!(!place.dir.path().join("free/new").exists());
}

#[tokio::test]
async fn what_lies_beside_can_be_changed() {
    let place = ProtectedFixture::new();
    for path in [
        "other.yaml",
        "free/graphs.yaml",
        "real/other.yaml",
        "new/data/tramline.db",
    ] {
        let arguments = format!(r#"{{"path":"{path}","content":"x","create_dirs":true}}"#);
        call(&place.tools, "write-file", &arguments).await.unwrap();
    }
    let moved = r#"{"from":"free/note.txt","to":"free/moved.txt"}"#;
    call(&place.tools, "move-file", moved).await.unwrap();
    // The list can change later.
    let gone = ProtectedPath::new(
        place.dir.path().join("other.yaml"),
        "x",
        Protection::Unchanged,
    );
    place.tools.protect(move || vec![gone.clone()]);
    place
        .refused("delete-file", r#"{"path":"other.yaml"}"#)
        .await;
    call(&place.tools, "delete-file", r#"{"path":"graphs.yaml"}"#)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_preview_of_a_refused_change_shows_nothing_of_the_file() {
    let place = ProtectedFixture::new();
    for (tool, arguments) in [
        ("write-file", r#"{"path":"settings.key","content":"x"}"#),
        ("delete-file", r#"{"path":"settings.key"}"#),
        ("move-file", r#"{"from":"settings.key","to":"free/x"}"#),
        (
            "copy-file",
            r#"{"from":"free/note.txt","to":"settings.key","overwrite":true}"#,
        ),
    ] {
        let arguments = Value::from_json(arguments).unwrap();
        let shown = place
            .tools
            .preview(&ToolName::new(SERVER, tool), &arguments)
            .await
            .unwrap();
        assert_eq!(shown.diff, None, "{tool}");
        assert!(shown.note.unwrap().contains("would fail"), "{tool}");
    }
}

#[tokio::test]
async fn the_data_directory_of_another_process_is_neither_read_nor_changed() {
    let dir = tempfile::tempdir().unwrap();
    let tools = crate::builtin(dir.path(), &[]);
    let at = |name: &str| dir.path().join(name);
    for folder in ["other", "other/claims", "early", "free"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    for file in [
        "other/tramline.db",
        "other/settings.key",
        "other/claims/one",
        "early/settings.key",
        "early/trusted",
        "free/trusted",
    ] {
        std::fs::write(at(file), "x").unwrap();
    }
    let refused = async |tool: &str, arguments: String| {
        let failure = call(&tools, tool, &arguments).await;
        let failure = failure.expect_err(&format!("{tool} {arguments}"));
        assert_eq!(failure.kind, FailureKind::Forbidden, "{tool}: {failure}");
    };
    let before = all(dir.path());
    for path in [
        "other/tramline.db",
        "other/settings.key",
        "other/claims/one",
        "early/trusted",
    ] {
        refused("read-file", format!(r#"{{"path":"{path}"}}"#)).await;
        refused("write-file", format!(r#"{{"path":"{path}","content":""}}"#)).await;
        refused(
            "delete-file",
            format!(r#"{{"path":"{path}","confirm_delete":true}}"#),
        )
        .await;
        refused("move-file", format!(r#"{{"from":"{path}","to":"mine"}}"#)).await;
    }
    for path in [
        "other/new",
        "other/deep/new",
        "free/tramline.db",
        "TRAMLINE.db",
    ] {
        let arguments = format!(r#"{{"path":"{path}","content":"","create_dirs":true}}"#);
        refused("write-file", arguments).await;
    }
    for path in ["other", "other/claims"] {
        refused("list-directory", format!(r#"{{"path":"{path}"}}"#)).await;
    }
    assert_eq!(all(dir.path()), before);
    let free = call(&tools, "read-file", r#"{"path":"free/trusted"}"#).await;
    assert!(free.is_ok(), "a file named like one of ours is not enough");
}

/// A directory that is read but not changed, with a data directory in it that is not read either.
#[tokio::test]
async fn a_directory_can_be_protected_from_changes_only() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir_all(at("kept/deep/data")).unwrap();
    std::fs::create_dir(at("free")).unwrap();
    for file in ["kept/one.json", "kept/deep/data/tramline.db"] {
        std::fs::write(at(file), file).unwrap();
    }
    std::fs::hard_link(at("kept/one.json"), at("free/hard.json")).unwrap();
    let protection = Protection::UnchangedDirectory;
    let kept = |name: &str| ProtectedPath::new(at(name), "kept", protection);
    let tools = Builtin::new(BuiltinAccess {
        roots: vec![dir.path().to_owned()],
        protected: vec![kept("kept"), kept("missing")],
        ..BuiltinAccess::default()
    })
    .unwrap();
    let place = ProtectedFixture { dir, tools };
    let before = all(place.dir.path());
    for path in [
        "kept",
        "kept/one.json",
        "kept/new.json",
        "kept/deep/new/one.json",
        "free/hard.json",
        "missing",
        "missing/one.json",
    ] {
        let arguments = format!(r#"{{"path":"{path}","content":"x"}}"#);
        place.refused("write-file", &arguments).await;
    }
    place
        .refused("read-file", r#"{"path":"kept/deep/data/tramline.db"}"#)
        .await;
    assert_eq!(all(place.dir.path()), before);
    for (tool, path) in [("read-file", "kept/one.json"), ("list-directory", "kept")] {
        let read = call(&place.tools, tool, &format!(r#"{{"path":"{path}"}}"#)).await;
        assert!(read.is_ok(), "{tool}: {read:?}");
    }
}
