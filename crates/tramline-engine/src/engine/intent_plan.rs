//! Plans for intents, and recording plans that succeeded.

use super::{Engine, EngineInner};
use crate::fault::Fault;
use crate::plan_history::PlanHistory;
use crate::planner::{CompletedTask, PlanInput, Precedent, TaskPlan, make_plan};
use crate::policy::PolicyVerdict;
use crate::seams::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tramline_expr::Value;
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::{Event, Outcome};
use tramline_workflow::run::Run;
use tramline_workflow::workflow::{Action, Workflow};

/// The summary step is not part of a plan.
const SUMMARY_TOOL: &str = "finalize_summary";

impl Engine {
    /// The history of plans that succeeded.
    pub fn plan_history(&self) -> &PlanHistory {
        &self.0.plan_history
    }

    /// A plan for an intent with the usable tools. Finished tasks are built upon, and ids in use
    /// are not reused.
    pub async fn plan(
        &self,
        wish: &str,
        context: Option<&Value>,
        may: &(dyn Fn(&ToolName) -> bool + Sync),
        taken: &(dyn Fn(&str) -> bool + Sync),
        done: &[CompletedTask],
    ) -> Result<TaskPlan, Fault> {
        let can = |tool: &ToolName| self.unusable(tool).is_none();
        let (list, found) = self.0.registry.search_for_plan(wish, may, &can).await?;
        let past = self.0.plan_history.precedents().await?;
        let usable = |tool: &Arc<Tool>| may(&tool.name) && can(&tool.name);
        let mut plan = make_plan(&PlanInput {
            request: wish,
            context,
            search: &found,
            precedents: &past,
            lookup: &|name| list.get(name).filter(|tool| usable(tool)).cloned(),
            all_tools: &|| {
                list.tools
                    .iter()
                    .filter(|tool| usable(tool))
                    .cloned()
                    .collect()
            },
            is_id_taken: taken,
            completed: done,
        });
        let asks = plan.tools.iter().filter(|tool| self.needs_approval(tool));
        let asks: Vec<String> = asks
            .map(|tool| format!("a person is asked before {tool} is called"))
            .collect();
        plan.objections.extend(asks);
        Ok(plan)
    }

    /// Why a listed tool cannot be used, as far as known without asking its server: it is switched
    /// off, or the operator denies it.
    pub fn unusable(&self, tool: &ToolName) -> Option<String> {
        match self.options().policy.verdict(tool) {
            PolicyVerdict::Deny(pattern) => {
                Some(format!("the operator's policy denies `{pattern}`"))
            }
            PolicyVerdict::Ask(_) | PolicyVerdict::Allow => self.tools().unusable(tool),
        }
    }
}

impl EngineInner {
    /// Records the plan of a run that was started for an intent, if nothing in it failed.
    pub(super) async fn record_plan(&self, run: &Run) {
        let Some(intent) = &run.started.intent else {
            return;
        };
        if !self.plan_history.is_on() || !matches!(run.outcome, Some(Outcome::Completed { .. })) {
            return;
        }
        let Ok(loaded) = self.load(&run.id).await else {
            return;
        };
        let failed = |event: &Event| matches!(event, Event::StepFailed { .. });
        if loaded.entries.iter().any(|entry| failed(&entry.event)) {
            return;
        }
        // Nodes that were added later do not belong to the intent.
        let mut execution = executed_plan(&loaded.run.started.workflow);
        execution.intent = intent.clone();
        // Only an aid to planning: without it, plans use words alone.
        let _ = self.plan_history.learn(execution, run.updated_ms).await;
    }
}

/// The calls of a workflow, each after everything it depends on.
fn executed_plan(workflow: &Workflow) -> Precedent {
    let called = workflow.nodes.iter().filter_map(|node| match &node.action {
        Action::Call { tool, .. } if tool.tool != SUMMARY_TOOL => Some((&node.id, tool)),
        Action::Call { .. }
        | Action::Entry
        | Action::Compute { .. }
        | Action::Choose { .. }
        | Action::Wait(_)
        | Action::Exit => None,
    });
    let called: Vec<_> = called.collect();
    let edges: BTreeSet<_> = workflow
        .edges
        .iter()
        .map(|edge| (&edge.from, &edge.to))
        .collect();
    let mut order: Vec<usize> = Vec::new();
    while order.len() < called.len() {
        let waits = |at: usize| {
            let open = (0..called.len()).filter(|other| !order.contains(other) && *other != at);
            let mut open = open.filter(|other| edges.contains(&(called[*other].0, called[at].0)));
            open.next().is_some()
        };
        let left = (0..called.len()).filter(|at| !order.contains(at));
        let left: Vec<usize> = left.collect();
        // On a cycle, keep the order of the document.
        let next = left.iter().copied().find(|at| !waits(*at));
        order.extend(next.or(left.first().copied()));
    }
    let places: BTreeMap<_, _> = order
        .iter()
        .enumerate()
        .map(|(to, at)| (called[*at].0, to))
        .collect();
    let linked = edges.iter().filter_map(|(from, to)| {
        let (from, to) = (places.get(from)?, places.get(to)?);
        (from < to).then_some((*from, *to))
    });
    Precedent {
        edges: linked.collect(),
        tools: order
            .iter()
            .map(|at| called[*at].1.to_string().into())
            .collect(),
        count: 1,
        ..Precedent::default()
    }
}
