//! The storm: several servers and the command line on one data directory, all of them killed over
//! and over while they start, answer, extend and end runs of tasks with several open questions.
//!
//! Afterwards every run is brought to its end in peace, with truthful answers about calls in doubt,
//! and held against what the unruly server saw.

use super::chance::Chance;
use super::command::Setting;
use super::plan::LOG;
use super::tally::Tally;
use super::{Settings, TIME_MAX, VIOLATIONS_MAX};
use crate::processes::{self, MARK};
use anyhow::{Result, ensure};
use board::Board;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

mod board;
mod hands;
mod server;
mod settle;

/// So many servers share the data directory.
const SERVERS: u64 = 4;
/// So many commands are given beside them at a time.
const COMMAND_LINES: u64 = 2;

/// Orphaned servers notice the end of their input within this, on a busy machine.
const ORPHANS_MAX: Duration = Duration::from_secs(60);

/// What everybody in a storm shares.
struct Weather<'a> {
    settings: &'a Settings,
    board: Mutex<Board>,
    begun: Instant,
    marks: AtomicU64,
    mark: String,
}

impl Weather<'_> {
    fn board(&self) -> std::sync::MutexGuard<'_, Board> {
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

    /// What a process of its own works on: its servers carry a mark that no others have.
    fn setting(&self) -> Setting {
        let number = self.marks.fetch_add(1, Ordering::Relaxed);
        Setting {
            tramline: self.settings.tramline.clone(),
            data: self.settings.dir.join("data"),
            log: self.settings.dir.join("calls.log"),
            mark: format!("{}-{number}", self.mark),
        }
    }

    fn violated(&self, what: String) {
        (self.settings.tell)(&what);
        self.board().tally.violations.push(what);
    }

    fn killed(&self, victim: &str, place: &str) {
        let kills = {
            let mut board = self.board();
            board.tally.killed(victim, place.to_owned());
            board.tally.kills()
        };
        if kills.is_multiple_of(100) {
            (self.settings.tell)(&format!("{kills} kills in the storm"));
        }
    }
}

/// Lets it storm. What went wrong is in the tally.
pub fn storm(settings: &Settings) -> Result<Tally> {
    std::fs::create_dir_all(&settings.dir)?;
    let weather = Weather {
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
        for number in 0..SERVERS + COMMAND_LINES {
            let (weather, chance) = (&weather, Chance::new(settings.seed.wrapping_add(number)));
            scope.spawn(move || {
                let came = match number < SERVERS {
                    true => server::stand(weather, chance),
                    false => hands::command(weather, chance),
                };
                if let Err(error) = came {
                    weather.violated(format!("in the storm: {error:#}"));
                }
            });
        }
    });
    for number in 0..weather.marks.load(Ordering::Relaxed) {
        processes::all_gone(&format!("{}-{number}", weather.mark), ORPHANS_MAX)?;
    }
    settle::all(&weather)?;
    let tally = std::mem::take(&mut weather.board().tally);
    ensure!(
        tally.kills() >= settings.kills || !tally.violations.is_empty(),
        "only {} kills within {TIME_MAX:?}",
        tally.kills()
    );
    Ok(tally)
}
