//! Live progress of a run: a tree of steps with times on a terminal, plain lines when piped.

use super::output::{self, TextStyle, span, status_line};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_expr::Value;
use tramline_views::pause_view;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, NodeIx, RunId, StepNo};
use tramline_workflow::journal::{Entry, Event, Outcome, Pause, RunEvent};
use tramline_workflow::workflow::Action;

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
    open: HashMap<StepNo, OpenStep>,
    before_ms: i64,
    started_ms: i64,
    listed: u32,
    unlisted: u32,
}

struct OpenStep {
    since_ms: i64,
    bar: Option<ProgressBar>,
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
        self.set_start(at_ms);
        // Added nodes are shown by their own names.
        if let Event::Run(RunEvent::GraphExtended { patch, .. }) = &entry.event
            && let Ok(grown) = patch.apply(&self.graph)
        {
            self.graph = Arc::new(grown);
        }
        match &entry.event {
            Event::Run(RunEvent::Started(started)) => {
                self.line(&format!(
                    "{} {DIM}{}{DIM:#}",
                    started.workflow.name, self.run
                ));
            }
            Event::Run(RunEvent::Resumed { by }) => {
                self.line(&format!("{DIM}resumed by {by}{DIM:#}"))
            }
            Event::Run(RunEvent::StepStarted {
                step,
                node,
                attempt,
                ..
            }) => self.start_step(*step, *node, *attempt, at_ms),
            Event::Run(RunEvent::AttemptFailed {
                failure,
                in_doubt: true,
                ..
            }) => self.line(&format!(
                "├─ {ASK}?{ASK:#} {failure} {DIM}(it may have happened){DIM:#}"
            )),
            Event::Run(RunEvent::AttemptFailed {
                failure, wait_ms, ..
            }) => {
                let wait = span(*wait_ms as i64);
                self.line(&format!(
                    "├─ {ASK}↻{ASK:#} {failure} {DIM}(again in {wait}){DIM:#}"
                ));
            }
            Event::Run(RunEvent::StepFinished {
                step, node, label, ..
            }) => {
                let picked = label
                    .as_ref()
                    .map_or_else(String::new, |label| format!(" → {label}"));
                self.end_step(*step, *node, at_ms, &format!("{OK}✓{OK:#}"), &picked);
            }
            Event::Run(RunEvent::StepFailed {
                step,
                node,
                failure,
            }) => {
                self.end_step(
                    *step,
                    *node,
                    at_ms,
                    &format!("{BAD}✗{BAD:#}"),
                    &format!(" {failure}"),
                );
            }
            Event::Run(RunEvent::FannedOut { step, node, items }) => {
                let count = items.as_array().map_or(0, <[Value]>::len);
                self.start_step(*step, *node, 1, at_ms);
                let id = &self.graph.node(*node).id;
                self.line(&format!("├─ {DIM}{id} for {count} items{DIM:#}"));
            }
            Event::Run(RunEvent::FannedIn { step, node }) => {
                self.end_step(*step, *node, at_ms, &format!("{OK}✓{OK:#}"), "");
            }
            Event::Run(RunEvent::Waiting { step, node, .. }) => {
                self.start_step(*step, *node, 1, at_ms)
            }
            Event::Run(RunEvent::BreakpointsSet { watch, by }) => {
                let breaks = watch.breaks.len();
                self.line(&format!("├─ {DIM}{by} set {breaks} breakpoints{DIM:#}"));
            }
            Event::Run(RunEvent::Paused { pause }) => self.show_question(entry.seq, pause),
            Event::Run(RunEvent::Answered {
                answer, by, via, ..
            }) => {
                let how = match via.is_some_and(AnswerChannel::is_relayed) {
                    true => " (relayed)",
                    false => "",
                };
                self.line(&format!("├─ {by} answered{how}: {answer:?}"));
            }
            Event::Run(RunEvent::GraphExtended { patch, by }) => {
                self.line(&format!("├─ {by} added {} nodes", patch.nodes.len()));
            }
            // An SOP session has no driver and no progress.
            Event::Sop(_) => {}
            Event::Run(RunEvent::Finished { outcome }) => self.finish(outcome, at_ms),
        }
        self.before_ms = at_ms;
    }

    /// Skips an event that was shown before; the next step's time starts after it.
    pub(super) fn skip(&mut self, entry: &Entry) {
        self.set_start(entry.at_ms);
        self.before_ms = entry.at_ms;
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
        match &self.graph.node(node).action {
            Action::Call { tool, .. } => tool.to_string(),
            Action::Entry => "entry".into(),
            Action::Compute { .. } => "transform".into(),
            Action::Choose { .. } => "switch".into(),
            Action::Wait(_) => "wait".into(),
            Action::Exit => "exit".into(),
        }
    }

    fn start_step(&mut self, step: StepNo, node: NodeIx, attempt: u32, at_ms: i64) {
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
            let (id, what) = (&self.graph.node(node).id, self.node_label(node));
            let message = format!("{id}  {what}{again}");
            bar.set_message(output::field(&message).into_owned());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        if let Some(OpenStep { bar: Some(bar), .. }) =
            self.open.insert(step, OpenStep { since_ms, bar })
        {
            bar.finish_and_clear();
        }
    }

    fn end_step(&mut self, step: StepNo, node: NodeIx, at_ms: i64, mark: &str, more: &str) {
        let open = self.open.remove(&step);
        let since = open.as_ref().map_or(self.before_ms, |open| open.since_ms);
        if let Some(OpenStep { bar: Some(bar), .. }) = open {
            bar.finish_and_clear();
        }
        if self.listed == LISTED_MAX {
            self.unlisted += 1;
            return;
        }
        self.listed += 1;
        let (id, what) = (&self.graph.node(node).id, self.node_label(node));
        let took = span((at_ms - since).max(0));
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
            Outcome::Aborted { .. } => (ASK, outcome.status()),
        };
        self.line(&format!("└─ {style}{word}{style:#} {DIM}in {took}{DIM:#}"));
    }
}
