//! One round: a random graph, run once undisturbed and once with kills.

use super::SeededRng;
use super::check;
use super::command::{CommandEnv, CommandResult, KillMoment, KillOutcome};
use super::random_graph::{self, RECORDED, TOOL};
use super::tally::SoakTally;
use crate::processes;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Exit codes of the program under test.
const DONE: i32 = 0;
const BAD_INPUT: i32 = 2;
const PAUSED: i32 = 4;

/// Time within which orphaned servers notice the end of their input, on a busy machine.
const ORPHANS_MAX: Duration = Duration::from_secs(30);

/// Commands after which a run must have ended.
const COMMANDS_MAX: u32 = 60;

/// State shared by all rounds.
pub(super) struct SoakPrograms {
    pub(super) tramline: PathBuf,
    pub(super) unruly: PathBuf,
    /// A data directory that several rounds use concurrently.
    pub(super) shared: PathBuf,
}

pub(super) struct Round {
    chance: SeededRng,
    /// The graph's document.
    document: String,
    /// The directories of the graph's own files, undisturbed and with kills.
    files: [String; 2],
    session: String,
    undisturbed: CommandEnv,
    killed: CommandEnv,
    /// How long the undisturbed run took.
    took: Duration,
    kills_left: u64,
}

impl Round {
    pub(super) fn new(field: &SoakPrograms, dir: PathBuf, seed: u64) -> Result<Self> {
        let mut chance = SeededRng::new(seed);
        let files = [dir.join("peace"), dir.join("fire")];
        for files in &files {
            std::fs::create_dir_all(files)?;
        }
        let document = dir.join("graph.yaml");
        let graph = random_graph::document(&mut chance, &field.unruly);
        std::fs::write(&document, serde_json::to_vec_pretty(&graph)?)?;
        let setting = |name: &str, data: PathBuf| CommandEnv {
            store: None,
            tramline: field.tramline.clone(),
            data,
            log: dir.join(format!("{name}.log")),
            mark: processes::mark(),
        };
        let shared = chance.percent(70);
        let data = if shared {
            field.shared.clone()
        } else {
            dir.join("data")
        };
        Ok(Self {
            document: document.display().to_string(),
            files: files.map(|files| format!("files={}", files.display())),
            session: format!("round-{seed}"),
            undisturbed: setting("peace", dir.join("peace-data")),
            killed: setting("fire", data),
            took: Duration::ZERO,
            kills_left: chance.between(1, 4),
            chance,
        })
    }

    pub(super) fn run(&mut self, tally: &mut SoakTally) -> Result<()> {
        let begun = Instant::now();
        let run = ["run", self.document.as_str(), TOOL, self.files[0].as_str()];
        let reference = self.undisturbed.run(&run).context("undisturbed run")?;
        ensure!(
            reference.exit == DONE,
            "the undisturbed run failed: {reference:?}"
        );
        self.took = begun.elapsed();
        let expected = check::ExpectedRun::of(&self.undisturbed, &reference)?;
        let id = self.run_with_kills(tally)?;
        processes::wait_until_gone(&self.killed.mark, ORPHANS_MAX)?;
        tally.calls += expected.verify(&self.killed, &id)?;
        Ok(())
    }

    /// Runs the graph and kills it while kills are left, until it has ended.
    fn run_with_kills(&mut self, tally: &mut SoakTally) -> Result<String> {
        let mut id = None;
        for _ in 0..COMMANDS_MAX {
            let said = match self.command(id.as_deref(), tally)? {
                Some(said) => said,
                None => {
                    id = self.find()?;
                    let (place, over) = self.state_at_kill(id.as_deref())?;
                    tally
                        .kill_states
                        .entry(place)
                        .and_modify(|count| *count += 1)
                        .or_insert(1);
                    match id {
                        Some(id) if over => return Ok(id),
                        _ => continue,
                    }
                }
            };
            let run = said.json["run_id"].as_str().map(str::to_owned);
            let run = run.with_context(|| format!("no run: {said:?}"))?;
            match said.exit {
                DONE => return Ok(run),
                PAUSED => self.answer(&run, &said, tally)?,
                _ => bail!("the run did not continue: {said:?}"),
            }
            id = Some(run);
        }
        bail!("{id:?} has not ended after {COMMANDS_MAX} commands");
    }

    /// Starts or resumes the run; `None` if it was killed.
    fn command(
        &mut self,
        id: Option<&str>,
        tally: &mut SoakTally,
    ) -> Result<Option<CommandResult>> {
        let document = self.document.clone();
        let (session, files) = (self.session.clone(), self.files[1].clone());
        let start = ["run", &document, TOOL, &files, "--session", &session];
        let resume = ["runs", "resume", id.unwrap_or_default()];
        let (verb, arguments) = match id {
            None => ("run", start.as_slice()),
            Some(_) => {
                tally.resumed += 1;
                ("runs resume", resume.as_slice())
            }
        };
        if self.kills_left == 0 {
            return self.killed.run(arguments).map(Some);
        }
        let (moment, servers_too) = (self.moment(), self.chance.percent(50));
        match self.killed.run_and_kill(arguments, moment, servers_too)? {
            KillOutcome::Finished(said) => {
                tally.escaped += 1;
                Ok(Some(said))
            }
            KillOutcome::Killed => {
                self.kills_left -= 1;
                let with = if servers_too { " with its servers" } else { "" };
                *tally.victims.entry(format!("`{verb}`{with}")).or_default() += 1;
                Ok(None)
            }
        }
    }

    /// A moment to kill at: mostly during calls, sometimes at the start or end.
    fn moment(&mut self) -> KillMoment {
        let whole = self.took.as_micros() as u64;
        let micros = |us| KillMoment::After(Duration::from_micros(us));
        match self.chance.between(1, 10) {
            1 => micros(self.chance.between(0, whole / 5)),
            2 => micros(self.chance.between(whole * 4 / 5, whole * 11 / 10)),
            3..=5 => micros(self.chance.between(whole / 10, whole)),
            6 | 7 => {
                let wait = Duration::from_micros(self.chance.between(0, 2_000));
                KillMoment::Written(self.chance.between(1, 12), wait)
            }
            _ => {
                let more = self.chance.between(1, 400);
                let wait = Duration::from_micros(self.chance.between(0, 8_000));
                KillMoment::Logged(self.killed.logged_bytes() + more, wait)
            }
        }
    }

    /// The run's id, if its start was journaled.
    fn find(&self) -> Result<Option<String>> {
        let said = self.killed.run(&["runs", "--session", &self.session])?;
        let runs = said.json["runs"].as_array().context("no list of runs")?;
        ensure!(runs.len() <= 1, "one run became several: {runs:?}");
        let id = runs.first().map(|run| &run["run_id"]);
        Ok(id.and_then(Value::as_str).map(str::to_owned))
    }

    /// Where the run was when it was killed, and whether it had ended.
    fn state_at_kill(&self, id: Option<&str>) -> Result<(String, bool)> {
        let Some(id) = id else {
            processes::wait_until_gone(&self.killed.mark, ORPHANS_MAX)?;
            let calls = self.killed.logged()?;
            ensure!(
                calls.is_empty(),
                "calls were made without a journal: {calls:?}"
            );
            return Ok(("before anything was journaled".to_owned(), false));
        };
        let shown = self.killed.run(&["runs", "show", id])?.json;
        if !shown["outcome"].is_null() {
            return Ok(("after the end was journaled".to_owned(), true));
        }
        let steps = shown["steps"].as_array().context("no steps")?;
        let mut tools: Vec<_> = steps
            .iter()
            .filter(|step| step["status"] == "open")
            .filter_map(|step| step["tool"].as_str())
            .collect();
        tools.sort_unstable();
        let place = match tools.as_slice() {
            [] => "between steps".to_owned(),
            [tool] => format!("during {tool}"),
            [..] => "during several calls".to_owned(),
        };
        Ok((place, false))
    }

    /// Answers every call in doubt truthfully, from the server's log.
    fn answer(&mut self, run: &str, said: &CommandResult, tally: &mut SoakTally) -> Result<()> {
        processes::wait_until_gone(&self.killed.mark, ORPHANS_MAX)?;
        let calls = self.killed.logged()?;
        let waiting = said.json["waiting"].as_array();
        for asked in waiting.with_context(|| format!("paused without a question: {said:?}"))? {
            ensure!(
                asked["kind"] == "in-doubt",
                "an unexpected question: {asked}"
            );
            let checkpoint = asked["checkpoint_id"].as_str().unwrap_or_default();
            let key = format!("{run}/{}", asked["step"]);
            let happened = calls.iter().any(|call| call["key"] == *key);
            let output = serde_json::to_string(RECORDED)?;
            let mut arguments = vec!["runs", "answer", checkpoint];
            if happened {
                tally.happened += 1;
                arguments.extend(["--skip", &output]);
            } else {
                tally.not_happened += 1;
                arguments.push("--retry");
            }
            self.run_answer(&arguments, tally)?;
        }
        Ok(())
    }

    /// Gives an answer; sometimes the first attempt is killed.
    fn run_answer(&mut self, arguments: &[&str], tally: &mut SoakTally) -> Result<()> {
        let mut killed = false;
        if self.chance.percent(15) {
            let moment = KillMoment::After(Duration::from_micros(self.chance.between(0, 30_000)));
            match self.killed.run_and_kill(arguments, moment, false)? {
                KillOutcome::Finished(said) => {
                    ensure!(said.exit == DONE, "{arguments:?} was rejected: {said:?}");
                    return Ok(());
                }
                KillOutcome::Killed => {
                    tally.killed("`runs answer`", "while answering".to_owned());
                    killed = true;
                }
            }
        }
        let said = self.killed.run(arguments)?;
        // The killed command may have been effective.
        let heard = killed && said.exit == BAD_INPUT;
        ensure!(
            said.exit == DONE || heard,
            "{arguments:?} was rejected: {said:?}"
        );
        Ok(())
    }
}
