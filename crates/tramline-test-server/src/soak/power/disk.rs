//! A simulated disk: the recorded writes of a process, and what a disk may hold of them after a
//! power loss.
//!
//! Synced data is present. Of unsynced data any part may be: whole writes, some of their sectors,
//! or nothing. A name is present once its directory was synced.

use super::super::seeded_rng::SeededRng;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes that a disk writes atomically.
const SECTOR_BYTES: usize = 512;

/// An operation of the process.
#[derive(Clone, Debug)]
pub(super) enum DiskOperation {
    /// A file with this name was opened.
    Opened {
        file: u64,
        name: String,
    },
    Wrote {
        file: u64,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncated {
        file: u64,
        to: usize,
    },
    Synced {
        file: u64,
    },
    Renamed {
        from: String,
        to: String,
    },
    Removed {
        name: String,
    },
    /// Bytes were sent through a pipe.
    Sent {
        pipe: u64,
        bytes: Vec<u8>,
    },
    SyncedNames,
}

/// Parses the recording.
pub(super) fn parse_recording(mut log: &[u8]) -> Result<Vec<DiskOperation>> {
    let mut all = Vec::new();
    while let Some((head, rest)) = log.split_at_checked(25) {
        let number =
            |at: usize| -> Result<u64> { Ok(u64::from_le_bytes(head[at..at + 8].try_into()?)) };
        let (file, at, length) = (number(1)?, number(9)? as usize, number(17)? as usize);
        let (bytes, rest) = rest
            .split_at_checked(length)
            .context("a record is incomplete")?;
        log = rest;
        let text = || String::from_utf8_lossy(bytes).into_owned();
        all.push(match head[0] {
            1 => DiskOperation::Opened { file, name: text() },
            2 => DiskOperation::Wrote {
                file,
                at,
                bytes: bytes.to_vec(),
            },
            3 => DiskOperation::Truncated { file, to: at },
            4 => DiskOperation::Synced { file },
            5 => {
                let both = text();
                let (from, to) = both
                    .split_once('\n')
                    .context("a rename without a new name")?;
                DiskOperation::Renamed {
                    from: from.to_owned(),
                    to: to.to_owned(),
                }
            }
            6 => DiskOperation::Removed { name: text() },
            7 => DiskOperation::Sent {
                pipe: file,
                bytes: bytes.to_vec(),
            },
            8 => DiskOperation::SyncedNames,
            other => bail!("unknown record {other}"),
        });
    }
    Ok(all)
}

/// What a disk certainly holds, and what it may hold.
#[derive(Default)]
pub(super) struct SimulatedDisk {
    files: BTreeMap<u64, FileState>,
    names: BTreeMap<String, u64>,
    unsynced_names: Vec<DiskOperation>,
    seen: BTreeMap<String, u64>,
}

#[derive(Default)]
struct FileState {
    bytes: Vec<u8>,
    since: Vec<DiskOperation>,
}

/// How much unsynced data survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Survival {
    Nothing,
    All,
    Some,
}

impl SimulatedDisk {
    pub(super) fn apply(&mut self, deed: &DiskOperation) {
        match deed {
            DiskOperation::Opened { file, name } => {
                if self.seen.insert(name.clone(), *file) != Some(*file) {
                    self.files.insert(*file, FileState::default());
                    self.unsynced_names.push(deed.clone());
                }
            }
            DiskOperation::Renamed { from, to } => {
                if let Some(file) = self.seen.remove(from) {
                    self.seen.insert(to.clone(), file);
                }
                self.unsynced_names.push(deed.clone());
            }
            DiskOperation::Removed { name } => {
                self.seen.remove(name);
                self.unsynced_names.push(deed.clone());
            }
            DiskOperation::Wrote { file, .. } | DiskOperation::Truncated { file, .. } => {
                self.files
                    .entry(*file)
                    .or_default()
                    .since
                    .push(deed.clone());
            }
            DiskOperation::Synced { file } => {
                let synced = self.files.entry(*file).or_default();
                for deed in std::mem::take(&mut synced.since) {
                    apply(&mut synced.bytes, &deed);
                }
            }
            DiskOperation::SyncedNames => {
                for deed in std::mem::take(&mut self.unsynced_names) {
                    rename(&mut self.names, &deed);
                }
            }
            DiskOperation::Sent { .. } => {}
        }
    }

    /// Writes what survives the power loss to a directory. The index of the write-ahead log is
    /// never synced, and not read after a restart.
    pub(super) fn restore(
        &self,
        into: &Path,
        survives: Survival,
        chance: &mut SeededRng,
    ) -> Result<()> {
        let mut names = self.names.clone();
        let kept = match survives {
            Survival::Nothing => 0,
            Survival::All => self.unsynced_names.len(),
            Survival::Some => chance.between(0, self.unsynced_names.len() as u64) as usize,
        };
        for deed in &self.unsynced_names[..kept] {
            rename(&mut names, deed);
        }
        std::fs::create_dir_all(into)?;
        for (name, file) in names {
            let name = Path::new(&name)
                .file_name()
                .context("a path without a file name")?
                .to_owned();
            if name.to_string_lossy().ends_with("-shm") {
                continue;
            }
            let Some(synced) = self.files.get(&file) else {
                continue;
            };
            let mut bytes = synced.bytes.clone();
            for deed in &synced.since {
                match survives {
                    Survival::Nothing => {}
                    Survival::All => apply(&mut bytes, deed),
                    Survival::Some => apply_some(&mut bytes, deed, chance),
                }
            }
            std::fs::write(into.join(name), bytes)?;
        }
        Ok(())
    }
}

fn rename(names: &mut BTreeMap<String, u64>, deed: &DiskOperation) {
    match deed {
        DiskOperation::Opened { file, name } => {
            names.insert(name.clone(), *file);
        }
        DiskOperation::Renamed { from, to } => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        DiskOperation::Removed { name } => {
            names.remove(name);
        }
        DiskOperation::Wrote { .. }
        | DiskOperation::Truncated { .. }
        | DiskOperation::Synced { .. }
        | DiskOperation::Sent { .. }
        | DiskOperation::SyncedNames => {}
    }
}

fn apply(bytes: &mut Vec<u8>, deed: &DiskOperation) {
    match deed {
        DiskOperation::Wrote {
            at, bytes: more, ..
        } => put(bytes, *at, more),
        DiskOperation::Truncated { to, .. } => bytes.resize(*to, 0),
        DiskOperation::Opened { .. }
        | DiskOperation::Synced { .. }
        | DiskOperation::Renamed { .. }
        | DiskOperation::Removed { .. }
        | DiskOperation::Sent { .. }
        | DiskOperation::SyncedNames => {}
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    let end = at + more.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(more);
}

/// Applies all of a write, none of it, or some of its sectors.
fn apply_some(bytes: &mut Vec<u8>, deed: &DiskOperation, chance: &mut SeededRng) {
    match (chance.between(0, 2), deed) {
        (0, _) => {}
        (1, _) | (_, DiskOperation::Truncated { .. }) => apply(bytes, deed),
        (
            _,
            DiskOperation::Wrote {
                at, bytes: more, ..
            },
        ) => {
            for (part, sector) in more.chunks(SECTOR_BYTES).enumerate() {
                if chance.percent(50) {
                    put(bytes, at + part * SECTOR_BYTES, sector);
                }
            }
        }
        (_, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(at: usize, bytes: &[u8]) -> DiskOperation {
        DiskOperation::Wrote {
            file: 7,
            at,
            bytes: bytes.to_vec(),
        }
    }

    fn opened(name: &str) -> DiskOperation {
        DiskOperation::Opened {
            file: 7,
            name: name.to_owned(),
        }
    }

    /// The file after the power loss, if it exists.
    fn left(deeds: &[DiskOperation], survives: Survival) -> Option<Vec<u8>> {
        let mut disk = SimulatedDisk::default();
        deeds.iter().for_each(|deed| disk.apply(deed));
        let dir = std::env::temp_dir().join(format!("power-{}-{survives:?}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        disk.restore(&dir, survives, &mut SeededRng::new(1)).ok()?;
        let bytes = std::fs::read(dir.join("data")).ok();
        let _ = std::fs::remove_dir_all(&dir);
        bytes
    }

    #[test]
    fn only_what_was_synced_is_there_for_sure() {
        let mut deeds = vec![
            opened("/d/draft"),
            wrote(0, b"first"),
            DiskOperation::Synced { file: 7 },
        ];
        assert_eq!(
            left(&deeds, Survival::Nothing),
            None,
            "its name is not synced yet"
        );
        let (from, to) = ("/d/draft".to_owned(), "/d/data".to_owned());
        deeds.extend([
            DiskOperation::Renamed { from, to },
            DiskOperation::SyncedNames,
        ]);
        deeds.push(wrote(3, b"second"));
        assert_eq!(
            left(&deeds, Survival::Nothing).as_deref(),
            Some(&b"first"[..])
        );
        assert_eq!(
            left(&deeds, Survival::All).as_deref(),
            Some(&b"firsecond"[..])
        );
        deeds.push(DiskOperation::Synced { file: 7 });
        assert_eq!(
            left(&deeds, Survival::Nothing).as_deref(),
            Some(&b"firsecond"[..])
        );
        deeds.push(DiskOperation::Truncated { file: 7, to: 2 });
        assert_eq!(
            left(&deeds, Survival::Nothing).as_deref(),
            Some(&b"firsecond"[..])
        );
        assert_eq!(left(&deeds, Survival::All).as_deref(), Some(&b"fi"[..]));
    }

    #[test]
    fn a_record_that_ends_early_is_refused() {
        assert!(parse_recording(&[2; 25]).is_err());
        assert_eq!(parse_recording(&[]).map(|all| all.len()).ok(), Some(0));
    }
}
