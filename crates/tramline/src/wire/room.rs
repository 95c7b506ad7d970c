//! How much of the disk runs may take up where nothing is said about it.

use crate::config::Config;
use std::path::Path;
use tramline_engine::Quota;

/// Bytes that the data directory may take up unless the configuration says otherwise.
const DISK_BYTES_MAX: u64 = 10_000_000_000;
/// The part of its disk that it may take up, where that is less: one of so many.
const DISK_PART: u64 = 10;

/// The configured quota, with the usual room on the disk where none is said.
pub(super) fn quota(config: &Config) -> Quota {
    let mut quota = config.quota;
    if let (None, Some(dir)) = (quota.disk_bytes_max, &config.data_dir) {
        quota.disk_bytes_max = Some(usual(disk_bytes(dir)));
    }
    quota
}

fn usual(disk_bytes: Option<u64>) -> u64 {
    disk_bytes.map_or(DISK_BYTES_MAX, |all| (all / DISK_PART).min(DISK_BYTES_MAX))
}

/// How large the disk of a directory is, if that can be seen.
fn disk_bytes(dir: &Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(dir).ok()?;
    Some(disk.blocks().saturating_mul(disk.fragment_size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_gives_less_room_and_a_configuration_has_the_last_word() {
        assert_eq!(usual(None), DISK_BYTES_MAX);
        assert_eq!(usual(Some(1_000)), 100);
        assert_eq!(usual(Some(u64::MAX)), DISK_BYTES_MAX);
        let mut config = Config {
            data_dir: Some(std::env::temp_dir()),
            ..Config::default()
        };
        let most = quota(&config).disk_bytes_max.unwrap();
        assert!(most > 0 && most <= DISK_BYTES_MAX);
        config.quota.disk_bytes_max = Some(7);
        assert_eq!(quota(&config).disk_bytes_max, Some(7));
        config = Config::default();
        assert_eq!(quota(&config).disk_bytes_max, None, "in memory");
    }
}
