//! A run's events as they happen: plain data, in order, each once it is durable.

use super::{Error, Question, RunOutcome, Step};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tramline_engine::Engine;
use tramline_expr::Value;
use tramline_views::trace;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{NodeIx, RunId, Seq, StepNo};
use tramline_workflow::journal::{self, Answer, Entry, Pause};

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
            if let journal::Event::Run(journal::RunEvent::GraphExtended { .. }) = entry.event {
                let graph = self.engine.load(&self.translator.run).await?.run.graph;
                self.translator.graph = graph;
            }
            self.translator.translate(&entry, &mut self.pending);
        }
    }

    /// The events in the journal that were not returned yet, without waiting for more.
    pub(super) async fn drain(&mut self) -> Result<VecDeque<Event>, Error> {
        let loaded = self.engine.load(&self.translator.run).await?;
        self.translator.graph = loaded.run.graph;
        let seen = self.translator.last_seen;
        for entry in loaded.entries.iter().filter(|entry| entry.seq > seen) {
            self.translator.translate(entry, &mut self.pending);
        }
        let run = self.translator.run.clone();
        self.entries = self.engine.subscribe(run, self.translator.last_seen);
        Ok(std::mem::take(&mut self.pending))
    }
}

/// Translates journal events to ours. Keeps only the open steps.
struct EventTranslator {
    run: RunId,
    graph: Arc<Graph>,
    last_seen: Seq,
    before_ms: i64,
    input: Value,
    open: HashMap<StepNo, trace::TraceStep>,
    /// The steps that questions are about: skipping ends them.
    question_steps: HashMap<Seq, (StepNo, NodeIx)>,
}

impl EventTranslator {
    fn new(run: RunId, graph: Arc<Graph>) -> Self {
        Self {
            run,
            graph,
            last_seen: 0,
            before_ms: 0,
            input: Value::Null,
            open: HashMap::new(),
            question_steps: HashMap::new(),
        }
    }

    fn translate(&mut self, entry: &Entry, told: &mut VecDeque<Event>) {
        use journal::RunEvent as E;
        let at_ms = entry.at_ms;
        self.last_seen = entry.seq;
        let event = match &entry.event {
            journal::Event::Run(event) => event,
            // An SOP session has no steps.
            journal::Event::Sop(_) => return,
        };
        match event {
            E::Started(started) => self.input = started.input.clone(),
            E::StepStarted {
                step,
                node,
                attempt,
                arguments,
                of,
                ..
            } => {
                // A retry has no arguments in its event: they are those of the first attempt.
                let given = (!arguments.is_null()).then(|| arguments.clone());
                let line = self.start_step(*step, *node, at_ms, told, |line| {
                    line.input = given;
                    line.item = *of;
                });
                line.attempts = *attempt;
            }
            E::FannedOut { step, node, items } => {
                let items = items.clone();
                self.start_step(*step, *node, at_ms, told, |line| line.input = Some(items));
            }
            E::Waiting { step, node, .. } => {
                self.start_step(*step, *node, at_ms, told, |_| {});
            }
            E::AttemptFailed { step, failure, .. } => {
                if let Some(line) = self.open.get_mut(step) {
                    line.retried.push(failure.clone());
                }
            }
            E::StepFinished {
                step,
                node,
                label,
                output,
            } => self.end_step(*step, *node, at_ms, told, |line| {
                line.status = "succeeded";
                line.label.clone_from(label);
                line.output = Some(output.clone());
            }),
            E::FannedIn { step, node } => {
                self.end_step(*step, *node, at_ms, told, |line| line.status = "succeeded");
            }
            E::StepFailed {
                step,
                node,
                failure,
            } => self.end_step(*step, *node, at_ms, told, |line| {
                line.status = "failed";
                line.error = Some(failure.clone());
            }),
            E::Paused { pause } => {
                if let Pause::InDoubt { step, node, .. } | Pause::Child { step, node, .. } = pause {
                    self.question_steps.insert(entry.seq, (*step, *node));
                }
                let question = Question::of(&self.graph, &self.run, entry.seq, pause);
                told.push_back(Event::Paused(question));
            }
            E::Finished { outcome } => {
                let ended = RunOutcome::finished(&self.graph, &self.run, outcome);
                told.push_back(Event::Finished(ended));
            }
            E::Answered { pause, answer, .. } => {
                if let (Some((step, node)), Answer::Skip { output }) =
                    (self.question_steps.remove(pause), answer)
                {
                    self.end_step(step, node, at_ms, told, |line| {
                        line.status = "succeeded";
                        line.output = Some(output.clone());
                    });
                }
            }
            E::Resumed { .. } | E::BreakpointsSet { .. } | E::GraphExtended { .. } => {}
        }
        self.before_ms = at_ms;
    }

    /// The entry of a step; emits its start if it is new.
    fn start_step(
        &mut self,
        step: StepNo,
        node: NodeIx,
        at_ms: i64,
        told: &mut VecDeque<Event>,
        first: impl FnOnce(&mut trace::TraceStep),
    ) -> &mut trace::TraceStep {
        self.open.entry(step).or_insert_with(|| {
            let mut line = trace::TraceStep::begin(&self.graph, step, node, at_ms);
            if line.kind == "entry" {
                line.input = Some(self.input.clone());
            }
            first(&mut line);
            told.push_back(Event::StepStarted(Step::from(&line)));
            line
        })
    }

    fn end_step(
        &mut self,
        step: StepNo,
        node: NodeIx,
        at_ms: i64,
        told: &mut VecDeque<Event>,
        change: impl FnOnce(&mut trace::TraceStep),
    ) {
        // A step that only computes started at the time of the previous event.
        let began = self.before_ms;
        self.start_step(step, node, began, told, |_| {});
        if let Some(mut line) = self.open.remove(&step) {
            line.duration_ms = Some((at_ms - line.started_ms).max(0));
            change(&mut line);
            told.push_back(Event::StepFinished(Step::from(&line)));
        }
    }
}
