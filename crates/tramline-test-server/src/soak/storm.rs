//! The storm: several servers and command lines on one data directory, all killed repeatedly while
//! they start, answer, extend and end runs with several open questions.
//!
//! Afterwards every run is finished undisturbed, with truthful answers about calls in doubt, and
//! compared with the log of the test server.

use super::command::CommandEnv;
use super::random_graph::LOG;
use super::seeded_rng::SeededRng;
use super::shared_store::SharedStore;
use super::tally::SoakTally;
use super::{SoakSettings, TIME_MAX, VIOLATIONS_MAX};
use crate::processes::{self, MARK};
use anyhow::{Result, ensure};
use known_runs::KnownRuns;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

mod command_lines;
mod known_runs;
mod server;
mod verify;

/// Servers that share the data directory, unless the settings say otherwise.
pub const SERVERS: u64 = 4;

/// The time between two faults of a shared store.
const FAULT_EVERY: Duration = Duration::from_secs(3);

/// Concurrent command lines.
const COMMAND_LINES: u64 = 2;

/// Time within which orphaned servers notice the end of their input, on a busy machine.
const ORPHANS_MAX: Duration = Duration::from_secs(60);

/// State shared by all threads of a storm.
struct StormContext<'a> {
    settings: &'a SoakSettings,
    board: Mutex<KnownRuns>,
    begun: Instant,
    marks: AtomicU64,
    mark: String,
}

impl StormContext<'_> {
    fn board(&self) -> std::sync::MutexGuard<'_, KnownRuns> {
        self.board
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        let board = self.board();
        board.tally.kills() >= self.settings.kills
            || board.tally.violations.len() >= VIOLATIONS_MAX
            || self.begun.elapsed() > TIME_MAX
    }

    fn servers_file(&self) -> PathBuf {
        self.settings.dir.join("mcp.json")
    }

    /// The environment of a process: its servers carry a unique mark.
    fn setting(&self) -> CommandEnv {
        let number = self.marks.fetch_add(1, Ordering::Relaxed);
        CommandEnv {
            tramline: self.settings.tramline.clone(),
            data: self.settings.dir.join("data"),
            log: self.settings.dir.join("calls.log"),
            mark: format!("{}-{number}", self.mark),
            store: self.settings.store.clone(),
        }
    }

    fn violated(&self, what: String) {
        (self.settings.on_progress)(&what);
        self.board().tally.violations.push(what);
    }

    fn killed(&self, victim: &str, place: &str) {
        let kills = {
            let mut board = self.board();
            board.tally.killed(victim, place.to_owned());
            board.tally.kills()
        };
        if kills.is_multiple_of(100) {
            (self.settings.on_progress)(&format!("{kills} kills in the storm"));
        }
    }
}

/// Runs the storm; violations are in the tally.
pub fn storm(settings: &SoakSettings) -> Result<SoakTally> {
    std::fs::create_dir_all(&settings.dir)?;
    let weather = StormContext {
        settings,
        board: Mutex::default(),
        begun: Instant::now(),
        marks: AtomicU64::new(0),
        mark: processes::mark(),
    };
    let servers = json!({"mcpServers": {"u": {
        "command": settings.unruly,
        "env": {"UNRULY_LOG": format!("${{{LOG}}}"), MARK: format!("${{{MARK}}}")},
    }}});
    std::fs::write(weather.servers_file(), servers.to_string())?;
    std::thread::scope(|scope| {
        if let Some(store) = &settings.store {
            let (weather, chance) = (&weather, SeededRng::new(settings.seed));
            scope.spawn(move || faults(weather, store, chance));
        }
        for number in 0..settings.servers + COMMAND_LINES {
            let (weather, chance) = (&weather, SeededRng::new(settings.seed.wrapping_add(number)));
            scope.spawn(move || {
                let came = match number < settings.servers {
                    true => server::run_servers(weather, chance),
                    false => command_lines::command(weather, chance),
                };
                if let Err(error) = came {
                    weather.violated(format!("in the storm: {error:#}"));
                }
            });
        }
    });
    for number in 0..weather.marks.load(Ordering::Relaxed) {
        processes::wait_until_gone(&format!("{}-{number}", weather.mark), ORPHANS_MAX)?;
    }
    verify::finish_all(&weather)?;
    if let Some(store) = &settings.store
        && let Err(error) = store.check_journals()
    {
        weather.violated(format!("in the database: {error:#}"));
    }
    let tally = std::mem::take(&mut weather.board().tally);
    ensure!(
        tally.kills() >= settings.kills || !tally.violations.is_empty(),
        "only {} kills within {TIME_MAX:?}",
        tally.kills()
    );
    Ok(tally)
}

/// Injects faults into the server of a shared store, as long as the storm lasts.
fn faults(weather: &StormContext<'_>, store: &SharedStore, mut chance: SeededRng) {
    while !weather.is_over() {
        std::thread::sleep(FAULT_EVERY);
        match store.inject(&mut chance) {
            Ok(fault) => weather.killed(fault, "in the storm"),
            Err(error) => weather.violated(format!("a fault could not be injected: {error:#}")),
        }
    }
}
