//! Damage is reported and never hidden.

use crate::{database, fill, run};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::{TempDir, tempdir};
use tramline_engine::ports::JournalStore;
use tramline_store::Sqlite;

async fn filled() -> TempDir {
    let dir = tempdir().unwrap();
    let store = Arc::new(Sqlite::open(dir.path()).unwrap());
    fill(&store, 0..20, 10, 3_000).await;
    dir
}

fn damage(dir: &Path, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = fs::read(database(dir)).unwrap();
    change(&mut bytes);
    fs::write(database(dir), &bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_file_that_is_no_database() {
    let dir = filled().await;
    let bytes = damage(dir.path(), |bytes| bytes[..100].fill(b'x'));
    let says = Sqlite::open(dir.path()).unwrap_err().message;
    assert!(
        says.contains("damaged") && says.contains("backup"),
        "{says}"
    );
    assert_eq!(
        fs::read(database(dir.path())).unwrap(),
        bytes,
        "not changed"
    );
}

#[tokio::test]
async fn one_flipped_bit_in_a_journal() {
    let dir = filled().await;
    let mut body = vec![7; 3_000];
    body[1_234] ^= 1;
    // Through SQL: in the file, an unused copy might be hit instead.
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    let flip = "UPDATE chunks SET body = ?1 WHERE first = 5 AND journal = \
                (SELECT key FROM runs ORDER BY run LIMIT 1 OFFSET 2)";
    assert_eq!(conn.execute(flip, [body]).unwrap(), 1);
    drop(conn);
    let store = Sqlite::open(dir.path()).unwrap();
    let mut faults = Vec::new();
    for n in 0..20 {
        faults.extend(store.read(&run(n), 0).await.err());
    }
    assert_eq!(faults.len(), 1, "{faults:?}");
    let says = &faults[0].message;
    assert!(says.contains("damaged") && says.contains("run_"), "{says}");
}

/// Intact chunks can still be read, whatever is damaged between them: a chunk whose bytes changed,
/// a missing one, and one whose checksum changed.
#[tokio::test]
async fn whole_chunks_are_salvaged_around_damage() {
    let dir = filled().await;
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    let of = "journal = (SELECT key FROM runs ORDER BY run LIMIT 1 OFFSET 2)";
    for (change, first) in [
        ("UPDATE chunks SET body = zeroblob(3000)", 3),
        ("DELETE FROM chunks", 5),
        ("UPDATE chunks SET sum = sum + 1", 8),
    ] {
        let change = format!("{change} WHERE first = {first} AND {of}");
        assert_eq!(conn.execute(&change, []).unwrap(), 1, "{change}");
    }
    drop(conn);
    let store = Sqlite::open(dir.path()).unwrap();
    assert!(store.read(&run(2), 0).await.is_err());
    let chunks = store.read_intact(&run(2)).await.unwrap();
    let places: Vec<_> = chunks.iter().map(|chunk| chunk.first).collect();
    assert_eq!(places, [1, 2, 4, 6, 7, 9, 10]);
    assert!(chunks.iter().all(|chunk| chunk.body == vec![7; 3_000]));
    assert_eq!(store.read_intact(&run(3)).await.unwrap().len(), 10);
    assert!(store.read_intact(&run(99)).await.unwrap().is_empty());
}

#[tokio::test]
async fn pages_of_rubbish() {
    let dir = filled().await;
    damage(dir.path(), |bytes| {
        let end = bytes.len();
        bytes[end / 4..end / 2].fill(0xab);
    });
    // Some of it is damaged; what is returned is correct, and the rest is reported.
    let Ok(store) = Sqlite::open(dir.path()) else {
        return;
    };
    let mut damaged = 0;
    for n in 0..20 {
        match store.read(&run(n), 0).await {
            Ok(chunks) => {
                assert_eq!(chunks.len(), 10);
                assert!(chunks.iter().all(|chunk| chunk.body == vec![7; 3_000]));
            }
            Err(fault) => {
                assert!(fault.message.contains("damaged"), "{fault}");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0);
}

#[tokio::test]
async fn a_journal_with_a_hole() {
    let dir = filled().await;
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    let cut = "DELETE FROM chunks WHERE first = 5 AND journal = \
               (SELECT key FROM runs ORDER BY run LIMIT 1 OFFSET 2)";
    assert_eq!(conn.execute(cut, []).unwrap(), 1);
    drop(conn);
    let store = Sqlite::open(dir.path()).unwrap();
    let says = store.read(&run(2), 0).await.unwrap_err().message;
    assert!(says.contains("event 5 of run_"), "{says}");
    assert_eq!(
        store.read(&run(2), 5).await.unwrap().len(),
        5,
        "events after it are intact"
    );
    assert_eq!(store.remove(&[run(2)]).await.unwrap(), 1);
}

#[tokio::test]
async fn the_index_is_rebuilt_from_the_chunks() {
    let dir = filled().await;
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    conn.execute_batch("UPDATE runs SET tail = 0, last = 1, bytes = 0")
        .unwrap();
    drop(conn);
    let store = Sqlite::open(dir.path()).unwrap();
    assert!(store.read(&run(1), 0).await.is_err());
    assert_eq!(store.rebuild().await.unwrap(), 20);
    for n in 0..20 {
        assert_eq!(store.read(&run(n), 0).await.unwrap().len(), 10);
        let row = store.row(&run(n)).await.unwrap().unwrap();
        assert_eq!((row.last, row.bytes), (10, 30_000));
    }
}

/// The problems in a directory, each with its run and message.
async fn problems(dir: &Path) -> Vec<(Option<String>, String)> {
    let store = Sqlite::open(dir).unwrap();
    let found = store.verify().await.unwrap();
    assert_eq!(found.more, 0);
    let problems = found.problems.into_iter();
    problems
        .map(|problem| (problem.run, problem.what))
        .collect()
}

#[tokio::test]
async fn a_verification_names_every_run_that_is_not_whole() {
    let dir = filled().await;
    assert_eq!(problems(dir.path()).await, []);
    let conn = rusqlite::Connection::open(database(dir.path())).unwrap();
    let of = |n: u64| format!("journal = (SELECT key FROM runs WHERE run = '{}')", run(n));
    for change in [
        format!(
            "UPDATE chunks SET body = zeroblob(3000) WHERE first = 5 AND {}",
            of(2)
        ),
        format!("DELETE FROM chunks WHERE first IN (3, 4, 9) AND {}", of(4)),
        format!("DELETE FROM chunks WHERE first = 10 AND {}", of(6)),
        format!(
            "UPDATE chunks SET sum = sum + 1 WHERE first = 1 AND {}",
            of(8)
        ),
        format!("UPDATE runs SET last = 9 WHERE run = '{}'", run(10)),
        format!("DELETE FROM runs WHERE run = '{}'", run(12)),
    ] {
        assert!(conn.execute(&change, []).unwrap() > 0, "{change}");
    }
    drop(conn);
    let found = problems(dir.path()).await;
    let says = |n: u64| {
        let run = Some(run(n).to_string());
        let mut about = found.iter().filter(|(about, _)| *about == run);
        let says = about
            .next()
            .unwrap_or_else(|| panic!("{n}: {found:?}"))
            .1
            .clone();
        assert!(about.next().is_none(), "once");
        says
    };
    let missing = "of its 10 events these are missing or damaged";
    assert_eq!(says(2), format!("{missing}: event 5"));
    assert_eq!(says(4), format!("{missing}: events 3 to 4, event 9"));
    assert_eq!(says(6), format!("{missing}: event 10"));
    assert_eq!(says(8), format!("{missing}: event 1"));
    assert!(
        says(10).contains("its row in the list of runs is wrong"),
        "{found:?}"
    );
    let unlisted = found.iter().filter(|(run, _)| run.is_none());
    let unlisted: Vec<_> = unlisted.map(|(_, says)| says.as_str()).collect();
    let [says] = unlisted[..] else {
        panic!("{unlisted:?}");
    };
    assert!(
        says.contains("10 chunks") && says.contains("not listed"),
        "{says}"
    );
    assert_eq!(found.len(), 6, "{found:?}");
}

#[tokio::test]
async fn a_verification_finds_pages_of_rubbish() {
    let dir = filled().await;
    damage(dir.path(), |bytes| {
        let end = bytes.len();
        bytes[end / 4..end / 2].fill(0xab);
    });
    if let Ok(store) = Sqlite::open(dir.path()) {
        assert_ne!(store.verify().await.unwrap().problems, []);
    }
}
