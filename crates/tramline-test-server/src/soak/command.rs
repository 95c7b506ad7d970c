//! Runs a command of the program under test to completion, or kills it.

use super::random_graph::LOG;
use super::shared_store::SharedStore;
use crate::processes::{self, MARK};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// A command that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// Interval between checks of a process: the precision of a kill.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// The environment of a command.
pub(super) struct CommandEnv {
    pub(super) tramline: PathBuf,
    pub(super) data: PathBuf,
    pub(super) log: PathBuf,
    pub(super) mark: String,
    pub(super) store: Option<Arc<SharedStore>>,
}

/// When to kill.
#[derive(Clone, Copy, Debug)]
pub(super) enum KillMoment {
    /// This long after its start.
    After(Duration),
    /// This long after the call log has reached this many bytes.
    Logged(u64, Duration),
    /// This long after the journal was written this many times.
    Written(u64, Duration),
}

/// Watches for a moment that depends on what the command does.
struct KillTrigger {
    moment: KillMoment,
    begun: Instant,
    /// When to kill, once that is known.
    due: Option<Instant>,
    journal: Option<(u64, SystemTime)>,
    writes: u64,
}

impl KillTrigger {
    fn new(moment: KillMoment, setting: &CommandEnv) -> Self {
        Self {
            moment,
            begun: Instant::now(),
            due: None,
            journal: setting.journal(),
            writes: 0,
        }
    }

    /// Whether the moment has come.
    fn is_due(&mut self, setting: &CommandEnv) -> bool {
        if self.due.is_none() {
            self.due = self.due_time(setting);
        }
        self.due.is_some_and(|due| Instant::now() >= due)
    }

    fn due_time(&mut self, setting: &CommandEnv) -> Option<Instant> {
        match self.moment {
            KillMoment::After(wait) => Some(self.begun + wait),
            KillMoment::Logged(bytes, wait) => {
                (setting.logged_bytes() >= bytes).then(|| Instant::now() + wait)
            }
            KillMoment::Written(times, wait) => {
                let journal = setting.journal();
                self.writes += u64::from(journal != self.journal);
                self.journal = journal;
                (self.writes >= times).then(|| Instant::now() + wait)
            }
        }
    }
}

/// The outcome of a command that was to be killed.
pub(super) enum KillOutcome {
    Killed,
    Finished(CommandResult),
}

/// A command whose output is read while it runs: a command that fills its pipe waits for a reader.
struct StartedCommand {
    child: Child,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
}

impl StartedCommand {
    fn new(mut child: Child) -> Self {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Self {
            child,
            stdout: std::thread::spawn(|| read_all(stdout)),
            stderr: std::thread::spawn(|| read_all(stderr)),
        }
    }

    fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Waits for the end of the command.
    fn output(mut self) -> Result<Output> {
        Ok(Output {
            status: self.child.wait()?,
            stdout: self.stdout.join().unwrap_or_default(),
            stderr: self.stderr.join().unwrap_or_default(),
        })
    }

    fn kill(mut self) -> Result<Output> {
        self.child.kill()?;
        self.output()
    }
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What was read before an error is the output.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// A command's exit code and its output.
#[derive(Debug)]
pub(super) struct CommandResult {
    pub(super) exit: i32,
    pub(super) json: Value,
}

impl CommandEnv {
    /// A command on the data directory, not started yet.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tramline);
        if let Some(store) = &self.store {
            command.envs(store.variables());
        }
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

    fn start(&self, arguments: &[&str]) -> Result<StartedCommand> {
        let child = self.command(arguments).arg("--json").spawn();
        let child = child.with_context(|| format!("starting {}", self.tramline.display()))?;
        Ok(StartedCommand::new(child))
    }

    /// Runs a command to completion.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<CommandResult> {
        let mut child = self.start(arguments)?;
        let begun = Instant::now();
        while child.is_running()? {
            if begun.elapsed() > PATIENCE {
                let output = child.kill()?;
                bail!("{arguments:?} hangs; its output is {output:?}");
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        parse_result(arguments, &child.output()?)
    }

    /// Runs a command and kills it at the given moment, alone or with its servers.
    pub(super) fn run_and_kill(
        &self,
        arguments: &[&str],
        moment: KillMoment,
        servers_too: bool,
    ) -> Result<KillOutcome> {
        let mut child = self.start(arguments)?;
        let mut lookout = KillTrigger::new(moment, self);
        while !lookout.is_due(self) {
            if !child.is_running()? {
                let result = parse_result(arguments, &child.output()?)?;
                return Ok(KillOutcome::Finished(result));
            }
            if lookout.begun.elapsed() > PATIENCE {
                let output = child.kill()?;
                bail!("{arguments:?} hangs; its output is {output:?}");
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        child.child.kill()?;
        if servers_too {
            processes::kill_marked(&self.mark);
        }
        let output = child.output()?;
        // It may have exited at the last moment.
        match output.status.code() {
            None => Ok(KillOutcome::Killed),
            Some(_) => Ok(KillOutcome::Finished(parse_result(arguments, &output)?)),
        }
    }

    /// Size and modification time of the journal on disk; `None` before it exists.
    fn journal(&self) -> Option<(u64, SystemTime)> {
        let about = std::fs::metadata(self.data.join("tramline.db-wal")).ok()?;
        Some((about.len(), about.modified().ok()?))
    }

    /// The size of the call log in bytes.
    pub(super) fn logged_bytes(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |about| about.len())
    }

    /// The calls that the server has logged, each with its key and arguments.
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

fn parse_result(arguments: &[&str], output: &Output) -> Result<CommandResult> {
    let text = String::from_utf8_lossy(&output.stdout);
    let exit = output.status.code();
    match (exit, serde_json::from_str(text.trim())) {
        (Some(exit), Ok(json)) => Ok(CommandResult { exit, json }),
        (_, _) => bail!("{arguments:?} failed: {output:?}"),
    }
}
