//! A run as it happens: its events told as plain data, in order, each when it is durable.

use super::{Ended, Error, Question, Step};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::graph::Graph;
use tramline_core::ids::{NodeIx, RunId, Seq, StepNo};
use tramline_core::journal::{self, Answer, Entry, Pause};
use tramline_core::trace;
use tramline_engine::Engine;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A step began. Every step has one; that of a step which only computes is told when it ends.
    StepStarted(Step),
    /// A step ended, well or not. One that is spread over items gives no output of its own here:
    /// its items are steps, and were told before it.
    StepFinished(Step),
    /// The run asks something.
    Asked(Question),
    /// The run ended.
    Finished(Ended),
}

/// The events of a run, one after the other.
pub struct Follow {
    engine: Engine,
    entries: tramline_engine::Follow,
    telling: Telling,
    told: VecDeque<Event>,
}

impl Follow {
    /// A run's events from its beginning on.
    pub(super) fn new(engine: &Engine, run: &RunId, graph: Arc<Graph>) -> Self {
        Self {
            engine: engine.clone(),
            entries: engine.subscribe(run.clone(), 0),
            telling: Telling::new(run.clone(), graph),
            told: VecDeque::new(),
        }
    }

    /// The next event, also of another process; nothing after the last. It waits while the run
    /// does.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.told.pop_front() {
                return Ok(Some(event));
            }
            let Some(entry) = self.entries.next().await? else {
                return Ok(None);
            };
            if let journal::Event::Amended { .. } = entry.event {
                let graph = self.engine.load(&self.telling.run).await?.run.graph;
                self.telling.graph = graph;
            }
            self.telling.tell(&entry, &mut self.told);
        }
    }

    /// What is in the journal and was not told yet, without waiting for more.
    pub(super) async fn rest(&mut self) -> Result<VecDeque<Event>, Error> {
        let loaded = self.engine.load(&self.telling.run).await?;
        self.telling.graph = loaded.run.graph;
        let seen = self.telling.seen;
        for entry in loaded.entries.iter().filter(|entry| entry.seq > seen) {
            self.telling.tell(entry, &mut self.told);
        }
        let run = self.telling.run.clone();
        self.entries = self.engine.subscribe(run, self.telling.seen);
        Ok(std::mem::take(&mut self.told))
    }
}

/// From the journal's events to ours, keeping no more than the steps that are open.
struct Telling {
    run: RunId,
    graph: Arc<Graph>,
    seen: Seq,
    before_ms: i64,
    input: Value,
    open: HashMap<StepNo, trace::Step>,
    /// The steps that questions are about: a skip ends them.
    asked: HashMap<Seq, (StepNo, NodeIx)>,
}

impl Telling {
    fn new(run: RunId, graph: Arc<Graph>) -> Self {
        Self {
            run,
            graph,
            seen: 0,
            before_ms: 0,
            input: Value::Null,
            open: HashMap::new(),
            asked: HashMap::new(),
        }
    }

    fn tell(&mut self, entry: &Entry, told: &mut VecDeque<Event>) {
        use journal::Event as E;
        let at_ms = entry.at_ms;
        self.seen = entry.seq;
        match &entry.event {
            E::Started(started) => self.input = started.input.clone(),
            E::StepStarted {
                step,
                node,
                attempt,
                arguments,
                of,
                ..
            } => {
                // A repetition says no arguments: they are those of the first attempt.
                let given = (!arguments.is_null()).then(|| arguments.clone());
                let line = self.begin(*step, *node, at_ms, told, |line| {
                    line.input = given;
                    line.item = *of;
                });
                line.attempts = *attempt;
            }
            E::Spread { step, node, items } => {
                let items = items.clone();
                self.begin(*step, *node, at_ms, told, |line| line.input = Some(items));
            }
            E::Waiting { step, node, .. } => {
                self.begin(*step, *node, at_ms, told, |_| {});
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
            } => self.end(*step, *node, at_ms, told, |line| {
                line.status = "succeeded";
                line.label.clone_from(label);
                line.output = Some(output.clone());
            }),
            E::Gathered { step, node } => {
                self.end(*step, *node, at_ms, told, |line| line.status = "succeeded");
            }
            E::StepFailed {
                step,
                node,
                failure,
            } => self.end(*step, *node, at_ms, told, |line| {
                line.status = "failed";
                line.error = Some(failure.clone());
            }),
            E::Paused { pause } => {
                if let Pause::InDoubt { step, node, .. } | Pause::Child { step, node, .. } = pause {
                    self.asked.insert(entry.seq, (*step, *node));
                }
                let question = Question::of(&self.graph, &self.run, entry.seq, pause);
                told.push_back(Event::Asked(question));
            }
            E::Finished { outcome } => {
                let ended = Ended::over(&self.graph, &self.run, outcome);
                told.push_back(Event::Finished(ended));
            }
            E::Answered { pause, answer, .. } => {
                if let (Some((step, node)), Answer::Skip { output }) =
                    (self.asked.remove(pause), answer)
                {
                    self.end(step, node, at_ms, told, |line| {
                        line.status = "succeeded";
                        line.output = Some(output.clone());
                    });
                }
            }
            E::Resumed { .. } | E::Watched { .. } | E::Amended { .. } => {}
            // A guided run is not followed by steps: it has none.
            E::Guided(_)
            | E::Moved(_)
            | E::Noted(_)
            | E::ToolCalled(_)
            | E::ToolAnswered(_)
            | E::Refused(_) => {}
        }
        self.before_ms = at_ms;
    }

    /// The line of a step, told as begun if it is new.
    fn begin(
        &mut self,
        step: StepNo,
        node: NodeIx,
        at_ms: i64,
        told: &mut VecDeque<Event>,
        first: impl FnOnce(&mut trace::Step),
    ) -> &mut trace::Step {
        self.open.entry(step).or_insert_with(|| {
            let mut line = trace::Step::begin(&self.graph, step, node, at_ms);
            if line.kind == "entry" {
                line.input = Some(self.input.clone());
            }
            first(&mut line);
            told.push_back(Event::StepStarted(Step::from(&line)));
            line
        })
    }

    fn end(
        &mut self,
        step: StepNo,
        node: NodeIx,
        at_ms: i64,
        told: &mut VecDeque<Event>,
        change: impl FnOnce(&mut trace::Step),
    ) {
        // A step that only computes began when the event before it happened.
        let began = self.before_ms;
        self.begin(step, node, began, told, |_| {});
        if let Some(mut line) = self.open.remove(&step) {
            line.duration_ms = Some((at_ms - line.started_ms).max(0));
            change(&mut line);
            told.push_back(Event::StepFinished(Step::from(&line)));
        }
    }
}
