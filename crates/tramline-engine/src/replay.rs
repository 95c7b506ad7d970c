//! Replays: a run done again from its record, its calls answered from the journal.
//!
//! Nothing leaves the process. What was answered to the run's questions is answered again, waits
//! are over at once, and a call that the record does not have fails. So a workflow can be changed
//! and held against what really happened.

use crate::drive::Ended;
use crate::engine::{Approvals, Engine, Loaded, Options, Respondent, Start};
use crate::fault::Fault;
use crate::policy::{Pattern, Policy};
use crate::seams::{Call, Exchange, Hints, Listing, Store, Tool, Tools};
use async_trait::async_trait;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tramline_core::authority::{AgentAnswers, AnswerChannel};
use tramline_core::compare::{Comparison, compare};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId, Seq, StepNo, ToolName};
use tramline_core::journal::{Answer, Break, Entry, Event, Outcome, Pause, Watch};
use tramline_core::trace::Trace;
use tramline_core::workflow::Action;
use tramline_core::{Map, Str, Value};

/// A run that pauses and is answered more often than this is going in circles.
const ROUNDS_MAX: usize = 10_000;

/// What a replay came to.
pub struct Replayed {
    /// The run as it went this time.
    pub trace: Trace,
    /// How that differs from the record.
    pub comparison: Comparison,
    /// Questions that the record has no answer to; the replay stopped there.
    pub unanswered: Vec<Str>,
    /// Recorded calls that were not made this time: how many, by tool.
    pub unused: Vec<(ToolName, usize)>,
}

impl Engine {
    /// Does a run again, with another graph if one is given, and compares. Nothing is called, and
    /// nothing is kept.
    pub async fn replay(&self, id: &RunId, against: Option<Arc<Graph>>) -> Result<Replayed, Fault> {
        let Some(scratch) = &self.options().scratch else {
            return Err(Fault::Refused(
                "this engine has no place to replay in".into(),
            ));
        };
        let record = self.load(id).await?;
        let graph = against.unwrap_or_else(|| Arc::clone(&record.run.graph));
        replay(&record, graph, scratch.make()?).await
    }
}

async fn replay(
    record: &Loaded,
    graph: Arc<Graph>,
    store: Arc<dyn Store>,
) -> Result<Replayed, Fault> {
    let tools = Arc::new(Recorded::of(&record.run.graph, &record.entries));
    let options = Options {
        // What was answered once is answered again, whoever it was.
        approvals: Approvals {
            agents: AgentAnswers::All,
            ..Approvals::default()
        },
        workflows: false,
        hurry: true,
        policy: policy_of(&record.run.graph, &record.entries),
        name: "replay".into(),
        ..Options::default()
    };
    let engine = Engine::new(store, Arc::clone(&tools) as _, options);
    let mut answers = Answers::of(&record.run.graph, &record.entries);
    let mut start = Start::new(graph, record.run.started.input.clone());
    start.policy = record.run.started.policy;
    start.watch = answers.watch();
    let mut handle = engine.start(start).await?;
    let id = handle.run.clone();
    let mut unanswered = Vec::new();
    let completed = matches!(record.run.outcome, Some(Outcome::Completed { .. }));
    for _ in 0..ROUNDS_MAX {
        let Ended::Paused(pauses) = handle.ended().await? else {
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
    Ok(Replayed {
        trace,
        comparison,
        unanswered,
        unused: tools.unused(),
    })
}

/// Answers what the record has answers to. Gives the questions it has none to. `completed` says
/// whether the recorded run came to its end.
async fn answer_all(
    engine: &Engine,
    id: &RunId,
    pauses: &[(Seq, Pause)],
    answers: &mut Answers,
    completed: bool,
) -> Result<Vec<Str>, Fault> {
    let loaded = engine.load(id).await?;
    let mut unanswered = Vec::new();
    for (seq, pause) in pauses {
        let key = Answers::key(&loaded.run.graph, pause);
        // A record of an older version may lack the look at a last layer in which a task failed.
        let passes = match pause {
            Pause::Break { .. } => true,
            Pause::Layer { .. } => completed,
            Pause::Approval { .. }
            | Pause::InDoubt { .. }
            | Pause::Effect { .. }
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

/// The policy under which a run was asked what it was asked: questions about nodes that ask for no
/// approval themselves came from it, or from what their tools are annotated with.
fn policy_of(graph: &Graph, entries: &[Entry]) -> Policy {
    let mut policy = Policy::default();
    for entry in entries {
        if let Event::Paused {
            pause: Pause::Approval { node, .. },
        } = &entry.event
            && let (None, Action::Call { tool, .. }) =
                (&graph.node(*node).approval, &graph.node(*node).action)
            && !policy.ask.iter().any(|pattern| pattern.matches(tool))
        {
            policy.ask.push(Pattern::exactly(tool));
        }
    }
    policy
}

type Question = (&'static str, Option<Str>);

/// What was answered, by what was asked about.
#[derive(Default)]
struct Answers(HashMap<Question, VecDeque<Said>>);

/// An answer, by whom, why.
type Said = (Answer, Respondent, Option<String>);

/// What a halt before a node is called here.
const HALT: &str = "break";

impl Answers {
    fn of(graph: &Graph, entries: &[Entry]) -> Self {
        let mut asked: HashMap<Seq, Question> = HashMap::new();
        let mut answers = Self::default();
        for entry in entries {
            match &entry.event {
                Event::Paused { pause } => {
                    asked.insert(entry.seq, Self::key(graph, pause));
                }
                Event::Answered {
                    pause,
                    answer,
                    by,
                    why,
                    via,
                } => {
                    if let Some(key) = asked.get(pause) {
                        let via = via.unwrap_or(AnswerChannel::Program);
                        let by = Respondent::new(by.clone(), via);
                        let said = (answer.clone(), by, why.clone());
                        answers.0.entry(key.clone()).or_default().push_back(said);
                    }
                }
                _ => {}
            }
        }
        answers
    }

    /// Halts before the nodes that somebody gave their output, to give it to them again.
    fn watch(&self) -> Option<Watch> {
        let given = |said: &VecDeque<Said>| {
            let mut answers = said.iter().map(|(answer, ..)| answer);
            answers.any(|answer| matches!(answer, Answer::Skip { .. }))
        };
        let halts = self
            .0
            .iter()
            .filter(|((kind, _), said)| *kind == HALT && given(said));
        let breaks: Vec<_> = halts
            .filter_map(|((_, node), _)| {
                Some(Break {
                    node: node.clone()?,
                    condition: None,
                })
            })
            .collect();
        (!breaks.is_empty()).then(|| Watch {
            breaks,
            stepping: false,
        })
    }

    fn key(graph: &Graph, pause: &Pause) -> Question {
        let kind = match pause {
            // Both take the same answers, and a replay has no effects to ask about.
            Pause::Break { .. } | Pause::Effect { .. } => HALT,
            other => other.kind(),
        };
        (kind, pause.node().map(|node| graph.node(node).id.clone()))
    }

    fn next(&mut self, key: &Question) -> Option<Said> {
        self.0.get_mut(key)?.pop_front()
    }
}

/// How a call ended.
type Ending = Result<Value, Failure>;

/// Tools that answer what was answered before, for the same tool and arguments in the same order.
struct Recorded {
    calls: Mutex<HashMap<(ToolName, String), VecDeque<Ending>>>,
    hints: HashMap<ToolName, bool>,
}

impl Recorded {
    fn of(graph: &Graph, entries: &[Entry]) -> Self {
        let mut open: HashMap<StepNo, (ToolName, String)> = HashMap::new();
        let mut calls: HashMap<_, VecDeque<_>> = HashMap::new();
        let mut hints = HashMap::new();
        let mut asked: HashMap<Seq, StepNo> = HashMap::new();
        for entry in entries {
            let (step, answer) = match &entry.event {
                Event::StepStarted {
                    step,
                    node,
                    arguments,
                    repeatable,
                    ..
                } => {
                    if let Action::Call { tool, .. } = &graph.node(*node).action
                        && !open.contains_key(step)
                    {
                        hints.insert(tool.clone(), *repeatable);
                        open.insert(*step, (tool.clone(), canonical(arguments)));
                    }
                    continue;
                }
                Event::StepFinished { step, output, .. } => (step, Ok(output.clone())),
                Event::StepFailed { step, failure, .. }
                | Event::AttemptFailed { step, failure, .. } => (step, Err(failure.clone())),
                Event::Paused {
                    pause: Pause::InDoubt { step, .. } | Pause::Child { step, .. },
                } => {
                    asked.insert(entry.seq, *step);
                    continue;
                }
                Event::Answered {
                    pause,
                    answer: Answer::Skip { output },
                    ..
                } => match asked.get(pause) {
                    Some(step) => (step, Ok(output.clone())),
                    None => continue,
                },
                _ => continue,
            };
            if let Some(call) = open.get(step) {
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
        // What was never called may be asked for, and fails when it is called.
        let repeatable = self.hints.get(name).copied().unwrap_or(true);
        Arc::new(Tool {
            name: name.clone(),
            title: None,
            description: None,
            input_schema: Value::Bool(true),
            output_schema: None,
            hints: Hints {
                idempotent: Some(repeatable),
                ..Hints::default()
            },
        })
    }
}

#[async_trait]
impl Tools for Recorded {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        Some(self.tool(name))
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        Ok(self.tool(name))
    }

    async fn list(&self) -> Vec<Listing> {
        Vec::new()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        let key = (call.tool, canonical(&call.arguments));
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = calls.get_mut(&key).and_then(VecDeque::pop_front) {
            return answer;
        }
        let (tool, arguments) = key;
        Err(Failure::new(
            FailureKind::NotRecorded,
            format!("the record has no call of {tool} with {}", cut(&arguments)),
        ))
    }
}

/// The same text for the same value, whatever the order of its fields.
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
