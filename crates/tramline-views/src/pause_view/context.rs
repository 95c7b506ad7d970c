//! The context of a pause: who requested the run, and what it has done so far.

use crate::step_tracker::{Activity, StepTracker, Update};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{Map, Value};
use tramline_workflow::ids::{RunId, StepNo};
use tramline_workflow::journal::{Entry, Event, SopEvent};
use tramline_workflow::run::Run;
use tramline_workflow::sop::Sop;
use tramline_workflow::workflow::Action;

/// Recent calls that are shown; older ones are only counted.
const CALLS_SHOWN_MAX: usize = 10;
/// Characters of a past call's arguments that are shown; enough to recognise it.
const ARGUMENTS_CHARS_MAX: usize = 120;

/// Who requested the run: the workflow, who started it, and the intent.
pub(super) fn requester_value(run: &Run) -> Value {
    let started = &run.started;
    let mut told = Map::new();
    told.insert("workflow", run.graph.workflow.name.clone().into());
    told.insert("by", started.by.clone().into());
    let labels = [
        ("session_id", &started.session),
        ("owner", &started.owner),
        ("intent", &started.intent),
    ];
    for (key, label) in labels {
        if let Some(label) = label {
            told.insert(key, label.clone().into());
        }
    }
    if let Some(parent) = &started.parent {
        told.insert("parent_run_id", parent.run.as_str().into());
    }
    told.into()
}

/// The calls of the run so far; the latest with their status.
pub(super) fn calls_value(run: &Run, entries: &[Entry]) -> Value {
    let mut calls: Vec<PastCall<'_>> = Vec::new();
    let mut places: HashMap<StepNo, usize> = HashMap::new();
    let mut tracker = StepTracker::default();
    for entry in entries {
        let update = tracker.follow(entry);
        if let Some(Update::StepStarted {
            step,
            is_first: true,
            activity: Activity::Call { arguments, .. },
        }) = update
        {
            let node = run.graph.node(step.node);
            if let Action::Call { tool, .. } = &node.action {
                places.insert(step.step, calls.len());
                calls.push(PastCall {
                    node: node.id.as_str(),
                    tool: tool.to_string(),
                    arguments,
                    status: "open",
                });
            }
        } else if let Some(Update::StepEnded { step, end, .. }) = update
            && let Some(call) = places.get(&step.step).and_then(|at| calls.get_mut(*at))
        {
            call.status = end.status();
        }
    }
    progress_value(run.step_count.into(), &calls)
}

/// The calls of an SOP session so far, except the one that an approval run asks about. Its steps are
/// the moves.
pub fn session_calls_value(entries: &[Entry], asking: &RunId) -> Value {
    let mut calls: Vec<PastCall<'_>> = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    let (mut sops, mut node, mut moves): (&[Arc<Sop>], &str, usize) = (&[], "", 0);
    for entry in entries {
        let Event::Sop(event) = &entry.event else {
            continue;
        };
        match event {
            SopEvent::SopStarted(begun) => sops = &begun.sops,
            SopEvent::Moved(moved) => {
                let sop = sops.get(moved.to.sop as usize);
                let to = sop.and_then(|sop| sop.nodes.get(moved.to.node.index()));
                node = to.map_or("", |it| it.id.as_str());
                moves += 1;
            }
            SopEvent::ToolCalled(called) if called.run.as_ref() != Some(asking) => {
                places.insert(called.call, calls.len());
                calls.push(PastCall {
                    node,
                    tool: called.tool.to_string(),
                    arguments: &called.arguments,
                    status: "open",
                });
            }
            SopEvent::ToolAnswered(answered) => {
                let place = places.get(&answered.call).copied();
                if let Some(call) = place.and_then(|at| calls.get_mut(at)) {
                    call.status = match &answered.failure {
                        None => "succeeded",
                        Some(_) => "failed",
                    };
                }
            }
            SopEvent::ToolCalled(_) | SopEvent::Noted(_) | SopEvent::Refused(_) => {}
        }
    }
    progress_value(moves.into(), &calls)
}

fn progress_value(steps: Value, calls: &[PastCall<'_>]) -> Value {
    let before = calls.len().saturating_sub(CALLS_SHOWN_MAX);
    let latest = calls[before..].iter().map(PastCall::value);
    Value::object([
        ("steps", steps),
        ("calls", calls.len().into()),
        ("latest", Value::array(latest)),
    ])
}

/// A past call.
struct PastCall<'e> {
    node: &'e str,
    tool: String,
    arguments: &'e Value,
    status: &'static str,
}

impl PastCall<'_> {
    fn value(&self) -> Value {
        let arguments = match self.arguments {
            Value::Null => String::new(),
            other => other.to_json(),
        };
        let mut shown: String = arguments.chars().take(ARGUMENTS_CHARS_MAX).collect();
        if shown.len() < arguments.len() {
            shown.push('…');
        }
        Value::object([
            ("node", self.node.into()),
            ("tool", self.tool.as_str().into()),
            ("arguments", shown.into()),
            ("status", self.status.into()),
        ])
    }
}
