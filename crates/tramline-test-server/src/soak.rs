//! The crash soak: runs of random graphs are killed at random moments and resumed until they end,
//! then compared with the calls that the test server logged and with an undisturbed run.

use anyhow::{Result, ensure};
use round::{Round, SoakPrograms};
use seeded_rng::SeededRng;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

mod check;
mod command;
pub mod hostile;
mod power;
mod random_graph;
mod round;
mod seeded_rng;
mod shared_store;
mod storm;
mod tally;

pub use power::{PowerTally, power};
pub use shared_store::SharedStore;
pub use storm::{SERVERS, storm};
pub use tally::SoakTally;

/// The longest that a soak may take.
const TIME_MAX: Duration = Duration::from_secs(20 * 60);

/// Violations after which a soak stops.
const VIOLATIONS_MAX: usize = 20;

/// What to soak, and how much.
#[derive(Clone, Debug)]
pub struct SoakSettings {
    /// The program that is killed.
    pub tramline: PathBuf,
    /// The server that it calls.
    pub unruly: PathBuf,
    /// The working directory; successful rounds are removed.
    pub dir: PathBuf,
    /// The minimum number of kills.
    pub kills: u64,
    /// The seed of the random choices.
    pub seed: u64,
    /// Number of concurrent rounds.
    pub workers: u64,
    /// Number of servers in a storm.
    pub servers: u64,
    /// The database that the processes of a storm share, instead of a data directory.
    pub store: Option<Arc<SharedStore>>,
    /// Receives progress messages.
    pub on_progress: fn(&str),
}

/// Runs the soak; violations are in the tally.
pub fn run(settings: &SoakSettings) -> Result<SoakTally> {
    std::fs::create_dir_all(&settings.dir)?;
    let field = SoakPrograms {
        tramline: settings.tramline.clone(),
        unruly: settings.unruly.clone(),
        shared: settings.dir.join("shared"),
    };
    let begun = Instant::now();
    let (rounds, total) = (AtomicU64::new(0), Mutex::new(SoakTally::default()));
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
                    let tally = run_round(settings, &field, settings.seed.wrapping_add(number));
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    for violation in &tally.violations {
                        (settings.on_progress)(violation);
                    }
                    let before = total.kills();
                    total.add(tally);
                    if before / 10 != total.kills() / 10 {
                        (settings.on_progress)(&format!("{} kills", total.kills()));
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

/// Runs one round; an error is a violation.
fn run_round(settings: &SoakSettings, field: &SoakPrograms, seed: u64) -> SoakTally {
    let dir = settings.dir.join(format!("round-{seed}"));
    let mut tally = SoakTally::default();
    match Round::new(field, dir.clone(), seed).and_then(|mut round| round.run(&mut tally)) {
        Ok(()) => {
            // Leftovers do no harm.
            let _ = std::fs::remove_dir_all(&dir);
        }
        Err(error) => tally
            .violations
            .push(format!("round {seed} ({}): {error:#}", dir.display())),
    }
    tally.rounds += 1;
    tally
}
