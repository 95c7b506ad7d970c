//! Plans for intents, and what is learnt when one is carried out.

use super::{Engine, Inner};
use crate::fault::Fault;
use crate::learnt::Learnt;
use crate::planner::{Ask, Done, Plan, Precedent, propose};
use crate::policy::Verdict;
use crate::seams::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::ids::ToolName;
use tramline_core::journal::{Event, Outcome};
use tramline_core::run::Run;
use tramline_core::workflow::{Action, Workflow};

/// What sums up a plan is part of none.
const SUMMARY: &str = "finalize_summary";

impl Engine {
    /// What was learnt from runs that ended well.
    pub fn learnt(&self) -> &Learnt {
        &self.0.learnt
    }

    /// A plan for a wish, of the tools that may be used. What is done is built upon, and ids that are
    /// taken are left alone.
    pub async fn plan(
        &self,
        wish: &str,
        context: Option<&Value>,
        may: &(dyn Fn(&ToolName) -> bool + Sync),
        taken: &(dyn Fn(&str) -> bool + Sync),
        done: &[Done],
    ) -> Result<Plan, Fault> {
        let can = |tool: &ToolName| self.unusable(tool).is_none();
        let (list, found) = self.0.registry.found(wish, may, &can).await?;
        let past = self.0.learnt.past().await?;
        let usable = |tool: &Arc<Tool>| may(&tool.name) && can(&tool.name);
        let mut plan = propose(&Ask {
            wish,
            context,
            found: &found,
            past: &past,
            lookup: &|name| list.get(name).filter(|tool| usable(tool)).cloned(),
            everything: &|| {
                list.tools
                    .iter()
                    .filter(|tool| usable(tool))
                    .cloned()
                    .collect()
            },
            taken,
            done,
        });
        let asks = plan.tools.iter().filter(|tool| self.asks_before(tool));
        let asks: Vec<String> = asks
            .map(|tool| format!("a person is asked before {tool} is called"))
            .collect();
        plan.objections.extend(asks);
        Ok(plan)
    }

    /// Why a tool that is listed cannot be used here and now, as far as that is known without asking
    /// its server: it is switched off, or the operator denies it.
    pub fn unusable(&self, tool: &ToolName) -> Option<String> {
        match self.options().policy.verdict(tool) {
            Verdict::Deny(pattern) => Some(format!("the operator's policy denies `{pattern}`")),
            Verdict::Ask(_) | Verdict::Free => self.tools().unusable(tool),
        }
    }
}

impl Inner {
    /// Learns from a run that was started for an intent, if nothing in it failed.
    pub(super) async fn learn(&self, run: &Run) {
        let Some(intent) = &run.started.intent else {
            return;
        };
        if !self.learnt.is_on() || !matches!(run.outcome, Some(Outcome::Completed { .. })) {
            return;
        }
        let Ok(loaded) = self.load(&run.id).await else {
            return;
        };
        let failed = |event: &Event| matches!(event, Event::StepFailed { .. });
        if loaded.entries.iter().any(|entry| failed(&entry.event)) {
            return;
        }
        // What was added later was added for something else than the intent.
        let mut execution = executed(&loaded.run.started.workflow);
        execution.intent = intent.clone();
        // Only a help in planning: without it plans are made from words.
        let _ = self.learnt.learn(execution, run.updated_ms).await;
    }
}

/// What a workflow calls, each after all that it waits for.
fn executed(workflow: &Workflow) -> Precedent {
    let called = workflow.nodes.iter().filter_map(|node| match &node.action {
        Action::Call { tool, .. } if tool.tool != SUMMARY => Some((&node.id, tool)),
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
        // On a cycle the order of the document stands.
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
