//! The planner turns a request into tasks: which tools to call, in which order, with which arguments, and how confident
//! it is.
//!
//! Pure and without a model: the same request with the same tools and the same history gives the same plan. Search
//! finds tools, the nearest precedents vote, missing arguments are filled from the outputs of other tools, and the
//! order follows from data dependencies, past orders and the clauses of the request. `docs/planning.md` explains it.

use std::sync::Arc;
use tramline_engine::ports::Tool;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::ToolName;

mod bind;
mod candidate_plans;
mod context;
mod draft;
mod edges;
mod explain;
mod features;
mod fields;
pub(crate) mod literals;
mod lookup_chain;
mod objections;
mod precedents;
mod search_results;
mod select;
mod selection;
mod similarity;
mod text;
mod uncovered;
mod weights;

pub use features::{PLAN_FEATURES, PlanFeatures};
pub use precedents::{PRECEDENTS_MAX, Precedent, PrecedentIndex};
pub use search_results::SearchResults;
pub use select::select_plan;
pub use similarity::similar_texts;

use candidate_plans::candidate_plans;
use context::{NearPrecedents, PlanContext, ToolIx};
use draft::DraftTask;
use features::{ScoredPlan, score_plans};
use selection::PlanSelection;

/// Number of alternative plans that are returned.
const ALTERNATIVES_MAX: usize = 2;

/// A planning request with everything the planner reads.
pub struct PlanInput<'a> {
    /// The request in the caller's words.
    pub request: &'a str,
    /// Known argument values: a value under an argument's name is used for that argument.
    pub context: Option<&'a Value>,
    /// The tools that search found.
    pub search: &'a SearchResults,
    /// The precedents.
    pub precedents: &'a PrecedentIndex,
    /// Looks up a tool by name; `None` if it is unknown or must not be used.
    pub lookup: &'a dyn Fn(&str) -> Option<Arc<Tool>>,
    /// All tools that may be used. Searched when no tool that was found provides an argument.
    pub all_tools: &'a dyn Fn() -> Vec<Arc<Tool>>,
    /// Whether a task id is already in use.
    pub is_id_taken: &'a dyn Fn(&str) -> bool,
    /// Completed tasks, which stay as they are.
    pub completed: &'a [CompletedTask],
}

/// A completed task.
#[derive(Clone, Debug)]
pub struct CompletedTask {
    /// The task's id.
    pub id: Str,
    /// The tool it called.
    pub tool: Str,
    /// The tool's output.
    pub output: Value,
}

/// The plan for a request.
#[derive(Clone, Debug, Default)]
pub struct TaskPlan {
    /// The tasks, in the format of a DAG document.
    pub tasks: Value,
    /// The tools they call.
    pub tools: Vec<ToolName>,
    /// The probability that this plan is what was requested, from 0 to 1.
    pub confidence: f64,
    /// Why these tools were chosen, as text for people.
    pub explanation: String,
    /// Why each task is in the plan.
    pub reasons: Vec<TaskReason>,
    /// Why each task waits for another.
    pub links: Vec<EdgeReason>,
    /// Alternative plans, most likely first.
    pub alternatives: Vec<AlternativePlan>,
    /// Required arguments without a value.
    pub missing: Vec<MissingArgument>,
    /// The parts of the request that no task covers.
    pub uncovered: Vec<String>,
    /// The values in the request that no task uses.
    pub unused_values: Vec<String>,
    /// Why the plan must be reviewed before it runs. Empty if it may run.
    pub objections: Vec<String>,
}

/// Why a task is in the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReason {
    /// The task's id.
    pub task: Str,
    /// The reasons, as text.
    pub reasons: Vec<String>,
    /// The tool's share of the precedents' votes.
    pub vote: f64,
    /// Alternative tools with their scores.
    pub alternatives: Vec<(ToolName, f64)>,
}

/// Why a task waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeReason {
    /// The task that is waited for.
    pub from: Str,
    /// The task that waits.
    pub to: Str,
    /// The reason, as text.
    pub reason: String,
}

/// An alternative plan.
#[derive(Clone, Debug, PartialEq)]
pub struct AlternativePlan {
    /// The tools it calls, in order.
    pub tools: Vec<ToolName>,
    /// The probability that this plan was meant.
    pub confidence: f64,
}

/// A required argument without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingArgument {
    /// The task's id.
    pub task: Str,
    /// The argument's name.
    pub argument: Str,
    /// The argument's description from the tool's schema.
    pub description: Option<Str>,
}

impl TaskPlan {
    /// Whether nothing is missing. A complete plan is not necessarily safe to run: see [`Self::may_run`].
    pub fn is_complete(&self) -> bool {
        let all = self.uncovered.is_empty() && self.unused_values.is_empty();
        !self.tools.is_empty() && all && self.missing.is_empty()
    }

    /// Whether the plan may run without review: it is complete and read-only, and the request contains no question,
    /// negation or condition.
    pub fn may_run(&self) -> bool {
        self.is_complete() && self.objections.is_empty()
    }
}

/// The parts of a request that may each need a tool.
pub(crate) fn request_parts(wish: &str) -> Vec<String> {
    let clauses = text::clauses(wish);
    clauses
        .iter()
        .flat_map(|clause| text::parts(clause))
        .collect()
}

/// Plans a request with these tools only and without precedents.
pub fn plan_with_tools(
    wish: &str,
    context: Option<&Value>,
    tools: &[Arc<Tool>],
    taken: impl Fn(&str) -> bool,
) -> TaskPlan {
    let lookup = |name: &str| {
        let found = tools.iter().find(|tool| tool.name.to_string() == name);
        found.map(Arc::clone)
    };
    make_plan(&PlanInput {
        request: wish,
        context,
        search: &SearchResults::among(wish, tools),
        precedents: &PrecedentIndex::default(),
        lookup: &lookup,
        all_tools: &|| tools.to_vec(),
        is_id_taken: &taken,
        completed: &[],
    })
}

/// Plans a request.
pub fn make_plan(ask: &PlanInput<'_>) -> TaskPlan {
    let PlanSelection {
        context: scene,
        plans: weighed,
        clause_tools: said,
        precedent_confidence: usual,
    } = PlanSelection::select(ask);
    let Some(picked) = weighed.first() else {
        let mut plan = explain::empty_plan(ask);
        plan.objections = objections::objections(ask.request, &plan, &[]);
        return plan;
    };
    let was_said = picked.tools == said;
    let drafts = DraftTask::build_all(ask, &scene, picked, was_said);
    let annotated = objections::with_annotations(drafts.iter().map(|draft| &*draft.tool));
    let mut plan = explain::render_plan(ask, &scene, drafts, &weighed);
    if let Some(sure) = usual {
        plan.confidence = plan.confidence.max(explain::round(sure));
    }
    if was_said {
        // If search is confident about the tool of every clause, so is the plan made of exactly these tools.
        let sures = ask.search.clauses.iter().map(|clause| clause.confidence);
        plan.confidence = plan.confidence.max(explain::round(sures.product::<f64>()));
    }
    explain::report_uncovered(
        uncovered::uncovered_parts(ask, &scene, &picked.tools),
        &mut plan,
    );
    plan.unused_values = literals::unused_literals(ask.request, &plan.tasks);
    plan.objections = objections::objections(ask.request, &plan, &annotated);
    plan
}

/// Every candidate plan with its features, and how far the history can be trusted. The weights are fitted on this.
pub fn score_all(ask: &PlanInput<'_>) -> (Vec<(Vec<Str>, PlanFeatures)>, f64) {
    let scene = PlanContext::new(ask, &NearPrecedents::of(ask));
    let said = clause_tools(ask, &scene);
    let name = |place: &ToolIx| Str::from(scene.candidate(*place).tool.name.to_string());
    let all = scored_plans(&scene, &said).into_iter();
    let named = all.map(|one| (one.tools.iter().map(name).collect(), one.features));
    (named.collect(), scene.trust)
}

fn scored_plans(scene: &PlanContext<'_>, said: &[ToolIx]) -> Vec<ScoredPlan> {
    score_plans(scene, candidate_plans(scene, said), said)
}

/// The best tools of the clauses, in the order of the clauses.
fn clause_tools(ask: &PlanInput<'_>, scene: &PlanContext<'_>) -> Vec<ToolIx> {
    let best = ask
        .search
        .clauses
        .iter()
        .filter_map(|clause| clause.best.as_ref());
    best.filter_map(|(tool, _)| scene.find(tool)).collect()
}

#[cfg(test)]
mod tests;
