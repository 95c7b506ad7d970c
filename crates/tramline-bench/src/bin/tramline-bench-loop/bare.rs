//! How long the disk alone takes.

use anyhow::Result;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::time::Instant;

/// What a bare sync writes: about as much as the journal of a small run takes.
const PAGES: [u8; 16 << 10] = [7; 16 << 10];

/// A file beside the store that is written and synced, for the time that this alone takes.
pub(crate) struct Bare(File);

impl Bare {
    pub(crate) fn new(dir: &Path) -> Result<Self> {
        let mut file = File::create(dir.join("bare"))?;
        file.write_all(&PAGES)?;
        file.sync_all()?;
        Ok(Self(file))
    }

    /// How long one write with its sync takes, in milliseconds.
    pub(crate) fn sync(&mut self) -> Result<f64> {
        let began = Instant::now();
        self.0.rewind()?;
        self.0.write_all(&PAGES)?;
        self.0.sync_data()?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }
}
