//! Live progress of a run: a tree of steps with times on a terminal, plain lines when piped.

use super::output::{self, TextStyle, span, status_line};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_expr::Value;
use tramline_views::pause_view;
use tramline_views::step_tracker::{Activity, StepEnd, StepTracker, TrackedStep, Update};
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, NodeIx, RunId, StepNo};
use tramline_workflow::journal::{Entry, Outcome, Pause};

/// At most this many steps are listed; further ones are counted, because nobody reads a loop of
/// 100,000 lines.
const LISTED_MAX: u32 = 400;

/// Prints a run's events next to its result.
pub(super) struct ProgressPrinter {
    graph: Arc<Graph>,
    run: RunId,
    bars: Option<MultiProgress>,
    /// Whether to show the call that a question is about: only where no prompt shows it.
    calls: bool,
    tracker: StepTracker,
    /// The spinners of open steps.
    open: HashMap<StepNo, ProgressBar>,
    started_ms: i64,
    listed: u32,
    unlisted: u32,
}

const OK: TextStyle = TextStyle::Good;
const BAD: TextStyle = TextStyle::Bad;
const ASK: TextStyle = TextStyle::Ask;
const DIM: TextStyle = TextStyle::Dim;

impl ProgressPrinter {
    pub(super) fn new(graph: Arc<Graph>, run: RunId) -> Self {
        let bars = output::is_status_terminal().then(MultiProgress::new);
        Self {
            bars,
            calls: false,
            ..Self::plain(graph, run)
        }
    }

    /// Plain lines even on a terminal, because a prompt is below them.
    pub(super) fn plain(graph: Arc<Graph>, run: RunId) -> Self {
        Self {
            graph,
            run,
            bars: None,
            calls: true,
            tracker: StepTracker::default(),
            open: HashMap::new(),
            started_ms: 0,
            listed: 0,
            unlisted: 0,
        }
    }

    /// Shows one event.
    pub(super) fn show(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        self.set_start(at_ms);
        // Added nodes are shown by their own names.
        if let Some((patch, _)) = entry.event.patch() {
            patch.extend(&mut self.graph);
        }
        // An SOP session has no driver and no progress.
        let Some(update) = self.tracker.follow(entry) else {
            return;
        };
        match update {
            Update::Started(started) => {
                let name = &started.workflow.name;
                self.line(&format!("{name} {DIM}{}{DIM:#}", self.run));
            }
            Update::StepStarted { step, activity, .. } => {
                self.start_step(&step);
                if let Activity::FanOut(items) = activity {
                    let count = items.as_array().map_or(0, <[Value]>::len);
                    let id = &self.graph.node(step.node).id;
                    self.line(&format!("├─ {DIM}{id} for {count} items{DIM:#}"));
                }
            }
            Update::AttemptFailed {
                failure,
                wait_ms,
                in_doubt,
                ..
            } => {
                let (mark, note) = match in_doubt {
                    true => ("?", "it may have happened".to_owned()),
                    false => ("↻", format!("again in {}", span(wait_ms as i64))),
                };
                self.line(&format!(
                    "├─ {ASK}{mark}{ASK:#} {failure} {DIM}({note}){DIM:#}"
                ));
            }
            Update::StepEnded { step, end, .. } => {
                let (mark, more) = match end {
                    StepEnd::Finished { label, .. } => (
                        format!("{OK}✓{OK:#}"),
                        label.map_or_else(String::new, |label| format!(" → {label}")),
                    ),
                    StepEnd::FannedIn => (format!("{OK}✓{OK:#}"), String::new()),
                    StepEnd::Failed(failure) => (format!("{BAD}✗{BAD:#}"), format!(" {failure}")),
                };
                self.end_step(&step, at_ms, &mark, &more);
            }
            Update::Paused(pause) => self.show_question(entry.seq, pause),
            Update::Answered(answered) => {
                if let Some((step, _)) = &answered.skipped {
                    self.remove_bar(step.step);
                }
                let how = match answered.via.is_some_and(AnswerChannel::is_relayed) {
                    true => " (relayed)",
                    false => "",
                };
                let (by, answer) = (answered.by, answered.answer);
                self.line(&format!("├─ {by} answered{how}: {}", answer.name()));
            }
            Update::Changed(change) => self.line(&format!("├─ {DIM}{change}{DIM:#}")),
            Update::Finished { outcome, .. } => self.finish(outcome, at_ms),
        }
    }

    /// Skips an event that was shown before; the next step's time starts after it.
    pub(super) fn skip(&mut self, entry: &Entry) {
        self.set_start(entry.at_ms);
        self.tracker.follow(entry);
    }

    /// Times count from the first event shown: the start of the run, or when it resumed.
    fn set_start(&mut self, at_ms: i64) {
        if self.started_ms == 0 {
            self.started_ms = at_ms;
        }
    }

    fn line(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| status_line(text)),
            None => status_line(text),
        }
    }

    fn node_label(&self, node: NodeIx) -> String {
        let action = &self.graph.node(node).action;
        match action.tool() {
            Some(tool) => tool.to_string(),
            None => action.kind().label.to_owned(),
        }
    }

    fn start_step(&mut self, step: &TrackedStep) {
        self.remove_bar(step.step);
        let Some(bars) = &self.bars else {
            return;
        };
        let bar = bars.add(ProgressBar::new_spinner());
        let style = ProgressStyle::with_template("├─ {spinner} {msg} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let again = match step.attempt {
            1 => String::new(),
            attempt => format!(" (attempt {attempt})"),
        };
        let (id, what) = (&self.graph.node(step.node).id, self.node_label(step.node));
        let message = format!("{id}  {what}{again}");
        bar.set_message(output::field(&message).into_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        self.open.insert(step.step, bar);
    }

    fn remove_bar(&mut self, step: StepNo) {
        if let Some(bar) = self.open.remove(&step) {
            bar.finish_and_clear();
        }
    }

    fn end_step(&mut self, step: &TrackedStep, at_ms: i64, mark: &str, more: &str) {
        self.remove_bar(step.step);
        if self.listed == LISTED_MAX {
            self.unlisted += 1;
            return;
        }
        self.listed += 1;
        let (id, what) = (&self.graph.node(step.node).id, self.node_label(step.node));
        let took = span((at_ms - step.since_ms).max(0));
        self.line(&format!("├─ {mark} {id}  {DIM}{what}  {took}{DIM:#}{more}"));
    }

    fn show_question(&mut self, seq: u64, pause: &Pause) {
        let point = Checkpoint {
            run: self.run.clone(),
            seq,
        };
        let what = pause_view::message(&self.graph, pause);
        self.line(&format!("├─ {ASK}?{ASK:#} {what} {DIM}{point}{DIM:#}"));
        if self.calls {
            let asked = pause_view::pause_value(&self.graph, &self.run, seq, pause);
            for line in pause_view::detail_lines(&asked) {
                self.line(&format!("│    {line}"));
            }
        }
    }

    fn finish(&mut self, outcome: &Outcome, at_ms: i64) {
        for bar in std::mem::take(&mut self.open).into_values() {
            bar.finish_and_clear();
        }
        if self.unlisted > 0 {
            self.line(&format!("├─ {DIM}… {} more steps{DIM:#}", self.unlisted));
        }
        let took = span((at_ms - self.started_ms).max(0));
        let (style, word) = match outcome {
            Outcome::Completed { .. } => (OK, "completed"),
            Outcome::Failed { .. } => (BAD, "failed"),
            Outcome::Rejected { .. } => (ASK, "rejected"),
            Outcome::Aborted { .. } => (ASK, outcome.status()),
        };
        self.line(&format!("└─ {style}{word}{style:#} {DIM}in {took}{DIM:#}"));
    }
}
