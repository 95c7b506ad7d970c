//! The default disk quota for runs.

use super::data_files::disk_space;
use crate::config::Config;
use tramline_engine::Quota;

/// The default limit of the data directory, in bytes.
const DISK_BYTES_MAX: u64 = 10_000_000_000;
/// On smaller disks the default is one part in this many of the disk.
const DISK_FRACTION: u64 = 10;

/// The configured quota, with the default disk limit if none is configured.
pub(super) fn quota(config: &Config) -> Quota {
    let mut quota = config.quota;
    let own = config.data_dir.as_ref().filter(|_| config.store.is_none());
    if let (None, Some(dir)) = (quota.disk_bytes_max, own) {
        let disk = disk_space(dir).map(|disk| disk.total_bytes);
        quota.disk_bytes_max = Some(default_quota(disk));
    }
    quota
}

fn default_quota(disk_bytes: Option<u64>) -> u64 {
    disk_bytes.map_or(DISK_BYTES_MAX, |all| {
        (all / DISK_FRACTION).min(DISK_BYTES_MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_gives_less_room_and_a_configuration_has_the_last_word() {
        assert_eq!(default_quota(None), DISK_BYTES_MAX);
        assert_eq!(default_quota(Some(1_000)), 100);
        assert_eq!(default_quota(Some(u64::MAX)), DISK_BYTES_MAX);
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
