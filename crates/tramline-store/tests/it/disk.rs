//! Full and read-only disks: acknowledged data stays, failures are reported.

use crate::processes::{acks, child};
use crate::{chunk, not_run, run};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::{TempDir, tempdir};
use tramline_engine::ports::{AppendError, DocumentStore, JournalStore};
use tramline_store::Sqlite;
use tramline_workflow::ids::Seq;

/// A small file system, unmounted when dropped.
struct SmallMount(TempDir);

impl SmallMount {
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

impl Drop for SmallMount {
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
    let Some(disk) = SmallMount::new() else {
        return not_run("a full disk: cannot mount a small file system (needs root)");
    };
    let filler = disk.path().join("filler");
    fs::write(&filler, vec![0; 1_000_000]).unwrap();
    let store = Arc::new(Sqlite::open(&disk.path().join("data")).unwrap());
    let mut last: Seq = 0;
    let fault = loop {
        match store.append(chunk(&run(0), last, vec![7; 30_000])).await {
            Ok(_) => last += 1,
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

/// Appends to many runs concurrently; returns for each whether it was acknowledged.
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

/// A file size limit needs no root: the same, in a separate process.
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
        "it reported the fault and still reads"
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
    let Some(disk) = SmallMount::new() else {
        return a_read_only_directory_is_named().await;
    };
    let (old, new) = (disk.path().join("old"), disk.path().join("new"));
    let store = Sqlite::open(&old).unwrap();
    store.append(chunk(&run(0), 0, vec![0])).await.unwrap();
    drop(store);
    assert!(disk.make_read_only());
    let says = Sqlite::open(&new).unwrap_err().message;
    assert!(
        says.contains("--data-dir") && says.contains("writable"),
        "{says}"
    );
    // The existing data can be read, and only that.
    let store = Sqlite::open(&old).unwrap();
    assert!(
        store.warnings()[0].contains("is read-only"),
        "{:?}",
        store.warnings()
    );
    assert_eq!(store.read(&run(0), 0).await.unwrap().len(), 1);
    assert_eq!(store.verify().await.unwrap().problems, []);
    let refused = store.append(chunk(&run(0), 1, vec![0])).await.unwrap_err();
    let says = refused.to_string();
    assert!(
        says.contains("--data-dir") && says.contains("writable"),
        "{says}"
    );
    let says = store.put("kind", "key", vec![1]).await.unwrap_err().message;
    assert!(says.contains("is read-only"), "{says}");
}

#[tokio::test]
async fn a_read_only_copy_without_its_log_is_read() {
    let Some(disk) = SmallMount::new() else {
        return not_run("a read-only disk: cannot mount a small file system (needs root)");
    };
    // A name with characters that are special in a URI.
    let dir = disk.path().join("50% of it? #1");
    let store = Sqlite::open(&dir).unwrap();
    store.append(chunk(&run(0), 0, vec![0])).await.unwrap();
    drop(store);
    let unsettled = disk.path().join("unsettled");
    fs::create_dir(&unsettled).unwrap();
    for name in ["tramline.db", "tramline.db-wal"] {
        fs::copy(dir.join(name), unsettled.join(name)).unwrap();
    }
    // As a backup with SQLite's own tools leaves it.
    let conn = rusqlite::Connection::open(crate::database(&dir)).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    drop(conn);
    for name in ["tramline.db-wal", "tramline.db-shm"] {
        let _ = fs::remove_file(dir.join(name));
    }
    assert!(disk.make_read_only());
    let store = Sqlite::open(&dir).unwrap();
    assert_eq!(store.read(&run(0), 0).await.unwrap().len(), 1);
    // A log that cannot be read is reported instead of being left out.
    match Sqlite::open(&unsettled) {
        Ok(store) => assert_eq!(store.read(&run(0), 0).await.unwrap().len(), 1),
        Err(fault) => assert!(fault.message.contains("Copy the data directory"), "{fault}"),
    }
}

#[tokio::test]
async fn an_older_layout_on_a_read_only_disk_is_named() {
    let Some(disk) = SmallMount::new() else {
        return not_run("a read-only disk: cannot mount a small file system (needs root)");
    };
    let dir = disk.path().join("data");
    drop(Sqlite::open(&dir).unwrap());
    let conn = rusqlite::Connection::open(crate::database(&dir)).unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    drop(conn);
    assert!(disk.make_read_only());
    let says = Sqlite::open(&dir).unwrap_err().message;
    assert!(says.contains("older Tramline (layout 1)"), "{says}");
    assert!(says.contains("Copy the data directory"), "{says}");
}

/// For users other than root, whom permissions stop.
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
