//! Forks: a new run that shares another's past up to a step, and goes its own way from there.
//!
//! What was called before that step is a fact and is not called again. What the other run called
//! after it, and may not be repeated, is asked about first.

use super::debug::{ended_step, place};
use super::{At, Engine, Handle};
use crate::audit::CommandNote;
use crate::clock;
use crate::fault::Fault;
use crate::long_work::long_work;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq, StepNo, ToolName};
use tramline_core::journal::{Entry, Event, Fork, Watch};
use tramline_core::run::{Run, Stage};
use tramline_core::upstream::Upstream;
use tramline_core::workflow::{Action, Workflow};
use tramline_core::{Str, Value};

/// A server gets so long to say what its tools do.
const ASK_MAX: Duration = Duration::from_secs(10);

/// How to branch off.
#[derive(Clone, Debug)]
pub struct Branch {
    /// From where.
    pub at: At,
    /// The output that the step there is taken to have given.
    pub output: Option<Value>,
    /// Another input, which only a fork from the beginning can have. Nothing that it calls is then a
    /// repetition of what the other run has called, so nothing is asked about.
    pub input: Option<Value>,
    /// What becomes of calls that the other run has made.
    pub effects: Effects,
    /// Where the new run is to halt.
    pub watch: Option<Watch>,
    /// The span of its caller's that the new run belongs to.
    pub upstream: Option<Upstream>,
}

impl Branch {
    /// Another way from there that differs in nothing else yet.
    pub fn at(at: At) -> Self {
        Self {
            at,
            output: None,
            input: None,
            effects: Effects::Ask,
            watch: None,
            upstream: None,
        }
    }
}

/// What a fork does about calls that the other run has made and that do more than look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effects {
    /// It asks before each.
    #[default]
    Ask,
    /// It makes them again.
    Repeat,
}

/// A fork that was made.
pub struct Branched {
    /// The new run.
    pub handle: Handle,
    /// The calls after the fork that the other run has made and that do more than look: which node,
    /// which tool.
    pub effects: Vec<(Str, ToolName)>,
}

impl Engine {
    /// Branches off from a run. The new run is driven by this process.
    pub async fn fork(&self, id: &RunId, branch: Branch) -> Result<Branched, Fault> {
        let asks = branch.effects == Effects::Ask;
        let came = self.branched(id, branch).await;
        let made = came.as_ref().ok().map(|made| made.handle.run.as_str());
        let about = [
            ("fork", made.map_or(Value::Null, Value::from)),
            ("asks_about_effects", asks.into()),
        ];
        let said = CommandNote {
            command: "fork",
            run: id,
            by: &self.0.options.name,
            why: None,
            arguments: Some(Value::object(about)),
        };
        self.commanded(said, &came).await?;
        came
    }

    async fn branched(&self, id: &RunId, branch: Branch) -> Result<Branched, Fault> {
        let loaded = self.load(id).await?;
        let graph = Arc::clone(&loaded.run.graph);
        let seq = place(id, &loaded.entries, branch.at)?;
        let (past, later) = loaded.entries.split_at(seq as usize);
        let mut past = past.to_vec();
        let anew = branch.input.is_some();
        if let Some(input) = branch.input {
            if seq != 1 || branch.output.is_some() {
                return Err(begins_anew());
            }
            replace_input(&graph, &mut past, self.discreet(input).await)?;
        }
        if let Some(output) = branch.output {
            edit(&graph, &mut past, self.discreet(output).await)?;
        }
        let stood = self.fold(id, &past)?;
        settled(&stood)?;
        let effects = match anew {
            true => Vec::new(),
            false => self.effects(&graph, later).await,
        };
        facts(&stood, later, &mut past);
        let Some(Event::Started(started)) = past.first_mut().map(|first| &mut first.event) else {
            return Err(Fault::NotFound(id.clone()));
        };
        started.fork = Some(Fork {
            run: id.clone(),
            seq,
            asks: match branch.effects {
                Effects::Ask => effects.iter().map(|(node, _)| node.clone()).collect(),
                Effects::Repeat => Vec::new(),
            },
        });
        started.by = self.0.options.name.clone();
        started.parent = None;
        // The operator's word of today, whatever the journal says of its time.
        started.operator_budget = self.0.options.budget;
        if self.serves_agents() {
            // What a step is taken to have given is the agent's word, and so may be the whole workflow of
            // a run that was brought in.
            started.workflow = cautious(&started.workflow);
        }
        self.recall_seats(started.owner.as_ref()).await?;
        // Whoever branches it off begins it.
        started.agent = self.mark(started.owner.as_ref());
        started.upstream = branch.upstream.map(Box::new);
        started.watch = branch.watch;
        let _room = self.room().await?;
        let handle = self.branch_off(past)?;
        Ok(Branched { handle, effects })
    }

    /// The calls made later by tools that do more than look, each node once. An idempotent call is
    /// among them: with other arguments it does something else.
    async fn effects(&self, graph: &Graph, later: &[Entry]) -> Vec<(Str, ToolName)> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for entry in later {
            let Event::StepStarted { node, .. } = &entry.event else {
                continue;
            };
            let at = graph.node(*node);
            if let Action::Call { tool, .. } = &at.action
                && seen.insert(*node)
                && !self.only_looks(tool).await
            {
                found.push((at.id.clone(), tool.clone()));
            }
        }
        found
    }

    /// Whether a tool says that it changes nothing. One that cannot be asked might.
    async fn only_looks(&self, tool: &ToolName) -> bool {
        let asked = tokio::time::timeout(ASK_MAX, self.0.tools.find(tool)).await;
        matches!(asked, Ok(Ok(known)) if known.hints.read_only == Some(true))
    }

    fn branch_off(&self, past: Vec<Entry>) -> Result<Handle, Fault> {
        let at_ms = clock::now_ms();
        let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
        let id = RunId::new(at_ms, chance);
        let mut run = self.fold(&id, &past)?;
        let mut ledger = self.0.ledger(0, 0);
        for entry in past {
            let documents = self.0.documents_of(&entry.event)?;
            ledger.open(entry, documents)?;
        }
        // What another run did was told when that run did it.
        ledger.told = run.seq;
        let by = self.0.options.name.clone();
        ledger.record(&mut run, Event::Resumed { by })?;
        let seat = self.0.seat(&id)?;
        Ok(self.spawn(seat, run, ledger))
    }
}

/// The same workflow, which asks before every call that destroys.
fn cautious(workflow: &Arc<Workflow>) -> Arc<Workflow> {
    let mut workflow = Workflow::clone(workflow);
    workflow.cautious = true;
    Arc::new(workflow)
}

fn begins_anew() -> Fault {
    let message = "another input begins anew: fork from the beginning, and leave the output out";
    Fault::Refused(message.into())
}

/// Puts another input in the place of what the run began with.
fn replace_input(graph: &Graph, past: &mut [Entry], input: Value) -> Result<(), Fault> {
    let checked = graph.check_input(&input, long_work);
    checked.map_err(|flaws| Fault::BadInput {
        workflow: graph.workflow.name.to_string(),
        flaws,
    })?;
    if let Some(Event::Started(started)) = past.first_mut().map(|first| &mut first.event) {
        started.input = input;
    }
    Ok(())
}

/// Puts another output in the place of what the last event's step gave.
fn edit(graph: &Graph, past: &mut [Entry], output: Value) -> Result<(), Fault> {
    let last = past.last_mut().map(|entry| &mut entry.event);
    let (step, node) = match &last {
        Some(
            Event::StepFinished { step, node, .. }
            | Event::StepFailed { step, node, .. }
            | Event::Gathered { step, node },
        ) => (*step, *node),
        _ => {
            return Err(Fault::Refused(
                "only the output of a step can be changed: fork after a step that has ended".into(),
            ));
        }
    };
    let label = match (&graph.node(node).action, &output) {
        (Action::Choose { rules, otherwise }, Value::String(to)) => {
            let known = rules.iter().map(|rule| &rule.label).chain(otherwise);
            if !known.clone().any(|label| label == to) {
                let ways: Vec<_> = known.map(Str::as_str).collect();
                return Err(Fault::Refused(format!(
                    "`{}` can go to {}, not to `{to}`",
                    graph.node(node).id,
                    ways.join(", ")
                )));
            }
            Some(to.clone())
        }
        (Action::Choose { .. }, _) => {
            return Err(Fault::Refused(format!(
                "the output of `{}` is the node it goes to",
                graph.node(node).id
            )));
        }
        (
            Action::Entry
            | Action::Call { .. }
            | Action::Compute { .. }
            | Action::Wait(_)
            | Action::Exit,
            _,
        ) => None,
    };
    if let Some(last) = last {
        *last = Event::StepFinished {
            step,
            node,
            label,
            output,
        };
    }
    Ok(())
}

/// A step in the middle of its items cannot be cut in two.
fn settled(run: &Run) -> Result<(), Fault> {
    match run.spread_nodes().next() {
        None => Ok(()),
        Some(node) => Err(Fault::Refused(format!(
            "at that moment `{}` was in the middle of its items; fork before or after it",
            run.graph.node(node).id
        ))),
    }
}

/// Adds what became of the calls that were under way: they had left, and their ends are known.
fn facts(stood: &Run, later: &[Entry], past: &mut Vec<Entry>) {
    let left = |step: &StepNo| {
        let open = stood.open.get(step);
        open.is_some_and(|open| !matches!(open.stage, Stage::Sleeping(_)))
    };
    for entry in later {
        if ended_step(&entry.event).is_some_and(|step| left(&step)) {
            let seq = past.len() as Seq + 1;
            past.push(Entry {
                seq,
                ..entry.clone()
            });
        }
    }
}
