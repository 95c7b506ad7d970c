//! `cargo xtask tidy`: the house checks its own map, so that it stays true.
//!
//! Each check gives complaints: a place and what is wrong there. All are collected.

use crate::{limits, paths, schemas, supply};
use anyhow::{Result, bail};
use std::path::Path;

mod arrows;
mod documents;
mod examples;
mod files;
mod glossary;
mod pages;
mod printing;
mod shown;

/// What the checks found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What must be mended.
    complaints: Vec<String>,
    /// What is worth knowing and no fault.
    notes: Vec<String>,
}

impl Found {
    fn complain(&mut self, place: &str, what: impl AsRef<str>) {
        self.complaints.push(format!("{place}: {}", what.as_ref()));
    }

    fn note(&mut self, place: &str, what: impl AsRef<str>) {
        self.notes.push(format!("{place}: {}", what.as_ref()));
    }
}

/// Runs every check and prints what it found.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    crate::no_arguments(arguments)?;
    let found = check(&paths::root())?;
    for note in &found.notes {
        eprintln!("note: {note}");
    }
    for complaint in &found.complaints {
        eprintln!("untidy: {complaint}");
    }
    match found.complaints.len() {
        0 => Ok(()),
        count => bail!("{count} to be tidied"),
    }
}

fn check(root: &Path) -> Result<Found> {
    let mut found = Found::default();
    files::check(root, &mut found)?;
    arrows::check(root, &mut found)?;
    documents::check(root, &mut found)?;
    pages::check(root, &mut found)?;
    glossary::check(root, &mut found)?;
    examples::check(root, &mut found)?;
    printing::check(root, &mut found)?;
    shown::check(root, &mut found)?;
    for wrong in supply::stale(root)? {
        found.complain("docs/supply-chain.md", wrong);
    }
    for file in schemas::stale(root) {
        found.complain(file, "is stale: `cargo xtask schemas` writes it anew");
    }
    for (place, what) in limits::complaints(root)? {
        found.complain(&place, what);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_is_tidy() {
        let found = super::check(&crate::paths::root()).unwrap();
        assert!(found.complaints.is_empty(), "{:#?}", found.complaints);
    }
}
