//! From events to the lines of a trace.

use super::{Asked, ForkPoint, Note, Step, Trace, VERSION, outcome};
use crate::authority::{BudgetSource, approval_source};
use crate::graph::Graph;
use crate::ids::{Checkpoint, NodeIx, RunId, Seq, StepNo};
use crate::journal::{Answer, Entry, Event, Pause};
use crate::question::{self, Extent};
use crate::run::failure_value;
use std::collections::{BTreeMap, BTreeSet};
use tramline_expr::{Str, Value};

/// Renders a journal.
pub(super) fn trace(run: &RunId, graph: &Graph, entries: &[Entry]) -> Trace {
    let mut writer = Writer {
        graph,
        run,
        places: BTreeMap::new(),
        items: BTreeMap::new(),
        trace: Trace {
            trace_version: VERSION,
            run_id: run.to_string(),
            ..Trace::default()
        },
        out: BTreeSet::new(),
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

struct Writer<'a> {
    graph: &'a Graph,
    run: &'a RunId,
    /// Where each open step stands in the list.
    places: BTreeMap<StepNo, usize>,
    /// Where the steps for the items of each spread step stand.
    items: BTreeMap<StepNo, Vec<usize>>,
    trace: Trace,
    /// Steps whose call was announced and may not be repeated, and whose end is not told yet.
    out: BTreeSet<StepNo>,
    before_ms: i64,
}

impl Writer<'_> {
    fn add(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        self.trace.updated_ms = at_ms;
        self.trace.events = entry.seq;
        match &entry.event {
            Event::Started(started) => {
                self.trace.workflow = started.workflow.name.clone();
                self.trace.session = started.session.clone();
                self.trace.forked_from = started.fork.as_ref().map(|fork| ForkPoint {
                    run_id: fork.run.to_string(),
                    seq: fork.seq,
                });
                self.trace.started_ms = at_ms;
                self.trace.input = started.input.clone();
            }
            Event::Resumed { by } => {
                self.trace.resumed.push(Note {
                    by: by.clone(),
                    via: None,
                    at_ms,
                    why: None,
                });
            }
            Event::StepStarted {
                step,
                node,
                attempt,
                arguments,
                repeatable,
                of,
            } => {
                if !repeatable {
                    self.out.insert(*step);
                }
                let line = self.line(*step, *node, at_ms);
                line.attempts = *attempt;
                let is_new = line.item.is_none() && of.is_some();
                line.item = line.item.or(*of);
                if !arguments.is_null() {
                    line.input = Some(arguments.clone());
                }
                if let (Some(item), true) = (of, is_new) {
                    let place = self.places[step];
                    self.items.entry(item.step).or_default().push(place);
                }
            }
            Event::Spread { step, node, items } => {
                self.line(*step, *node, at_ms).input = Some(items.clone());
            }
            Event::Gathered { step, node } => {
                let outputs = self.gathered(*step);
                self.end(*step, *node, at_ms, |line| {
                    line.status = "succeeded";
                    line.output = Some(outputs);
                });
            }
            Event::Waiting {
                step,
                node,
                until_ms,
            } => {
                self.line(*step, *node, at_ms).input =
                    Some(Value::object([("until_ms", (*until_ms).into())]));
            }
            Event::Watched { .. } => {}
            Event::AttemptFailed {
                step,
                failure,
                in_doubt,
                ..
            } => {
                // A failure that left no doubt is an end; the next attempt is announced anew.
                if !in_doubt {
                    self.out.remove(step);
                }
                if let Some(&place) = self.places.get(step) {
                    self.trace.steps[place].retried.push(failure.clone());
                }
            }
            Event::StepFinished {
                step,
                node,
                label,
                output,
            } => {
                self.end(*step, *node, at_ms, |line| {
                    line.status = "succeeded";
                    line.label.clone_from(label);
                    line.output = Some(output.clone());
                });
            }
            Event::StepFailed {
                step,
                node,
                failure,
            } => {
                self.end(*step, *node, at_ms, |line| {
                    line.status = "failed";
                    line.may_have_happened = failure.may_have_happened;
                    line.error = Some(failure.clone());
                });
            }
            Event::Paused { pause } => self.asked(entry.seq, at_ms, pause),
            Event::Answered {
                pause,
                answer,
                by,
                why,
                via,
            } => {
                self.answered(
                    *pause,
                    answer,
                    Note {
                        by: by.clone(),
                        via: *via,
                        at_ms,
                        why: why.clone(),
                    },
                );
            }
            Event::Amended { .. } => {}
            // A guided run has no steps; it is told by its own front end.
            Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_) => {}
            Event::Finished { outcome: how } => {
                self.trace.outcome = Some(outcome(self.graph, how));
                self.trace.status = how.word();
                for step in std::mem::take(&mut self.out) {
                    if let Some(&place) = self.places.get(&step) {
                        self.trace.steps[place].may_have_happened = true;
                    }
                }
            }
        }
    }

    fn end(&mut self, step: StepNo, node: NodeIx, at_ms: i64, change: impl FnOnce(&mut Step)) {
        // A step that only computes has no start of its own: it began when the one before ended.
        let began = self.before_ms;
        let line = self.line(step, node, began);
        line.duration_ms = Some((at_ms - line.started_ms).max(0));
        line.may_have_happened = false;
        change(line);
        self.places.remove(&step);
        self.out.remove(&step);
    }

    /// The outputs of a spread step's items, each at its place.
    fn gathered(&mut self, step: StepNo) -> Value {
        let mut outputs = Vec::new();
        for place in self.items.remove(&step).unwrap_or_default() {
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

    fn line(&mut self, step: StepNo, node: NodeIx, at_ms: i64) -> &mut Step {
        let place = *self.places.entry(step).or_insert_with(|| {
            let mut line = Step::begin(self.graph, step, node, at_ms);
            if line.kind == "entry" {
                line.input = Some(self.trace.input.clone());
            }
            self.trace.steps.push(line);
            self.trace.steps.len() - 1
        });
        &mut self.trace.steps[place]
    }

    fn asked(&mut self, seq: Seq, at_ms: i64, pause: &Pause) {
        let mut asked = Asked {
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
            call: question::call(pause, Extent::Whole),
            edited_arguments: None,
            answer: None,
            by: None,
        };
        asked.node = pause.node().map(|node| self.graph.node(node).id.clone());
        match pause {
            Pause::Layer { index } => asked.layer_index = Some(*index),
            Pause::Approval { reason, .. } => {
                asked.reason = Some(reason.clone());
                asked.source = Some(approval_source(self.graph, pause).word());
            }
            Pause::Break { reason, .. } => asked.reason = Some(reason.clone()),
            Pause::InDoubt { step, .. } => {
                asked.step = Some(*step);
                asked.reason = self.doubted(*step);
            }
            Pause::Effect { .. } => {
                asked.reason = Some("the run it branched off from has made this call".into());
            }
            Pause::Child { step, run, .. } => {
                asked.step = Some(*step);
                asked.reason = Some(format!("{run} waits").into());
            }
            Pause::Budget {
                what,
                used,
                limit,
                source,
            } => {
                asked.source = source.map(BudgetSource::word);
                let unit = what.unit();
                asked.reason = Some(format!("{used} of {limit} {unit} used").into());
            }
        }
        self.trace.pauses.push(asked);
    }

    /// Marks a step as one whose call may have happened, and tells the failure that left it so.
    fn doubted(&mut self, step: StepNo) -> Option<Str> {
        let place = *self.places.get(&step)?;
        let line = &mut self.trace.steps[place];
        line.may_have_happened = true;
        let failure = line.retried.last();
        let failure = failure.filter(|failure| failure.may_have_happened)?;
        Some(failure.message.as_str().into())
    }

    fn answered(&mut self, seq: Seq, answer: &Answer, note: Note) {
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
            self.end(step, node, at_ms, |line| {
                line.status = "succeeded";
                line.output = Some(output.clone());
            });
        }
    }
}
