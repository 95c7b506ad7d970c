//! `cargo xtask test`: everything that must pass before a change lands.
//!
//! Cheap checks come first. A failed check does not hide the later ones, unless the code does not
//! build.

use crate::shell::{self, CommandOutput};
use crate::{counts, paths, setup, studio, supply, tidy};
use anyhow::{Result, bail};
use std::process::Command;
use std::time::Instant;

/// The start of nextest's closing line.
const NEXTEST_CLOSES: &str = "Summary [";

/// The counts of the test runners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TestCounts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl TestCounts {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// The results so far.
#[derive(Default)]
struct CheckReport {
    count: TestCounts,
    failed: Vec<&'static str>,
}

impl CheckReport {
    fn check(
        &mut self,
        name: &'static str,
        check: impl FnOnce(&mut TestCounts) -> Result<()>,
    ) -> bool {
        let begun = Instant::now();
        eprintln!("\n== {name}");
        let result = check(&mut self.count);
        if let Err(error) = &result {
            eprintln!("{name}: {error:#}");
            self.failed.push(name);
        }
        eprintln!("== {name}: {:.1} s", begun.elapsed().as_secs_f64());
        result.is_ok()
    }
}

/// Runs all checks; `--quick` skips setup and deny.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let quick = crate::only_flag(arguments, "--quick")?;
    let mut report = CheckReport::default();
    if !quick {
        report.check("setup", |_| setup::run(&[]));
    }
    report.check("format", |_| {
        shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]))
    });
    report.check("tidy", |_| tidy::run(&[]));
    report.check("clippy", |_| {
        let lints = ["--workspace", "--all-targets", "--", "-D", "warnings"];
        shell::run(shell::cargo(&["clippy", "--quiet"]).args(lints))
    });
    report.check("studio's page", |_| studio::compare());
    // Tests start programs of other packages; cargo builds only those of their own.
    let built = report.check("build", |_| {
        let all_but_us = ["--workspace", "--exclude", "xtask", "--bins"];
        shell::run(shell::cargo(&["build", "--quiet"]).args(all_but_us))
    });
    if built {
        report.check("tests", tests);
        report.check("doc tests", doc_tests);
        report.check("studio", studio_tests);
    }
    if !quick {
        report.check("counts", |_| counts::run(&[]));
        report.check("deny", |_| deny());
        report.check("advisories", |_| supply::check_advisories(&[]));
    }
    finish(&report)
}

fn finish(report: &CheckReport) -> Result<()> {
    let TestCounts {
        passed,
        failed,
        skipped,
    } = report.count;
    eprintln!();
    if !report.failed.is_empty() {
        eprintln!("failed: {}", report.failed.join(", "));
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    match report.failed.as_slice() {
        [] => Ok(()),
        failed => bail!("{} checks failed", failed.len()),
    }
}

fn tests(count: &mut TestCounts) -> Result<()> {
    let bin = paths::tools().join("bin");
    let mut command = match shell::find("cargo-nextest", Some(&bin)) {
        Some(nextest) => {
            let mut command = Command::new(nextest);
            command.args(["nextest", "run", "--workspace", "--no-fail-fast"]);
            command.current_dir(paths::root());
            shell::hide_own_package(&mut command);
            command
        }
        None => shell::cargo(&[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ]),
    };
    run_counted(&mut command, count)
}

fn doc_tests(count: &mut TestCounts) -> Result<()> {
    run_counted(
        &mut shell::cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]),
        count,
    )
}

fn studio_tests(count: &mut TestCounts) -> Result<()> {
    let printed = studio::test()?;
    let lines = printed.iter().flat_map(|one| &one.lines);
    for (number, word) in lines
        .filter_map(|line| studio::parse_summary(line))
        .flatten()
    {
        match word.as_str() {
            "passed" => count.passed += number,
            "failed" => count.failed += number,
            _ => count.skipped += number,
        }
    }
    studio::check_success(&printed)
}

fn run_counted(command: &mut Command, count: &mut TestCounts) -> Result<()> {
    command
        .env("TRAMLINE_TOOLS", paths::tools())
        .env("TRAMLINE_SHARED", paths::shared());
    let CommandOutput { lines, success } = shell::run_and_capture(command)?;
    count.add(total(&lines));
    if success {
        Ok(())
    } else {
        bail!("some tests failed")
    }
}

/// The total counts of a runner. Nextest prints one closing line; the output of failed tests
/// contains closing lines of their own processes, which it has already counted. Cargo prints one
/// line per test binary.
fn total(lines: &[String]) -> TestCounts {
    let nextest = lines
        .iter()
        .rev()
        .find(|line| line.trim_start().starts_with(NEXTEST_CLOSES));
    let mut count = TestCounts::default();
    match nextest {
        Some(line) => count.add(summary(line).unwrap_or_default()),
        None => lines
            .iter()
            .filter_map(|line| summary(line))
            .for_each(|one| count.add(one)),
    }
    count
}

/// Parses the closing line of a test runner: nextest's `Summary [ … ]`, cargo's `test result:`.
fn summary(line: &str) -> Option<TestCounts> {
    let line = line.trim();
    let counts = if let Some(rest) = line.strip_prefix(NEXTEST_CLOSES) {
        rest.split_once("tests run:")
            .or_else(|| rest.split_once("test run:"))?
            .1
    } else {
        line.strip_prefix("test result:")?.split_once('.')?.1
    };
    let mut found = TestCounts::default();
    // In "3 passed (1 slow, 1 flaky)", only the numbers outside the parentheses count.
    let mut depth = 0usize;
    let flat: String = counts
        .chars()
        .filter(|&letter| {
            depth += usize::from(letter == '(');
            let outside = depth == 0;
            depth = depth.saturating_sub(usize::from(letter == ')'));
            outside
        })
        .collect();
    for part in flat.split([',', ';']) {
        let Some((number, word)) = part.trim().split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match word.trim() {
            "passed" => found.passed += number,
            "failed" | "exec failed" | "timed out" => found.failed += number,
            "skipped" | "ignored" => found.skipped += number,
            _ => {}
        }
    }
    Some(found)
}

fn deny() -> Result<()> {
    let bin = paths::tools().join("bin");
    let Some(deny) = shell::find("cargo-deny", Some(&bin)) else {
        bail!("cargo-deny is missing; `cargo xtask setup` installs it");
    };
    // Advisories have their own command: not every machine can reach their repository.
    let checks = [
        "deny",
        "--workspace",
        "check",
        "licenses",
        "bans",
        "sources",
    ];
    shell::run(Command::new(deny).args(checks).current_dir(paths::root()))
}

#[cfg(test)]
mod tests {
    use super::{TestCounts, summary, total};

    fn count(passed: u64, failed: u64, skipped: u64) -> Option<TestCounts> {
        Some(TestCounts {
            passed,
            failed,
            skipped,
        })
    }

    #[test]
    fn closing_lines_are_read() {
        let nextest = "     Summary [   1.2s] 12 tests run: 10 passed (1 slow, 1 flaky), 1 failed, \
                       1 timed out, 3 skipped";
        assert_eq!(summary(nextest), count(10, 2, 3));
        assert_eq!(
            summary("     Summary [   0.1s] 1 test run: 1 passed, 0 skipped"),
            count(1, 0, 0)
        );
        let cargo = "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; \
                     finished in 0.02s";
        assert_eq!(summary(cargo), count(4, 0, 1));
        assert_eq!(summary("12 passed"), None);
    }

    #[test]
    fn what_a_failed_test_printed_is_not_counted_again() {
        let cargo = "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured";
        let nextest = "     Summary [   1.2s] 3 tests run: 2 passed, 1 failed, 0 skipped";
        let lines = |all: &[&str]| {
            all.iter()
                .map(|line| (*line).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            Some(total(&lines(&[&format!("    {cargo}"), nextest]))),
            count(2, 1, 0)
        );
        assert_eq!(Some(total(&lines(&[cargo, cargo]))), count(0, 2, 0));
    }
}
