//! Plans for an intent that is not a loop's: by the model where there is one, and else asked of the
//! calling agent.

use super::ask::{self, Asked};
use super::course::Course;
use super::memory::Recalled;
use super::request::Request;
use super::{LoopRunner, Terms, candidates, check, plan_request, think};
use crate::fault::Fault;
use crate::planner;
use std::collections::BTreeSet;
use tramline_core::formats::tool_plan::Plan;
use tramline_core::upstream::Upstream;
use tramline_core::{Map, Str, Value};

/// What is said to an agent that is to plan.
const MESSAGE: &str = "Words alone are not enough to act on. Make a plan out of these tools and give it \
                       to submit_plan with the handle: steps {tool, args, id?} run one after the other; \
                       with depends_on in any of them, as that says. $OUTPUT[id].field takes what an \
                       earlier step gave.";

/// What a model made of an intent.
#[derive(Debug)]
pub enum Proposal {
    /// There is no model.
    NoModel,
    /// A plan with nothing wrong about it and every tool named with its server, and how many tokens
    /// it took.
    Plan(Plan, u64),
    /// The model says that nothing is to be called.
    Nothing,
    /// The model gave no plan that can be used, and why.
    Failed(String),
}

/// An intent for which a calling agent is to plan.
#[derive(Debug)]
pub struct Intent<'a> {
    /// What is wanted.
    pub wish: &'a str,
    /// What is known beside it.
    pub context: Option<&'a Value>,
    /// What words alone make of it.
    pub guess: &'a planner::Plan,
    /// What the answer is to be used for, in the front end's own words; it is kept with the question.
    pub about: Value,
    /// What else the agent is to be told, by name.
    pub more: Map,
}

impl LoopRunner {
    /// The model's plan for an intent of whoever stands behind that span. No step is called like one
    /// of those that are `taken`.
    pub async fn propose(
        &self,
        wish: &str,
        context: Option<&Value>,
        taken: &BTreeSet<Str>,
        upstream: Option<Upstream>,
    ) -> Proposal {
        let Some(model) = self.model.as_ref() else {
            return Proposal::NoModel;
        };
        let request = request(wish, context);
        if let Err(why) = request.check() {
            return Proposal::Failed(why);
        }
        let tools = match self.tools(&request).await {
            Ok(tools) => tools,
            Err(fault) => return Proposal::Failed(fault.to_string()),
        };
        let shown = candidates::for_model(&self.engine, &request, &tools).await;
        let mut course = Course::new(request, Recalled::default());
        course.upstream = upstream;
        let asked = self.observed(model, &mut course, (&tools, &shown), None);
        let plan = match asked.await {
            Ok(plan) => plan.distinct(taken),
            Err(why) => return Proposal::Failed(why),
        };
        let checked = check::check(&plan, &course, &tools);
        match (checked.wrong.is_empty(), checked.runs.steps.is_empty()) {
            (false, _) => Proposal::Failed(checked.wrong.join("; ")),
            (true, true) => Proposal::Nothing,
            (true, false) => Proposal::Plan(checked.runs, course.tokens),
        }
    }

    /// Asks the calling agent for a plan: gives the handle that it answers by, and what it is asked.
    pub async fn ask_agent(
        &self,
        intent: Intent<'_>,
        terms: &Terms,
    ) -> Result<(String, Value), Fault> {
        let request = request(intent.wish, intent.context);
        let tools = self.tools(&request).await?;
        let (engine, guess) = (&self.engine, intent.guess);
        let offered = candidates::for_agent(engine, &request, &tools, Some(guess), false).await;
        let mut asks = plan_request::asks(engine, MESSAGE, intent.wish, &offered);
        asks.insert("plan_schema", plan_request::dag_schema());
        asks.insert("open", plan_request::open(guess).into());
        for (key, value) in intent.more {
            asks.insert(key, value);
        }
        let handle = ask::keep(engine.store(), Asked::Else(intent.about), terms).await?;
        let suggested = think::steps(&guess.tasks);
        let example = plan_request::example(Some(&suggested), &offered.tools, &handle);
        asks.insert("example", example);
        Ok((handle, asks.into()))
    }
}

fn request(wish: &str, context: Option<&Value>) -> Request {
    let mut request = Request::new(wish);
    let context = context.and_then(Value::as_object);
    request.context = context.cloned().unwrap_or_default();
    request
}
