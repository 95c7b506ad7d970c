//! Copies of a database in use: complete, consistent, private, and never over another file.

use crate::{chunk, database, fill, run};
use std::fs;
use std::sync::Arc;
use tempfile::tempdir;
use tramline_engine::ports::{DocumentStore, JournalStore, RunFilter};
use tramline_store::{Sqlite, StoreCopy};

#[tokio::test]
async fn a_copy_is_a_data_directory_of_its_own() {
    let dir = tempdir().unwrap();
    let store = Arc::new(Sqlite::open(dir.path()).unwrap());
    fill(&store, 0..20, 5, 2_000).await;
    store
        .put("kind", "key", b"a document".to_vec())
        .await
        .unwrap();
    let copies = tempdir().unwrap();
    let target = database(copies.path());
    let copied = Sqlite::copy(dir.path(), &target).await.unwrap();
    assert_eq!(copied.layout, Sqlite::LAYOUT);
    assert_eq!(copied.bytes, fs::metadata(&target).unwrap().len());
    let names: Vec<_> = fs::read_dir(copies.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["tramline.db"], "no log, no draft");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            fs::metadata(&target).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let alone = Sqlite::verify_copy(&target).await.unwrap();
    assert_eq!((alone.runs, alone.events), (20, 100));
    assert_eq!(fs::read_dir(copies.path()).unwrap().count(), 1);
    let copy = Sqlite::open(copies.path()).unwrap();
    assert!(copy.warnings().is_empty(), "{:?}", copy.warnings());
    let verified = copy.verify().await.unwrap();
    assert_eq!((verified.runs, verified.events), (20, 100));
    assert!(verified.problems.is_empty(), "{verified:?}");
    let document = copy.get("kind", "key").await.unwrap();
    assert_eq!(document.as_deref(), Some(&b"a document"[..]));
    let conn = rusqlite::Connection::open(&target).unwrap();
    let pragma = |name: &str| -> String {
        let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        conn.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(pragma("journal_mode"), "wal");
    assert_eq!(pragma("auto_vacuum"), "2");
    assert_eq!(pragma("page_size"), "8192");
}

#[tokio::test]
async fn a_copy_is_one_moment_while_others_write() {
    let dir = tempdir().unwrap();
    let store = Arc::new(Sqlite::open(dir.path()).unwrap());
    fill(&store, 0..50, 2, 4_000).await;
    let writing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { fill(&store, 100..140, 20, 2_000).await })
    };
    for round in 0..5 {
        let copies = tempdir().unwrap();
        let target = database(copies.path());
        Sqlite::copy(dir.path(), &target).await.unwrap();
        let copy = Sqlite::open(copies.path()).unwrap();
        let verified = copy.verify().await.unwrap();
        assert!(verified.problems.is_empty(), "{round}: {verified:?}");
        assert!(verified.runs >= 50, "{round}");
    }
    writing.await.unwrap();
    let page = store.runs(RunFilter::default()).await.unwrap();
    assert_eq!(page.rows.len(), 90);
}

#[tokio::test]
async fn a_copy_replaces_nothing_and_leaves_nothing_half() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    store.append(chunk(&run(1), 0, vec![0])).await.unwrap();
    let copies = tempdir().unwrap();
    let target = copies.path().join("copy.db");
    fs::write(&target, "mine").unwrap();
    let refused = Sqlite::copy(dir.path(), &target).await.unwrap_err();
    assert!(refused.message.contains("exists already"), "{refused}");
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    fs::remove_file(&target).unwrap();
    // A draft that a crash left is replaced.
    fs::write(copies.path().join("copy.db.part"), "half").unwrap();
    Sqlite::copy(dir.path(), &target).await.unwrap();
    assert_eq!(fs::read_dir(copies.path()).unwrap().count(), 1);
    let missing = copies.path().join("missing/copy.db");
    let refused = Sqlite::copy(dir.path(), &missing).await.unwrap_err();
    assert!(
        refused.message.contains("Make its directory first"),
        "{refused}"
    );
    let nothing = tempdir().unwrap();
    let other = copies.path().join("other.db");
    assert!(Sqlite::copy(nothing.path(), &other).await.is_err());
    assert_eq!(fs::read_dir(nothing.path()).unwrap().count(), 0);
    assert!(!other.exists());
}

#[tokio::test]
async fn copying_does_not_migrate_the_original() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    store.append(chunk(&run(1), 0, vec![0])).await.unwrap();
    drop(store);
    // A layout of the future: this version could not open it.
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    conn.close().unwrap();
    let before = fs::read(database(dir.path())).unwrap();
    assert_eq!(Sqlite::layout_at(dir.path()).unwrap(), 99);
    let copies = tempdir().unwrap();
    let copied = Sqlite::copy(dir.path(), &database(copies.path()))
        .await
        .unwrap();
    assert_eq!(copied.layout, 99);
    assert_eq!(fs::read(database(dir.path())).unwrap(), before);
    let refused = Sqlite::open(copies.path()).unwrap_err();
    assert!(refused.message.contains("newer Tramline"), "{refused}");
}

#[test]
fn names_of_copies_sort_by_time() {
    assert_eq!(
        StoreCopy::file_name(1_793_836_799_000),
        "tramline-20261104-235959.db"
    );
    assert!(StoreCopy::file_name(0) < StoreCopy::file_name(1_793_836_799_000));
}
