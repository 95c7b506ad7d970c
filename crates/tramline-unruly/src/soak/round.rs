//! One round: a graph made by chance, run once in peace and once under fire.

use super::Chance;
use super::check;
use super::command::{Moment, Said, Setting, Struck};
use super::plan::{self, RECORDED, TOOL};
use super::tally::Tally;
use crate::processes;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Exit codes of the program under test.
const DONE: i32 = 0;
const BAD_INPUT: i32 = 2;
const PAUSED: i32 = 4;

/// Orphaned servers notice the end of their input within this, on a busy machine.
const ORPHANS_MAX: Duration = Duration::from_secs(30);

/// A run that has not ended after so many commands never will.
const COMMANDS_MAX: u32 = 60;

/// What all rounds share.
pub(super) struct Field {
    pub(super) tramline: PathBuf,
    pub(super) unruly: PathBuf,
    /// A data directory that several rounds use at once.
    pub(super) shared: PathBuf,
}

pub(super) struct Round {
    chance: Chance,
    /// The graph's document.
    document: String,
    /// Where the graph's own files go, in peace and under fire.
    files: [String; 2],
    session: String,
    peace: Setting,
    fire: Setting,
    /// How long the run took in peace.
    took: Duration,
    kills_left: u64,
}

impl Round {
    pub(super) fn new(field: &Field, dir: PathBuf, seed: u64) -> Result<Self> {
        let mut chance = Chance::new(seed);
        let files = [dir.join("peace"), dir.join("fire")];
        for files in &files {
            std::fs::create_dir_all(files)?;
        }
        let document = dir.join("graph.yaml");
        let graph = plan::document(&mut chance, &field.unruly);
        std::fs::write(&document, serde_json::to_vec_pretty(&graph)?)?;
        let setting = |name: &str, data: PathBuf| Setting {
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
            peace: setting("peace", dir.join("peace-data")),
            fire: setting("fire", data),
            took: Duration::ZERO,
            kills_left: chance.between(1, 4),
            chance,
        })
    }

    pub(super) fn go(&mut self, tally: &mut Tally) -> Result<()> {
        let begun = Instant::now();
        let run = ["run", self.document.as_str(), TOOL, self.files[0].as_str()];
        let reference = self.peace.run(&run).context("in peace")?;
        ensure!(reference.exit == DONE, "in peace: {reference:?}");
        self.took = begun.elapsed();
        let expected = check::Expected::of(&self.peace, &reference)?;
        let id = self.under_fire(tally)?;
        processes::all_gone(&self.fire.mark, ORPHANS_MAX)?;
        tally.calls += expected.hold(&self.fire, &id)?;
        Ok(())
    }

    /// Runs the graph, killing as long as there are kills left, until it has ended.
    fn under_fire(&mut self, tally: &mut Tally) -> Result<String> {
        let mut id = None;
        for _ in 0..COMMANDS_MAX {
            let said = match self.command(id.as_deref(), tally)? {
                Some(said) => said,
                None => {
                    id = self.find()?;
                    let (place, over) = self.place(id.as_deref())?;
                    tally
                        .places
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
                _ => bail!("the run did not go on: {said:?}"),
            }
            id = Some(run);
        }
        bail!("{id:?} has not ended after {COMMANDS_MAX} commands");
    }

    /// Starts or resumes the run; nothing if it was killed.
    fn command(&mut self, id: Option<&str>, tally: &mut Tally) -> Result<Option<Said>> {
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
            return self.fire.run(arguments).map(Some);
        }
        let (moment, servers_too) = (self.moment(), self.chance.percent(50));
        match self.fire.strike(arguments, moment, servers_too)? {
            Struck::Escaped(said) => {
                tally.escaped += 1;
                Ok(Some(said))
            }
            Struck::Killed => {
                self.kills_left -= 1;
                let with = if servers_too { " with its servers" } else { "" };
                *tally.victims.entry(format!("`{verb}`{with}")).or_default() += 1;
                Ok(None)
            }
        }
    }

    /// A moment to kill at: mostly while calls are under way, now and then at the edges.
    fn moment(&mut self) -> Moment {
        let whole = self.took.as_micros() as u64;
        let micros = |us| Moment::After(Duration::from_micros(us));
        match self.chance.between(1, 10) {
            1 => micros(self.chance.between(0, whole / 5)),
            2 => micros(self.chance.between(whole * 4 / 5, whole * 11 / 10)),
            3..=5 => micros(self.chance.between(whole / 10, whole)),
            6 | 7 => {
                let wait = Duration::from_micros(self.chance.between(0, 2_000));
                Moment::Written(self.chance.between(1, 12), wait)
            }
            _ => {
                let more = self.chance.between(1, 400);
                let wait = Duration::from_micros(self.chance.between(0, 8_000));
                Moment::Logged(self.fire.logged_bytes() + more, wait)
            }
        }
    }

    /// The run's id, if its beginning was recorded.
    fn find(&self) -> Result<Option<String>> {
        let said = self.fire.run(&["runs", "--session", &self.session])?;
        let runs = said.json["runs"].as_array().context("no list of runs")?;
        ensure!(runs.len() <= 1, "one run became several: {runs:?}");
        let id = runs.first().map(|run| &run["run_id"]);
        Ok(id.and_then(Value::as_str).map(str::to_owned))
    }

    /// Where the kill struck, and whether the run was over by then.
    fn place(&self, id: Option<&str>) -> Result<(String, bool)> {
        let Some(id) = id else {
            processes::all_gone(&self.fire.mark, ORPHANS_MAX)?;
            let calls = self.fire.logged()?;
            ensure!(calls.is_empty(), "calls left without a journal: {calls:?}");
            return Ok(("before anything was recorded".to_owned(), false));
        };
        let shown = self.fire.run(&["runs", "show", id])?.json;
        if !shown["outcome"].is_null() {
            return Ok(("after the end was recorded".to_owned(), true));
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

    /// Answers every call in doubt truthfully, by what the server has logged.
    fn answer(&mut self, run: &str, said: &Said, tally: &mut Tally) -> Result<()> {
        processes::all_gone(&self.fire.mark, ORPHANS_MAX)?;
        let calls = self.fire.logged()?;
        let waiting = said.json["waiting"].as_array();
        for asked in waiting.with_context(|| format!("paused for nothing: {said:?}"))? {
            ensure!(asked["kind"] == "in-doubt", "an unasked question: {asked}");
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
            self.say(&arguments, tally)?;
        }
        Ok(())
    }

    /// Gives an answer, now and then only at the second try.
    fn say(&mut self, arguments: &[&str], tally: &mut Tally) -> Result<()> {
        let mut killed = false;
        if self.chance.percent(15) {
            let moment = Moment::After(Duration::from_micros(self.chance.between(0, 30_000)));
            match self.fire.strike(arguments, moment, false)? {
                Struck::Escaped(said) => {
                    ensure!(said.exit == DONE, "{arguments:?} was refused: {said:?}");
                    return Ok(());
                }
                Struck::Killed => {
                    tally.killed("`runs answer`", "while answering".to_owned());
                    killed = true;
                }
            }
        }
        let said = self.fire.run(arguments)?;
        // The one that was killed may have been heard.
        let heard = killed && said.exit == BAD_INPUT;
        ensure!(
            said.exit == DONE || heard,
            "{arguments:?} was refused: {said:?}"
        );
        Ok(())
    }
}
