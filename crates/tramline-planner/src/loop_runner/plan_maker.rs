//! Planning by the program that embeds the loop: a planner of its own, or another prompt for the model.

use super::LoopRunner;
use super::plan_request::tools_json;
use super::response::StepResult;
use super::state::LoopState;
use async_trait::async_trait;
use serde_json::Value as Json;
use std::sync::Arc;
use tramline_engine::ports::Tool;
use tramline_expr::Value;
use tramline_formats::tool_plan::ToolPlan;

/// Makes plans for the loop, before the model and the planner without a model are tried.
#[async_trait]
pub trait PlanMaker: Send + Sync + 'static {
    /// A plan: a list of `{tool, args, id?}`, empty if no tool is needed. `None` leaves the task to the next planner. An
    /// error is reported with the response, and the next planner is tried.
    async fn plan(&self, task: &PlanningTask) -> Result<Option<Json>, String>;
}

/// What a plan is made for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanningTask {
    /// The request: the last message.
    pub message: String,
    /// The mode of the request.
    pub mode: String,
    /// The context: recent and similar messages, and what the caller added.
    pub context: Json,
    /// The caller's hints.
    pub recommendations: Json,
    /// The tools to choose from, best first, each with `name`, `description` and `argsSchema`.
    pub tools: Json,
    /// The plan that failed, if this one is for its remaining work.
    pub failed_plan: Option<Json>,
    /// The results of earlier plans.
    pub results: Json,
}

/// The prompt for the model that plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannerPrompt {
    /// The system message: rules and the format of the answer.
    pub rules: String,
    /// The user message: tools, context and request.
    pub request: String,
}

/// Changes the prompt for the model that plans.
pub type PromptEditor = dyn Fn(PlannerPrompt, &PlanningTask) -> PlannerPrompt + Send + Sync;

impl LoopRunner {
    /// Sets a planner of the program's own. It is tried before the model.
    #[must_use]
    pub fn with_planner(mut self, planner: Arc<dyn PlanMaker>) -> Self {
        self.plan_maker = Some(planner);
        self
    }

    /// Changes the prompt for the model that plans. The answer's format stays the same.
    #[must_use]
    pub fn with_prompt(
        mut self,
        edit: impl Fn(PlannerPrompt, &PlanningTask) -> PlannerPrompt + Send + Sync + 'static,
    ) -> Self {
        self.prompt_editor = Some(Arc::new(edit));
        self
    }
}

impl PlanningTask {
    pub(super) fn new(course: &LoopState, tools: &[Arc<Tool>], before: Option<&ToolPlan>) -> Self {
        let results = course.earlier.iter().map(StepResult::to_value);
        let hints = course.request.recommendations.iter().cloned();
        Self {
            message: course.request.last_message().to_owned(),
            mode: course.request.mode.to_string(),
            context: Json::from(&Value::from(course.context())),
            recommendations: Json::from(&Value::array(hints)),
            tools: Json::from(&tools_json(tools)),
            failed_plan: before.map(|plan| Json::from(&plan.to_value())),
            results: Json::from(&Value::array(results)),
        }
    }
}
