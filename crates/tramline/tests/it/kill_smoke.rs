//! A few kills at random moments, so that every change meets some; `cargo xtask soak crash` is the
//! long version.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tramline_test_server::program;
use tramline_test_server::soak::{SERVERS, SharedStore, SoakSettings, power, run, storm};

fn settings(dir: &TempDir, kills: u64) -> SoakSettings {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    SoakSettings {
        tramline: PathBuf::from(env!("CARGO_BIN_EXE_tramline")),
        unruly: program::test_server().unwrap(),
        dir: dir.path().to_owned(),
        kills,
        seed: now.as_millis() as u64,
        workers: 2,
        servers: SERVERS,
        store: None,
        on_progress: |line| println!("{line}"),
    }
}

#[test]
fn a_few_kills_lose_and_repeat_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, 5);
    let tally = run(&settings).unwrap();
    let seed = settings.seed;
    assert!(tally.violations.is_empty(), "seed {seed}\n{tally}");
}

/// Several servers and the command line on one data directory, all of them killed.
#[test]
fn nor_does_a_small_storm() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, 40);
    let tally = storm(&settings).unwrap();
    let seed = settings.seed;
    assert!(tally.violations.is_empty(), "seed {seed}\n{tally}");
}

/// Three replicas on PostgreSQL: killed, stopped and woken, while the server restarts and crashes.
#[test]
fn nor_does_a_small_storm_of_replicas() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = settings(&dir, 25);
    settings.servers = 3;
    let store = SharedStore::start(&settings.tramline, dir.path()).unwrap();
    settings.store = Some(Arc::new(store));
    let tally = storm(&settings).unwrap();
    let seed = settings.seed;
    assert!(tally.violations.is_empty(), "seed {seed}\n{tally}");
}

/// A disk that loses its power; `cargo xtask soak power` is the long version.
#[test]
fn nor_does_a_lost_power_supply() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, 8);
    let tally = power(&settings).unwrap();
    let seed = settings.seed;
    assert!(tally.violations.is_empty(), "seed {seed}\n{tally}");
    assert!(tally.looked_for > 0, "seed {seed}\n{tally}");
}
