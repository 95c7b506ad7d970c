//! `cargo xtask soak hostile`: malicious servers, documents, web pages, clients and agents against
//! the real program for a given time.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tramline_test_server::soak::hostile::{HostileSettings, hostile};

/// Minutes by default.
const MINUTES: u64 = 10;

/// The parsed options.
#[derive(Debug, Default, PartialEq, Eq)]
struct HostileOptions {
    minutes: Option<u64>,
    seed: Option<u64>,
    only: Option<String>,
    /// An existing program to use instead of building one.
    program: Option<PathBuf>,
    json: bool,
    debug: bool,
}

fn parse_options(arguments: &[String]) -> Result<HostileOptions> {
    let mut options = HostileOptions::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut text = || {
            arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))
        };
        let number = |text: &String| -> Result<u64> {
            text.parse()
                .with_context(|| format!("{argument} {text}: not a number"))
        };
        match argument.as_str() {
            "--minutes" => options.minutes = Some(number(text()?)?),
            "--seed" => options.seed = Some(number(text()?)?),
            "--only" => options.only = Some(text()?.clone()),
            "--program" => options.program = Some(text()?.into()),
            "--json" => options.json = true,
            "--debug" => options.debug = true,
            _ => bail!(
                "unknown argument `{argument}`; use --minutes, --seed, --only, --program, --json or --debug"
            ),
        }
    }
    Ok(options)
}

/// Runs the soak and prints its report; violations are an error.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let options = parse_options(arguments)?;
    let (target, built) = match &options.program {
        Some(_) => (crate::paths::target(), crate::paths::target().join("debug")),
        None => super::build(options.debug, true)?,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let seed = options.seed.unwrap_or(now);
    let minutes = options.minutes.unwrap_or(MINUTES);
    eprintln!("seed {seed}");
    let settings = HostileSettings {
        tramline: options.program.unwrap_or_else(|| built.join("tramline")),
        unruly: built.join("unruly"),
        dir: target.join("soak").join(format!("hostile-{now}")),
        time: Duration::from_secs(minutes * 60),
        seed,
        is_small: minutes == 0,
        only: options.only,
        on_progress: |line| eprintln!("{line}"),
    };
    let report = hostile(&settings)?;
    match options.json {
        true => println!("{:#}", report.to_json()),
        false => println!("{report}"),
    }
    if report.violations.is_empty() {
        std::fs::remove_dir_all(&settings.dir)?;
        return Ok(());
    }
    bail!(
        "{} violations; their data is in {}; `--seed {seed}` repeats the same attacks",
        report.violations.len(),
        settings.dir.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given =
            parse_options(&words("--minutes 5 --seed 7 --only page: --json --debug")).unwrap();
        let wanted = HostileOptions {
            minutes: Some(5),
            seed: Some(7),
            only: Some("page:".to_owned()),
            program: None,
            json: true,
            debug: true,
        };
        assert_eq!(given, wanted);
        for bad in ["--minutes", "--minutes many", "--slow"] {
            assert!(parse_options(&words(bad)).is_err(), "{bad}");
        }
    }
}
