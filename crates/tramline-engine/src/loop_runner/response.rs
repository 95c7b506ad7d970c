//! What the loop answers: the context with its results, the plan, and how it stands.

use super::course::Course;
use tramline_core::formats::tool_plan::Plan;
use tramline_core::ids::RunId;
use tramline_core::{Map, Str, Value};

/// How a loop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The plan was done, as far as was asked for.
    Complete,
    /// A step failed.
    Failed,
    /// The plan was refused before anything ran.
    Refused,
    /// The run waits for an answer.
    Waiting,
    /// The calling agent is asked for a plan.
    PlanRequest,
    /// A person said no.
    Rejected,
    /// It was ended from outside.
    Aborted,
    /// Nobody answered in the time it was given.
    Expired,
}

impl Standing {
    /// The standing as callers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Waiting => "paused",
            Self::PlanRequest => "plan_request",
            Self::Rejected => "rejected",
            Self::Aborted => "aborted",
            Self::Expired => "expired",
        }
    }
}

/// Who made a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// It came with the request.
    Caller,
    /// The model.
    Model,
    /// The planner of words.
    Words,
    /// The calling agent, who was asked for it.
    Agent,
}

impl By {
    const ALL: [Self; 4] = [Self::Caller, Self::Model, Self::Words, Self::Agent];

    /// The planner as callers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Model => "model",
            Self::Words => "words",
            Self::Agent => "agent",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.as_str() == text)
    }
}

/// What became of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// Which step.
    pub id: Str,
    /// The tool, as the planner named it.
    pub tool: Str,
    /// The arguments, as they were sent where they were.
    pub input: Value,
    /// What it gave.
    pub output: Value,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// Whether it is passed over as a tool that nobody knows.
    pub unknown: bool,
}

impl StepResult {
    /// A tool that nobody knows is told of and otherwise passed over.
    pub(super) fn counts_as_failed(&self) -> bool {
        self.error.is_some() && !self.unknown
    }

    /// The result as callers read it.
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

/// What the loop answers.
#[derive(Clone, Debug)]
pub struct Response {
    /// How it stands.
    pub standing: Standing,
    /// What was known, with every result under its step's id and its tool's name.
    pub context: Map,
    /// What became of each step, those of earlier plans first.
    pub results: Vec<StepResult>,
    /// The last plan.
    pub plan: Plan,
    /// Who made it.
    pub by: Option<By>,
    /// Earlier messages that are near to the last one.
    pub matches: Vec<Value>,
    /// What `finalize_summary` said.
    pub summary: Option<String>,
    /// The runs, one for each plan.
    pub runs: Vec<Str>,
    /// What went wrong on the way, for people and planners.
    pub problems: Vec<String>,
    /// How many tokens planning took.
    pub tokens: u64,
    /// What the run waits for.
    pub waiting: Option<Value>,
    /// Under what a plan can be submitted.
    pub handle: Option<String>,
    /// What is asked of the calling agent.
    pub asks: Option<Value>,
    /// The plan as a DAG, where it was asked for by a name.
    pub workflow: Option<Value>,
    /// Where it was saved, or why it was not.
    pub saved: Option<Value>,
}

impl Response {
    pub(super) fn new(course: &Course, done: Vec<StepResult>, standing: Standing) -> Self {
        let mut results = course.earlier.clone();
        results.extend(done);
        let mut context = course.context();
        let mut summary = None;
        for result in results.iter().filter(|result| result.error.is_none()) {
            let said = result.output.get("summary").and_then(Value::as_str);
            if let (true, Some(said)) = (super::perform::is_summary(&result.tool), said) {
                summary = Some(said.to_owned());
            }
            context.insert(result.tool.clone(), result.output.clone());
            context.insert(result.id.clone(), result.output.clone());
        }
        Self {
            standing,
            context,
            results,
            plan: course.plan.clone(),
            by: course.by,
            matches: course.recalled.matches.clone(),
            summary,
            runs: course.runs.clone(),
            problems: course.problems.clone(),
            tokens: course.tokens,
            waiting: None,
            handle: None,
            asks: None,
            workflow: course.workflow.clone(),
            saved: None,
        }
    }

    pub(super) fn refused(course: &Course, wrong: Vec<String>) -> Self {
        let mut response = Self::new(course, Vec::new(), Standing::Refused);
        response.problems.extend(wrong);
        response
    }

    pub(super) fn with_handle(mut self, handle: &str) -> Self {
        self.handle = Some(handle.to_owned());
        self
    }

    pub(super) fn of(mut self, run: &RunId) -> Self {
        let run = Str::from(run.as_str());
        if !self.runs.contains(&run) {
            self.runs.push(run);
        }
        self
    }

    pub(super) fn waiting(mut self, waiting: Value) -> Self {
        self.waiting = Some(waiting);
        self
    }

    /// Whether what was asked for was done.
    pub fn success(&self) -> bool {
        self.standing == Standing::Complete
    }

    /// The response as callers read it.
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
        told.insert("status", self.standing.as_str().into());
        told.insert("data", data.into());
        if let Some(by) = self.by {
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
        if let Some(saved) = &self.saved {
            told.insert("saved", saved.clone());
        }
        if let Some(waiting) = &self.waiting {
            told.insert("waiting", waiting.clone());
        }
        if let Some(handle) = &self.handle {
            told.insert("handle", handle.as_str().into());
        }
        if let Some(asks) = &self.asks {
            told.insert("plan_request", asks.clone());
        }
        told.into()
    }
}
