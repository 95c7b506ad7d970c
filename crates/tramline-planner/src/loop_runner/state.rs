//! The state of a loop, stored in a run's input or with a plan request.

use super::memory::RecalledMessages;
use super::request::LoopRequest;
use super::response::{PlannerKind, StepResult};
use tramline_engine::LoadedRun;
use tramline_expr::{Map, Str, Value};
use tramline_formats::tool_plan::{PlannedStep, ToolPlan};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{Budget, BudgetPart};
use tramline_workflow::trace_context::TraceContext;

/// How often a failed plan is replaced by a new one.
const REPLANS_MAX: u64 = 1;

/// The state of a loop.
#[derive(Clone, Debug, Default)]
pub struct LoopState {
    pub(super) request: LoopRequest,
    pub(super) memory: RecalledMessages,
    pub(super) plan: ToolPlan,
    pub(super) by: Option<PlannerKind>,
    /// The steps of the plan that cannot run, as results.
    pub(super) failed: Vec<StepResult>,
    /// The results of earlier plans.
    pub(super) earlier: Vec<StepResult>,
    /// The runs of earlier plans.
    pub(super) runs: Vec<Str>,
    /// How many new plans may still be made.
    pub(super) replans: u64,
    /// Tokens used by planning.
    pub(super) tokens: u64,
    /// What the runs of earlier plans left of the budget, not counting planning.
    budget_left: Option<Budget>,
    pub(super) problems: Vec<String>,
    /// The workflow that the plan would be saved as, if that is requested.
    pub(super) workflow: Option<Value>,
    /// The successful steps of earlier plans, if the plan is to be saved.
    pub(super) saved_steps: Vec<PlannedStep>,
    /// Whether its messages are stored already.
    pub(super) is_remembered: bool,
    /// The span that planning belongs to. It is not stored, because it belongs to this process.
    pub(super) upstream: Option<TraceContext>,
}

impl LoopState {
    pub(super) fn new(request: LoopRequest, memory: RecalledMessages) -> Self {
        Self {
            request,
            memory,
            replans: REPLANS_MAX,
            ..Self::default()
        }
    }

    /// The budget of all remaining work, before planning is deducted.
    pub(super) fn budget(&self) -> Option<Budget> {
        self.budget_left.or(self.request.budget)
    }

    /// Deducts what a run used from the budget. Budget that was granted during the run stays granted.
    pub(super) fn deduct(&mut self, of: &LoadedRun) {
        let active_ms = of.run.active_ms(of.run.updated_ms);
        let mut left = of.run.budget_left(active_ms, of.bytes);
        if let Some(left) = &mut left {
            // Planning was deducted before the run and will be deducted again before the next one.
            left.extend(&Budget::of_part(BudgetPart::Tokens, self.tokens));
        }
        self.budget_left = left;
    }

    /// The context before the first step.
    pub(super) fn context(&self) -> Map {
        let mut context = Map::new();
        let meaning = self.memory.embedding.as_ref();
        let meaning = meaning.map(|all| Value::array(all.iter().map(|one| f64::from(*one).into())));
        context.insert("embeddedMessage", meaning.unwrap_or_default());
        if let Some(why) = &self.memory.no_embedding {
            context.insert("embeddedMessageReason", why.as_str().into());
        }
        let list = |all: &[Value]| Value::array(all.iter().cloned());
        context.insert("recentMessages", list(&self.memory.recent));
        context.insert("semanticMatches", list(&self.memory.matches));
        let session = self.request.session.clone();
        context.insert("sessionId", session.map_or(Value::Null, Value::from));
        context.insert("mode", self.request.mode.clone().into());
        for (key, value) in self.request.context.iter() {
            context.insert(key.clone(), value.clone());
        }
        context
    }

    /// The results of the current plan in its order: those of its run, and of the steps that could not run.
    pub(super) fn merged(&self, done: Vec<StepResult>) -> Vec<StepResult> {
        let all: Vec<_> = done
            .into_iter()
            .chain(self.failed.iter().cloned())
            .collect();
        let of = |id: &Str| all.iter().find(|result| result.id == *id).cloned();
        self.plan
            .steps
            .iter()
            .filter_map(|step| of(&step.id))
            .collect()
    }

    /// Records the results of a plan before another one is made.
    pub(super) fn record_results(&mut self, run: Option<&RunId>, results: &[StepResult]) {
        self.earlier.extend(results.iter().cloned());
        self.runs.extend(run.map(|run| Str::from(run.as_str())));
    }

    /// Renames the steps of a follow-up plan whose ids are already used by earlier plans.
    pub(super) fn with_distinct_ids(&self, plan: ToolPlan) -> ToolPlan {
        let taken = self.earlier.iter().map(|one| one.id.clone()).collect();
        plan.with_unique_ids(&taken)
    }

    pub(super) fn to_value(&self) -> Value {
        let results = |all: &[StepResult]| Value::array(all.iter().map(StepResult::to_value));
        let list = |all: &[Value]| Value::array(all.iter().cloned());
        let mut told = Map::new();
        told.insert("request", self.request.to_value());
        told.insert("recent", list(&self.memory.recent));
        told.insert("matches", list(&self.memory.matches));
        if let Some(meaning) = &self.memory.embedding {
            let numbers = meaning.iter().map(|one| f64::from(*one).into());
            told.insert("meaning", Value::array(numbers));
        }
        if let Some(why) = &self.memory.no_embedding {
            told.insert("no_meaning", why.as_str().into());
        }
        if self.is_remembered {
            told.insert("remembered", true.into());
        }
        told.insert("plan", self.plan.to_value());
        if let Some(by) = self.by {
            told.insert("planner", by.as_str().into());
        }
        told.insert("failed", results(&self.failed));
        told.insert("earlier", results(&self.earlier));
        let runs = self.runs.iter().cloned().map(Value::from);
        told.insert("runs", Value::array(runs));
        told.insert("replans", self.replans.into());
        told.insert("tokens", self.tokens.into());
        let left = self
            .budget_left
            .and_then(|left| serde_json::to_value(left).ok());
        if let Some(left) = left {
            told.insert("left", left.into());
        }
        let problems = self.problems.iter().map(|text| Value::from(text.as_str()));
        told.insert("problems", Value::array(problems));
        if let Some(workflow) = &self.workflow {
            told.insert("workflow", workflow.clone());
            let kept = ToolPlan {
                steps: self.saved_steps.clone(),
            };
            told.insert("kept", kept.to_value());
        }
        Value::object([("loop", told.into())])
    }

    /// Reads what [`Self::to_value`] wrote; `None` for anything else.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let value = value.get("loop")?;
        let list = |key| value.get(key).and_then(Value::as_array).unwrap_or_default();
        let number = |key| value.get(key).and_then(Value::as_u64).unwrap_or(0);
        let results = |key| list(key).iter().filter_map(StepResult::read).collect();
        let texts = |key| list(key).iter().filter_map(Value::as_str);
        Some(Self {
            request: LoopRequest::read(value.get("request")?).ok()?,
            memory: RecalledMessages {
                recent: list("recent").to_vec(),
                matches: list("matches").to_vec(),
                embedding: value.get("meaning").and_then(Value::as_array).map(|all| {
                    let number = |one: &Value| one.as_f64().map(|number| number as f32);
                    all.iter().filter_map(number).collect()
                }),
                no_embedding: value
                    .get("no_meaning")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            },
            plan: ToolPlan::from_value(value.get("plan")?).ok()?,
            by: value
                .get("planner")
                .and_then(Value::as_str)
                .and_then(PlannerKind::parse),
            failed: results("failed"),
            earlier: results("earlier"),
            runs: texts("runs").map(Str::from).collect(),
            replans: number("replans"),
            tokens: number("tokens"),
            budget_left: value.get("left").and_then(|left| Budget::parse(left).ok()),
            problems: texts("problems").map(str::to_owned).collect(),
            workflow: value.get("workflow").cloned(),
            saved_steps: value
                .get("kept")
                .and_then(|kept| ToolPlan::from_value(kept).ok())
                .map(|plan| plan.steps)
                .unwrap_or_default(),
            is_remembered: value.get("remembered").and_then(Value::as_bool) == Some(true),
            upstream: None,
        })
    }
}
