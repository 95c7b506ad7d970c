//! What is known of all runs in a storm: which there are, and what they were last heard to ask.

use super::super::chance::Chance;
use super::super::tally::Tally;
use serde_json::Value;
use std::collections::BTreeMap;

/// A question that a run was heard to ask.
#[derive(Clone, Debug)]
pub(super) struct OpenQuestion {
    pub(super) checkpoint: String,
    pub(super) kind: String,
}

/// Runs with their questions, as far as replies told of them. Both may be out of date.
#[derive(Debug, Default)]
pub(super) struct Board {
    runs: BTreeMap<String, Vec<OpenQuestion>>,
    pub(super) tally: Tally,
}

impl Board {
    /// Takes what a reply of the control tools says of a run.
    pub(super) fn hear(&mut self, reply: &Value) {
        let Some(run) = reply["workflow_id"].as_str() else {
            return;
        };
        let waiting = reply["waiting"].as_array().into_iter().flatten();
        let asked = waiting.filter_map(|asked| read(asked, "checkpoint_id"));
        self.put(run, asked.collect());
    }

    /// Takes what `runs show` tells of a run.
    pub(super) fn see(&mut self, shown: &Value) {
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

    /// Some run with one of its questions, if it was heard to ask any.
    pub(super) fn pick(&self, chance: &mut Chance) -> Option<(String, Option<OpenQuestion>)> {
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
