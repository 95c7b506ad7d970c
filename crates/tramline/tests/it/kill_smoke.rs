//! A few kills at random moments, so that every change meets some; `cargo xtask soak crash` is
//! the long form.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use tramline_unruly::program;
use tramline_unruly::soak::{Settings, run};

#[test]
fn a_few_kills_lose_and_repeat_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = now.as_millis() as u64;
    let tally = run(&Settings {
        tramline: PathBuf::from(env!("CARGO_BIN_EXE_tramline")),
        unruly: program::unruly().unwrap(),
        dir: dir.path().to_owned(),
        kills: 5,
        seed,
        workers: 2,
        tell: |line| println!("{line}"),
    })
    .unwrap();
    assert!(tally.violations.is_empty(), "seed {seed}\n{tally}");
}
