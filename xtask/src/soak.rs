//! `cargo xtask soak crash`: kills the real program over and over; nothing may be lost or repeated.
//! `cargo xtask soak power`: simulates power loss; everything that was sent must be on disk.
//! `cargo xtask soak hostile`: attacks it; nothing may break or leak. `cargo xtask soak expr`:
//! compares expressions with the reference.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tramline_test_server::soak::{self, SERVERS, SharedStore, SoakSettings};

mod expr;
mod hostile;

/// Kills by default. The soak takes long, so it is run only occasionally.
const KILLS: u64 = 200;
/// Kills with several servers on one data directory, by default.
const STORM_KILLS: u64 = 2_000;

/// Parallel workers: one per core of a small machine; more would only wait for each other.
const WORKERS: u64 = 2;

/// The parsed options.
#[derive(Debug, PartialEq, Eq)]
struct SoakOptions {
    kills: u64,
    storm: u64,
    seed: Option<u64>,
    debug: bool,
    /// The number of servers in the storm.
    replicas: Option<u64>,
    /// Whether the storm is on PostgreSQL.
    postgres: bool,
    /// The program under test, if it exists already: a release that was built elsewhere.
    program: Option<PathBuf>,
}

/// Runs the soak named by the first argument.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        bail!("name a soak: crash, power, hostile or expr");
    };
    match name.as_str() {
        "crash" => crash(&parse_options(rest)?),
        "power" => power(&parse_options(rest)?),
        "hostile" => hostile::run(rest),
        "expr" => expr::run(rest),
        _ => bail!("unknown soak `{name}`; the soaks are `crash`, `power`, `hostile` and `expr`"),
    }
}

fn parse_options(arguments: &[String]) -> Result<SoakOptions> {
    let mut wish = SoakOptions {
        kills: KILLS,
        storm: STORM_KILLS,
        seed: None,
        debug: false,
        replicas: None,
        postgres: false,
        program: None,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = |what: &str| {
            let given = arguments.next();
            given.with_context(|| format!("{argument} needs a {what}"))
        };
        let mut number = || -> Result<u64> {
            let text = value("number")?;
            text.parse()
                .with_context(|| format!("{argument} {text}: not a number"))
        };
        match argument.as_str() {
            "--kills" => wish.kills = number()?,
            "--storm" => wish.storm = number()?,
            "--seed" => wish.seed = Some(number()?),
            "--debug" => wish.debug = true,
            "--replicas" => wish.replicas = Some(number()?),
            "--store" => match value("name")?.as_str() {
                "postgres" => wish.postgres = true,
                "sqlite" => wish.postgres = false,
                other => bail!("unknown store `{other}`; the stores are `sqlite` and `postgres`"),
            },
            "--program" => wish.program = Some(value("path")?.into()),
            _ => bail!(
                "unknown argument `{argument}`; use --kills, --storm, --seed, --debug, --store, \
                 --replicas or --program"
            ),
        }
    }
    Ok(wish)
}

/// Builds the programs under test, and returns the settings of the run.
fn prepare(wish: &SoakOptions) -> Result<SoakSettings> {
    let (target, built) = build(wish.debug, wish.program.is_none())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let seed = wish.seed.unwrap_or(now);
    println!("seed {seed}");
    Ok(SoakSettings {
        tramline: match &wish.program {
            Some(program) => program
                .canonicalize()
                .with_context(|| format!("the program {} cannot be found", program.display()))?,
            None => built.join("tramline"),
        },
        unruly: built.join("unruly"),
        dir: target.join("soak").join(now.to_string()),
        kills: wish.kills,
        seed,
        workers: WORKERS,
        servers: wish.replicas.unwrap_or(SERVERS),
        store: None,
        on_progress: |line| println!("{line}"),
    })
}

/// Simulates power loss at many moments.
fn power(wish: &SoakOptions) -> Result<()> {
    let settings = prepare(wish)?;
    let begun = Instant::now();
    let tally = soak::power(&settings)?;
    println!("{tally}\n{:>6} seconds", begun.elapsed().as_secs());
    if tally.violations.is_empty() {
        let _ = std::fs::remove_dir_all(&settings.dir);
        return Ok(());
    }
    bail!(
        "{} violations; their data is in {}",
        tally.violations.len(),
        settings.dir.display()
    )
}

fn crash(wish: &SoakOptions) -> Result<()> {
    let settings = prepare(wish)?;
    if wish.postgres {
        return replicas(wish, &settings);
    }
    let seed = settings.seed;
    let begun = Instant::now();
    let alone = soak::run(&settings)?;
    println!("{alone}\n{:>6} seconds", begun.elapsed().as_secs());
    let begun = Instant::now();
    let stormy = SoakSettings {
        dir: settings.dir.join("storm"),
        kills: wish.storm,
        ..settings.clone()
    };
    println!("several servers and the command line on one data directory:");
    let storm = soak::storm(&stormy)?;
    println!("{storm}\n{:>6} seconds", begun.elapsed().as_secs());
    let violations = alone.violations.len() + storm.violations.len();
    if violations == 0 {
        let _ = std::fs::remove_dir_all(&settings.dir);
        return Ok(());
    }
    bail!(
        "{violations} violations; their data is in {}; `--seed {seed}` generates the same graphs",
        settings.dir.display()
    )
}

/// Kills, stops and wakes replicas that share a PostgreSQL server, and restarts and crashes the server.
fn replicas(wish: &SoakOptions, settings: &SoakSettings) -> Result<()> {
    let begun = Instant::now();
    let store = SharedStore::start(&settings.tramline, &settings.dir)?;
    let storm = soak::storm(&SoakSettings {
        kills: wish.storm,
        store: Some(Arc::new(store)),
        ..settings.clone()
    })?;
    println!("{storm}\n{:>6} seconds", begun.elapsed().as_secs());
    if storm.violations.is_empty() {
        let _ = std::fs::remove_dir_all(&settings.dir);
        return Ok(());
    }
    bail!(
        "{} violations; their data is in {}",
        storm.violations.len(),
        settings.dir.display()
    )
}

/// Builds the test server, and the program unless one is given; returns cargo's target directory and that of the
/// binaries.
fn build(is_debug: bool, with_program: bool) -> Result<(PathBuf, PathBuf)> {
    let mut build = shell::cargo(&["build", "--bins", "--package", "tramline-test-server"]);
    if with_program {
        build.args(["--package", "tramline"]);
    }
    if !is_debug {
        build.arg("--release");
    }
    shell::run(&mut build)?;
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent);
    let target = target.context("xtask must run from target/PROFILE")?;
    let built = target.join(if is_debug { "debug" } else { "release" });
    Ok((target.to_owned(), built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = parse_options(&words(
            "--kills 5 --storm 6 --seed 7 --debug --store postgres --replicas 3 --program p",
        ))
        .unwrap();
        let wanted = SoakOptions {
            kills: 5,
            storm: 6,
            seed: Some(7),
            debug: true,
            replicas: Some(3),
            postgres: true,
            program: Some("p".into()),
        };
        assert_eq!(given, wanted);
        let usual = parse_options(&[]).unwrap();
        assert_eq!((usual.kills, usual.storm), (KILLS, STORM_KILLS));
        for bad in ["--kills", "--kills many", "--program", "--slow"] {
            assert!(parse_options(&words(bad)).is_err(), "{bad}");
        }
    }
}
