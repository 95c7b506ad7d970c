//! Converts events to a trace.

use super::{ForkPoint, Trace, TraceNote, TracePause, TraceStep, VERSION, outcome_value};
use crate::pause_view::{self, Extent};
use std::collections::{BTreeMap, BTreeSet};
use tramline_expr::{Str, Value};
use tramline_workflow::authority::{BudgetSource, approval_source};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, NodeIx, RunId, Seq, StepNo};
use tramline_workflow::journal::{Answer, Entry, Event, Pause, RunEvent};
use tramline_workflow::run::failure_value;

/// Renders a journal.
pub(super) fn build_trace(run: &RunId, graph: &Graph, entries: &[Entry]) -> Trace {
    let mut writer = TraceBuilder {
        graph,
        run,
        step_indexes: BTreeMap::new(),
        item_indexes: BTreeMap::new(),
        trace: Trace {
            trace_version: VERSION,
            run_id: run.to_string(),
            ..Trace::default()
        },
        unconfirmed_calls: BTreeSet::new(),
        before_ms: entries.first().map_or(0, |entry| entry.at_ms),
    };
    for entry in entries {
        writer.add(entry);
        writer.before_ms = entry.at_ms;
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
    /// The index of each open step in the list.
    step_indexes: BTreeMap<StepNo, usize>,
    /// The indexes of the item steps of each fan-out step.
    item_indexes: BTreeMap<StepNo, Vec<usize>>,
    trace: Trace,
    /// Steps with a non-repeatable call whose result is not recorded yet.
    unconfirmed_calls: BTreeSet<StepNo>,
    before_ms: i64,
}

impl TraceBuilder<'_> {
    fn add(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        self.trace.updated_ms = at_ms;
        self.trace.events = entry.seq;
        match &entry.event {
            Event::Run(RunEvent::Started(started)) => {
                self.trace.workflow = started.workflow.name.clone();
                self.trace.session = started.session.clone();
                self.trace.forked_from = started.fork.as_ref().map(|fork| ForkPoint {
                    run_id: fork.run.to_string(),
                    seq: fork.seq,
                });
                self.trace.started_ms = at_ms;
                self.trace.input = started.input.clone();
            }
            Event::Run(RunEvent::Resumed { by }) => {
                self.trace.resumed.push(TraceNote {
                    by: by.clone(),
                    via: None,
                    at_ms,
                    why: None,
                });
            }
            Event::Run(RunEvent::StepStarted {
                step,
                node,
                attempt,
                arguments,
                repeatable,
                of,
            }) => {
                if !repeatable {
                    self.unconfirmed_calls.insert(*step);
                }
                let line = self.step_mut(*step, *node, at_ms);
                line.attempts = *attempt;
                let is_new = line.item.is_none() && of.is_some();
                line.item = line.item.or(*of);
                if !arguments.is_null() {
                    line.input = Some(arguments.clone());
                }
                if let (Some(item), true) = (of, is_new) {
                    let place = self.step_indexes[step];
                    self.item_indexes.entry(item.step).or_default().push(place);
                }
            }
            Event::Run(RunEvent::FannedOut { step, node, items }) => {
                self.step_mut(*step, *node, at_ms).input = Some(items.clone());
            }
            Event::Run(RunEvent::FannedIn { step, node }) => {
                let outputs = self.collect_outputs(*step);
                self.finish_step(*step, *node, at_ms, |line| {
                    line.status = "succeeded";
                    line.output = Some(outputs);
                });
            }
            Event::Run(RunEvent::Waiting {
                step,
                node,
                until_ms,
            }) => {
                self.step_mut(*step, *node, at_ms).input =
                    Some(Value::object([("until_ms", (*until_ms).into())]));
            }
            Event::Run(RunEvent::BreakpointsSet { .. }) => {}
            Event::Run(RunEvent::AttemptFailed {
                step,
                failure,
                in_doubt,
                ..
            }) => {
                // A failure without doubt is an end; the next attempt is recorded separately.
                if !in_doubt {
                    self.unconfirmed_calls.remove(step);
                }
                if let Some(&place) = self.step_indexes.get(step) {
                    self.trace.steps[place].retried.push(failure.clone());
                }
            }
            Event::Run(RunEvent::StepFinished {
                step,
                node,
                label,
                output,
            }) => {
                self.finish_step(*step, *node, at_ms, |line| {
                    line.status = "succeeded";
                    line.label.clone_from(label);
                    line.output = Some(output.clone());
                });
            }
            Event::Run(RunEvent::StepFailed {
                step,
                node,
                failure,
            }) => {
                self.finish_step(*step, *node, at_ms, |line| {
                    line.status = "failed";
                    line.may_have_happened = failure.may_have_happened;
                    line.error = Some(failure.clone());
                });
            }
            Event::Run(RunEvent::Paused { pause }) => self.add_pause(entry.seq, at_ms, pause),
            Event::Run(RunEvent::Answered {
                pause,
                answer,
                by,
                why,
                via,
            }) => {
                self.add_answer(
                    *pause,
                    answer,
                    TraceNote {
                        by: by.clone(),
                        via: *via,
                        at_ms,
                        why: why.clone(),
                    },
                );
            }
            Event::Run(RunEvent::GraphExtended { .. }) => {}
            // SOP sessions have no steps; they are rendered elsewhere.
            Event::Sop(_) => {}
            Event::Run(RunEvent::Finished { outcome: how }) => {
                self.trace.outcome = Some(outcome_value(self.graph, how));
                self.trace.status = how.status();
                for step in std::mem::take(&mut self.unconfirmed_calls) {
                    if let Some(&place) = self.step_indexes.get(&step) {
                        self.trace.steps[place].may_have_happened = true;
                    }
                }
            }
        }
    }

    fn finish_step(
        &mut self,
        step: StepNo,
        node: NodeIx,
        at_ms: i64,
        change: impl FnOnce(&mut TraceStep),
    ) {
        // A step that only computes has no start event: it started when the previous event
        // happened.
        let began = self.before_ms;
        let line = self.step_mut(step, node, began);
        line.duration_ms = Some((at_ms - line.started_ms).max(0));
        line.may_have_happened = false;
        change(line);
        self.step_indexes.remove(&step);
        self.unconfirmed_calls.remove(&step);
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

    fn step_mut(&mut self, step: StepNo, node: NodeIx, at_ms: i64) -> &mut TraceStep {
        let place = *self.step_indexes.entry(step).or_insert_with(|| {
            let mut line = TraceStep::begin(self.graph, step, node, at_ms);
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
            node: None,
            step: None,
            layer_index: None,
            reason: None,
            source: None,
            call: pause_view::call_value(pause, Extent::Whole),
            edited_arguments: None,
            answer: None,
            by: None,
        };
        asked.node = pause.node().map(|node| self.graph.node(node).id.clone());
        match pause {
            Pause::Layer { index } => asked.layer_index = Some(*index),
            Pause::Approval { reason, .. } => {
                asked.reason = Some(reason.clone());
                asked.source = Some(approval_source(self.graph, pause).as_str());
            }
            Pause::Break { reason, .. } => asked.reason = Some(reason.clone()),
            Pause::InDoubt { step, .. } => {
                asked.step = Some(*step);
                asked.reason = self.mark_in_doubt(*step);
            }
            Pause::Effect { .. } => {
                asked.reason = Some("the original run already made this call".into());
            }
            Pause::Child { step, run, .. } => {
                asked.step = Some(*step);
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

    fn add_answer(&mut self, seq: Seq, answer: &Answer, note: TraceNote) {
        let checkpoint = Checkpoint {
            run: self.run.clone(),
            seq,
        }
        .to_string();
        let at_ms = note.at_ms;
        let Some(asked) = self
            .trace
            .pauses
            .iter_mut()
            .find(|asked| asked.checkpoint == checkpoint)
        else {
            return;
        };
        asked.by = Some(note);
        if let Answer::ProceedWith { arguments } = answer {
            asked.edited_arguments = Some(arguments.clone());
        }
        asked.answer = Some(match answer {
            Answer::Proceed | Answer::ProceedWith { .. } => "proceed",
            Answer::Reject => "reject",
            Answer::Retry => "retry",
            Answer::Skip { .. } => "skip",
            Answer::Extend { .. } => "extend",
        });
        let about = asked
            .step
            .zip(asked.node.as_deref().and_then(|id| self.graph.find(id)));
        if let (Answer::Skip { output }, Some((step, node))) = (answer, about) {
            self.finish_step(step, node, at_ms, |line| {
                line.status = "succeeded";
                line.output = Some(output.clone());
            });
        }
    }
}
