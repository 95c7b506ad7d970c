//! What must not be reached, saved or lost, whatever the request and the state of the disk.

use super::{FilesServer, piped, said};
use crate::support::{Tramline, root};
use crate::test_servers::{StdioClient, serve};
use serde_json::json;
use std::path::Path;

const SMALL: &str =
    r#"{"tasks":[{"id":"a","tool":"builtin:list-directory","arguments":{"path":"."}}]}"#;

fn agent(dir: &Path, data: &Path) -> StdioClient {
    let mut command = serve(&[], data);
    command.args(["--toolsets", "library", "--root"]).arg(dir);
    StdioClient::start(piped(&mut command))
}

#[test]
fn no_path_leads_out_of_the_roots() {
    let (dir, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.json");
    std::fs::write(&secret, SMALL).unwrap();
    std::os::unix::fs::symlink(&secret, dir.path().join("link.json")).unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("folder")).unwrap();
    std::fs::write(dir.path().join("inside.json"), SMALL).unwrap();
    let mut talk = agent(dir.path(), data.path());
    let inside = said(
        &mut talk,
        "workflow_validate",
        json!({"workflow": "inside.json"}),
    );
    assert_eq!(inside["data"]["valid"], true, "{inside}");
    let up = format!(
        "../{}/secret.json",
        outside.path().file_name().unwrap().to_str().unwrap()
    );
    for path in [
        secret.to_str().unwrap(),
        up.as_str(),
        "link.json",
        "folder/secret.json",
        "./a/../../etc/passwd.json",
        "/etc/passwd",
        "inside.json\0.yaml",
    ] {
        for (tool, arguments) in [
            ("workflow_validate", json!({"workflow": path})),
            ("workflow_execute", json!({"workflow": path})),
            (
                "workflow_save",
                json!({"workflow_file": path, "name": "x", "description": "d"}),
            ),
        ] {
            let told = said(&mut talk, tool, arguments);
            assert_eq!(told["success"], false, "{tool} {path:?}: {told}");
            assert!(
                !told.to_string().contains("list-directory"),
                "{path:?}: {told}"
            );
        }
    }
    talk.close();
}

#[test]
fn an_index_names_files_of_its_own_folder_only() {
    let tramline = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let index = json!({"workflows": [
        {"name": "out", "file": "../../etc/passwd", "description": "d"},
        {"name": "../up", "file": "good.json", "description": "d"},
        {"name": "good", "file": "good.json", "description": "d"},
    ]});
    std::fs::write(folder.path().join("library.json"), index.to_string()).unwrap();
    std::fs::write(folder.path().join("good.json"), SMALL).unwrap();
    let done = tramline.run(&[
        "library",
        "import",
        folder.path().to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(done.code(), 2);
    let told: serde_json::Value = serde_json::from_str(&done.out()).unwrap();
    assert_eq!(told["saved"], json!(["good"]), "{told}");
    assert_eq!(told["refused"].as_array().unwrap().len(), 2, "{told}");
}

#[test]
fn ten_megabytes_are_refused_and_the_server_goes_on() {
    let (dir, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("large.json"), vec![b' '; 10 << 20]).unwrap();
    let mut talk = agent(dir.path(), data.path());
    let text = format!("{SMALL}{}", " ".repeat(10 << 20));
    for workflow in [json!(text), json!("large.json")] {
        let told = said(&mut talk, "workflow_execute", json!({"workflow": workflow}));
        assert_eq!(told["error"]["type"], "validation", "{told}");
        assert!(
            told["error"]["message"].as_str().unwrap().contains("bytes"),
            "{told}"
        );
    }
    let done = said(&mut talk, "workflow_execute", json!({"workflow": SMALL}));
    assert_eq!(done["success"], true, "{done}");
    talk.close();
    let tramline = Tramline::new();
    let large = dir.path().join("large.json");
    let told = tramline.run(&[
        "library",
        "save",
        large.to_str().unwrap(),
        "--name",
        "large",
    ]);
    assert_eq!(told.code(), 2, "{}", told.err());
}

#[test]
fn saves_of_four_processes_at_once_are_all_kept() {
    const EACH: usize = 25;
    let tramline = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    for n in 0..4 * EACH {
        let text = SMALL.replace("\"a\"", &format!("\"task{n}\""));
        std::fs::write(folder.path().join(format!("{n}.json")), text).unwrap();
    }
    let workers: Vec<_> = (0..4)
        .map(|worker| {
            let mut talk = agent(folder.path(), &tramline.data_dir());
            std::thread::spawn(move || {
                for n in 0..EACH {
                    let file = format!("{}.json", worker * EACH + n);
                    let save = json!({"workflow_file": file, "name": "busy", "description": "d", "force": true});
                    let saved = said(&mut talk, "workflow_save", save);
                    assert_eq!(saved["success"], true, "{saved}");
                }
                talk.close();
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let told = tramline
        .run(&["library", "versions", "busy", "--json"])
        .json();
    let versions = told.get("versions").unwrap().as_array().unwrap();
    assert_eq!(versions.len(), 4 * EACH);
    let mut texts: Vec<_> = (1..=4 * EACH)
        .map(|n| {
            let version = n.to_string();
            tramline
                .run(&["library", "show", "busy", "--version", &version])
                .out()
        })
        .collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 4 * EACH, "a version was lost");
}

/// A file size limit simulates a full disk: writing fails halfway.
#[test]
fn on_a_full_disk_nothing_is_lost_and_the_reason_is_told() {
    let tramline = Tramline::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.json");
    std::fs::write(&file, SMALL).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(
        tramline
            .run(&["library", "save", file, "--name", "first"])
            .code(),
        0
    );
    let big = dir.path().join("big.json");
    let tasks: Vec<_> = (0..2_000)
        .map(|n| json!({"id": format!("task{n}"), "tool": "builtin:list-directory", "arguments": {"path": "x".repeat(200)}}))
        .collect();
    std::fs::write(&big, json!({"tasks": tasks}).to_string()).unwrap();
    let program = env!("CARGO_BIN_EXE_tramline");
    let data = tramline.data_dir();
    let used = std::fs::metadata(data.join("tramline.db")).unwrap().len() / 1024 + 64;
    // 1 KiB blocks, and an ignored signal so that writing fails instead of killing.
    let script = format!(
        "trap '' XFSZ; ulimit -f {used}; exec {program} library save {} --name second --data-dir {}",
        big.display(),
        data.display()
    );
    let full = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(
        full.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&full.stderr)
    );
    let says = String::from_utf8_lossy(&full.stderr).into_owned();
    assert!(
        says.contains("the store failed") && says.contains("disk"),
        "{says}"
    );
    let list = tramline
        .run(&["library", "list", "--json"])
        .json()
        .to_json();
    assert!(list.contains("first") && !list.contains("second"), "{list}");
    assert_eq!(
        tramline
            .run(&["library", "save", big.to_str().unwrap(), "--name", "second"])
            .code(),
        0
    );
}

#[test]
fn a_damaged_database_is_told_and_left_as_it_is() {
    let tramline = Tramline::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.json");
    std::fs::write(&file, SMALL).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(
        tramline
            .run(&["library", "save", file, "--name", "first"])
            .code(),
        0
    );
    let database = tramline.data_dir().join("tramline.db");
    let mut bytes = std::fs::read(&database).unwrap();
    for byte in bytes.iter_mut().take(200) {
        *byte = 0x55;
    }
    std::fs::write(&database, &bytes).unwrap();
    for words in [
        &["library", "list"][..],
        &["library", "save", file, "--name", "second"],
    ] {
        let told = tramline.run(words);
        assert_eq!(told.code(), 1, "{words:?}: {}", told.err());
        assert!(told.err().contains("damaged"), "{}", told.err());
    }
    assert_eq!(
        std::fs::read(&database).unwrap(),
        bytes,
        "it was not changed"
    );
}

/// A small file system, first full and then read-only.
#[test]
fn a_full_and_a_read_only_file_system_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.json");
    std::fs::write(&file, SMALL).unwrap();
    let large = dir.path().join("large.json");
    let pad = format!("{SMALL}{}", " ".repeat(600_000));
    std::fs::write(&large, pad).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=2m tmpfs {mount} || exit 99
         save() {{ {program} library save $1 --name $2 --data-dir {mount}/data; }}
         list() {{ {program} library list --json --data-dir {mount}/data; }}
         save {small} first || exit 11
         dd if=/dev/zero of={mount}/filler bs=64k 2>/dev/null
         save {large} second && exit 12
         list || exit 13
         rm {mount}/filler
         save {small} third || exit 14
         mount -o remount,ro {mount} || exit 98
         save {small} fourth && exit 15
         list || exit 16
         mount -o remount,rw {mount} || exit 97
         list || exit 17",
        mount = dir.path().join("mount").display(),
        program = env!("CARGO_BIN_EXE_tramline"),
        small = file.display(),
        large = large.display(),
    );
    std::fs::create_dir(dir.path().join("mount")).unwrap();
    let ended = std::process::Command::new("unshare")
        .args(["-rm", "sh", "-c", &script])
        .current_dir(root())
        .output();
    let Ok(ended) = ended else {
        return println!("not run: there is no `unshare`");
    };
    let says = String::from_utf8_lossy(&ended.stderr).into_owned();
    let code = ended.status.code();
    if code == Some(99) || says.contains("unshare:") {
        return println!("not run: no file system can be mounted here: {says}");
    }
    assert_eq!(code, Some(0), "{says}");
    assert!(says.contains("the disk is full"), "{says}");
    assert!(says.contains("writable"), "{says}");
    let lists = String::from_utf8_lossy(&ended.stdout).into_owned();
    let lists: Vec<_> = lists.lines().collect();
    assert!(
        lists[0].contains("first") && !lists[0].contains("second"),
        "{lists:?}"
    );
    let last = lists[lists.len() - 1];
    assert!(
        last.contains("first") && last.contains("third"),
        "{lists:?}"
    );
    assert!(!last.contains("fourth"), "{lists:?}");
}

#[test]
fn a_data_directory_that_cannot_be_written_is_told() {
    let Some(files) = FilesServer::new() else {
        return;
    };
    let tramline = Tramline::new();
    let file = files.dir.path().join("small.json");
    std::fs::write(&file, SMALL).unwrap();
    // A file in place of the directory: unwritable for every user.
    let blocked = files.dir.path().join("blocked");
    std::fs::write(&blocked, "").unwrap();
    let data = blocked.join("data");
    let words = [
        "library",
        "save",
        file.to_str().unwrap(),
        "--name",
        "first",
        "--data-dir",
    ];
    let told = tramline.run(&[&words[..], &[data.to_str().unwrap()]].concat());
    assert_eq!(told.code(), 1, "{}", told.err());
    assert!(told.err().contains("--data-dir"), "{}", told.err());
}
