//! The supply chain of the binary: `cargo xtask sbom`, `cargo xtask supply-chain`,
//! `cargo xtask advisories`.

use crate::paths;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

mod advisories;
mod page;
mod sbom;
mod tree;

pub(crate) use page::stale;

/// Writes the bill of materials of the binary as CycloneDX JSON, to a file or to standard output.
pub(crate) fn sbom(arguments: &[String]) -> Result<()> {
    let mut arguments = arguments.iter();
    let (mut target, mut output) = (None, None);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))
        };
        match argument.as_str() {
            "--target" => target = Some(value()?.clone()),
            "--output" => output = Some(PathBuf::from(value()?)),
            _ => bail!("unknown argument `{argument}`; use --target or --output"),
        }
    }
    let target = match target {
        Some(target) => target,
        None => tree::host()?,
    };
    let text = format!("{:#}\n", sbom::bill(&tree::read(&target)?, &target)?);
    match output {
        Some(path) => fs::write(&path, text).with_context(|| format!("writing {}", path.display())),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

/// Writes the tables of docs/supply-chain.md.
pub(crate) fn write_page(arguments: &[String]) -> Result<()> {
    crate::no_arguments(arguments)?;
    page::write(&paths::root())
}

/// Checks the lock file against the advisory database, and prints a warning if there is none.
pub(crate) fn check_advisories(arguments: &[String]) -> Result<()> {
    crate::no_arguments(arguments)?;
    advisories::check(&paths::root())
}
