//! The planning step: by the model if there is one, otherwise by the planner without a model if it is confident.

use super::response::PlannerKind;
use super::state::LoopState;
use super::{LoopRunner, PlanMaker, PlanningTask, PromptEditor, candidates, check, prompt};
use crate::planner;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::Fault;
use tramline_engine::clock;
use tramline_engine::ports::{Message, Model, PlanningSpan, Role, Tool};
use tramline_expr::Value;
use tramline_formats::tool_plan::{PlannedStep, ToolPlan};
use tramline_workflow::ids::ToolName;

/// How long a model has for a plan, regardless of its own timeout.
const PLAN_TIMEOUT: Duration = Duration::from_secs(180);
/// How often a model is asked for one plan: the second time to fix problems.
const ATTEMPTS_MAX: usize = 2;

impl LoopRunner {
    /// A plan, or `None` if no planner here has one. `before` is the plan that failed.
    pub(super) async fn make_plan(
        &self,
        course: &mut LoopState,
        tools: &[Arc<Tool>],
        before: Option<&ToolPlan>,
    ) -> Option<(ToolPlan, PlannerKind)> {
        if let Some(maker) = &self.plan_maker {
            match self.plan_by_program(maker, course, tools, before).await {
                Ok(Some(plan)) => return Some((plan, PlannerKind::Program)),
                Ok(None) => {}
                Err(why) => course.problems.push(why),
            }
        }
        if let Some(model) = &self.model {
            let shown = candidates::for_model(&self.planner, &course.request, tools).await;
            match self
                .plan_with_model_observed(model, course, (tools, &shown), before)
                .await
            {
                Ok(plan) => return Some((plan, PlannerKind::Model)),
                Err(why) => course.problems.push(why),
            }
        }
        if before.is_some() {
            return None;
        }
        self.confident_guess(course)
            .await
            .map(|plan| (plan, PlannerKind::Words))
    }

    /// The plan of the program's own planner; `None` if it leaves the task to another one.
    async fn plan_by_program(
        &self,
        maker: &Arc<dyn PlanMaker>,
        course: &LoopState,
        tools: &[Arc<Tool>],
        before: Option<&ToolPlan>,
    ) -> Result<Option<ToolPlan>, String> {
        let shown = candidates::for_model(&self.planner, &course.request, tools).await;
        let task = PlanningTask::new(course, &shown, before);
        let made = tokio::time::timeout(PLAN_TIMEOUT, maker.plan(&task)).await;
        let made =
            made.map_err(|_| format!("the planner returned no plan within {PLAN_TIMEOUT:?}"))??;
        let Some(made) = made else {
            return Ok(None);
        };
        let plan = ToolPlan::from_value(&Value::from(made));
        let plan =
            plan.map_err(|wrong| format!("the planner's plan is invalid: {}", wrong.join("; ")))?;
        if let Some(why) = before.and_then(|before| rejection_reason(&plan, before, "planner")) {
            return Err(why);
        }
        Ok(Some(course.with_distinct_ids(plan)))
    }

    /// The plan of the planner without a model, if it may run without review.
    async fn confident_guess(&self, course: &LoopState) -> Option<ToolPlan> {
        let planned = self.guess_plan(course).await.ok();
        let planned = planned.filter(planner::TaskPlan::may_run)?;
        Some(plan_of_tasks(&planned.tasks))
    }

    /// The plan of the planner without a model.
    pub(super) async fn guess_plan(&self, course: &LoopState) -> Result<planner::TaskPlan, Fault> {
        let context = Value::from(course.request.context.clone());
        let may = |tool: &ToolName| course.request.may_use(tool);
        let wish = course.request.last_message();
        let planned = self
            .planner
            .plan(wish, Some(&context), &may, &|_| false, &[]);
        planned.await
    }

    /// Asks the model and reports the result to the observer, if there is one.
    pub(super) async fn plan_with_model_observed(
        &self,
        model: &Arc<dyn Model>,
        course: &mut LoopState,
        tools: (&[Arc<Tool>], &[Arc<Tool>]),
        before: Option<&ToolPlan>,
    ) -> Result<ToolPlan, String> {
        let edit = self.prompt_editor.as_deref();
        let Some(observer) = self.engine().options().observer.clone() else {
            return plan_with_model(model, course, tools, before, edit).await;
        };
        let (began_ms, tokens) = (clock::now_ms(), course.tokens);
        let within = course.upstream.take();
        let span = observer.begin_planning(within.as_ref());
        course.upstream = Some(span.clone());
        let plan = plan_with_model(model, course, tools, before, edit).await;
        observer.on_planned(&PlanningSpan {
            span: &span,
            parent: within.as_ref(),
            by: PlannerKind::Model.as_str(),
            began_ms,
            tokens: course.tokens.saturating_sub(tokens),
            failure: plan.as_ref().err().map(String::as_str),
        });
        // The next spans are siblings of the planning span. Without a caller's span they are its children, so that both
        // are found together.
        course.upstream = within.or(Some(span));
        plan
    }
}

/// Asks the model for a plan, reports its problems, and asks again. The model sees only `shown`.
async fn plan_with_model(
    model: &Arc<dyn Model>,
    course: &mut LoopState,
    (tools, shown): (&[Arc<Tool>], &[Arc<Tool>]),
    before: Option<&ToolPlan>,
    edit: Option<&PromptEditor>,
) -> Result<ToolPlan, String> {
    let mut prompt = prompt::prompt(course, shown, before, edit);
    prompt.upstream = course.upstream.clone();
    let mut lenient = None;
    for _ in 0..ATTEMPTS_MAX {
        let most = course.budget().and_then(|budget| budget.tokens);
        if most.is_some_and(|most| course.tokens >= most) {
            return Err("planning used up the token budget".to_owned());
        }
        let answer = tokio::time::timeout(PLAN_TIMEOUT, model.complete(prompt.clone())).await;
        let answer =
            answer.map_err(|_| format!("the model returned no plan within {PLAN_TIMEOUT:?}"))?;
        let answer = answer.map_err(|failure| failure.to_string())?;
        course.tokens = course.tokens.saturating_add(answer.tokens);
        let wrong = match ToolPlan::read(&answer.text) {
            Ok(plan) => {
                if let Some(why) =
                    before.and_then(|before| rejection_reason(&plan, before, "model"))
                {
                    return Err(why);
                }
                let plan = course.with_distinct_ids(plan);
                let wrong = check::check(&plan, course, tools).problems;
                if wrong.is_empty() {
                    return Ok(plan);
                }
                lenient = Some(plan);
                wrong
            }
            Err(wrong) => wrong,
        };
        let say = |role, text| Message { role, text };
        prompt.messages.push(say(Role::Assistant, answer.text));
        prompt
            .messages
            .push(say(Role::User, prompt::repair_message(&wrong)));
        course.problems.extend(wrong);
    }
    // A plan with some steps that cannot run is still usable.
    lenient.ok_or_else(|| "the model returned no valid plan".to_owned())
}

/// Why a plan is useless after the failed one.
fn rejection_reason(plan: &ToolPlan, before: &ToolPlan, planner: &str) -> Option<String> {
    let calls = |plan: &ToolPlan| -> Vec<_> {
        let steps = plan.steps.iter();
        steps
            .map(|step| (step.tool.clone(), step.args.to_json()))
            .collect()
    };
    if plan.steps.is_empty() {
        return Some(format!("the {planner} has no other plan"));
    }
    (calls(plan) == calls(before)).then(|| format!("the {planner} returned the same plan again"))
}

/// Sequential tasks as a plan.
pub(super) fn plan_of_tasks(tasks: &Value) -> ToolPlan {
    let text = |task: &Value, key: &str| task.get(key).and_then(Value::as_str).map(Into::into);
    let step = |task: &Value| {
        Some(PlannedStep {
            id: text(task, "id")?,
            tool: text(task, "tool")?,
            args: task.get("arguments").cloned().unwrap_or_default(),
        })
    };
    let tasks = tasks.as_array().unwrap_or_default();
    ToolPlan {
        steps: tasks.iter().filter_map(step).collect(),
    }
}
