//! The soak: runs of graphs made by chance, killed at random moments and resumed until they end,
//! then held against what the unruly server saw and against the same graph left alone.

use anyhow::{Result, ensure};
use chance::Chance;
use round::{Field, Round};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

mod chance;
mod check;
mod command;
pub mod hostile;
mod plan;
mod power;
mod round;
mod storm;
mod tally;

pub use power::{PowerTally, power};
pub use storm::storm;
pub use tally::Tally;

/// A soak ends after this long, whatever it has got to by then.
const TIME_MAX: Duration = Duration::from_secs(20 * 60);

/// So many violations say enough.
const VIOLATIONS_MAX: usize = 20;

/// What to soak, and how much of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program that is killed.
    pub tramline: PathBuf,
    /// The server that it calls.
    pub unruly: PathBuf,
    /// Where everything is written; rounds that went well are removed.
    pub dir: PathBuf,
    /// How many kills at least.
    pub kills: u64,
    /// What chance begins with.
    pub seed: u64,
    /// How many rounds at once.
    pub workers: u64,
    /// Who is told how it goes.
    pub tell: fn(&str),
}

/// Soaks. What went wrong is in the tally.
pub fn run(settings: &Settings) -> Result<Tally> {
    std::fs::create_dir_all(&settings.dir)?;
    let field = Field {
        tramline: settings.tramline.clone(),
        unruly: settings.unruly.clone(),
        shared: settings.dir.join("shared"),
    };
    let begun = Instant::now();
    let (rounds, total) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let enough = || {
        let total = total.lock().unwrap_or_else(PoisonError::into_inner);
        total.kills() >= settings.kills
            || total.violations.len() >= VIOLATIONS_MAX
            || begun.elapsed() > TIME_MAX
    };
    std::thread::scope(|scope| {
        for _ in 0..settings.workers.max(1) {
            scope.spawn(|| {
                while !enough() {
                    let number = rounds.fetch_add(1, Ordering::Relaxed);
                    let tally = one(settings, &field, settings.seed.wrapping_add(number));
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    for violation in &tally.violations {
                        (settings.tell)(violation);
                    }
                    let before = total.kills();
                    total.add(tally);
                    if before / 10 != total.kills() / 10 {
                        (settings.tell)(&format!("{} kills", total.kills()));
                    }
                }
            });
        }
    });
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(
        total.kills() >= settings.kills || !total.violations.is_empty(),
        "only {} kills within {TIME_MAX:?}",
        total.kills()
    );
    Ok(total)
}

/// One round; whatever keeps it from its end is a violation.
fn one(settings: &Settings, field: &Field, seed: u64) -> Tally {
    let dir = settings.dir.join(format!("round-{seed}"));
    let mut tally = Tally::default();
    match Round::new(field, dir.clone(), seed).and_then(|mut round| round.go(&mut tally)) {
        Ok(()) => {
            // What is left of it takes nobody's place.
            let _ = std::fs::remove_dir_all(&dir);
        }
        Err(error) => tally
            .violations
            .push(format!("round {seed} ({}): {error:#}", dir.display())),
    }
    tally.rounds += 1;
    tally
}
