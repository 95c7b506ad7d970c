//! Process liveness: a process is alive while it holds the lock on its file. The system releases
//! the lock when the process dies, however it dies.

use super::database::{make_private_dir, private_file};
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const OWNERS: &str = "owners";
const LOCK: &str = "lock";

/// How long a lock file may exist without its final name; after that its process is dead.
const NAMING_MAX: Duration = Duration::from_secs(60);

/// The owners of claims: this store, and all others on the same data directory.
#[derive(Debug)]
pub(super) struct ProcessLocks {
    /// The directory of the lock files; `None` for a store in memory, which is alone.
    dir: Option<PathBuf>,
    own_lock: Mutex<Option<OwnLock>>,
}

#[derive(Debug)]
struct OwnLock {
    name: String,
    path: Option<PathBuf>,
    /// Locked while it is open.
    _lock: Option<File>,
}

impl Drop for OwnLock {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // If this fails, the next owner removes the file.
            let _ = fs::remove_file(path);
        }
    }
}

impl ProcessLocks {
    /// The owners that share a data directory.
    pub(super) fn new(data_dir: Option<&Path>) -> Self {
        Self {
            dir: data_dir.map(|dir| dir.join(OWNERS)),
            own_lock: Mutex::new(None),
        }
    }

    /// This store's owner name, and whether it was created just now.
    pub(super) fn own_name(&self) -> io::Result<(String, bool)> {
        let mut own = self.own_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = &*own {
            return Ok((own.name.clone(), false));
        }
        let name = new_name();
        let (path, lock) = match &self.dir {
            Some(dir) => {
                make_private_dir(dir)?;
                let path = lock_path(dir, &name);
                let lock = locked_file(dir, &name, &path)?;
                (Some(path), Some(lock))
            }
            None => (None, None),
        };
        *own = Some(OwnLock {
            name: name.clone(),
            path,
            _lock: lock,
        });
        Ok((name, true))
    }

    /// This store's owner name, if it ever claimed anything.
    pub(super) fn own_name_if_any(&self) -> Option<String> {
        let own = self.own_lock.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_ref().map(|own| own.name.clone())
    }

    /// Whether an owner is alive. In doubt it is: a claim is never taken from a live process.
    pub(super) fn is_alive(&self, name: &str) -> bool {
        let Some(dir) = &self.dir else {
            return true;
        };
        is_locked(&lock_path(dir, name))
    }

    /// Whether another owner is alive.
    pub(super) fn is_other_alive(&self) -> bool {
        let Some(Ok(entries)) = self.dir.as_ref().map(fs::read_dir) else {
            return false;
        };
        let own = self.own_name_if_any();
        let mut paths = entries.flatten().map(|entry| entry.path());
        paths.any(|path| {
            let named = path.extension().is_some_and(|end| end == LOCK);
            let is_own = path.file_stem().and_then(|stem| stem.to_str()) == own.as_deref();
            named && !is_own && is_locked(&path)
        })
    }

    /// Removes the lock files of dead owners.
    pub(super) fn clear_dead(&self) {
        let Some(Ok(entries)) = self.dir.as_ref().map(fs::read_dir) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let named = path.extension().is_some_and(|end| end == LOCK);
            if (named || is_old(&entry)) && !is_locked(&path) {
                // Another process may be removing them too.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// How an owner is shown in messages.
pub(super) fn display_name(name: &str) -> String {
    let mut parts = name.split('-');
    let (pid, started) = (parts.next(), parts.next().and_then(|ms| ms.parse().ok()));
    match (pid, started) {
        (Some(pid), Some(ms)) => format!("process {pid}, started {}", utc(ms)),
        (_, _) => format!("process {name}"),
    }
}

/// Creates the file under a temporary name and locks it before renaming it: under its final name it
/// is never seen unlocked while its owner is alive.
fn locked_file(dir: &Path, name: &str, path: &Path) -> io::Result<File> {
    let unnamed = dir.join(format!("{name}.new"));
    let file = private_file(&unnamed)?;
    file.lock()?;
    fs::rename(&unnamed, path)?;
    Ok(file)
}

fn lock_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.{LOCK}"))
}

/// Probes with a shared lock, so that two concurrent probes do not mistake each other for the
/// owner.
fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

fn is_old(entry: &fs::DirEntry) -> bool {
    entry
        .metadata()
        .and_then(|about| about.modified())
        .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > NAMING_MAX))
}

/// Process id, creation time and 64 random bits: no two owners share a name.
fn new_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let ms = now.map_or(0, |since| since.as_millis());
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{ms}-{random:016x}", process::id())
}

/// Formats milliseconds since 1970 as a UTC date and time.
pub fn utc(ms: u64) -> String {
    let (days, seconds) = (ms / 86_400_000, ms / 1_000 % 86_400);
    // Years start in March here, so that the leap day is the last day of a year.
    let since_0000 = days + 719_468;
    let (era, in_era) = (since_0000 / 146_097, since_0000 % 146_097);
    let year = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * in_year + 2) / 153;
    let day = in_year - (153 * shifted + 2) / 5 + 1;
    let (month, late) = if shifted < 10 {
        (shifted + 3, 0)
    } else {
        (shifted - 9, 1)
    };
    format!(
        "{:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        era * 400 + year + late,
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_write_them() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_793_836_799_000), "2026-11-04 23:59:59 UTC");
        assert_eq!(utc(4_107_542_400_000), "2100-03-01 00:00:00 UTC");
        assert_eq!(
            display_name("7-0-ab"),
            "process 7, started 1970-01-01 00:00:00 UTC"
        );
    }

    #[test]
    fn an_owner_lives_until_dropped_and_its_file_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, yours) = (
            ProcessLocks::new(Some(dir.path())),
            ProcessLocks::new(Some(dir.path())),
        );
        let (name, fresh) = mine.own_name().unwrap();
        assert!(fresh && yours.is_alive(&name) && mine.is_alive(&name));
        yours.clear_dead();
        assert!(yours.is_alive(&name));
        drop(mine);
        assert!(!yours.is_alive(&name));
        let left = dir.path().join(OWNERS).join("1-2-3.lock");
        fs::write(&left, "").unwrap();
        yours.clear_dead();
        assert!(!left.exists());
    }
}
