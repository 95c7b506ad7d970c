//! Data that is shared with other projects.

use std::path::{Path, PathBuf};

/// A folder of shared data. If it is absent, the tests that need it are skipped, but never in CI.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRAMLINE_SHARED").map_or(default, PathBuf::from);
    let folder = shared.join("data").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let missing = folder.display();
    assert!(std::env::var_os("CI").is_none(), "{missing} is missing");
    None
}
