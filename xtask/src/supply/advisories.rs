//! Known vulnerabilities: checks the lock file against a copy of the RustSec advisory database.
//!
//! The database is a directory with a file per advisory, `crates/NAME/RUSTSEC-….md`, whose first
//! block is TOML. It is read from `$TRAMLINE_ADVISORIES` or from `advisory-db` in the tools
//! directory. If there is none, nothing is checked and a prominent warning is printed; that is not
//! an error, since not every machine can reach one.

use crate::paths;
use anyhow::{Context, Result, bail};
use semver::{Version, VersionReq};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Age of a copy, in days, beyond which a warning is printed.
const AGE_DAYS_MAX: u64 = 30;

/// An advisory that applies to a crate here.
#[derive(Debug, PartialEq, Eq)]
struct AdvisoryHit {
    /// Whether it is only informational, such as an unmaintained crate.
    is_informational: bool,
    text: String,
}

/// Checks the lock file against the database, if there is one.
pub(super) fn check(root: &Path) -> Result<()> {
    let (place, is_named) = match std::env::var_os("TRAMLINE_ADVISORIES") {
        Some(path) => (PathBuf::from(path), true),
        None => (paths::tools().join("advisory-db"), false),
    };
    if !place.join("crates").is_dir() {
        if is_named {
            bail!(
                "TRAMLINE_ADVISORIES: no advisory database in {}",
                place.display()
            );
        }
        println!(
            "ADVISORIES WERE NOT CHECKED: there is no copy of the advisory database in {}.\n\
             Clone https://github.com/rustsec/advisory-db to that path, or set TRAMLINE_ADVISORIES to a clone.",
            place.display()
        );
        return Ok(());
    }
    let lock = paths::read(&root.join("Cargo.lock"))?;
    let found = hits(&lock, &place)?;
    for hit in &found {
        println!(
            "{}: {}",
            if hit.is_informational {
                "note"
            } else {
                "vulnerable"
            },
            hit.text
        );
    }
    if let Some(days) = age(&place).filter(|days| *days > AGE_DAYS_MAX) {
        println!(
            "THE COPY OF THE ADVISORY DATABASE IS {days} DAYS OLD: {}",
            place.display()
        );
    }
    match found.iter().filter(|hit| !hit.is_informational).count() {
        0 => {
            println!("no known vulnerability in Cargo.lock");
            Ok(())
        }
        count => bail!("{count} known vulnerabilities in Cargo.lock"),
    }
}

/// Days since the newest directory of crates was changed.
fn age(place: &Path) -> Option<u64> {
    let entries = fs::read_dir(place.join("crates")).ok()?;
    let times = entries
        .flatten()
        .filter_map(|entry| entry.metadata().ok()?.modified().ok());
    let age = SystemTime::now().duration_since(times.max()?).ok()?;
    Some(age.as_secs() / 86_400)
}

fn hits(lock: &str, place: &Path) -> Result<Vec<AdvisoryHit>> {
    let lock: toml::Table = lock.parse().context("reading Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let mut found = Vec::new();
    for package in packages.into_iter().flatten() {
        let text = |name: &str| package.get(name).and_then(toml::Value::as_str);
        let (Some(name), Some(version), Some(_)) = (text("name"), text("version"), text("source"))
        else {
            continue;
        };
        let version = Version::parse(version).with_context(|| format!("{name} {version}"))?;
        for path in paths::files(&place.join("crates").join(name), "md")? {
            let advisory = paths::read(&path)?;
            let hit = hit(&advisory, name, &version);
            found.extend(hit.with_context(|| format!("in {}", path.display()))?);
        }
    }
    Ok(found)
}

/// Applies an advisory to a version; `None` if it does not affect it.
fn hit(advisory: &str, name: &str, version: &Version) -> Result<Option<AdvisoryHit>> {
    let block = advisory
        .split_once("```toml")
        .and_then(|(_, rest)| rest.split_once("```"));
    let (block, rest) = block.context("no block of TOML")?;
    let table: toml::Table = block.parse()?;
    let about = table.get("advisory").context("no [advisory]")?;
    if about.get("withdrawn").is_some() {
        return Ok(None);
    }
    let versions = table.get("versions");
    let listed = |kind: &str| -> Result<bool> {
        let list = versions.and_then(|versions| versions.get(kind)?.as_array());
        for text in list.into_iter().flatten().filter_map(toml::Value::as_str) {
            if VersionReq::parse(text)?.matches(version) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if listed("patched")? || listed("unaffected")? {
        return Ok(None);
    }
    let text = |name: &str| about.get(name).and_then(toml::Value::as_str);
    let title = rest
        .lines()
        .find_map(|line| line.strip_prefix("# "))
        .unwrap_or_default();
    Ok(Some(AdvisoryHit {
        is_informational: matches!(text("informational"), Some("unmaintained" | "notice")),
        text: format!(
            "{name} {version}: {}, {title}",
            text("id").unwrap_or_default()
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVISORY: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2030-0001\"\npackage = \"leaky\"\n\n[versions]\n\
        patched = [\">= 1.2.3\"]\nunaffected = [\"< 1.0.0\"]\n```\n\n# It leaks\n\nMuch.\n";

    #[test]
    fn a_version_is_hit_unless_it_is_patched_or_never_was_affected() {
        let about = |advisory: &str, version: &str| {
            let version = Version::parse(version).unwrap();
            hit(advisory, "leaky", &version).unwrap()
        };
        let found = about(ADVISORY, "1.2.2").unwrap();
        assert_eq!(found.text, "leaky 1.2.2: RUSTSEC-2030-0001, It leaks");
        assert!(!found.is_informational);
        assert_eq!(about(ADVISORY, "1.2.3"), None);
        assert_eq!(about(ADVISORY, "0.9.0"), None);
        let note = ADVISORY.replace("package =", "informational = \"unmaintained\"\npackage =");
        assert!(about(&note, "1.2.2").unwrap().is_informational);
        let withdrawn = ADVISORY.replace("package =", "withdrawn = \"2030-02-01\"\npackage =");
        assert_eq!(about(&withdrawn, "1.2.2"), None);
        assert!(hit("no TOML at all", "leaky", &Version::new(1, 0, 0)).is_err());
    }

    #[test]
    fn a_lock_file_is_held_against_a_directory() {
        let dir = std::env::temp_dir().join(format!("advisories-{}", std::process::id()));
        let leaky = dir.join("crates/leaky");
        fs::create_dir_all(&leaky).unwrap();
        fs::write(leaky.join("RUSTSEC-2030-0001.md"), ADVISORY).unwrap();
        let package = |version: &str| {
            format!(
                "[[package]]\nname = \"leaky\"\nversion = \"{version}\"\nsource = \"registry\"\n"
            )
        };
        assert_eq!(hits(&package("1.1.0"), &dir).unwrap().len(), 1);
        assert_eq!(hits(&package("1.3.0"), &dir).unwrap().len(), 0);
        fs::remove_dir_all(&dir).unwrap();
    }
}
