//! Names of runs on the command line: whole ids, the start of one, and `latest`.
//!
//! Arguments have no access to the data directory, whose place is an argument itself. So the command line is
//! read twice: the first time collects the names, then they are resolved, and the second time finds
//! their ids.

use super::{AccessArgs, CliError, CommonArgs, on_one_thread};
use crate::app;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tramline_engine::ports::RunFilter;
use tramline_engine::{Engine, Fault};
use tramline_views::trace::parse_run;
use tramline_workflow::ids::{Checkpoint, InvalidId, RunId};

/// The newest run.
const LATEST: &str = "latest";
/// Digits of a generated id.
const ID_DIGITS: usize = 26;
/// Digits that a start must have at least, so that a word is not taken for one.
const START_DIGITS_MIN: usize = 3;
/// Candidates that are shown for a start that several ids have.
const CANDIDATES_MAX: usize = 4;

/// The names on the command line with their ids, once they are resolved.
static NAMES: Mutex<BTreeMap<RunName, Option<RunId>>> = Mutex::new(BTreeMap::new());

/// A name that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RunName {
    Latest,
    /// The start of an id, with `run_`.
    Start(String),
}

impl RunName {
    /// The name that a text is, unless it is a whole id or cannot be a name.
    fn of(text: &str) -> Option<Self> {
        if text == LATEST {
            return Some(Self::Latest);
        }
        // As copied from a shortened table.
        let text = text.strip_suffix('…').unwrap_or(text);
        let text = text.strip_suffix("...").unwrap_or(text);
        let digits = text.strip_prefix("run_").unwrap_or(text);
        let is_start = (START_DIGITS_MIN..ID_DIGITS).contains(&digits.len())
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        is_start.then(|| Self::Start(format!("run_{digits}")))
    }
}

/// Reads a run's name. Before names are resolved, it stands for an id that no run has.
pub(super) fn parse(text: &str) -> Result<RunId, String> {
    if let Some(name) = RunName::of(text) {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = names.entry(name).or_default() {
            return Ok(found.clone());
        }
        let unresolved = format!("run_{LATEST}").parse();
        return unresolved.map_err(|bad: InvalidId| bad.to_string());
    }
    parse_run(text)
        .map_or_else(|| text.parse(), Ok)
        .map_err(|bad: InvalidId| bad.to_string())
}

/// Reads a checkpoint, whose run may be a start: `chk_01k9_7`.
pub(super) fn parse_checkpoint(text: &str) -> Result<Checkpoint, String> {
    let point: Checkpoint = text.parse().map_err(|bad: InvalidId| bad.to_string())?;
    let run = parse(point.run.as_str())?;
    Ok(Checkpoint { run, ..point })
}

/// Finds the ids of all names that were read. Returns whether there are any.
pub(super) fn resolve(common: &CommonArgs) -> Result<bool, CliError> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if names.is_empty() {
        return Ok(false);
    }
    let mut found = Vec::new();
    on_one_thread(async {
        let engine = app::open(&common.config(&AccessArgs::default())?, &[])?.engine;
        for name in names.keys() {
            found.push((name.clone(), resolve_one(&engine, name).await?));
        }
        Ok(super::Exit::Done)
    })?;
    for (name, run) in found {
        names.insert(name, Some(run));
    }
    Ok(true)
}

async fn resolve_one(engine: &Engine, name: &RunName) -> Result<RunId, CliError> {
    match name {
        RunName::Latest => {
            let filter = RunFilter {
                limit: 1,
                ..RunFilter::default()
            };
            let newest = engine.runs(filter).await?.rows.into_iter().next();
            let none = || CliError::bad_input("no runs yet: `tramline run FILE` starts one");
            Ok(newest.ok_or_else(none)?.run)
        }
        RunName::Start(start) => {
            let ids = starting_with(engine, start).await?;
            match ids.as_slice() {
                [only] => Ok(only.clone()),
                [] => Err(CliError::bad_input(format!(
                    "there is no run {start}, and none whose id starts with that; `tramline runs` lists them"
                ))),
                several => {
                    let shown = several.iter().take(CANDIDATES_MAX).map(RunId::as_str);
                    let shown: Vec<_> = shown.collect();
                    let more = if several.len() > CANDIDATES_MAX {
                        ", …"
                    } else {
                        ""
                    };
                    Err(CliError::bad_input(format!(
                        "the ids of several runs start with {start}: {}{more}; write more of the one you mean",
                        shown.join(", ")
                    )))
                }
            }
        }
    }
}

/// The runs whose ids start with this, at most one more than are shown.
async fn starting_with(engine: &Engine, start: &str) -> Result<Vec<RunId>, CliError> {
    let invalid = |bad: InvalidId| CliError::bad_input(bad.to_string());
    // The list is ordered by id, newest first: these follow after the greatest id with this start.
    let greatest: RunId = format!("{start:z<width$}", width = "run_".len() + ID_DIGITS)
        .parse()
        .map_err(invalid)?;
    let filter = RunFilter {
        after: Some(greatest),
        limit: CANDIDATES_MAX + 1,
        ..RunFilter::default()
    };
    // An id from elsewhere may be as short as the start itself.
    let exact: RunId = start.parse().map_err(invalid)?;
    if engine
        .store()
        .row(&exact)
        .await
        .map_err(Fault::from)?
        .is_some()
    {
        return Ok(vec![exact]);
    }
    let rows = engine.runs(filter).await?.rows;
    let mut ids: Vec<_> = rows.into_iter().map(|row| row.run).collect();
    ids.retain(|id| id.as_str().starts_with(start));
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_ids_and_words() {
        let start = |text: &str| RunName::of(text);
        assert_eq!(start("latest"), Some(RunName::Latest));
        for text in ["run_01k9", "01k9", "run_01k9…", "01k9..."] {
            assert_eq!(
                start(text),
                Some(RunName::Start("run_01k9".to_owned())),
                "{text}"
            );
        }
        for text in [
            "run_01k9abcdefghjkmnpqrstvwxyz",
            "x",
            "",
            "../x",
            "Run_01",
            "a b",
            "run_",
        ] {
            assert_eq!(start(text), None, "{text}");
        }
    }
}
