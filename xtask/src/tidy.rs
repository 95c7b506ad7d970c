//! `cargo xtask tidy`: checks that the project follows its own rules and that its documents are
//! current.
//!
//! Each check reports problems with a location. All are collected.

use crate::{limits, paths, schemas, supply};
use anyhow::{Result, bail};
use std::path::Path;

mod crate_dependencies;
mod documentation_examples;
mod documents;
mod error_pages;
mod event_matches;
mod examples;
mod files;
mod glossary;
mod names;
mod printing;
mod regression_tests;
mod truncation;

/// The results of the checks.
#[derive(Debug, Default)]
pub(crate) struct TidyReport {
    /// Problems that must be fixed.
    problems: Vec<String>,
    /// Observations that are not problems.
    notes: Vec<String>,
}

impl TidyReport {
    fn problem(&mut self, place: &str, what: impl AsRef<str>) {
        self.problems.push(format!("{place}: {}", what.as_ref()));
    }

    fn note(&mut self, place: &str, what: impl AsRef<str>) {
        self.notes.push(format!("{place}: {}", what.as_ref()));
    }
}

/// Runs every check and prints the results.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    crate::no_arguments(arguments)?;
    let found = check(&paths::root())?;
    for note in &found.notes {
        eprintln!("note: {note}");
    }
    for complaint in &found.problems {
        eprintln!("untidy: {complaint}");
    }
    match found.problems.len() {
        0 => Ok(()),
        count => bail!("{count} problems"),
    }
}

fn check(root: &Path) -> Result<TidyReport> {
    let mut found = TidyReport::default();
    files::check(root, &mut found)?;
    crate_dependencies::check(root, &mut found)?;
    documents::check(root, &mut found)?;
    error_pages::check(root, &mut found)?;
    glossary::check(root, &mut found)?;
    names::check(root, &mut found)?;
    event_matches::check(root, &mut found)?;
    examples::check(root, &mut found)?;
    printing::check(root, &mut found)?;
    regression_tests::check(root, &mut found)?;
    truncation::check(root, &mut found)?;
    documentation_examples::check(root, &mut found)?;
    for wrong in supply::stale(root)? {
        found.problem("docs/supply-chain.md", wrong);
    }
    for file in schemas::stale(root) {
        found.problem(file, "is stale: run `cargo xtask schemas`");
    }
    for (place, what) in limits::problems(root)? {
        found.problem(&place, what);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let found = super::check(&crate::paths::root()).unwrap();
        assert!(found.problems.is_empty(), "{:#?}", found.problems);
    }
}
