//! What lists show of a journal besides its index row: failed steps, previews, a fork's own start.

use crate::response::{ApiError, to_json};
use serde_json::{Value as Told, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tramline_engine::ports::RunRow;
use tramline_engine::{Engine, LoadedRun};
use tramline_expr::Value;
use tramline_views::event_summary::EventSummarizer;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{Answer, Entry, Event, Outcome, RunEvent};
use tramline_workflow::run::Run;

/// The maximum number of cached summaries; beyond it the cache is cleared.
const RUNS_MAX: usize = 2_000;
/// The maximum number of characters of a preview.
const PREVIEW_CHARS_MAX: usize = 240;
/// The maximum number of members of a value that a preview looks at.
const PREVIEW_MEMBERS_MAX: usize = 24;
/// The maximum number of failed steps in a reply; their number is complete.
const FAILURES_SHOWN_MAX: usize = 50;

/// A summary of a journal.
pub(crate) struct RunSummary {
    failures: usize,
    input: String,
    /// The result, the error, or empty while the run is going.
    outcome: String,
    own_started_ms: i64,
}

impl RunSummary {
    fn of(loaded: &LoadedRun) -> Self {
        let run = &loaded.run;
        let outcome = run.outcome.as_ref();
        Self {
            failures: failures(loaded).1,
            input: preview(&run.started.input),
            outcome: outcome.map(outcome_preview).unwrap_or_default(),
            own_started_ms: own_started_ms(loaded),
        }
    }

    /// Adds the summary to a row.
    pub(crate) fn add_to(&self, row: &mut Told) {
        row["failures"] = json!(self.failures);
        row["input_preview"] = json!(self.input);
        row["outcome_preview"] = json!(self.outcome);
        row["own_started_ms"] = json!(self.own_started_ms);
    }

    /// Whether the previews contain this text, which is in lower case.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.input.to_lowercase().contains(text) || self.outcome.to_lowercase().contains(text)
    }
}

/// Summaries by run and last event: a finished run is read once.
#[derive(Default)]
pub(crate) struct SummaryCache(Mutex<HashMap<RunId, (Seq, Arc<RunSummary>)>>);

impl SummaryCache {
    /// The summary of a run; `None` if it is not cached and its journal exceeds `bytes_left`, which
    /// is reduced by what is read.
    pub(crate) async fn get(
        &self,
        engine: &Engine,
        row: &RunRow,
        bytes_left: &mut u64,
    ) -> Result<Option<Arc<RunSummary>>, ApiError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seq, known)) = lock().get(&row.run)
            && *seq == row.last
        {
            return Ok(Some(Arc::clone(known)));
        }
        if row.bytes > *bytes_left {
            return Ok(None);
        }
        *bytes_left -= row.bytes;
        let loaded = engine.load(&row.run).await?;
        let made = Arc::new(RunSummary::of(&loaded));
        let mut known = lock();
        if known.len() >= RUNS_MAX {
            known.clear();
        }
        known.insert(row.run.clone(), (loaded.run.seq, Arc::clone(&made)));
        Ok(Some(made))
    }
}

/// What a run's own page shows of its journal: failed steps, who rejected it, a fork's own start.
pub(crate) fn add_details(loaded: &LoadedRun, told: &mut Told) {
    let (failed, count) = failures(loaded);
    told["failures"] = json!({"count": count, "steps": failed});
    told["own_started_ms"] = json!(own_started_ms(loaded));
    if let Some(rejection) = rejection(&loaded.run, &loaded.entries) {
        told["rejection"] = rejection;
    }
}

/// The steps that failed without an edge that handles it, and their number.
fn failures(loaded: &LoadedRun) -> (Vec<Told>, usize) {
    let graph = &loaded.run.graph;
    let (mut teller, mut failed, mut count) = (EventSummarizer::default(), Vec::new(), 0);
    for entry in &loaded.entries {
        let line = teller.summarize(entry);
        let Event::Run(RunEvent::StepFailed {
            step,
            node,
            failure,
        }) = &entry.event
        else {
            continue;
        };
        if line.item.is_none() && graph.handles_failure(*node) {
            continue;
        }
        count += 1;
        if failed.len() < FAILURES_SHOWN_MAX {
            failed.push(json!({
                "step": step,
                "node": line.node,
                "item": line.item,
                "code": failure.kind.code(),
                "message": cut(&failure.message),
            }));
        }
    }
    (failed, count)
}

/// Who rejected a run, where and why.
pub(crate) fn rejection(run: &Run, entries: &[Entry]) -> Option<Told> {
    let Some(Outcome::Rejected { node, why }) = &run.outcome else {
        return None;
    };
    let node = node.map(|node| run.graph.node(node).id.clone());
    let rejected = |entry: &Entry| {
        let Event::Run(RunEvent::Answered {
            answer: Answer::Reject,
            by,
            via,
            ..
        }) = &entry.event
        else {
            return None;
        };
        Some(json!({"by": by, "via": via, "at_ms": entry.at_ms}))
    };
    let answered = entries.iter().rev().find_map(rejected);
    let mut told = answered.unwrap_or_else(|| json!({}));
    told["node"] = json!(node);
    told["why"] = json!(why);
    Some(told)
}

/// When a run started by itself: a fork when it was forked, not when the original started.
fn own_started_ms(loaded: &LoadedRun) -> i64 {
    let run = &loaded.run;
    let Some(fork) = &run.started.fork else {
        return run.started_ms;
    };
    let mut own = loaded.entries.iter().skip(fork.seq as usize);
    let resumed = own.find(|entry| matches!(entry.event, Event::Run(RunEvent::Resumed { .. })));
    resumed.map_or(run.started_ms, |entry| entry.at_ms)
}

fn outcome_preview(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed { result } => preview(result),
        Outcome::Failed { failure, .. } => cut(&failure.message),
        Outcome::Rejected { why, .. } | Outcome::Aborted { why, .. } => {
            why.as_deref().map(cut).unwrap_or_default()
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(PREVIEW_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The start of a value as JSON. Only the first members of a large value are looked at.
fn preview(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return cut(text);
    }
    let Some(members) = value.as_object() else {
        return cut(&match value.as_array() {
            Some(items) if items.len() > PREVIEW_MEMBERS_MAX => {
                let first: Vec<_> = items.iter().take(PREVIEW_MEMBERS_MAX).map(brief).collect();
                Told::from(first).to_string()
            }
            Some(_) | None => brief(value).to_string(),
        });
    };
    let first = members.iter().take(PREVIEW_MEMBERS_MAX);
    let parts: Vec<_> = first
        .map(|(name, value)| format!("{name}: {}", brief(value)))
        .collect();
    cut(&parts.join(", "))
}

/// A value; an object or list inside it only by its size.
fn brief(value: &Value) -> Told {
    if let Some(text) = value.as_str() {
        return Told::from(cut(text));
    }
    match (value.as_object(), value.as_array()) {
        (Some(members), _) if members.iter().next().is_some() => Told::from("{…}"),
        (_, Some(items)) if !items.is_empty() => Told::from(format!("[{}]", items.len())),
        _ => to_json(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_short_whatever_the_value() {
        let long = "x".repeat(10_000);
        for value in [
            Value::from(long.as_str()),
            Value::object([("a", long.as_str().into()), ("b", 1.into())]),
            Value::from(json!(vec![long.clone(); 100])),
        ] {
            assert!(preview(&value).chars().count() <= PREVIEW_CHARS_MAX + 1);
        }
        let input = Value::from(json!({"path": "a.txt", "lines": [1, 2], "more": {"deep": 1}}));
        assert_eq!(
            preview(&input),
            r#"path: "a.txt", lines: "[2]", more: "{…}""#
        );
    }
}
