//! The loop's response: the context with the results, the plan, and the status.

use super::state::LoopState;
use tramline_expr::{Map, Str, Value};
use tramline_formats::tool_plan::ToolPlan;
use tramline_workflow::ids::RunId;

/// The status of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopStatus {
    /// The plan was executed as requested.
    Complete,
    /// A step failed.
    Failed,
    /// The plan was rejected before anything ran.
    Refused,
    /// The run waits for an answer.
    Paused,
    /// A plan is requested from the calling agent.
    PlanRequest,
    /// A person rejected it.
    Rejected,
    /// It was aborted.
    Aborted,
    /// No answer arrived in time.
    Expired,
}

impl LoopStatus {
    /// The status as callers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Paused => "paused",
            Self::PlanRequest => "plan_request",
            Self::Rejected => "rejected",
            Self::Aborted => "aborted",
            Self::Expired => "expired",
        }
    }
}

/// Who made a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannerKind {
    /// It came with the request.
    Caller,
    /// The model.
    Model,
    /// The planner without a model.
    Words,
    /// The calling agent, on request.
    Agent,
    /// The planner of the program that embeds the loop.
    Program,
}

impl PlannerKind {
    const ALL: [Self; 5] = [
        Self::Caller,
        Self::Model,
        Self::Words,
        Self::Agent,
        Self::Program,
    ];

    /// The planner's name as callers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Model => "model",
            Self::Words => "words",
            Self::Agent => "agent",
            Self::Program => "program",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.as_str() == text)
    }
}

/// The result of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// The step's id.
    pub id: Str,
    /// The tool, as the planner named it.
    pub tool: Str,
    /// The arguments as they were sent; as planned if the step was not sent.
    pub input: Value,
    /// The tool's output.
    pub output: Value,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// Whether it was skipped because its tool is unknown.
    pub unknown: bool,
}

impl StepResult {
    /// A step with an unknown tool is reported and skipped; it does not count as failed.
    pub(super) fn counts_as_failed(&self) -> bool {
        self.error.is_some() && !self.unknown
    }

    /// The result in the format for callers.
    pub fn to_value(&self) -> Value {
        let mut told = Map::new();
        told.insert("id", self.id.clone().into());
        told.insert("tool", self.tool.clone().into());
        told.insert("input", self.input.clone());
        told.insert("output", self.output.clone());
        told.insert("success", self.error.is_none().into());
        if let Some(error) = &self.error {
            told.insert("error", error.as_str().into());
        }
        if self.unknown {
            told.insert("unknown", true.into());
        }
        told.into()
    }

    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = |key| value.get(key).and_then(Value::as_str);
        Some(Self {
            id: text("id")?.into(),
            tool: text("tool")?.into(),
            input: value.get("input").cloned().unwrap_or_default(),
            output: value.get("output").cloned().unwrap_or_default(),
            error: text("error").map(str::to_owned),
            unknown: value
                .get("unknown")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        })
    }
}

/// Whether no step of a plan did anything: all are skipped because their tools are unknown. A summary of nothing does
/// not count.
pub(super) fn is_nothing_done(results: &[StepResult]) -> bool {
    let is_summary = |result: &&StepResult| super::run_plan::is_summary(&result.tool);
    let mut steps = results
        .iter()
        .filter(|result| !is_summary(result))
        .peekable();
    steps.peek().is_some() && steps.all(|result| result.unknown)
}

/// The loop's response.
#[derive(Clone, Debug)]
pub struct LoopResponse {
    /// The status.
    pub status: LoopStatus,
    /// The context, with every result under its step's id and its tool's name.
    pub context: Map,
    /// The result of each step, those of earlier plans first.
    pub results: Vec<StepResult>,
    /// The last plan.
    pub plan: ToolPlan,
    /// Who made it.
    pub planner: Option<PlannerKind>,
    /// Earlier messages similar to the last one.
    pub matches: Vec<Value>,
    /// The output of `finalize_summary`.
    pub summary: Option<String>,
    /// The runs, one for each plan.
    pub runs: Vec<Str>,
    /// Problems that occurred, for people and planners.
    pub problems: Vec<String>,
    /// Tokens used by planning.
    pub tokens: u64,
    /// What the run waits for.
    pub waiting: Option<Value>,
    /// The handle under which a plan can be submitted.
    pub handle: Option<String>,
    /// The plan request to the calling agent.
    pub plan_request: Option<Value>,
    /// The plan as a DAG, if it is to be saved.
    pub workflow: Option<Value>,
    /// Where it was saved, or why it was not.
    pub saved: Option<Value>,
}

impl LoopResponse {
    pub(super) fn new(course: &LoopState, done: Vec<StepResult>, status: LoopStatus) -> Self {
        let mut results = course.earlier.clone();
        results.extend(done);
        let mut context = course.context();
        let mut summary = None;
        for result in results.iter().filter(|result| result.error.is_none()) {
            let said = result.output.get("summary").and_then(Value::as_str);
            if let (true, Some(said)) = (super::run_plan::is_summary(&result.tool), said) {
                summary = Some(said.to_owned());
            }
            context.insert(result.tool.clone(), result.output.clone());
            context.insert(result.id.clone(), result.output.clone());
        }
        Self {
            status,
            context,
            results,
            plan: course.plan.clone(),
            planner: course.by,
            matches: course.memory.matches.clone(),
            summary,
            runs: course.runs.clone(),
            problems: course.problems.clone(),
            tokens: course.tokens,
            waiting: None,
            handle: None,
            plan_request: None,
            workflow: course.workflow.clone(),
            saved: None,
        }
    }

    pub(super) fn rejected(course: &LoopState, wrong: Vec<String>) -> Self {
        let mut response = Self::new(course, Vec::new(), LoopStatus::Refused);
        response.problems.extend(wrong);
        response
    }

    pub(super) fn with_handle(mut self, handle: &str) -> Self {
        self.handle = Some(handle.to_owned());
        self
    }

    pub(super) fn with_run(mut self, run: &RunId) -> Self {
        let run = Str::from(run.as_str());
        if !self.runs.contains(&run) {
            self.runs.push(run);
        }
        self
    }

    pub(super) fn with_pauses(mut self, waiting: Value) -> Self {
        self.waiting = Some(waiting);
        self
    }

    /// Whether the request was fulfilled.
    pub fn success(&self) -> bool {
        self.status == LoopStatus::Complete
    }

    /// The steps of the last plan that have not succeeded, each with its error if it was tried.
    fn open_steps(&self) -> Vec<Value> {
        let result = |id: &Str| self.results.iter().rev().find(|result| result.id == *id);
        let steps = self.plan.steps.iter().filter_map(|step| {
            let tried = result(&step.id);
            if tried.is_some_and(|result| result.error.is_none()) {
                return None;
            }
            let mut open = Map::new();
            open.insert("id", step.id.clone().into());
            open.insert("tool", step.tool.clone().into());
            if let Some(error) = tried.and_then(|result| result.error.as_deref()) {
                open.insert("error", error.into());
            }
            Some(open.into())
        });
        steps.collect()
    }

    /// The response in the format for callers.
    pub fn to_value(&self) -> Value {
        let texts = |all: &[String]| Value::array(all.iter().map(|text| text.as_str().into()));
        let mut data = Map::new();
        data.insert("context", self.context.clone().into());
        let results = self.results.iter().map(StepResult::to_value);
        data.insert("intermediateResults", Value::array(results));
        data.insert("plan", self.plan.to_value());
        data.insert(
            "semanticMatches",
            Value::array(self.matches.iter().cloned()),
        );
        if let Some(summary) = &self.summary {
            data.insert("summaryMessage", summary.as_str().into());
        }
        if let Some(workflow) = &self.workflow {
            data.insert("workflow", workflow.clone());
        }
        let mut told = Map::new();
        told.insert("success", self.success().into());
        told.insert("status", self.status.as_str().into());
        told.insert("data", data.into());
        if let Some(by) = self.planner {
            told.insert("planner", by.as_str().into());
        }
        if let Some(run) = self.runs.last() {
            told.insert("runId", run.clone().into());
        }
        if self.runs.len() > 1 {
            let runs = self.runs.iter().cloned().map(Value::from);
            told.insert("runs", Value::array(runs));
        }
        if !self.problems.is_empty() {
            told.insert("problems", texts(&self.problems));
        }
        if self.tokens > 0 {
            let usage = Value::object([("tokens", self.tokens.into())]);
            told.insert("usage", usage);
        }
        let open = self.open_steps();
        if !open.is_empty() {
            told.insert("open", Value::array(open));
        }
        if let Some(saved) = &self.saved {
            told.insert("saved", saved.clone());
        }
        if let Some(waiting) = &self.waiting {
            told.insert("waiting", waiting.clone());
        }
        if let Some(handle) = &self.handle {
            told.insert("handle", handle.as_str().into());
        }
        if let Some(asks) = &self.plan_request {
            told.insert("plan_request", asks.clone());
        }
        told.into()
    }
}
