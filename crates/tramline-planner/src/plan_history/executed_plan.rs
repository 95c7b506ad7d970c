//! Learns the plan of a run that was started for an intent and succeeded.

use super::PlanHistory;
use crate::planner::Precedent;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use tramline_engine::LoadedRun;
use tramline_engine::ports::RunListener;
use tramline_workflow::journal::{Event, Outcome, RunEvent};
use tramline_workflow::run::Run;
use tramline_workflow::workflow::Workflow;

/// The summary step is not part of a plan.
const SUMMARY_TOOL: &str = "finalize_summary";

#[async_trait]
impl RunListener for PlanHistory {
    fn needs_end(&self, run: &Run) -> bool {
        let completed = matches!(run.outcome, Some(Outcome::Completed { .. }));
        self.is_on() && completed && run.started.intent.is_some()
    }

    async fn on_end(&self, ended: &LoadedRun) {
        let Some(intent) = &ended.run.started.intent else {
            return;
        };
        let failed = |event: &Event| matches!(event, Event::Run(RunEvent::StepFailed { .. }));
        if ended.entries.iter().any(|entry| failed(&entry.event)) {
            return;
        }
        // Nodes that were added later do not belong to the intent.
        let mut execution = executed_plan(&ended.run.started.workflow);
        execution.intent = intent.clone();
        // Only an aid to planning: without it, plans use words alone.
        let _ = self.learn(execution, ended.run.updated_ms).await;
    }
}

/// The calls of a workflow, each after everything it depends on.
fn executed_plan(workflow: &Workflow) -> Precedent {
    let called = workflow.nodes.iter();
    let called = called.filter_map(|node| Some((&node.id, node.action.tool()?)));
    let called = called.filter(|(_, tool)| tool.tool != SUMMARY_TOOL);
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
