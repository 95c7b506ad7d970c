//! Live progress of a run: a tree of steps with times on a terminal, plain lines when piped.

use super::output::{self, TextStyle, span, status_line};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::StartingServer;
use tramline_expr::{Str, Value};
use tramline_views::pause_view;
use tramline_views::step_tracker::{Activity, StepEnd, StepTracker, TrackedStep, Update};
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, NodeIx, RunId, StepNo};
use tramline_workflow::journal::{Entry, Outcome, Pause};

/// At most this many steps are listed; further ones are counted, because nobody reads a loop of
/// 100,000 lines.
const LISTED_MAX: u32 = 400;

/// How often spinners are redrawn.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// Shorter starts of servers are not mentioned.
const START_SHOWN_MIN: Duration = Duration::from_secs(1);

/// The start of a server, as shown.
struct ServerStart {
    elapsed: Duration,
    bar: Option<ProgressBar>,
    is_shown: bool,
}

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
    /// The servers that are being started.
    starting: HashMap<Str, ServerStart>,
    /// The failure of the last step that was listed as failed.
    listed_failure: Option<String>,
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
            starting: HashMap::new(),
            listed_failure: None,
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
                let says = failure.to_string();
                let (says, rest) = says.split_once('\n').unwrap_or((&says, ""));
                self.line(&format!(
                    "├─ {ASK}{mark}{ASK:#} {says} {DIM}({note}){DIM:#}"
                ));
                self.further_lines(rest);
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
        let again = match step.attempt {
            1 => String::new(),
            attempt => format!(" (attempt {attempt})"),
        };
        let (id, what) = (&self.graph.node(step.node).id, self.node_label(step.node));
        let message = format!("{id}  {what}{again}");
        let bar = spinner(bars, &message, Duration::ZERO);
        self.open.insert(step.step, bar);
    }

    /// Shows which servers are being started, and for how long already.
    pub(super) fn show_starting(&mut self, servers: Vec<StartingServer>) {
        let ended: Vec<_> = self
            .starting
            .keys()
            .filter(|name| servers.iter().all(|one| one.server != **name))
            .cloned()
            .collect();
        for name in ended {
            let Some(start) = self.starting.remove(&name) else {
                continue;
            };
            if let Some(bar) = start.bar {
                bar.finish_and_clear();
            }
            if start.is_shown {
                let took = span(start.elapsed.as_millis() as i64);
                self.line(&format!(
                    "├─ {DIM}server {name} was being started for {took}{DIM:#}"
                ));
            }
        }
        for StartingServer { server, elapsed } in servers {
            let mut start = self.starting.remove(&server).unwrap_or(ServerStart {
                elapsed,
                bar: None,
                is_shown: false,
            });
            start.elapsed = elapsed;
            if elapsed >= START_SHOWN_MIN && !start.is_shown {
                start.is_shown = true;
                let message = format!("starting server {server}");
                match &self.bars {
                    Some(bars) => start.bar = Some(spinner(bars, &message, elapsed)),
                    None => self.line(&format!("├─ {DIM}{message} …{DIM:#}")),
                }
            }
            self.starting.insert(server, start);
        }
    }

    /// Removes everything that is redrawn, so that what follows is not overwritten.
    pub(super) fn clear(&mut self) {
        let starts = std::mem::take(&mut self.starting).into_values();
        let starts = starts.filter_map(|start| start.bar);
        let steps = std::mem::take(&mut self.open).into_values();
        steps.chain(starts).for_each(|bar| bar.finish_and_clear());
        if let Some(bars) = &self.bars {
            // A terminal that cannot be cleared cannot be written to either.
            let _ = bars.clear();
        }
    }

    /// The failure of the last step, as it is listed.
    pub(super) fn listed_failure(&mut self) -> Option<String> {
        self.listed_failure.take()
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
        self.listed_failure = (!more.is_empty()).then(|| more.trim().to_owned());
        let (id, what) = (&self.graph.node(step.node).id, self.node_label(step.node));
        let took = span((at_ms - step.since_ms).max(0));
        let (more, rest) = more.split_once('\n').unwrap_or((more, ""));
        self.line(&format!("├─ {mark} {id}  {DIM}{what}  {took}{DIM:#}{more}"));
        self.further_lines(rest);
    }

    /// The further lines of a failure, such as the last lines of a server's stderr.
    fn further_lines(&self, lines: &str) {
        for line in lines.lines() {
            self.line(&format!("│    {line}"));
        }
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

/// A spinner with a message and the time since it began.
fn spinner(bars: &MultiProgress, message: &str, elapsed: Duration) -> ProgressBar {
    let bar = bars.add(ProgressBar::new_spinner().with_elapsed(elapsed));
    let style = ProgressStyle::with_template("├─ {spinner} {wide_msg} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(output::field(message).into_owned());
    bar.enable_steady_tick(SPINNER_INTERVAL);
    bar
}
