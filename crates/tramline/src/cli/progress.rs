//! A run as it happens: a tree of steps with times on a terminal, plain lines when piped.

use super::output::{self, Paint, say, span};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::authority::AnswerChannel;
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, NodeIx, RunId, StepNo};
use tramline_core::journal::{Entry, Event, Outcome, Pause};
use tramline_core::workflow::Action;
use tramline_core::{Value, question};

/// More steps than this are counted, not listed: a loop of 100,000 is no reading matter.
const LISTED_MAX: u32 = 400;

/// Writes a run's events beside its result.
pub(super) struct Progress {
    graph: Arc<Graph>,
    run: RunId,
    bars: Option<MultiProgress>,
    /// Whether the call that a question is about is shown here: where nothing else shows it.
    calls: bool,
    open: HashMap<StepNo, Open>,
    before_ms: i64,
    started_ms: i64,
    listed: u32,
    unlisted: u32,
}

struct Open {
    since_ms: i64,
    bar: Option<ProgressBar>,
}

const OK: Paint = Paint::Good;
const BAD: Paint = Paint::Bad;
const ASK: Paint = Paint::Ask;
const DIM: Paint = Paint::Dim;

impl Progress {
    pub(super) fn new(graph: Arc<Graph>, run: RunId) -> Self {
        let bars = output::is_said_to_terminal().then(MultiProgress::new);
        Self {
            bars,
            calls: false,
            ..Self::plain(graph, run)
        }
    }

    /// Lines only, also on a terminal: where a prompt stands below them.
    pub(super) fn plain(graph: Arc<Graph>, run: RunId) -> Self {
        Self {
            graph,
            run,
            bars: None,
            calls: true,
            open: HashMap::new(),
            before_ms: 0,
            started_ms: 0,
            listed: 0,
            unlisted: 0,
        }
    }

    /// Shows one event.
    pub(super) fn show(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        self.since(at_ms);
        // What was added is shown by its own names.
        if let Event::Amended { patch, .. } = &entry.event
            && let Ok(grown) = patch.apply(&self.graph)
        {
            self.graph = Arc::new(grown);
        }
        match &entry.event {
            Event::Started(started) => {
                self.line(&format!(
                    "{} {DIM}{}{DIM:#}",
                    started.workflow.name, self.run
                ));
            }
            Event::Resumed { by } => self.line(&format!("{DIM}resumed by {by}{DIM:#}")),
            Event::StepStarted {
                step,
                node,
                attempt,
                ..
            } => self.begin(*step, *node, *attempt, at_ms),
            Event::AttemptFailed {
                failure,
                in_doubt: true,
                ..
            } => self.line(&format!(
                "├─ {ASK}?{ASK:#} {failure} {DIM}(it may have happened){DIM:#}"
            )),
            Event::AttemptFailed {
                failure, wait_ms, ..
            } => {
                let wait = span(*wait_ms as i64);
                self.line(&format!(
                    "├─ {ASK}↻{ASK:#} {failure} {DIM}(again in {wait}){DIM:#}"
                ));
            }
            Event::StepFinished {
                step, node, label, ..
            } => {
                let picked = label
                    .as_ref()
                    .map_or_else(String::new, |label| format!(" → {label}"));
                self.end(*step, *node, at_ms, &format!("{OK}✓{OK:#}"), &picked);
            }
            Event::StepFailed {
                step,
                node,
                failure,
            } => {
                self.end(
                    *step,
                    *node,
                    at_ms,
                    &format!("{BAD}✗{BAD:#}"),
                    &format!(" {failure}"),
                );
            }
            Event::Spread { step, node, items } => {
                let count = items.as_array().map_or(0, <[Value]>::len);
                self.begin(*step, *node, 1, at_ms);
                let id = &self.graph.node(*node).id;
                self.line(&format!("├─ {DIM}{id} for {count} items{DIM:#}"));
            }
            Event::Gathered { step, node } => {
                self.end(*step, *node, at_ms, &format!("{OK}✓{OK:#}"), "");
            }
            Event::Waiting { step, node, .. } => self.begin(*step, *node, 1, at_ms),
            Event::Watched { watch, by } => {
                let breaks = watch.breaks.len();
                self.line(&format!("├─ {DIM}{by} set {breaks} breakpoints{DIM:#}"));
            }
            Event::Paused { pause } => self.asked(entry.seq, pause),
            Event::Answered {
                answer, by, via, ..
            } => {
                let how = match via.is_some_and(AnswerChannel::is_relayed) {
                    true => " (relayed)",
                    false => "",
                };
                self.line(&format!("├─ {by} answered{how}: {answer:?}"));
            }
            Event::Amended { patch, by } => {
                self.line(&format!("├─ {by} added {} nodes", patch.nodes.len()));
            }
            // A guided run is not driven, so there is no progress to show.
            Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_) => {}
            Event::Finished { outcome } => self.finish(outcome, at_ms),
        }
        self.before_ms = at_ms;
    }

    /// Passes over an event that is no news; the next step has not taken the time before it.
    pub(super) fn pass(&mut self, entry: &Entry) {
        self.since(entry.at_ms);
        self.before_ms = entry.at_ms;
    }

    /// The time is told from the first event that is shown: its beginning, or when it went on.
    fn since(&mut self, at_ms: i64) {
        if self.started_ms == 0 {
            self.started_ms = at_ms;
        }
    }

    fn line(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| say(text)),
            None => say(text),
        }
    }

    fn what(&self, node: NodeIx) -> String {
        match &self.graph.node(node).action {
            Action::Call { tool, .. } => tool.to_string(),
            Action::Entry => "entry".into(),
            Action::Compute { .. } => "transform".into(),
            Action::Choose { .. } => "switch".into(),
            Action::Wait(_) => "wait".into(),
            Action::Exit => "exit".into(),
        }
    }

    fn begin(&mut self, step: StepNo, node: NodeIx, attempt: u32, at_ms: i64) {
        let since_ms = self.open.get(&step).map_or(at_ms, |open| open.since_ms);
        let bar = self.bars.as_ref().map(|bars| {
            let bar = bars.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("├─ {spinner} {msg} {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            let again = if attempt > 1 {
                format!(" (attempt {attempt})")
            } else {
                String::new()
            };
            let (id, what) = (&self.graph.node(node).id, self.what(node));
            let message = format!("{id}  {what}{again}");
            bar.set_message(output::field(&message).into_owned());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        if let Some(Open { bar: Some(bar), .. }) = self.open.insert(step, Open { since_ms, bar }) {
            bar.finish_and_clear();
        }
    }

    fn end(&mut self, step: StepNo, node: NodeIx, at_ms: i64, mark: &str, more: &str) {
        let open = self.open.remove(&step);
        let since = open.as_ref().map_or(self.before_ms, |open| open.since_ms);
        if let Some(Open { bar: Some(bar), .. }) = open {
            bar.finish_and_clear();
        }
        if self.listed == LISTED_MAX {
            self.unlisted += 1;
            return;
        }
        self.listed += 1;
        let (id, what) = (&self.graph.node(node).id, self.what(node));
        let took = span((at_ms - since).max(0));
        self.line(&format!("├─ {mark} {id}  {DIM}{what}  {took}{DIM:#}{more}"));
    }

    fn asked(&mut self, seq: u64, pause: &Pause) {
        let point = Checkpoint {
            run: self.run.clone(),
            seq,
        };
        let what = question::says(&self.graph, pause);
        self.line(&format!("├─ {ASK}?{ASK:#} {what} {DIM}{point}{DIM:#}"));
        if self.calls {
            let asked = question::value(&self.graph, &self.run, seq, pause);
            for line in question::lines(&asked) {
                self.line(&format!("│    {line}"));
            }
        }
    }

    fn finish(&mut self, outcome: &Outcome, at_ms: i64) {
        for open in std::mem::take(&mut self.open).into_values() {
            if let Some(bar) = open.bar {
                bar.finish_and_clear();
            }
        }
        if self.unlisted > 0 {
            self.line(&format!("├─ {DIM}… {} more steps{DIM:#}", self.unlisted));
        }
        let took = span((at_ms - self.started_ms).max(0));
        let (style, word) = match outcome {
            Outcome::Completed { .. } => (OK, "completed"),
            Outcome::Failed { .. } => (BAD, "failed"),
            Outcome::Rejected { .. } => (ASK, "rejected"),
            Outcome::Aborted { .. } => (ASK, outcome.word()),
        };
        self.line(&format!("└─ {style}{word}{style:#} {DIM}in {took}{DIM:#}"));
    }
}
