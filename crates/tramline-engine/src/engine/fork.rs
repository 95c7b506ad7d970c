//! Forks: a new run that shares another run's history up to a step and continues from there.
//!
//! Calls made before that step are facts and are not repeated. For later calls of the other run
//! that must not be repeated, the fork asks first.

use super::debugger::seq_of_point;
use super::{Engine, JournalPoint, RunHandle};
use crate::audit::CommandNote;
use crate::fault::Fault;
use crate::long_work::long_work;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, Seq, StepNo, ToolName};
use tramline_workflow::journal::{BreakpointSet, Entry, Event, ForkOrigin, RunEvent};
use tramline_workflow::run::{Run, StepStage};
use tramline_workflow::trace_context::TraceContext;
use tramline_workflow::workflow::{Action, Workflow};

/// Time for a server to list its tools before their effects count as unknown.
const TOOL_LOOKUP_MAX: Duration = Duration::from_secs(10);

/// How to fork a run.
#[derive(Clone, Debug)]
pub struct ForkRequest {
    /// The point to fork from.
    pub at: JournalPoint,
    /// The output that replaces the output of the step at that point.
    pub output: Option<Value>,
    /// A different input, only for a fork from the beginning. No call is then a repetition of a
    /// call of the other run, so the fork does not ask.
    pub input: Option<Value>,
    /// What happens to calls that the other run has made.
    pub effects: EffectPolicy,
    /// Where the new run halts.
    pub watch: Option<BreakpointSet>,
    /// The caller's trace span that the new run belongs to.
    pub upstream: Option<TraceContext>,
    /// Who asked for it, if that is not this process.
    pub by: Option<Str>,
}

impl ForkRequest {
    /// A fork at this point that changes nothing.
    pub fn at(at: JournalPoint) -> Self {
        Self {
            at,
            output: None,
            input: None,
            effects: EffectPolicy::Ask,
            watch: None,
            upstream: None,
            by: None,
        }
    }
}

/// What a fork does about non-read-only calls that the other run has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EffectPolicy {
    /// Ask before each.
    #[default]
    Ask,
    /// Make them again.
    Repeat,
}

/// The result of a fork.
pub struct ForkResult {
    /// The new run.
    pub handle: RunHandle,
    /// The non-read-only calls that the other run made after the fork: node and tool.
    pub effects: Vec<(Str, ToolName)>,
}

impl Engine {
    /// Forks a run. This process drives the new run.
    pub async fn fork(&self, id: &RunId, branch: ForkRequest) -> Result<ForkResult, Fault> {
        let asks = branch.effects == EffectPolicy::Ask;
        let by = self.name_or_process(branch.by.clone());
        let came = self.fork_run(id, branch).await;
        let made = came.as_ref().ok().map(|made| made.handle.run.as_str());
        let about = [
            ("fork", made.map_or(Value::Null, Value::from)),
            ("asks_about_effects", asks.into()),
        ];
        let said = CommandNote {
            command: "fork",
            run: id,
            by: &by,
            why: None,
            arguments: Some(Value::object(about)),
        };
        self.audit_command(said, &came).await?;
        came
    }

    async fn fork_run(&self, id: &RunId, branch: ForkRequest) -> Result<ForkResult, Fault> {
        let loaded = self.load(id).await?;
        let graph = Arc::clone(&loaded.run.graph);
        let seq = seq_of_point(id, &loaded.entries, branch.at)?;
        let (past, later) = loaded.entries.split_at(seq as usize);
        let mut past = past.to_vec();
        let anew = branch.input.is_some();
        if let Some(input) = branch.input {
            if seq != 1 || branch.output.is_some() {
                return Err(input_only_at_start());
            }
            replace_input(&graph, &mut past, self.redact_value(input).await)?;
        }
        if let Some(output) = branch.output {
            replace_output(&graph, &mut past, self.redact_value(output).await)?;
        }
        let stood = self.fold(id, &past)?;
        check_between_steps(&stood)?;
        let effects = match anew {
            true => Vec::new(),
            false => self.later_effects(&graph, later).await,
        };
        add_known_results(&stood, later, &mut past);
        let Some(Event::Run(RunEvent::Started(started))) =
            past.first_mut().map(|first| &mut first.event)
        else {
            return Err(Fault::NotFound(id.clone()));
        };
        started.fork = Some(ForkOrigin {
            run: id.clone(),
            seq,
            asks: match branch.effects {
                EffectPolicy::Ask => effects.iter().map(|(node, _)| node.clone()).collect(),
                EffectPolicy::Repeat => Vec::new(),
            },
        });
        started.by = self.name_or_process(branch.by);
        started.parent = None;
        // Today's operator budget applies, not the one in the journal.
        started.operator_budget = self.0.options.budget;
        if self.serves_agents() {
            // A replaced step output comes from the agent, and in an imported run so may the whole
            // workflow.
            started.workflow = with_approvals(&started.workflow);
        }
        self.load_session_owners(started.owner.as_ref()).await?;
        // The caller of the fork counts as the one who starts the run.
        started.agent = self.agent_mark(started.owner.as_ref());
        started.upstream = branch.upstream.map(Box::new);
        started.watch = self.redact_pins(branch.watch).await;
        let _room = self.reserve_run().await?;
        let handle = self.start_fork(past).await?;
        Ok(ForkResult { handle, effects })
    }

    /// The later calls of tools that are not read-only, each node once. Idempotent calls are
    /// included: with other arguments they have another effect.
    async fn later_effects(&self, graph: &Graph, later: &[Entry]) -> Vec<(Str, ToolName)> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for entry in later {
            let Event::Run(RunEvent::StepStarted { node, .. }) = &entry.event else {
                continue;
            };
            let at = graph.node(*node);
            if let Action::Call { tool, .. } = &at.action
                && seen.insert(*node)
                && !self.is_read_only(tool).await
            {
                found.push((at.id.clone(), tool.clone()));
            }
        }
        found
    }

    /// Whether a tool declares itself read-only. A tool that cannot be asked counts as not
    /// read-only.
    async fn is_read_only(&self, tool: &ToolName) -> bool {
        let asked = tokio::time::timeout(TOOL_LOOKUP_MAX, self.0.tools.find(tool)).await;
        matches!(asked, Ok(Ok(known)) if known.hints.read_only == Some(true))
    }

    async fn start_fork(&self, past: Vec<Entry>) -> Result<RunHandle, Fault> {
        let id = self.new_run_id();
        self.audit_run_start(&id).await?;
        let mut run = self.fold(&id, &past)?;
        let mut ledger = self.0.journal_writer(0, 0);
        for entry in past {
            let documents = self.0.documents_of(&entry.event)?;
            ledger.open(entry, documents)?;
        }
        // The events of the other run were observed when they happened.
        ledger.reported = run.seq;
        let by = self.0.options.process_name.clone();
        ledger.record(&mut run, Event::Run(RunEvent::Resumed { by }))?;
        let seat = self.0.take_drive_slot(&id)?;
        Box::pin(self.audit_effect()).await;
        Ok(self.spawn_driver(seat, run, ledger))
    }
}

/// The same workflow, with an approval before every destructive call.
fn with_approvals(workflow: &Arc<Workflow>) -> Arc<Workflow> {
    let mut workflow = Workflow::clone(workflow);
    workflow.cautious = true;
    Arc::new(workflow)
}

fn input_only_at_start() -> Fault {
    let message =
        "a fork with another input must start from the beginning and cannot set an output";
    Fault::Rejected(message.into())
}

/// Replaces the input of the run.
fn replace_input(graph: &Graph, past: &mut [Entry], input: Value) -> Result<(), Fault> {
    let checked = graph.check_input(&input, long_work);
    checked.map_err(|flaws| Fault::InvalidInput {
        workflow: graph.workflow.name.to_string(),
        flaws,
    })?;
    if let Some(Event::Run(RunEvent::Started(started))) =
        past.first_mut().map(|first| &mut first.event)
    {
        started.input = graph.fill_input(input);
    }
    Ok(())
}

/// Replaces the output of the last event's step.
fn replace_output(graph: &Graph, past: &mut [Entry], output: Value) -> Result<(), Fault> {
    let last = past.last_mut().map(|entry| &mut entry.event);
    let Some((step, node)) = last.as_ref().and_then(|event| event.ended_step()) else {
        return Err(Fault::Rejected(
            "only the output of a step can be replaced: fork after a step that has ended".into(),
        ));
    };
    let label = match (graph.node(node).action.choice_labels(), &output) {
        (Some(known), Value::String(to)) => {
            if !known.clone().any(|label| label == to) {
                let ways: Vec<_> = known.map(Str::as_str).collect();
                return Err(Fault::Rejected(format!(
                    "`{}` can go to {}, not to `{to}`",
                    graph.node(node).id,
                    ways.join(", ")
                )));
            }
            Some(to.clone())
        }
        (Some(_), _) => {
            return Err(Fault::Rejected(format!(
                "the output of `{}` must be the node it goes to",
                graph.node(node).id
            )));
        }
        (None, _) => None,
    };
    if let Some(last) = last {
        *last = Event::Run(RunEvent::StepFinished {
            step,
            node,
            label,
            output,
        });
    }
    Ok(())
}

/// Rejects a fork in the middle of a step's items.
fn check_between_steps(run: &Run) -> Result<(), Fault> {
    match run.fan_out_nodes().next() {
        None => Ok(()),
        Some(node) => Err(Fault::Rejected(format!(
            "at that moment `{}` was in the middle of its items; fork before or after it",
            run.graph.node(node).id
        ))),
    }
}

/// Adds the results of calls that were in flight at the fork: they had been sent, and their results
/// are known.
fn add_known_results(stood: &Run, later: &[Entry], past: &mut Vec<Entry>) {
    let left = |step: &StepNo| {
        let open = stood.open_steps.get(step);
        open.is_some_and(|open| !matches!(open.stage, StepStage::Sleeping(_)))
    };
    for entry in later {
        if entry
            .event
            .ended_step()
            .is_some_and(|(step, _)| left(&step))
        {
            let seq = past.len() as Seq + 1;
            past.push(Entry {
                seq,
                ..entry.clone()
            });
        }
    }
}
