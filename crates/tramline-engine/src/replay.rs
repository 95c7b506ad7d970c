//! Replays: a run executed again with its calls answered from the journal.
//!
//! Nothing leaves the process. Pauses get their recorded answers, waits end at once, and a call
//! that is not in the journal fails. So a changed workflow can be compared with what really
//! happened.

use crate::driver::DriveOutcome;
use crate::engine::{Approvals, Engine, EngineOptions, LoadedRun, Respondent, RunStart};
use crate::fault::Fault;
use crate::policy::{ToolPattern, ToolPolicy};
use crate::ports::{Exchange, ServerTools, Store, Tool, ToolCallRequest, ToolHints, Tools};
use async_trait::async_trait;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tramline_expr::{Map, Str, Value};
use tramline_views::compare::{Comparison, compare};
use tramline_views::step_tracker::{Activity, StepEnd, StepTracker, Update};
use tramline_views::trace::Trace;
use tramline_workflow::authority::{AgentAnswers, AnswerChannel};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, StepNo, ToolName};
use tramline_workflow::journal::{
    Answer, BreakpointSet, Entry, Event, NodeBreakpoint, Outcome, Pause, RunEvent,
};
use tramline_workflow::workflow::Action;

/// Pauses that are answered in one replay; a run with more is looping.
const ROUNDS_MAX: usize = 10_000;

/// The result of a replay.
pub struct ReplayResult {
    /// The trace of the replay.
    pub trace: Trace,
    /// How it differs from the recorded run.
    pub comparison: Comparison,
    /// Pauses without a recorded answer; the replay stopped there.
    pub unanswered: Vec<Str>,
    /// Recorded calls that were not made this time: how many, by tool.
    pub unused: Vec<(ToolName, usize)>,
}

impl Engine {
    /// Replays a run, optionally with another graph, and compares. Nothing is called or stored.
    pub async fn replay(
        &self,
        id: &RunId,
        against: Option<Arc<Graph>>,
    ) -> Result<ReplayResult, Fault> {
        let Some(scratch) = &self.options().replay_store else {
            return Err(Fault::Rejected(
                "this engine has no store for replays; set one in its options".into(),
            ));
        };
        let record = self.load(id).await?;
        let graph = against.unwrap_or_else(|| Arc::clone(&record.run.graph));
        replay(&record, graph, scratch.make()?).await
    }
}

async fn replay(
    record: &LoadedRun,
    graph: Arc<Graph>,
    store: Arc<dyn Store>,
) -> Result<ReplayResult, Fault> {
    let tools = Arc::new(RecordedTools::of(&record.run.graph, &record.entries));
    let options = EngineOptions {
        // A recorded answer is given again, whoever gave it.
        approvals: Approvals {
            agents: AgentAnswers::All,
            ..Approvals::default()
        },
        workflows: false,
        skip_waits: true,
        policy: recorded_policy(&record.run.graph, &record.entries),
        process_name: "replay".into(),
        ..EngineOptions::default()
    };
    let engine = Engine::new(store, Arc::clone(&tools) as _, options);
    let mut answers = RecordedAnswers::of(&record.run.graph, &record.entries);
    let mut start = RunStart::new(graph, record.run.started.input.clone());
    start.policy = record.run.started.policy;
    start.watch = answers.watch();
    let mut handle = engine.start(start).await?;
    let id = handle.run.clone();
    let mut unanswered = Vec::new();
    let completed = matches!(record.run.outcome, Some(Outcome::Completed { .. }));
    for _ in 0..ROUNDS_MAX {
        let DriveOutcome::Paused(pauses) = handle.wait().await? else {
            break;
        };
        unanswered = answer_all(&engine, &id, &pauses, &mut answers, completed).await?;
        if !unanswered.is_empty() {
            break;
        }
        handle = engine.resume(&id).await?;
    }
    let again = engine.load(&id).await?;
    let trace = Trace::of(&id, &again.run.graph, &again.entries);
    let before = Trace::of(&record.run.id, &record.run.graph, &record.entries);
    let comparison = compare(&before, &trace);
    engine.close().await;
    Ok(ReplayResult {
        trace,
        comparison,
        unanswered,
        unused: tools.unused(),
    })
}

/// Answers the pauses that have recorded answers, and returns the others. `completed` says whether
/// the recorded run completed.
async fn answer_all(
    engine: &Engine,
    id: &RunId,
    pauses: &[(Seq, Pause)],
    answers: &mut RecordedAnswers,
    completed: bool,
) -> Result<Vec<Str>, Fault> {
    let loaded = engine.load(id).await?;
    let mut unanswered = Vec::new();
    for (seq, pause) in pauses {
        let key = RecordedAnswers::key(&loaded.run.graph, pause);
        // A journal of an older version may lack the pause after a last layer with a failed task.
        let passes = match pause {
            Pause::Break { .. } => true,
            Pause::Layer { .. } => completed,
            Pause::Approval { .. }
            | Pause::InDoubt { .. }
            | Pause::Effect { .. }
            | Pause::Form { .. }
            | Pause::Child { .. }
            | Pause::Budget { .. } => false,
        };
        let on = passes.then(|| (Answer::Proceed, Respondent::program("replay"), None));
        let Some((answer, by, why)) = answers.next(&key).or(on) else {
            unanswered.push(key.1.unwrap_or_else(|| key.0.into()));
            continue;
        };
        let asked = Checkpoint {
            run: id.clone(),
            seq: *seq,
        };
        engine.answer(&asked, answer, by, why).await?;
    }
    Ok(unanswered)
}

/// The policy under which the run paused: approvals of nodes that require none themselves came from
/// the policy or from annotations.
fn recorded_policy(graph: &Graph, entries: &[Entry]) -> ToolPolicy {
    let mut policy = ToolPolicy::default();
    for entry in entries {
        if let Event::Run(RunEvent::Paused {
            pause: Pause::Approval { node, .. },
        }) = &entry.event
            && let (None, Action::Call { tool, .. }) =
                (&graph.node(*node).approval, &graph.node(*node).action)
            && !policy.ask.iter().any(|pattern| pattern.matches(tool))
        {
            policy.ask.push(ToolPattern::exactly(tool));
        }
    }
    policy
}

type PauseKey = (&'static str, Option<Str>);

/// The recorded answers, by what was asked.
#[derive(Default)]
struct RecordedAnswers(HashMap<PauseKey, VecDeque<RecordedAnswer>>);

/// An answer, the respondent, and the reason.
type RecordedAnswer = (Answer, Respondent, Option<String>);

/// The key of a halt before a node.
const HALT_KEY: &str = "break";

impl RecordedAnswers {
    fn of(graph: &Graph, entries: &[Entry]) -> Self {
        let mut asked: HashMap<Seq, PauseKey> = HashMap::new();
        let mut answers = Self::default();
        for entry in entries {
            if let Event::Run(RunEvent::Paused { pause }) = &entry.event {
                asked.insert(entry.seq, Self::key(graph, pause));
            }
            if let Event::Run(RunEvent::Answered {
                pause,
                answer,
                by,
                why,
                via,
            }) = &entry.event
                && let Some(key) = asked.get(pause)
            {
                let via = via.unwrap_or(AnswerChannel::Program);
                let by = Respondent::new(by.clone(), via);
                let said = (answer.clone(), by, why.clone());
                answers.0.entry(key.clone()).or_default().push_back(said);
            }
        }
        answers
    }

    /// Halts before the nodes whose output a person set, to set it again.
    fn watch(&self) -> Option<BreakpointSet> {
        let given = |said: &VecDeque<RecordedAnswer>| {
            let mut answers = said.iter().map(|(answer, ..)| answer);
            answers.any(|answer| matches!(answer, Answer::Skip { .. }))
        };
        let halts = self
            .0
            .iter()
            .filter(|((kind, _), said)| *kind == HALT_KEY && given(said));
        let breaks: Vec<_> = halts
            .filter_map(|((_, node), _)| Some(NodeBreakpoint::new(node.clone()?, None)))
            .collect();
        (!breaks.is_empty()).then(|| BreakpointSet {
            breaks,
            stepping: false,
        })
    }

    fn key(graph: &Graph, pause: &Pause) -> PauseKey {
        let kind = match pause {
            // Both take the same answers, and a replay has no effects to confirm.
            Pause::Break { .. } | Pause::Effect { .. } => HALT_KEY,
            other => other.kind(),
        };
        (kind, pause.node().map(|node| graph.node(node).id.clone()))
    }

    fn next(&mut self, key: &PauseKey) -> Option<RecordedAnswer> {
        self.0.get_mut(key)?.pop_front()
    }
}

/// The result of a call.
type CallResult = Result<Value, Failure>;

/// Tools that return recorded results, for the same tool and arguments in the same order.
struct RecordedTools {
    calls: Mutex<HashMap<(ToolName, String), VecDeque<CallResult>>>,
    hints: HashMap<ToolName, bool>,
}

impl RecordedTools {
    fn of(graph: &Graph, entries: &[Entry]) -> Self {
        let mut open: HashMap<StepNo, (ToolName, String)> = HashMap::new();
        let mut calls: HashMap<_, VecDeque<_>> = HashMap::new();
        let mut hints = HashMap::new();
        let mut tracker = StepTracker::default();
        for entry in entries {
            let Some(update) = tracker.follow(entry) else {
                continue;
            };
            let (step, answer) = match update {
                Update::StepStarted {
                    step,
                    is_first,
                    activity,
                } => {
                    if let Activity::Call {
                        arguments,
                        repeatable,
                    } = activity
                        && let Action::Call { tool, .. } = &graph.node(step.node).action
                        && is_first
                    {
                        hints.insert(tool.clone(), repeatable);
                        open.insert(step.step, (tool.clone(), canonical(arguments)));
                    }
                    continue;
                }
                Update::AttemptFailed {
                    number, failure, ..
                } => (number, Err(failure.clone())),
                Update::StepEnded { step, end, .. } => match end {
                    StepEnd::Finished { output, .. } => (step.step, Ok(output.clone())),
                    StepEnd::Failed(failure) => (step.step, Err(failure.clone())),
                    StepEnd::FannedIn => continue,
                },
                Update::Answered(answered) => match answered.skipped {
                    Some((step, output)) => (step.step, Ok(output.clone())),
                    None => continue,
                },
                Update::Started(_)
                | Update::Paused(_)
                | Update::Changed(_)
                | Update::Finished { .. } => continue,
            };
            if let Some(call) = open.get(&step) {
                calls.entry(call.clone()).or_default().push_back(answer);
            }
        }
        let calls = Mutex::new(calls);
        Self { calls, hints }
    }

    fn unused(&self) -> Vec<(ToolName, usize)> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left: HashMap<ToolName, usize> = HashMap::new();
        for ((tool, _), answers) in calls.iter().filter(|(_, answers)| !answers.is_empty()) {
            *left.entry(tool.clone()).or_default() += answers.len();
        }
        let mut left: Vec<_> = left.into_iter().collect();
        left.sort();
        left
    }

    fn tool(&self, name: &ToolName) -> Arc<Tool> {
        // An unrecorded tool can be looked up, and fails when it is called.
        let repeatable = self.hints.get(name).copied().unwrap_or(true);
        Arc::new(Tool {
            name: name.clone(),
            title: None,
            description: None,
            input_schema: Value::Bool(true),
            output_schema: None,
            hints: ToolHints {
                idempotent: Some(repeatable),
                ..ToolHints::default()
            },
        })
    }
}

#[async_trait]
impl Tools for RecordedTools {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        Some(self.tool(name))
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        Ok(self.tool(name))
    }

    async fn list(&self) -> Vec<ServerTools> {
        Vec::new()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        let key = (call.tool, canonical(&call.arguments));
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = calls.get_mut(&key).and_then(VecDeque::pop_front) {
            return answer;
        }
        let (tool, arguments) = key;
        Err(Failure::new(
            FailureKind::NotRecorded,
            format!("the journal has no call of {tool} with {}", cut(&arguments)),
        ))
    }
}

/// The same text for equal values, whatever the order of their fields.
fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut fields: Vec<_> = map
                    .iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect();
                fields.sort_by_key(|(key, _)| *key);
                let map: Map = fields
                    .into_iter()
                    .map(|(key, value)| (key.clone(), value))
                    .collect();
                map.into()
            }
            Value::Array(items) => Value::array(items.iter().map(sorted)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    sorted(value).to_json()
}

fn cut(text: &str) -> String {
    /// Characters of a value that a difference shows.
    const SHOWN_CHARS_MAX: usize = 200;
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
