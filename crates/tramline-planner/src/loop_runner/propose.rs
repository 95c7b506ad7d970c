//! Plans for an intent outside the loop: by the model if there is one, otherwise by the calling agent.

use super::memory::RecalledMessages;
use super::plan_request_store::{self, PendingPlan};
use super::request::LoopRequest;
use super::state::LoopState;
use super::{CallerContext, LoopRunner, candidates, check, plan_request, plan_step};
use crate::planner;
use std::collections::BTreeSet;
use tramline_engine::Fault;
use tramline_expr::{Map, Str, Value};
use tramline_formats::tool_plan::ToolPlan;
use tramline_workflow::trace_context::TraceContext;

/// The message to an agent that plans.
const MESSAGE: &str = "The request alone is not enough to act on. Plan with these tools and pass the plan \
                       to submit_plan with the handle: steps {tool, args, id?} run in sequence; \
                       with depends_on in any of them, in that order. $OUTPUT[id].field refers to the \
                       output of an earlier step.";

/// The model's answer to an intent.
#[derive(Debug)]
pub enum Proposal {
    /// There is no model.
    NoModel,
    /// A valid plan with fully qualified tool names, and the number of tokens used.
    Plan(ToolPlan, u64),
    /// The model decided that no tool call is needed.
    Nothing,
    /// The model returned no usable plan; the text says why.
    Failed(String),
}

/// An intent for which a calling agent plans.
#[derive(Debug)]
pub struct Intent<'a> {
    /// The request in the caller's words.
    pub request: &'a str,
    /// Additional context.
    pub context: Option<&'a Value>,
    /// The plan of the planner without a model.
    pub guess: &'a planner::TaskPlan,
    /// What the answer is used for, in the front end's own format. It is stored with the plan request.
    pub about: Value,
    /// Additional fields of the plan request, by name.
    pub more: Map,
}

impl LoopRunner {
    /// The model's plan for an intent. No step id is one of `taken`.
    pub async fn propose(
        &self,
        wish: &str,
        context: Option<&Value>,
        taken: &BTreeSet<Str>,
        upstream: Option<TraceContext>,
    ) -> Proposal {
        let Some(model) = self.model.as_ref() else {
            return Proposal::NoModel;
        };
        let request = request_for_intent(wish, context);
        if let Err(why) = request.check() {
            return Proposal::Failed(why);
        }
        let tools = match self.tools(&request).await {
            Ok(tools) => tools,
            Err(fault) => return Proposal::Failed(fault.to_string()),
        };
        let shown = candidates::for_model(&self.planner, &request, &tools).await;
        let mut course = LoopState::new(request, RecalledMessages::default());
        course.upstream = upstream;
        let asked = self.plan_with_model_observed(model, &mut course, (&tools, &shown), None);
        let plan = match asked.await {
            Ok(plan) => plan.with_unique_ids(taken),
            Err(why) => return Proposal::Failed(why),
        };
        let checked = check::check(&plan, &course, &tools);
        match (
            checked.problems.is_empty(),
            checked.runnable.steps.is_empty(),
        ) {
            (false, _) => Proposal::Failed(checked.problems.join("; ")),
            (true, true) => Proposal::Nothing,
            (true, false) => Proposal::Plan(checked.runnable, course.tokens),
        }
    }

    /// Requests a plan from the calling agent: returns the handle and the request.
    pub async fn ask_agent(
        &self,
        intent: Intent<'_>,
        terms: &CallerContext,
    ) -> Result<(String, Value), Fault> {
        let request = request_for_intent(intent.request, intent.context);
        let tools = self.tools(&request).await?;
        let (engine, guess) = (self.engine(), intent.guess);
        let offered =
            candidates::for_agent(&self.planner, &request, &tools, Some(guess), false).await;
        let mut asks = plan_request::request_fields(engine, MESSAGE, intent.request, &offered);
        asks.insert("plan_schema", plan_request::dag_schema());
        asks.insert("open", plan_request::open_points(guess).into());
        for (key, value) in intent.more {
            asks.insert(key, value);
        }
        let handle = plan_request_store::store_request(
            &self.planner,
            PendingPlan::External(intent.about),
            terms,
        )
        .await?;
        let suggested = plan_step::plan_of_tasks(&guess.tasks);
        let example = plan_request::example(Some(&suggested), &offered.tools, &handle);
        asks.insert("example", example);
        Ok((handle, asks.into()))
    }
}

fn request_for_intent(wish: &str, context: Option<&Value>) -> LoopRequest {
    let mut request = LoopRequest::new(wish);
    let context = context.and_then(Value::as_object);
    request.context = context.cloned().unwrap_or_default();
    request
}
