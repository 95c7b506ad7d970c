//! The store of a storm on PostgreSQL, and what happens to its server meanwhile.

use super::seeded_rng::SeededRng;
use crate::postgres_server::PostgresServer;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a lease lasts in a storm: short, because every kill is followed by one.
const LEASE: &str = "2s";
/// How long a stopped process sleeps: longer than its lease.
pub(super) const STOPPED: Duration = Duration::from_millis(3_500);
/// The database.
const DATABASE: &str = "storm";

/// A database that all processes of a storm share.
pub struct SharedStore {
    server: PostgresServer,
    key_file: PathBuf,
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedStore").finish_non_exhaustive()
    }
}

impl SharedStore {
    /// Starts a server, and writes the key that all processes share.
    pub fn start(tramline: &Path, dir: &Path) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        let server = PostgresServer::start()?;
        server.database(DATABASE)?;
        let key_file = dir.join("shared.key");
        let made = Command::new(tramline)
            .args(["settings", "new-key"])
            .arg(&key_file)
            .status()?;
        ensure!(made.success(), "the key could not be written");
        Ok(Self { server, key_file })
    }

    /// The variables of a process that uses the store.
    pub(super) fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("TRAMLINE_STORE", self.server.url(DATABASE)),
            ("TRAMLINE_KEY_FILE", self.key_file.display().to_string()),
            ("TRAMLINE_LEASE", LEASE.to_owned()),
        ]
    }

    /// Injects one fault into the server. Returns its name.
    pub(super) fn inject(&self, chance: &mut SeededRng) -> Result<&'static str> {
        match chance.between(1, 10) {
            1..=5 => self.server.cut_sessions().map(|()| "all sessions"),
            6..=8 => self.server.restart().map(|()| "PostgreSQL, restarted"),
            _ => {
                self.server.stop("immediate")?;
                self.server.resume().map(|()| "PostgreSQL, crashed")
            }
        }
    }

    /// Checks that every journal is whole, by the database itself.
    pub(super) fn check_journals(&self) -> Result<()> {
        let gaps = self.server.sql(
            DATABASE,
            "SELECT count(*) FROM (SELECT run, first, lag(last) OVER (PARTITION BY run ORDER BY last) AS before \
             FROM tramline.chunks) c WHERE first <> coalesce(before, 0) + 1",
        )?;
        ensure!(gaps == "0", "{gaps} gaps in journals");
        let torn = self.server.sql(
            DATABASE,
            "SELECT count(*) FROM tramline.runs r WHERE r.last > 0 AND r.last <> \
             (SELECT max(c.last) FROM tramline.chunks c WHERE c.run = r.run)",
        )?;
        ensure!(torn == "0", "{torn} rows do not match their journals");
        Ok(())
    }
}
