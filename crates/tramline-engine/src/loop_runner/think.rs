//! Who plans: the model where there is one, and else the planner of words if it is sure.

use super::course::Course;
use super::response::By;
use super::{LoopRunner, candidates, check, prompt};
use crate::fault::Fault;
use crate::seams::{Message, Model, Role, Thought, Tool};
use crate::{clock, planner};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::Value;
use tramline_core::formats::tool_plan::{Plan, Planned};
use tramline_core::ids::ToolName;

/// A model gets so long for a plan, whatever its own patience is.
const PLAN_MAX: Duration = Duration::from_secs(180);
/// A model is asked so often for one plan: once more to repair what was wrong.
const ASKED_MAX: usize = 2;

impl LoopRunner {
    /// A plan, or nothing if nobody here has one. `before` is the plan that failed.
    pub(super) async fn think(
        &self,
        course: &mut Course,
        tools: &[Arc<Tool>],
        before: Option<&Plan>,
    ) -> Option<(Plan, By)> {
        if let Some(model) = &self.model {
            let shown = candidates::for_model(&self.engine, &course.request, tools).await;
            match self.observed(model, course, (tools, &shown), before).await {
                Ok(plan) => return Some((plan, By::Model)),
                Err(why) => course.problems.push(why),
            }
        }
        if before.is_some() {
            return None;
        }
        self.by_words(course).await.map(|plan| (plan, By::Words))
    }

    /// The plan of the planner without a model, if it may run before anybody has looked at it.
    async fn by_words(&self, course: &Course) -> Option<Plan> {
        let planned = self.guess(course).await.ok();
        let planned = planned.filter(planner::Plan::may_run)?;
        Some(steps(&planned.tasks))
    }

    /// What the planner without a model makes of a wish.
    pub(super) async fn guess(&self, course: &Course) -> Result<planner::Plan, Fault> {
        let context = Value::from(course.request.context.clone());
        let may = |tool: &ToolName| course.request.may_use(tool);
        let wish = course.request.last();
        let planned = self
            .engine
            .plan(wish, Some(&context), &may, &|_| false, &[]);
        planned.await
    }

    /// Asks the model, and tells the observer, if there is one, what came of it.
    pub(super) async fn observed(
        &self,
        model: &Arc<dyn Model>,
        course: &mut Course,
        tools: (&[Arc<Tool>], &[Arc<Tool>]),
        before: Option<&Plan>,
    ) -> Result<Plan, String> {
        let Some(observer) = self.engine.options().observer.clone() else {
            return by_model(model, course, tools, before).await;
        };
        let (began_ms, tokens) = (clock::now_ms(), course.tokens);
        let within = course.upstream.take();
        let span = observer.planning(within.as_ref());
        course.upstream = Some(span.clone());
        let plan = by_model(model, course, tools, before).await;
        observer.planned(&Thought {
            span: &span,
            within: within.as_ref(),
            by: By::Model.as_str(),
            began_ms,
            tokens: course.tokens.saturating_sub(tokens),
            failure: plan.as_ref().err().map(String::as_str),
        });
        // What follows stands beside the plan; where nobody called, below it, to be found with it.
        course.upstream = within.or(Some(span));
        plan
    }
}

/// Asks the model, shows it what is wrong with its plan, and asks again. Of all tools it is shown
/// some.
async fn by_model(
    model: &Arc<dyn Model>,
    course: &mut Course,
    (tools, shown): (&[Arc<Tool>], &[Arc<Tool>]),
    before: Option<&Plan>,
) -> Result<Plan, String> {
    let mut prompt = prompt::prompt(course, shown, before);
    prompt.upstream = course.upstream.clone();
    let mut lenient = None;
    for _ in 0..ASKED_MAX {
        let most = course.budget().and_then(|budget| budget.tokens);
        if most.is_some_and(|most| course.tokens >= most) {
            return Err("the budget of tokens is used up by planning".to_owned());
        }
        let answer = tokio::time::timeout(PLAN_MAX, model.complete(prompt.clone())).await;
        let answer = answer.map_err(|_| format!("the model gave no plan in {PLAN_MAX:?}"))?;
        let answer = answer.map_err(|failure| failure.to_string())?;
        course.tokens = course.tokens.saturating_add(answer.tokens);
        let wrong = match Plan::read(&answer.text) {
            Ok(plan) => {
                if let Some(why) = before.and_then(|before| useless(&plan, before)) {
                    return Err(why);
                }
                let plan = course.distinct(plan);
                let wrong = check::check(&plan, course, tools).wrong;
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
            .push(say(Role::User, prompt::repair(&wrong)));
        course.problems.extend(wrong);
    }
    // A plan with some steps that cannot run is still one.
    lenient.ok_or_else(|| "the model gave no plan that can be read".to_owned())
}

/// Why a plan is no answer to one that failed.
fn useless(plan: &Plan, before: &Plan) -> Option<String> {
    let calls = |plan: &Plan| -> Vec<_> {
        let steps = plan.steps.iter();
        steps
            .map(|step| (step.tool.clone(), step.args.to_json()))
            .collect()
    };
    if plan.steps.is_empty() {
        return Some("the model has no other plan".to_owned());
    }
    (calls(plan) == calls(before)).then(|| "the model gave the same plan again".to_owned())
}

/// Tasks that stand one after the other, as a plan.
pub(super) fn steps(tasks: &Value) -> Plan {
    let text = |task: &Value, key: &str| task.get(key).and_then(Value::as_str).map(Into::into);
    let step = |task: &Value| {
        Some(Planned {
            id: text(task, "id")?,
            tool: text(task, "tool")?,
            args: task.get("arguments").cloned().unwrap_or_default(),
        })
    };
    let tasks = tasks.as_array().unwrap_or_default();
    Plan {
        steps: tasks.iter().filter_map(step).collect(),
    }
}
