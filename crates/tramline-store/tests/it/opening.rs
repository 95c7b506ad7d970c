//! Opening: private files, created once however many processes start together, clear errors.

use crate::{chunk, database, run};
use std::fs;
use tempfile::tempdir;
use tramline_engine::ports::JournalStore;
use tramline_store::Sqlite;

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_may_look_in() {
    use std::os::unix::fs::PermissionsExt;
    let above = tempdir().unwrap();
    let dir = above.path().join("deep/data");
    let store = Sqlite::open(&dir).unwrap();
    store.append(chunk(&run(1), 0, vec![0])).await.unwrap();
    store.claim(&run(1)).await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("owners")), 0o700);
    let mut files = 0;
    for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            files += 1;
            assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
        }
    }
    assert!(files >= 3, "database, log and its index");
}

#[test]
fn many_that_start_together_make_one_database() {
    for _ in 0..20 {
        let dir = tempdir().unwrap();
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let dir = dir.path().join("data");
                std::thread::spawn(move || Sqlite::open(&dir).map(drop))
            })
            .collect();
        for start in starts {
            start.join().unwrap().unwrap();
        }
    }
}

#[test]
fn a_new_database_is_set_up_for_good() {
    let dir = tempdir().unwrap();
    drop(Sqlite::open(dir.path()).unwrap());
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    let pragma = |name: &str| -> String {
        let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        conn.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(pragma("journal_mode"), "wal");
    assert_eq!(pragma("auto_vacuum"), "2", "incremental");
    assert_eq!(pragma("page_size"), "8192");
    assert_eq!(pragma("synchronous"), "2", "full, by default");
    assert_eq!(pragma("integrity_check"), "ok");
}

#[tokio::test]
async fn what_was_written_is_there_the_next_time() {
    let dir = tempdir().unwrap();
    for seen in 0..5 {
        let store = Sqlite::open(dir.path()).unwrap();
        assert_eq!(store.read(&run(1), 0).await.unwrap().len(), seen);
        let next = chunk(&run(1), seen as u64, vec![seen as u8]);
        store.append(next).await.unwrap();
    }
}

#[test]
fn a_newer_layout_is_refused() {
    let dir = tempdir().unwrap();
    drop(Sqlite::open(dir.path()).unwrap());
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let says = Sqlite::open(dir.path()).unwrap_err().message;
    assert!(says.contains("made by a newer Tramline"), "{says}");
    assert!(says.contains("Update Tramline"), "{says}");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let dir = tempdir().unwrap();
    fs::write(database(dir.path()), "").unwrap();
    let says = Sqlite::open(dir.path()).unwrap_err().message;
    assert!(says.contains("empty or not Tramline's"), "{says}");
    fs::remove_file(database(dir.path())).unwrap();
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    conn.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(conn);
    let says = Sqlite::open(dir.path()).unwrap_err().message;
    assert!(says.contains("empty or not Tramline's"), "{says}");
}

#[test]
fn a_log_without_its_database_is_not_written_over() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("tramline.db-wal"), "log").unwrap();
    let says = Sqlite::open(dir.path()).unwrap_err().message;
    assert!(says.contains("is missing but its log"), "{says}");
    assert!(!database(dir.path()).exists());
}

#[test]
fn a_file_in_the_way_is_named() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    let says = Sqlite::open(&path.join("data")).unwrap_err().message;
    assert!(
        says.contains("file/data") && says.contains("--data-dir"),
        "{says}"
    );
}
