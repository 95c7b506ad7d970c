//! The time of the disk alone.

use anyhow::Result;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::time::Instant;

/// The data of a bare sync: about as much as the journal of a small run.
const PAGES: [u8; 16 << 10] = [7; 16 << 10];

/// A file beside the store that is written and synced.
pub(crate) struct BareDisk(File);

impl BareDisk {
    pub(crate) fn new(dir: &Path) -> Result<Self> {
        let mut file = File::create(dir.join("bare"))?;
        file.write_all(&PAGES)?;
        file.sync_all()?;
        Ok(Self(file))
    }

    /// The time of one write with its sync, in milliseconds.
    pub(crate) fn sync(&mut self) -> Result<f64> {
        let began = Instant::now();
        self.0.rewind()?;
        self.0.write_all(&PAGES)?;
        self.0.sync_data()?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }
}
