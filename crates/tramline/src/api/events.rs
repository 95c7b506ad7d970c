//! A run's events as they happen: plain data, in order, each once it is durable.

use super::{Error, Question, RunOutcome, Step};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tramline_engine::Engine;
use tramline_expr::Value;
use tramline_views::step_tracker::{Activity, StepEnd, StepTracker, TrackedStep, Update};
use tramline_views::trace;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, StepNo};
use tramline_workflow::journal::Entry;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A step started. Every step has this event; for a step that only computes it arrives when the
    /// step ends.
    StepStarted(Step),
    /// A step ended, successfully or not. A fan-out step has no output here: each of its items is a
    /// step and was reported before it.
    StepFinished(Step),
    /// The run paused with a question.
    Paused(Question),
    /// The run ended.
    Finished(RunOutcome),
}

/// The events of a run, in order.
pub struct RunEvents {
    engine: Engine,
    entries: tramline_engine::EventStream,
    translator: EventTranslator,
    pending: VecDeque<Event>,
}

impl RunEvents {
    /// A run's events from the first on.
    pub(super) fn new(engine: &Engine, run: &RunId, graph: Arc<Graph>) -> Self {
        Self {
            engine: engine.clone(),
            entries: engine.subscribe(run.clone(), 0),
            translator: EventTranslator::new(run.clone(), graph),
            pending: VecDeque::new(),
        }
    }

    /// The next event, from whichever process drives the run; `None` after the last. Waits while
    /// the run waits.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Ok(Some(event));
            }
            let Some(entry) = self.entries.next().await? else {
                return Ok(None);
            };
            self.translator.translate(&entry, &mut self.pending);
        }
    }

    /// The events in the journal that were not returned yet, without waiting for more.
    pub(super) async fn drain(&mut self) -> Result<VecDeque<Event>, Error> {
        let run = self.translator.run.clone();
        let seen = self.translator.tracker.seq();
        let entries = self.engine.entries(&run).await?;
        for entry in entries.iter().filter(|entry| entry.seq > seen) {
            self.translator.translate(entry, &mut self.pending);
        }
        let seen = self.translator.tracker.seq();
        self.entries = self.engine.subscribe(run, seen);
        Ok(std::mem::take(&mut self.pending))
    }
}

/// Translates journal events to ours. Keeps only the open steps.
struct EventTranslator {
    run: RunId,
    graph: Arc<Graph>,
    tracker: StepTracker,
    input: Value,
    open: HashMap<StepNo, trace::TraceStep>,
}

impl EventTranslator {
    fn new(run: RunId, graph: Arc<Graph>) -> Self {
        Self {
            run,
            graph,
            tracker: StepTracker::default(),
            input: Value::Null,
            open: HashMap::new(),
        }
    }

    fn translate(&mut self, entry: &Entry, told: &mut VecDeque<Event>) {
        if let Some((patch, _)) = entry.event.patch() {
            patch.extend(&mut self.graph);
        }
        // An SOP session has no steps.
        let Some(update) = self.tracker.follow(entry) else {
            return;
        };
        let at_ms = entry.at_ms;
        match update {
            Update::Started(started) => self.input = started.input.clone(),
            Update::StepStarted { step, activity, .. } => {
                let input = match activity {
                    // A retry has no arguments in its event: they are those of the first attempt.
                    Activity::Call { arguments, .. } => Some(arguments).filter(|it| !it.is_null()),
                    Activity::FanOut(items) => Some(items),
                    Activity::Wait(_) => None,
                };
                self.start_step(&step, input, told).attempts = step.attempt;
            }
            Update::AttemptFailed {
                number, failure, ..
            } => {
                if let Some(line) = self.open.get_mut(&number) {
                    line.retried.push(failure.clone());
                }
            }
            Update::StepEnded { step, end, .. } => self.end_step(&step, at_ms, end, told),
            Update::Paused(pause) => {
                let question = Question::of(&self.graph, &self.run, entry.seq, pause);
                told.push_back(Event::Paused(question));
            }
            Update::Answered(answered) => {
                if let Some((step, output)) = &answered.skipped {
                    let label = None;
                    self.end_step(step, at_ms, StepEnd::Finished { label, output }, told);
                }
            }
            Update::Changed(_) => {}
            Update::Finished { outcome, .. } => {
                let ended = RunOutcome::finished(&self.graph, &self.run, outcome);
                told.push_back(Event::Finished(ended));
            }
        }
    }

    /// The entry of a step; emits its start if it is new.
    fn start_step(
        &mut self,
        from: &TrackedStep,
        input: Option<&Value>,
        told: &mut VecDeque<Event>,
    ) -> &mut trace::TraceStep {
        self.open.entry(from.step).or_insert_with(|| {
            let mut line =
                trace::TraceStep::begin(&self.graph, from.step, from.node, from.since_ms);
            line.input = input.cloned();
            if line.kind == "entry" {
                line.input = Some(self.input.clone());
            }
            line.item = from.item;
            told.push_back(Event::StepStarted(Step::from(&line)));
            line
        })
    }

    fn end_step(
        &mut self,
        step: &TrackedStep,
        at_ms: i64,
        end: StepEnd<'_>,
        told: &mut VecDeque<Event>,
    ) {
        self.start_step(step, None, told);
        if let Some(mut line) = self.open.remove(&step.step) {
            line.duration_ms = Some((at_ms - line.started_ms).max(0));
            line.status = end.status();
            match end {
                StepEnd::Finished { label, output } => {
                    line.label = label.cloned();
                    line.output = Some(output.clone());
                }
                StepEnd::FannedIn => {}
                StepEnd::Failed(failure) => line.error = Some(failure.clone()),
            }
            told.push_back(Event::StepFinished(Step::from(&line)));
        }
    }
}
