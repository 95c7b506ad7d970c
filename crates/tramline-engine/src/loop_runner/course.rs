//! What a loop knows on its way, as it stands in a run's input or with a question for a plan.

use super::memory::Recalled;
use super::request::Request;
use super::response::{By, StepResult};
use crate::engine::Loaded;
use tramline_core::formats::tool_plan::{Plan, Planned};
use tramline_core::ids::RunId;
use tramline_core::journal::{Budget, Spent};
use tramline_core::upstream::Upstream;
use tramline_core::{Map, Str, Value};

/// A plan that failed is made anew so often.
const REPLANS: u64 = 1;

/// What a loop knows on its way.
#[derive(Clone, Debug, Default)]
pub struct Course {
    pub(super) request: Request,
    pub(super) recalled: Recalled,
    pub(super) plan: Plan,
    pub(super) by: Option<By>,
    /// The steps of the plan that cannot be run, as results.
    pub(super) failed: Vec<StepResult>,
    /// What came of earlier plans.
    pub(super) earlier: Vec<StepResult>,
    /// The runs of earlier plans.
    pub(super) runs: Vec<Str>,
    /// How many new plans may still be made.
    pub(super) replans: u64,
    /// What planning took.
    pub(super) tokens: u64,
    /// What the runs of earlier plans left of the budget, planning not counted.
    left: Option<Budget>,
    pub(super) problems: Vec<String>,
    /// What the plan would be saved as, where that is wanted.
    pub(super) workflow: Option<Value>,
    /// The steps of earlier plans that succeeded, where the plan is to be saved.
    pub(super) kept: Vec<Planned>,
    /// The span that planning belongs to; not written down, since it is of this process.
    pub(super) upstream: Option<Upstream>,
}

impl Course {
    pub(super) fn new(request: Request, recalled: Recalled) -> Self {
        Self {
            request,
            recalled,
            replans: REPLANS,
            ..Self::default()
        }
    }

    /// What all that is still done may use together, planning not yet taken off.
    pub(super) fn budget(&self) -> Option<Budget> {
        self.left.or(self.request.budget)
    }

    /// Takes what a run used from the budget. What was granted in it stays granted.
    pub(super) fn spend(&mut self, of: &Loaded) {
        let active_ms = of.run.active_ms(of.run.updated_ms);
        let mut left = of.run.budget_left(active_ms, of.bytes);
        if let Some(left) = &mut left {
            // Planning was taken off before the run began, and is again before the next.
            left.extend(&Budget::of(Spent::Tokens, self.tokens));
        }
        self.left = left;
    }

    /// What is known before anything is done.
    pub(super) fn context(&self) -> Map {
        let mut context = Map::new();
        let meaning = self.recalled.meaning.as_ref();
        let meaning = meaning.map(|all| Value::array(all.iter().map(|one| f64::from(*one).into())));
        context.insert("embeddedMessage", meaning.unwrap_or_default());
        let list = |all: &[Value]| Value::array(all.iter().cloned());
        context.insert("recentMessages", list(&self.recalled.recent));
        context.insert("semanticMatches", list(&self.recalled.matches));
        let session = self.request.session.clone();
        context.insert("sessionId", session.map_or(Value::Null, Value::from));
        context.insert("mode", self.request.mode.clone().into());
        for (key, value) in self.request.context.iter() {
            context.insert(key.clone(), value.clone());
        }
        context
    }

    /// The results of the current plan in its order: those of its run, and of what could not run.
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

    /// Puts what came of a plan behind it, before another one is made.
    pub(super) fn remember(&mut self, run: Option<&RunId>, results: &[StepResult]) {
        self.earlier.extend(results.iter().cloned());
        self.runs.extend(run.map(|run| Str::from(run.as_str())));
    }

    /// A plan that goes on after earlier ones: no step of it is called like one of theirs.
    pub(super) fn distinct(&self, plan: Plan) -> Plan {
        let taken = self.earlier.iter().map(|one| one.id.clone()).collect();
        plan.distinct(&taken)
    }

    pub(super) fn to_value(&self) -> Value {
        let results = |all: &[StepResult]| Value::array(all.iter().map(StepResult::to_value));
        let list = |all: &[Value]| Value::array(all.iter().cloned());
        let mut told = Map::new();
        told.insert("request", self.request.to_value());
        told.insert("recent", list(&self.recalled.recent));
        told.insert("matches", list(&self.recalled.matches));
        if let Some(meaning) = &self.recalled.meaning {
            let numbers = meaning.iter().map(|one| f64::from(*one).into());
            told.insert("meaning", Value::array(numbers));
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
        let left = self.left.and_then(|left| serde_json::to_value(left).ok());
        if let Some(left) = left {
            told.insert("left", left.into());
        }
        let problems = self.problems.iter().map(|text| Value::from(text.as_str()));
        told.insert("problems", Value::array(problems));
        if let Some(workflow) = &self.workflow {
            told.insert("workflow", workflow.clone());
            let kept = Plan {
                steps: self.kept.clone(),
            };
            told.insert("kept", kept.to_value());
        }
        Value::object([("loop", told.into())])
    }

    /// Reads what [`Course::to_value`] wrote; nothing if it is something else.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let value = value.get("loop")?;
        let list = |key| value.get(key).and_then(Value::as_array).unwrap_or_default();
        let number = |key| value.get(key).and_then(Value::as_u64).unwrap_or(0);
        let results = |key| list(key).iter().filter_map(StepResult::read).collect();
        let texts = |key| list(key).iter().filter_map(Value::as_str);
        Some(Self {
            request: Request::read(value.get("request")?).ok()?,
            recalled: Recalled {
                recent: list("recent").to_vec(),
                matches: list("matches").to_vec(),
                meaning: value.get("meaning").and_then(Value::as_array).map(|all| {
                    let number = |one: &Value| one.as_f64().map(|number| number as f32);
                    all.iter().filter_map(number).collect()
                }),
            },
            plan: Plan::from_value(value.get("plan")?).ok()?,
            by: value
                .get("planner")
                .and_then(Value::as_str)
                .and_then(By::parse),
            failed: results("failed"),
            earlier: results("earlier"),
            runs: texts("runs").map(Str::from).collect(),
            replans: number("replans"),
            tokens: number("tokens"),
            left: value.get("left").and_then(|left| Budget::read(left).ok()),
            problems: texts("problems").map(str::to_owned).collect(),
            workflow: value.get("workflow").cloned(),
            kept: value
                .get("kept")
                .and_then(|kept| Plan::from_value(kept).ok())
                .map(|plan| plan.steps)
                .unwrap_or_default(),
            upstream: None,
        })
    }
}
