//! One command of the program under test: run to its end, or killed on the way.

use super::plan::LOG;
use crate::processes::{self, MARK};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// No command takes this long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often a process is looked at: a kill strikes so exactly.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// What a command of a run works on.
pub(super) struct Setting {
    pub(super) tramline: PathBuf,
    pub(super) data: PathBuf,
    pub(super) log: PathBuf,
    pub(super) mark: String,
}

/// When to kill.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moment {
    /// So long after its start.
    After(Duration),
    /// So long after the log of calls has got this many bytes.
    Logged(u64, Duration),
    /// So long after the journal was written to so many times.
    Written(u64, Duration),
}

/// Looks for a moment that depends on what the command does.
struct Lookout {
    moment: Moment,
    begun: Instant,
    /// When to strike, once that is known.
    due: Option<Instant>,
    journal: Option<(u64, SystemTime)>,
    writes: u64,
}

impl Lookout {
    fn new(moment: Moment, setting: &Setting) -> Self {
        Self {
            moment,
            begun: Instant::now(),
            due: None,
            journal: setting.journal(),
            writes: 0,
        }
    }

    /// Whether the moment has come.
    fn sees(&mut self, setting: &Setting) -> bool {
        if self.due.is_none() {
            self.due = self.look(setting);
        }
        self.due.is_some_and(|due| Instant::now() >= due)
    }

    fn look(&mut self, setting: &Setting) -> Option<Instant> {
        match self.moment {
            Moment::After(wait) => Some(self.begun + wait),
            Moment::Logged(bytes, wait) => {
                (setting.logged_bytes() >= bytes).then(|| Instant::now() + wait)
            }
            Moment::Written(times, wait) => {
                let journal = setting.journal();
                self.writes += u64::from(journal != self.journal);
                self.journal = journal;
                (self.writes >= times).then(|| Instant::now() + wait)
            }
        }
    }
}

/// What became of a command that was to be killed.
pub(super) enum Struck {
    Killed,
    Escaped(Said),
}

/// How a command ended and what it said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) exit: i32,
    pub(super) json: Value,
}

impl Setting {
    /// A command on the data directory, not started yet.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tramline);
        command
            .arg("--data-dir")
            .arg(&self.data)
            .args(arguments)
            .env(LOG, &self.log)
            .env(MARK, &self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn start(&self, arguments: &[&str]) -> Result<Child> {
        self.command(arguments)
            .arg("--json")
            .spawn()
            .with_context(|| format!("starting {}", self.tramline.display()))
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Said> {
        let mut child = self.start(arguments)?;
        let begun = Instant::now();
        while child.try_wait()?.is_none() {
            if begun.elapsed() > PATIENCE {
                child.kill()?;
                let output = child.wait_with_output()?;
                bail!("{arguments:?} hangs; it said {output:?}");
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        said(arguments, &child.wait_with_output()?)
    }

    /// Runs a command and kills it at its moment, alone or with its servers.
    pub(super) fn strike(
        &self,
        arguments: &[&str],
        moment: Moment,
        servers_too: bool,
    ) -> Result<Struck> {
        let mut child = self.start(arguments)?;
        let mut lookout = Lookout::new(moment, self);
        while !lookout.sees(self) {
            if child.try_wait()?.is_some() {
                let said = said(arguments, &child.wait_with_output()?)?;
                return Ok(Struck::Escaped(said));
            }
            if lookout.begun.elapsed() > PATIENCE {
                child.kill()?;
                bail!(
                    "{arguments:?} hangs; it said {:?}",
                    child.wait_with_output()?
                );
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        child.kill()?;
        if servers_too {
            processes::kill_marked(&self.mark);
        }
        let output = child.wait_with_output()?;
        // It may have ended by itself in the last moment.
        match output.status.code() {
            None => Ok(Struck::Killed),
            Some(_) => Ok(Struck::Escaped(said(arguments, &output)?)),
        }
    }

    /// How the journal stands on the disk; nothing before it is there.
    fn journal(&self) -> Option<(u64, SystemTime)> {
        let about = std::fs::metadata(self.data.join("tramline.db-wal")).ok()?;
        Some((about.len(), about.modified().ok()?))
    }

    /// How much the server has logged.
    pub(super) fn logged_bytes(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |about| about.len())
    }

    /// The calls that the server has logged, each with its key and its arguments.
    pub(super) fn logged(&self) -> Result<Vec<Value>> {
        logged(&self.log)
    }
}

/// The calls in a log.
fn logged(path: &Path) -> Result<Vec<Value>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    text.lines()
        .map(|line| {
            serde_json::from_str(line).with_context(|| format!("in {}: {line}", path.display()))
        })
        .collect()
}

fn said(arguments: &[&str], output: &Output) -> Result<Said> {
    let text = String::from_utf8_lossy(&output.stdout);
    let exit = output.status.code();
    match (exit, serde_json::from_str(text.trim())) {
        (Some(exit), Ok(json)) => Ok(Said { exit, json }),
        (_, _) => bail!("{arguments:?} ended badly: {output:?}"),
    }
}
