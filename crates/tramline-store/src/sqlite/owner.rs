//! Owners: a process is known to live by the lock it holds on a file, which the system drops when
//! the process dies, however it dies.

use super::place::{make_private_dir, private_file};
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const OWNERS: &str = "owners";
const LOCK: &str = "lock";

/// A lock file that has not got its final name after this long was left by a dead process.
const NAMING_MAX: Duration = Duration::from_secs(60);

/// Who owns claims: this store, and all others on the same data directory.
#[derive(Debug)]
pub(super) struct Owners {
    /// The directory of the lock files; none for a store in memory, which is alone.
    dir: Option<PathBuf>,
    own: Mutex<Option<Own>>,
}

#[derive(Debug)]
struct Own {
    name: String,
    path: Option<PathBuf>,
    /// Locked as long as it is open.
    _lock: Option<File>,
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Were it left, the next owner would clear it away.
            let _ = fs::remove_file(path);
        }
    }
}

impl Owners {
    /// The owners that share a data directory.
    pub(super) fn new(data_dir: Option<&Path>) -> Self {
        Self {
            dir: data_dir.map(|dir| dir.join(OWNERS)),
            own: Mutex::new(None),
        }
    }

    /// This store's name as an owner, and whether it got it only now.
    pub(super) fn own(&self) -> io::Result<(String, bool)> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
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
        *own = Some(Own {
            name: name.clone(),
            path,
            _lock: lock,
        });
        Ok((name, true))
    }

    /// This store's name as an owner, if it ever claimed anything.
    pub(super) fn known(&self) -> Option<String> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_ref().map(|own| own.name.clone())
    }

    /// Whether an owner lives. In doubt it does: a claim is never taken from the living.
    pub(super) fn lives(&self, name: &str) -> bool {
        let Some(dir) = &self.dir else {
            return true;
        };
        is_locked(&lock_path(dir, name))
    }

    /// Whether another owner lives.
    pub(super) fn others_live(&self) -> bool {
        let Some(Ok(entries)) = self.dir.as_ref().map(fs::read_dir) else {
            return false;
        };
        let own = self.known();
        let mut paths = entries.flatten().map(|entry| entry.path());
        paths.any(|path| {
            let named = path.extension().is_some_and(|end| end == LOCK);
            let is_own = path.file_stem().and_then(|stem| stem.to_str()) == own.as_deref();
            named && !is_own && is_locked(&path)
        })
    }

    /// Removes the lock files of the dead.
    pub(super) fn clear_dead(&self) {
        let Some(Ok(entries)) = self.dir.as_ref().map(fs::read_dir) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let named = path.extension().is_some_and(|end| end == LOCK);
            if (named || is_old(&entry)) && !is_locked(&path) {
                // Another process may be clearing too.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// How an owner is called in messages.
pub(super) fn spoken(name: &str) -> String {
    let mut parts = name.split('-');
    let (pid, started) = (parts.next(), parts.next().and_then(|ms| ms.parse().ok()));
    match (pid, started) {
        (Some(pid), Some(ms)) => format!("process {pid}, started {}", utc(ms)),
        (_, _) => format!("process {name}"),
    }
}

/// Makes the file under another name and locks it before it takes its own: under its own name it
/// is never seen unlocked while its owner lives.
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

/// Probes with a shared lock: two probes at once do not take each other for the owner.
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

/// Process, time of birth, and 64 random bits: no two owners ever share a name.
fn new_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let ms = now.map_or(0, |since| since.as_millis());
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{ms}-{random:016x}", process::id())
}

/// A time of day as people write it, from milliseconds since 1970.
fn utc(ms: u64) -> String {
    let (days, seconds) = (ms / 86_400_000, ms / 1_000 % 86_400);
    // Years are counted from March, so that the leap day is a year's last.
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
            spoken("7-0-ab"),
            "process 7, started 1970-01-01 00:00:00 UTC"
        );
    }

    #[test]
    fn an_owner_lives_until_dropped_and_its_file_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, yours) = (Owners::new(Some(dir.path())), Owners::new(Some(dir.path())));
        let (name, fresh) = mine.own().unwrap();
        assert!(fresh && yours.lives(&name) && mine.lives(&name));
        yours.clear_dead();
        assert!(yours.lives(&name));
        drop(mine);
        assert!(!yours.lives(&name));
        let left = dir.path().join(OWNERS).join("1-2-3.lock");
        fs::write(&left, "").unwrap();
        yours.clear_dead();
        assert!(!left.exists());
    }
}
