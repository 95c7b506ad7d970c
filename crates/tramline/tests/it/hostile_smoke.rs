//! Every attack of the hostile soak once, at a small size; `cargo xtask soak hostile` is the long form.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tramline_unruly::program;
use tramline_unruly::soak::hostile::{HostileSettings, hostile};

#[test]
fn a_round_of_attacks_breaks_and_leaks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let settings = HostileSettings {
        tramline: PathBuf::from(env!("CARGO_BIN_EXE_tramline")),
        unruly: program::unruly().unwrap(),
        dir: dir.path().to_owned(),
        time: Duration::from_secs(5),
        seed: now.as_millis() as u64,
        is_small: true,
        only: None,
        tell: |line| println!("{line}"),
    };
    let report = hostile(&settings).unwrap();
    assert!(report.violations.is_empty(), "{report}");
}
