//! The runs known in a storm, and their last known open questions.

use super::super::seeded_rng::SeededRng;
use super::super::tally::SoakTally;
use serde_json::Value;
use std::collections::BTreeMap;

/// A question that a run asked.
#[derive(Clone, Debug)]
pub(super) struct OpenQuestion {
    pub(super) checkpoint: String,
    pub(super) kind: String,
}

/// Runs with their questions, as far as replies mentioned them. Both may be out of date.
#[derive(Debug, Default)]
pub(super) struct KnownRuns {
    runs: BTreeMap<String, Vec<OpenQuestion>>,
    pub(super) tally: SoakTally,
}

impl KnownRuns {
    /// Records the state of a run from a reply of the control tools.
    pub(super) fn record_reply(&mut self, reply: &Value) {
        let Some(run) = reply["workflow_id"].as_str() else {
            return;
        };
        let waiting = reply["waiting"].as_array().into_iter().flatten();
        let asked = waiting.filter_map(|asked| read(asked, "checkpoint_id"));
        self.put(run, asked.collect());
    }

    /// Records the state of a run from `runs show`.
    pub(super) fn record_shown(&mut self, shown: &Value) {
        let Some(run) = shown["run_id"].as_str() else {
            return;
        };
        let pauses = shown["pauses"].as_array().into_iter().flatten();
        let open = pauses.filter(|asked| asked["answer"].is_null());
        let asked = open.filter_map(|asked| read(asked, "checkpoint"));
        match shown["outcome"].is_null() {
            true => self.put(run, asked.collect()),
            false => drop(self.runs.remove(run)),
        }
    }

    fn put(&mut self, run: &str, asked: Vec<OpenQuestion>) {
        self.runs.insert(run.to_owned(), asked);
    }

    pub(super) fn forget(&mut self, run: &str) {
        self.runs.remove(run);
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// A random run with one of its known questions, if any.
    pub(super) fn pick(&self, chance: &mut SeededRng) -> Option<(String, Option<OpenQuestion>)> {
        let runs: Vec<_> = self.runs.iter().collect();
        let (run, asked) = chance.pick(&runs)?;
        Some(((*run).clone(), chance.pick(asked).cloned()))
    }
}

fn read(asked: &Value, checkpoint: &str) -> Option<OpenQuestion> {
    Some(OpenQuestion {
        checkpoint: asked[checkpoint].as_str()?.to_owned(),
        kind: asked["kind"].as_str()?.to_owned(),
    })
}
