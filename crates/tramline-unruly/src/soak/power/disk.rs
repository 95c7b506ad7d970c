//! A disk that loses its power: what was recorded of a process's writes, and what a disk may hold of
//! them at any moment.
//!
//! What was synced is there. Of what was not, any part may be: whole writes, some of their sectors, or
//! nothing. A name is there once its directory was synced.

use super::super::chance::Chance;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// A disk writes so many bytes as a whole.
const SECTOR_BYTES: usize = 512;

/// Something the process did.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// A file has this name.
    Opened {
        file: u64,
        name: String,
    },
    Wrote {
        file: u64,
        at: usize,
        bytes: Vec<u8>,
    },
    Cut {
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
    /// Bytes left through a pipe.
    Sent {
        pipe: u64,
        bytes: Vec<u8>,
    },
    SyncedNames,
}

/// Reads what was recorded.
pub(super) fn deeds(mut log: &[u8]) -> Result<Vec<Deed>> {
    let mut all = Vec::new();
    while let Some((head, rest)) = log.split_at_checked(25) {
        let number =
            |at: usize| -> Result<u64> { Ok(u64::from_le_bytes(head[at..at + 8].try_into()?)) };
        let (file, at, length) = (number(1)?, number(9)? as usize, number(17)? as usize);
        let (bytes, rest) = rest
            .split_at_checked(length)
            .context("a record ends early")?;
        log = rest;
        let text = || String::from_utf8_lossy(bytes).into_owned();
        all.push(match head[0] {
            1 => Deed::Opened { file, name: text() },
            2 => Deed::Wrote {
                file,
                at,
                bytes: bytes.to_vec(),
            },
            3 => Deed::Cut { file, to: at },
            4 => Deed::Synced { file },
            5 => {
                let both = text();
                let (from, to) = both.split_once('\n').context("a new name")?;
                Deed::Renamed {
                    from: from.to_owned(),
                    to: to.to_owned(),
                }
            }
            6 => Deed::Removed { name: text() },
            7 => Deed::Sent {
                pipe: file,
                bytes: bytes.to_vec(),
            },
            8 => Deed::SyncedNames,
            other => bail!("record {other} is unknown"),
        });
    }
    Ok(all)
}

/// What a disk holds for sure, and what it may hold.
#[derive(Default)]
pub(super) struct Disk {
    files: BTreeMap<u64, Synced>,
    names: BTreeMap<String, u64>,
    unsynced_names: Vec<Deed>,
    seen: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Synced {
    bytes: Vec<u8>,
    since: Vec<Deed>,
}

/// How much of what was not synced survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Survives {
    Nothing,
    All,
    Some,
}

impl Disk {
    pub(super) fn does(&mut self, deed: &Deed) {
        match deed {
            Deed::Opened { file, name } => {
                if self.seen.insert(name.clone(), *file) != Some(*file) {
                    self.files.insert(*file, Synced::default());
                    self.unsynced_names.push(deed.clone());
                }
            }
            Deed::Renamed { from, to } => {
                if let Some(file) = self.seen.remove(from) {
                    self.seen.insert(to.clone(), file);
                }
                self.unsynced_names.push(deed.clone());
            }
            Deed::Removed { name } => {
                self.seen.remove(name);
                self.unsynced_names.push(deed.clone());
            }
            Deed::Wrote { file, .. } | Deed::Cut { file, .. } => {
                self.files
                    .entry(*file)
                    .or_default()
                    .since
                    .push(deed.clone());
            }
            Deed::Synced { file } => {
                let synced = self.files.entry(*file).or_default();
                for deed in std::mem::take(&mut synced.since) {
                    apply(&mut synced.bytes, &deed);
                }
            }
            Deed::SyncedNames => {
                for deed in std::mem::take(&mut self.unsynced_names) {
                    rename(&mut self.names, &deed);
                }
            }
            Deed::Sent { .. } => {}
        }
    }

    /// Writes what is left after the power was lost into a directory. The index over the log is never
    /// synced, and not read after a restart.
    pub(super) fn restore(
        &self,
        into: &Path,
        survives: Survives,
        chance: &mut Chance,
    ) -> Result<()> {
        let mut names = self.names.clone();
        let kept = match survives {
            Survives::Nothing => 0,
            Survives::All => self.unsynced_names.len(),
            Survives::Some => chance.between(0, self.unsynced_names.len() as u64) as usize,
        };
        for deed in &self.unsynced_names[..kept] {
            rename(&mut names, deed);
        }
        std::fs::create_dir_all(into)?;
        for (name, file) in names {
            let name = Path::new(&name)
                .file_name()
                .context("a file's name")?
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
                    Survives::Nothing => {}
                    Survives::All => apply(&mut bytes, deed),
                    Survives::Some => apply_some(&mut bytes, deed, chance),
                }
            }
            std::fs::write(into.join(name), bytes)?;
        }
        Ok(())
    }
}

fn rename(names: &mut BTreeMap<String, u64>, deed: &Deed) {
    match deed {
        Deed::Opened { file, name } => {
            names.insert(name.clone(), *file);
        }
        Deed::Renamed { from, to } => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Deed::Removed { name } => {
            names.remove(name);
        }
        Deed::Wrote { .. }
        | Deed::Cut { .. }
        | Deed::Synced { .. }
        | Deed::Sent { .. }
        | Deed::SyncedNames => {}
    }
}

fn apply(bytes: &mut Vec<u8>, deed: &Deed) {
    match deed {
        Deed::Wrote {
            at, bytes: more, ..
        } => put(bytes, *at, more),
        Deed::Cut { to, .. } => bytes.resize(*to, 0),
        Deed::Opened { .. }
        | Deed::Synced { .. }
        | Deed::Renamed { .. }
        | Deed::Removed { .. }
        | Deed::Sent { .. }
        | Deed::SyncedNames => {}
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    let end = at + more.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(more);
}

/// All of a write, nothing of it, or some of its sectors.
fn apply_some(bytes: &mut Vec<u8>, deed: &Deed, chance: &mut Chance) {
    match (chance.between(0, 2), deed) {
        (0, _) => {}
        (1, _) | (_, Deed::Cut { .. }) => apply(bytes, deed),
        (
            _,
            Deed::Wrote {
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

    fn wrote(at: usize, bytes: &[u8]) -> Deed {
        Deed::Wrote {
            file: 7,
            at,
            bytes: bytes.to_vec(),
        }
    }

    fn opened(name: &str) -> Deed {
        Deed::Opened {
            file: 7,
            name: name.to_owned(),
        }
    }

    /// The file after the power was lost, if it is there.
    fn left(deeds: &[Deed], survives: Survives) -> Option<Vec<u8>> {
        let mut disk = Disk::default();
        deeds.iter().for_each(|deed| disk.does(deed));
        let dir = std::env::temp_dir().join(format!("power-{}-{survives:?}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        disk.restore(&dir, survives, &mut Chance::new(1)).ok()?;
        let bytes = std::fs::read(dir.join("data")).ok();
        let _ = std::fs::remove_dir_all(&dir);
        bytes
    }

    #[test]
    fn only_what_was_synced_is_there_for_sure() {
        let mut deeds = vec![
            opened("/d/draft"),
            wrote(0, b"first"),
            Deed::Synced { file: 7 },
        ];
        assert_eq!(left(&deeds, Survives::Nothing), None, "it has no name yet");
        let (from, to) = ("/d/draft".to_owned(), "/d/data".to_owned());
        deeds.extend([Deed::Renamed { from, to }, Deed::SyncedNames]);
        deeds.push(wrote(3, b"second"));
        assert_eq!(
            left(&deeds, Survives::Nothing).as_deref(),
            Some(&b"first"[..])
        );
        assert_eq!(
            left(&deeds, Survives::All).as_deref(),
            Some(&b"firsecond"[..])
        );
        deeds.push(Deed::Synced { file: 7 });
        assert_eq!(
            left(&deeds, Survives::Nothing).as_deref(),
            Some(&b"firsecond"[..])
        );
        deeds.push(Deed::Cut { file: 7, to: 2 });
        assert_eq!(
            left(&deeds, Survives::Nothing).as_deref(),
            Some(&b"firsecond"[..])
        );
        assert_eq!(left(&deeds, Survives::All).as_deref(), Some(&b"fi"[..]));
    }

    #[test]
    fn a_record_that_ends_early_is_refused() {
        assert!(deeds(&[2; 25]).is_err());
        assert_eq!(deeds(&[]).map(|all| all.len()).ok(), Some(0));
    }
}
