//! A log with lost commits is reported; leftovers of older logs are not.

use crate::processes::{acks, child};
use crate::{chunk, fill, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::{TempDir, tempdir};
use tramline_engine::ports::{JournalStore, RunFilter};
use tramline_store::Sqlite;

const FRAME_BYTES: usize = 24 + 8_192;
const RUNS: u64 = 12;

/// A data directory whose log has a commit for each of its runs and was never checkpointed, as
/// while a process uses it.
async fn with_log() -> TempDir {
    let (dir, copy) = (tempdir().unwrap(), tempdir().unwrap());
    let store = Sqlite::open(dir.path()).unwrap();
    for n in 0..RUNS {
        store.append(chunk(&run(n), 0, vec![7; 100])).await.unwrap();
    }
    for name in ["tramline.db", "tramline.db-wal"] {
        fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
    }
    drop(store);
    copy
}

fn log(dir: &Path) -> PathBuf {
    dir.join("tramline.db-wal")
}

/// A copy with a changed log and without its index, as after a restart.
fn changed(dir: &Path, change: impl FnOnce(&mut Vec<u8>)) -> TempDir {
    let copy = tempdir().unwrap();
    fs::copy(dir.join("tramline.db"), copy.path().join("tramline.db")).unwrap();
    let mut bytes = fs::read(log(dir)).unwrap();
    change(&mut bytes);
    fs::write(log(copy.path()), bytes).unwrap();
    copy
}

async fn runs_in(store: &Sqlite) -> u64 {
    store.runs(RunFilter::default()).await.unwrap().rows.len() as u64
}

/// The frames of the log up to its last commit.
fn frames(dir: &Path) -> usize {
    let bytes = fs::read(log(dir)).unwrap();
    let salts = &bytes[16..24];
    let all = bytes[32..].chunks_exact(FRAME_BYTES);
    all.take_while(|frame| &frame[8..16] == salts).count()
}

#[tokio::test]
async fn no_commit_of_a_log_is_lost_without_a_word() {
    let dir = with_log().await;
    let frames = frames(dir.path());
    assert!(frames as u64 >= RUNS, "{frames}");
    let header = (0..32).map(|at| (0, at));
    let in_frames = (0..frames).flat_map(|frame| {
        // Page number, size, each salt, each checksum, and the page.
        [0, 5, 9, 13, 17, 21, 24, 4_000, FRAME_BYTES - 1].map(move |at| (frame, 32 + at))
    });
    let mut told = 0;
    for (frame, at) in header.chain(in_frames) {
        let copy = changed(dir.path(), |bytes| bytes[frame * FRAME_BYTES + at] ^= 4);
        let Ok(store) = Sqlite::open(copy.path()) else {
            continue;
        };
        let (left, warnings) = (runs_in(&store).await, store.warnings().len());
        // The page size determines where frames are: without it none can be found.
        if !(8..12).contains(&at) || frame > 0 {
            assert!(
                left == RUNS || warnings == 1,
                "byte {at} of frame {frame}: {left} runs"
            );
        }
        told += warnings;
    }
    assert!(told > frames, "{told}");
}

#[tokio::test]
async fn the_warning_counts_what_is_lost_and_keeps_the_log() {
    let dir = with_log().await;
    let frames = frames(dir.path());
    let middle = frames / 2;
    let copy = changed(dir.path(), |bytes| {
        bytes[32 + middle * FRAME_BYTES + 99] ^= 1
    });
    let damaged = fs::read(log(copy.path())).unwrap();
    let store = Sqlite::open(copy.path()).unwrap();
    let left = runs_in(&store).await;
    let [says] = store.warnings() else {
        panic!("{:?}", store.warnings());
    };
    let counts = format!(
        "{} of its frames, with {} commits",
        frames - middle,
        RUNS - left
    );
    assert!(says.contains(&counts), "{says}; expected {counts}");
    assert!(
        says.contains("doctor --deep") && says.contains("backup"),
        "{says}"
    );
    // The next write overwrites it; the copy stays.
    store.append(chunk(&run(99), 0, vec![1])).await.unwrap();
    drop(store);
    let entries = fs::read_dir(copy.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let kept = entries.filter(|path| path.to_string_lossy().contains(".damaged-"));
    let [kept] = &kept.collect::<Vec<_>>()[..] else {
        panic!("one copy");
    };
    assert_eq!(fs::read(kept).unwrap(), damaged);
    assert_eq!(Sqlite::open(copy.path()).unwrap().warnings(), [""; 0]);
}

/// A killed process leaves a commit that it never announced, and a shorter one overwrites its start.
#[tokio::test]
async fn while_another_process_uses_the_log_nothing_after_its_end_is_lost() {
    let dir = with_log().await;
    let last = frames(dir.path()) - 1;
    let copy = changed(dir.path(), |bytes| bytes[32 + last * FRAME_BYTES + 99] ^= 1);
    let other = Sqlite::open(copy.path()).unwrap();
    assert_eq!(other.warnings().len(), 1);
    other.claim(&run(0)).await.unwrap();
    assert_eq!(Sqlite::open(copy.path()).unwrap().warnings(), [""; 0]);
}

#[tokio::test]
async fn only_a_few_copies_of_damaged_logs_are_kept() {
    let dir = with_log().await;
    let middle = frames(dir.path()) / 2;
    let copy = changed(dir.path(), |bytes| {
        bytes[32 + middle * FRAME_BYTES + 99] ^= 1
    });
    for name in ["a", "b", "c", "d"] {
        fs::write(
            copy.path().join(format!("tramline.db-wal.damaged-{name}")),
            "",
        )
        .unwrap();
    }
    let store = Sqlite::open(copy.path()).unwrap();
    let [says] = store.warnings() else {
        panic!("{:?}", store.warnings());
    };
    assert!(says.contains("could not be copied"), "{says}");
}

#[tokio::test]
async fn what_an_older_log_left_behind_is_no_damage() {
    let dir = tempdir().unwrap();
    for round in 0..6 {
        let store = Arc::new(Sqlite::open(dir.path()).unwrap());
        assert_eq!(store.warnings(), [""; 0], "round {round}");
        // More than a log can contain, so that it restarts meanwhile.
        fill(&store, round * 10..round * 10 + 10, 10 + round, 9_000).await;
    }
    assert_eq!(Sqlite::open(dir.path()).unwrap().warnings(), [""; 0]);
}

#[tokio::test]
async fn what_a_killed_process_left_is_no_damage() {
    for round in 0..8 {
        let dir = tempdir().unwrap();
        let mut writer = child("writes until killed", dir.path()).spawn().unwrap();
        assert_eq!(
            acks(&mut writer).take(20 + round * 30).count(),
            20 + round * 30
        );
        // While it writes.
        for _ in 0..20 {
            assert_eq!(Sqlite::open(dir.path()).unwrap().warnings(), [""; 0]);
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert_eq!(Sqlite::open(dir.path()).unwrap().warnings(), [""; 0]);
    }
}

#[tokio::test]
async fn a_log_that_ends_early_is_no_damage() {
    let dir = with_log().await;
    let whole = 32 + frames(dir.path()) * FRAME_BYTES;
    for cut in [0, 10, 32, 40, 32 + FRAME_BYTES / 2, whole - 10] {
        let copy = changed(dir.path(), |bytes| bytes.truncate(cut));
        assert_eq!(
            Sqlite::open(copy.path()).unwrap().warnings(),
            [""; 0],
            "{cut}"
        );
    }
}
