//! `cargo xtask fuzz [TARGET] [--minutes N]`: coverage-guided fuzzing with the stable compiler.
//!
//! The fuzzer needs unstable compiler flags; `RUSTC_BOOTSTRAP` enables them for this build alone.
//! No sanitizer is used: our code has no `unsafe` except for one call that sets options of the allocator. The fuzzer looks for panics, hangs,
//! excessive memory and broken invariants.

use crate::{paths, setup, shell};
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::Command;

/// Minutes per target by default.
const MINUTES: u64 = 5;

/// Memory per input, in MB; more is a finding.
const MEMORY_MB: u64 = 1024;

/// Seconds per input; more is a finding.
const INPUT_SECONDS: u64 = 20;

/// Every target, and whether it needs more crates than the core.
pub(crate) const TARGETS: [(&str, bool); 17] = [
    ("client_wire", true),
    ("config_file", true),
    ("detected", false),
    ("expression", false),
    ("http_front", true),
    ("json_dag", false),
    ("mcp_config", true),
    ("mermaid", false),
    ("pflow_ir", false),
    ("pflow_markdown", false),
    ("plan", false),
    ("redactor", true),
    ("run_import", true),
    ("server_stdio", true),
    ("sop_markdown", false),
    ("transcript", false),
    ("yaml_graph", false),
];

/// Fuzzes one target, or all of them one after the other.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut chosen, mut minutes) = (None, MINUTES);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--minutes" => {
                let text = arguments.next().context("--minutes needs a number")?;
                minutes = text.parse().with_context(|| format!("--minutes {text}"))?;
            }
            name if TARGETS.iter().any(|(known, _)| *known == name) => {
                chosen = Some(name.to_owned());
            }
            name => {
                let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
                bail!(
                    "unknown target `{name}`; the targets are {}",
                    names.join(", ")
                );
            }
        }
    }
    let fuzzer = setup::fuzzer()?;
    let mut failed = Vec::new();
    for (target, is_whole) in TARGETS {
        let is_chosen = chosen.as_ref().is_none_or(|chosen| chosen == target);
        if is_chosen && let Err(error) = fuzz(&fuzzer, target, is_whole, minutes) {
            eprintln!("{target}: {error:#}");
            failed.push(target);
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => bail!(
            "findings in {}; the inputs are in fuzz/artifacts",
            failed.join(", ")
        ),
    }
}

fn fuzz(fuzzer: &std::path::Path, target: &str, is_whole: bool, minutes: u64) -> Result<()> {
    let root = paths::root();
    let corpus = root.join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus)?;
    let mut command = Command::new(fuzzer);
    command
        .args(["fuzz", "run", "--sanitizer", "none"])
        .args(is_whole.then_some("--features=whole"))
        .arg(target)
        .arg(&corpus)
        .arg(root.join("fuzz/seeds").join(target))
        .arg("--")
        .arg(format!("-max_total_time={}", minutes * 60))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg("-print_final_stats=1")
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(&root);
    shell::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target missing here is never fuzzed, and one without seeds starts from nothing.
    #[test]
    fn every_target_is_known_and_has_seeds() {
        let fuzz = paths::root().join("fuzz");
        let files = paths::files(&fuzz.join("fuzz_targets"), "rs").unwrap();
        let found: Vec<_> = files
            .iter()
            .filter_map(|path| path.file_stem()?.to_str())
            .collect();
        let known: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, known);
        for name in known {
            let seeds = fs::read_dir(fuzz.join("seeds").join(name)).unwrap().count();
            assert!(seeds > 0, "{name} has no seeds");
        }
    }
}
