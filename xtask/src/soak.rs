//! `cargo xtask soak crash`: the real program, killed over and over, must lose and repeat nothing.
//! `cargo xtask soak power`: what had left must be on the disk, whenever the power is lost.
//! `cargo xtask soak hostile` attacks it and lets nothing break or leak. `cargo xtask soak expr` holds the expressions to their reference.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tramline_unruly::soak::{self, Settings};

mod expr;
mod hostile;

/// What takes long enough that it only makes sense now and then.
const KILLS: u64 = 200;
/// How many kills a storm of several servers on one data directory has.
const STORM_KILLS: u64 = 2_000;

/// One for each core of a small machine: more would only wait for each other.
const WORKERS: u64 = 2;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    kills: u64,
    storm: u64,
    seed: Option<u64>,
    debug: bool,
}

/// Runs the soak that the first argument names.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        bail!("name a soak: crash, power, hostile, expr");
    };
    match name.as_str() {
        "crash" => crash(&wish(rest)?),
        "power" => power(&wish(rest)?),
        "hostile" => hostile::run(rest),
        "expr" => expr::run(rest),
        _ => bail!("there is no soak `{name}`; there are `crash`, `power`, `hostile` and `expr`"),
    }
}

fn wish(arguments: &[String]) -> Result<Wish> {
    let mut wish = Wish {
        kills: KILLS,
        storm: STORM_KILLS,
        seed: None,
        debug: false,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64> {
            let text = arguments
                .next()
                .with_context(|| format!("{argument} needs a number"))?;
            text.parse()
                .with_context(|| format!("{argument} {text}: not a number"))
        };
        match argument.as_str() {
            "--kills" => wish.kills = number()?,
            "--storm" => wish.storm = number()?,
            "--seed" => wish.seed = Some(number()?),
            "--debug" => wish.debug = true,
            _ => bail!("`{argument}` is not known here; --kills, --storm, --seed and --debug are"),
        }
    }
    Ok(wish)
}

/// Builds what is soaked, and says where everything is.
fn prepare(wish: &Wish) -> Result<Settings> {
    let (target, built) = build(wish.debug)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let seed = wish.seed.unwrap_or(now);
    println!("seed {seed}");
    Ok(Settings {
        tramline: built.join("tramline"),
        unruly: built.join("unruly"),
        dir: target.join("soak").join(now.to_string()),
        kills: wish.kills,
        seed,
        workers: WORKERS,
        tell: |line| println!("{line}"),
    })
}

/// Loses the power at so many moments.
fn power(wish: &Wish) -> Result<()> {
    let settings = prepare(wish)?;
    let begun = Instant::now();
    let tally = soak::power(&settings)?;
    println!("{tally}\n{:>6} seconds", begun.elapsed().as_secs());
    if tally.violations.is_empty() {
        let _ = std::fs::remove_dir_all(&settings.dir);
        return Ok(());
    }
    bail!(
        "{} violations; what they left is in {}",
        tally.violations.len(),
        settings.dir.display()
    )
}

fn crash(wish: &Wish) -> Result<()> {
    let settings = prepare(wish)?;
    let seed = settings.seed;
    let begun = Instant::now();
    let alone = soak::run(&settings)?;
    println!("{alone}\n{:>6} seconds", begun.elapsed().as_secs());
    let begun = Instant::now();
    let stormy = Settings {
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
        "{violations} violations; what they left is in {}, `--seed {seed}` makes the same graphs again",
        settings.dir.display()
    )
}

/// Builds the program and the server that it calls; gives cargo's target directory and theirs.
fn build(is_debug: bool) -> Result<(PathBuf, PathBuf)> {
    let packages = ["--package", "tramline", "--package", "tramline-unruly"];
    let mut build = shell::cargo(&["build", "--bins"]);
    build.args(packages);
    if !is_debug {
        build.arg("--release");
    }
    shell::run(&mut build)?;
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent);
    let target = target.context("this program lies in target/PROFILE")?;
    let built = target.join(if is_debug { "debug" } else { "release" });
    Ok((target.to_owned(), built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = wish(&words("--kills 5 --storm 6 --seed 7 --debug")).unwrap();
        let wanted = Wish {
            kills: 5,
            storm: 6,
            seed: Some(7),
            debug: true,
        };
        assert_eq!(given, wanted);
        let usual = wish(&[]).unwrap();
        assert_eq!((usual.kills, usual.storm), (KILLS, STORM_KILLS));
        for bad in ["--kills", "--kills many", "--slow"] {
            assert!(wish(&words(bad)).is_err(), "{bad}");
        }
    }
}
