//! Disks that are full or may not be written: what was acknowledged stays, the rest is said.

use crate::processes::{acks, child};
use crate::{chunk, not_run, run};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::{TempDir, tempdir};
use tramline_core::ids::Seq;
use tramline_engine::seams::{AppendError, Store};
use tramline_store::Sqlite;

/// A small file system of its own, gone when dropped.
struct Mounted(TempDir);

impl Mounted {
    fn new() -> Option<Self> {
        let dir = tempdir().unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=3m", "tmpfs"];
        run_command("mount", &mount, dir.path()).then_some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn make_read_only(&self) -> bool {
        run_command("mount", &["-o", "remount,ro"], self.path())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run_command("umount", &["-l"], self.path());
    }
}

fn run_command(program: &str, args: &[&str], path: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(args).arg(path);
    command.output().is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_recovers() {
    let Some(disk) = Mounted::new() else {
        return not_run("a full disk: cannot mount a small file system (needs root)");
    };
    let filler = disk.path().join("filler");
    fs::write(&filler, vec![0; 1_000_000]).unwrap();
    let store = Arc::new(Sqlite::open(&disk.path().join("data")).unwrap());
    let mut last: Seq = 0;
    let fault = loop {
        match store.append(chunk(&run(0), last, vec![7; 30_000])).await {
            Ok(()) => last += 1,
            Err(AppendError::Store(fault)) => break fault,
            Err(other) => panic!("{other}"),
        }
    };
    assert!(fault.message.contains("disk is full"), "{fault}");
    assert!(fault.message.contains("Free some space"), "{fault}");
    assert!(last > 5);
    assert_eq!(store.read(&run(0), 0).await.unwrap().len() as Seq, last);
    let kept = append_together(&store).await;
    fs::remove_file(&filler).unwrap();
    store
        .append(chunk(&run(0), last, vec![7; 30_000]))
        .await
        .unwrap();
    drop(store);
    let store = Sqlite::open(&disk.path().join("data")).unwrap();
    let chunks = store.read(&run(0), 0).await.unwrap();
    assert_eq!(chunks.len() as Seq, last + 1);
    for (n, kept) in kept {
        assert_eq!(store.row(&run(n)).await.unwrap().is_some(), kept, "{n}");
    }
}

/// Appends to many runs at once; says of each whether it was acknowledged.
async fn append_together(store: &Arc<Sqlite>) -> Vec<(u64, bool)> {
    let tasks: Vec<_> = (1..20)
        .map(|n| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let done = store.append(chunk(&run(n), 0, vec![7; 30_000])).await;
                (n, done.is_ok())
            })
        })
        .collect();
    let mut kept = Vec::new();
    for task in tasks {
        kept.push(task.await.unwrap());
    }
    assert!(kept.iter().any(|(_, kept)| !kept), "the disk is full");
    kept
}

/// A limit on the size of files needs no rights: the same, in a process of its own.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_grow_loses_nothing() {
    let dir = tempdir().unwrap();
    drop(Sqlite::open(dir.path()).unwrap());
    let plain = child("writes until it fails", dir.path());
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args())
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let mut limited = limited.spawn().unwrap();
    let last = acks(&mut limited).map(|(_, seq)| seq).last().unwrap();
    assert!(
        limited.wait().unwrap().success(),
        "it said the fault and went on reading"
    );
    let store = Sqlite::open(dir.path()).unwrap();
    let chunks = store.read(&run(0), 0).await.unwrap();
    assert_eq!(chunks.len() as Seq, last);
    store
        .append(chunk(&run(0), last, vec![7; 50_000]))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_read_only_disk_is_named() {
    let Some(disk) = Mounted::new() else {
        return a_read_only_directory_is_named().await;
    };
    let (old, new) = (disk.path().join("old"), disk.path().join("new"));
    let store = Sqlite::open(&old).unwrap();
    store.append(chunk(&run(0), 0, vec![0])).await.unwrap();
    drop(store);
    assert!(disk.make_read_only());
    for dir in [old, new] {
        let says = Sqlite::open(&dir).unwrap_err().message;
        assert!(says.contains("--data-dir"), "{says}");
        assert!(says.contains("writable"), "{says}");
    }
}

/// For those who are not root, whom permissions do not stop.
async fn a_read_only_directory_is_named() {
    let dir = tempdir().unwrap();
    let mut rights = fs::metadata(dir.path()).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(dir.path(), rights).unwrap();
    let probe = fs::write(dir.path().join("probe"), "");
    if !probe.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        return not_run("a read-only directory: permissions do not stop this user");
    }
    let says = Sqlite::open(&dir.path().join("data")).unwrap_err().message;
    assert!(
        says.contains("--data-dir") && says.contains("writable"),
        "{says}"
    );
}
