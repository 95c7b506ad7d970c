//! `cargo xtask fuzz [TARGET…] [--minutes N] [--jobs N]`: coverage-guided fuzzing with the stable compiler.
//!
//! The fuzzer needs unstable compiler flags; `RUSTC_BOOTSTRAP` enables them for this build alone.
//! No sanitizer is used: our code has no `unsafe` except for one call that sets options of the allocator. The fuzzer looks for panics, hangs,
//! excessive memory and broken invariants.

use crate::{paths, setup, shell};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

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

/// The parsed options.
#[derive(Debug, PartialEq, Eq)]
struct FuzzOptions {
    /// The targets to fuzz, with whether each needs more crates than the core.
    targets: Vec<(&'static str, bool)>,
    minutes: u64,
    /// How many targets run at the same time.
    jobs: usize,
}

fn parse_options(arguments: &[String]) -> Result<FuzzOptions> {
    let mut options = FuzzOptions {
        targets: Vec::new(),
        minutes: MINUTES,
        jobs: 1,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64> {
            let text = arguments
                .next()
                .with_context(|| format!("{argument} needs a number"))?;
            text.parse().with_context(|| format!("{argument} {text}"))
        };
        match argument.as_str() {
            "--minutes" => options.minutes = number()?,
            "--jobs" => options.jobs = usize::try_from(number()?)?.max(1),
            name => match TARGETS.iter().find(|(known, _)| *known == name) {
                Some(target) => options.targets.push(*target),
                None => {
                    let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
                    bail!(
                        "unknown target `{name}`; the targets are {}",
                        names.join(", ")
                    );
                }
            },
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.to_vec();
    }
    Ok(options)
}

/// Fuzzes the named targets, or all of them, and prints what each executed.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse_options(arguments)?;
    let fuzzer = setup::fuzzer()?;
    // Built one after the other first, so that no target spends its time waiting for a build.
    for (target, is_whole) in &options.targets {
        shell::run(cargo_fuzz(&fuzzer, "build", *is_whole).arg(target))?;
    }
    let logs = paths::target().join("fuzz");
    fs::create_dir_all(&logs)?;
    let queue = Mutex::new(options.targets.iter());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some((target, is_whole)) = lock(&queue).next() {
                    let log = logs.join(format!("{target}.log"));
                    match fuzz(&fuzzer, target, *is_whole, options.minutes, &log) {
                        Ok(executions) => println!("{target}: {executions} executions, no finding"),
                        Err(error) => {
                            eprintln!("{target}: {error:#}");
                            lock(&failed).push(*target);
                        }
                    }
                }
            });
        }
    });
    match lock(&failed).as_slice() {
        [] => Ok(()),
        failed => bail!(
            "findings in {}; the inputs are in fuzz/artifacts",
            failed.join(", ")
        ),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cargo_fuzz(fuzzer: &Path, verb: &str, is_whole: bool) -> Command {
    let mut command = Command::new(fuzzer);
    command
        .args(["fuzz", verb, "--sanitizer", "none"])
        .args(is_whole.then_some("--features=whole"))
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(paths::root());
    shell::hide_own_package(&mut command);
    command
}

/// Runs one target with its output in `log`; returns the number of executions.
fn fuzz(fuzzer: &Path, target: &str, is_whole: bool, minutes: u64, log: &Path) -> Result<u64> {
    let root = paths::root();
    let corpus = root.join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus)?;
    let output = File::create(log).with_context(|| format!("creating {}", log.display()))?;
    let mut command = cargo_fuzz(fuzzer, "run", is_whole);
    command
        .arg(target)
        .arg(&corpus)
        .arg(root.join("fuzz/seeds").join(target))
        .arg("--")
        .arg(format!("-max_total_time={}", minutes * 60))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg("-print_final_stats=1")
        .stdout(output.try_clone()?)
        .stderr(output);
    shell::run(&mut command).with_context(|| format!("see {}", log.display()))?;
    executions(&String::from_utf8_lossy(&fs::read(log)?))
        .with_context(|| format!("no final statistics in {}", log.display()))
}

/// The number of executions in the fuzzer's final statistics.
fn executions(log: &str) -> Option<u64> {
    let line = log
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
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

    #[test]
    fn options_are_parsed() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = parse_options(&words("plan redactor --minutes 3 --jobs 2")).unwrap();
        let wanted = FuzzOptions {
            targets: vec![("plan", false), ("redactor", true)],
            minutes: 3,
            jobs: 2,
        };
        assert_eq!(given, wanted);
        assert_eq!(parse_options(&[]).unwrap().targets, TARGETS);
        for bad in ["--minutes", "--jobs many", "nothing"] {
            assert!(parse_options(&words(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_number_of_executions_is_read() {
        let log = "#12 DONE\nstat::number_of_executed_units: 4096\nstat::peak_rss_mb: 40\n";
        assert_eq!(executions(log), Some(4096));
        assert_eq!(executions("killed"), None);
    }
}
