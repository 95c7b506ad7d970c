//! Converts events to a trace.

use super::{ForkPoint, Trace, TraceNote, TracePause, TraceStep, VERSION, outcome_value};
use crate::pause_view::{self, Extent};
use crate::step_tracker::{Activity, PauseResponse, StepEnd, StepTracker, TrackedStep, Update};
use std::collections::BTreeMap;
use tramline_expr::{Str, Value};
use tramline_workflow::authority::{BudgetSource, approval_source};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, StepNo};
use tramline_workflow::journal::{Answer, Entry, Pause};
use tramline_workflow::run::failure_value;

/// Renders a journal.
pub(super) fn build_trace(run: &RunId, graph: &Graph, entries: &[Entry]) -> Trace {
    let mut writer = TraceBuilder {
        graph,
        run,
        tracker: StepTracker::default(),
        step_indexes: BTreeMap::new(),
        item_indexes: BTreeMap::new(),
        trace: Trace {
            trace_version: VERSION,
            run_id: run.to_string(),
            ..Trace::default()
        },
    };
    for entry in entries {
        writer.add(entry);
    }
    let waits = writer
        .trace
        .pauses
        .iter()
        .any(|asked| asked.answer.is_none());
    if writer.trace.outcome.is_none() {
        writer.trace.status = if waits { "paused" } else { "running" };
    }
    writer.trace
}

struct TraceBuilder<'a> {
    graph: &'a Graph,
    run: &'a RunId,
    tracker: StepTracker,
    /// The index of each open step in the list.
    step_indexes: BTreeMap<StepNo, usize>,
    /// The indexes of the item steps of each fan-out step.
    item_indexes: BTreeMap<StepNo, Vec<usize>>,
    trace: Trace,
}

impl TraceBuilder<'_> {
    fn add(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        self.trace.updated_ms = at_ms;
        self.trace.events = entry.seq;
        // SOP sessions have no steps; they are rendered elsewhere.
        let Some(update) = self.tracker.follow(entry) else {
            return;
        };
        match update {
            Update::Started(started) => {
                self.trace.workflow = started.workflow.name.clone();
                self.trace.session = started.session.clone();
                self.trace.forked_from = started.fork.as_ref().map(|fork| ForkPoint {
                    run_id: fork.run.to_string(),
                    seq: fork.seq,
                });
                self.trace.started_ms = at_ms;
                self.trace.input = started.input.clone();
            }
            Update::StepStarted {
                step,
                is_first,
                activity,
            } => self.start_step(&step, is_first, activity),
            Update::AttemptFailed {
                number, failure, ..
            } => {
                if let Some(&place) = self.step_indexes.get(&number) {
                    self.trace.steps[place].retried.push(failure.clone());
                }
            }
            Update::StepEnded { step, end, .. } => self.end_step(&step, at_ms, end),
            Update::Paused(pause) => self.add_pause(entry.seq, at_ms, pause),
            Update::Answered(answered) => self.add_answer(at_ms, answered),
            Update::Changed(change) => {
                if change.is_take_over() {
                    self.trace.resumed.push(TraceNote {
                        by: change.by.clone(),
                        via: None,
                        at_ms,
                        why: None,
                    });
                }
            }
            Update::Finished { outcome, steps, .. } => {
                self.trace.outcome = Some(outcome_value(self.graph, outcome));
                self.trace.status = outcome.status();
                for step in steps.iter().filter(|step| step.is_unconfirmed) {
                    if let Some(&place) = self.step_indexes.get(&step.step) {
                        self.trace.steps[place].may_have_happened = true;
                    }
                }
            }
        }
    }

    fn start_step(&mut self, step: &TrackedStep, is_first: bool, activity: Activity<'_>) {
        let line = self.step_mut(step);
        line.attempts = step.attempt;
        line.item = step.item;
        match activity {
            Activity::Call { arguments, .. } if arguments.is_null() => {}
            Activity::Call { arguments, .. } => line.input = Some(arguments.clone()),
            Activity::FanOut(items) => line.input = Some(items.clone()),
            Activity::Wait(until_ms) => {
                line.input = Some(Value::object([("until_ms", until_ms.into())]));
            }
        }
        if let (Some(item), true) = (step.item, is_first) {
            let place = self.step_indexes[&step.step];
            self.item_indexes.entry(item.step).or_default().push(place);
        }
    }

    fn end_step(&mut self, step: &TrackedStep, at_ms: i64, end: StepEnd<'_>) {
        let outputs = match end {
            StepEnd::FannedIn => self.collect_outputs(step.step),
            StepEnd::Finished { output, .. } => output.clone(),
            StepEnd::Failed(_) => Value::Null,
        };
        let line = self.step_mut(step);
        line.duration_ms = Some((at_ms - line.started_ms).max(0));
        match end {
            StepEnd::Failed(failure) => {
                line.status = "failed";
                line.may_have_happened = failure.may_have_happened;
                line.error = Some(failure.clone());
            }
            StepEnd::Finished { .. } | StepEnd::FannedIn => {
                line.status = "succeeded";
                line.may_have_happened = false;
                line.output = Some(outputs);
                if let StepEnd::Finished { label, .. } = end {
                    line.label = label.cloned();
                }
            }
        }
        self.step_indexes.remove(&step.step);
    }

    /// The outputs of a fan-out step's items, by index.
    fn collect_outputs(&mut self, step: StepNo) -> Value {
        let mut outputs = Vec::new();
        for place in self.item_indexes.remove(&step).unwrap_or_default() {
            let line = &self.trace.steps[place];
            let place = line.item.map_or(0, |item| item.index as usize);
            if outputs.len() <= place {
                outputs.resize(place + 1, Value::Null);
            }
            outputs[place] = match (&line.output, &line.error) {
                (Some(output), _) => output.clone(),
                (None, Some(failure)) => failure_value(failure),
                (None, None) => Value::Null,
            };
        }
        outputs.into()
    }

    fn step_mut(&mut self, from: &TrackedStep) -> &mut TraceStep {
        let place = *self.step_indexes.entry(from.step).or_insert_with(|| {
            let mut line = TraceStep::begin(self.graph, from.step, from.node, from.since_ms);
            if line.kind == "entry" {
                line.input = Some(self.trace.input.clone());
            }
            self.trace.steps.push(line);
            self.trace.steps.len() - 1
        });
        &mut self.trace.steps[place]
    }

    fn add_pause(&mut self, seq: Seq, at_ms: i64, pause: &Pause) {
        let mut asked = TracePause {
            checkpoint: Checkpoint {
                run: self.run.clone(),
                seq,
            }
            .to_string(),
            at_ms,
            kind: pause.kind(),
            node: pause.node().map(|node| self.graph.node(node).id.clone()),
            step: pause.step(),
            layer_index: None,
            reason: None,
            source: None,
            call: pause_view::call_value(pause, Extent::Whole),
            edited_arguments: None,
            answer: None,
            by: None,
        };
        match pause {
            Pause::Layer { index } => asked.layer_index = Some(*index),
            Pause::Approval { reason, .. } => {
                asked.reason = Some(reason.clone());
                asked.source = Some(approval_source(self.graph, pause).as_str());
            }
            Pause::Break { reason, .. } => asked.reason = Some(reason.clone()),
            Pause::InDoubt { step, .. } => {
                asked.reason = self.mark_in_doubt(*step);
            }
            Pause::Effect { .. } => {
                asked.reason = Some("the original run already made this call".into());
            }
            Pause::Form { form, .. } => asked.reason = Some(form.message.clone()),
            Pause::Child { run, .. } => {
                asked.reason = Some(format!("{run} is paused").into());
            }
            Pause::Budget {
                what,
                used,
                limit,
                source,
            } => {
                asked.source = source.map(BudgetSource::as_str);
                let unit = what.unit();
                asked.reason = Some(format!("{used} of {limit} {unit} used").into());
            }
        }
        self.trace.pauses.push(asked);
    }

    /// Marks a step's call as possibly made, and returns the failure that caused the doubt.
    fn mark_in_doubt(&mut self, step: StepNo) -> Option<Str> {
        let place = *self.step_indexes.get(&step)?;
        let line = &mut self.trace.steps[place];
        line.may_have_happened = true;
        let failure = line.retried.last();
        let failure = failure.filter(|failure| failure.may_have_happened)?;
        Some(failure.message.as_str().into())
    }

    fn add_answer(&mut self, at_ms: i64, answered: PauseResponse<'_>) {
        let checkpoint = Checkpoint {
            run: self.run.clone(),
            seq: answered.seq,
        }
        .to_string();
        let mut pauses = self.trace.pauses.iter_mut();
        let Some(asked) = pauses.find(|asked| asked.checkpoint == checkpoint) else {
            return;
        };
        asked.by = Some(TraceNote {
            by: answered.by.clone(),
            via: answered.via,
            at_ms,
            why: answered.why.map(str::to_owned),
        });
        if let Answer::ProceedWith { arguments } = answered.answer {
            asked.edited_arguments = Some(arguments.clone());
        }
        asked.answer = Some(answered.answer.name());
        if let Some((step, output)) = &answered.skipped {
            let label = None;
            self.end_step(step, at_ms, StepEnd::Finished { label, output });
        }
    }
}
