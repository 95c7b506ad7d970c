//! The planner loop: a message becomes a plan, the plan a run, and the run's results an answer.
//!
//! A plan is run like every graph, so that it is journaled, asks for what must be asked, and goes
//! on after a crash. What the loop knows stands in the run's input: a process that comes later
//! tells of it as this one does. Who plans is, in this order: the caller, the model, the planner
//! of words, and where none of them comes to a plan, the agent that called.

use crate::engine::Engine;
use crate::fault::Fault;
use crate::seams::{Model, Tool};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tramline_core::formats::tool_plan::Plan;
use tramline_core::ids::RunId;
use tramline_core::upstream::Upstream;
use tramline_core::{Str, Value};

mod ask;
mod candidates;
mod check;
mod course;
mod memory;
mod perform;
mod plan_request;
mod prompt;
mod propose;
mod related;
mod request;
mod response;
mod save;
mod schema;
mod think;

pub use ask::Asked;
pub use plan_request::{PlanRequest, dag_schema, plan_schema, tools_told};
pub use propose::{Intent, Proposal};
pub use request::{Mend, Request};
pub use response::{By, Response, Standing, StepResult};

use course::Course;

/// Runs the planner loop. Clones share everything.
#[derive(Clone)]
pub struct LoopRunner {
    engine: Engine,
    model: Option<Arc<dyn Model>>,
}

/// On whose behalf a loop runs, and until when.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Whose its runs and what it remembers are.
    pub owner: Option<Str>,
    /// Who asks, as it is written beside what is saved.
    pub by: Option<Str>,
    /// Where its servers are to be found again, in the front end's own words.
    pub origin: Value,
    /// How long a run of it waits for an answer before it is over.
    pub ttl_ms: Option<u64>,
    /// Fires when nobody wants the answer any more; the run under way is aborted.
    pub cancel: CancellationToken,
    /// The span of its caller's that it belongs to.
    pub upstream: Option<Upstream>,
}

impl LoopRunner {
    /// A loop over an engine's tools and store, without a model.
    pub fn new(engine: Engine) -> Self {
        let model = None;
        Self { engine, model }
    }

    /// The same with a model that plans.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Plans and does what a request wants, on nobody's behalf.
    pub async fn run(&self, request: Request) -> Result<Response, Fault> {
        self.run_for(request, &Terms::default()).await
    }

    /// Plans and does what a request wants.
    pub async fn run_for(&self, request: Request, terms: &Terms) -> Result<Response, Fault> {
        request.check().map_err(Fault::Refused)?;
        let tools = self.tools(&request).await?;
        let owner = terms.owner.as_deref();
        let embedder = self.engine.options().embedder.as_ref();
        let store = self.engine.store();
        let recalled = memory::recall(store, embedder, owner, &request).await?;
        let mut course = Course::new(request, recalled);
        course.upstream = terms.upstream.clone();
        let plan = match course.request.plan.clone() {
            Some(given) => match Plan::from_value(&given) {
                Ok(plan) => Some((plan, By::Caller)),
                Err(wrong) => return Ok(Response::refused(&course, wrong)),
            },
            None => {
                let thinking = self.think(&mut course, &tools, None);
                let thought = terms.cancel.run_until_cancelled(thinking).await;
                thought.ok_or_else(|| Fault::Refused("the caller cancelled".to_owned()))?
            }
        };
        match plan {
            Some((plan, by)) => self.pursue(course, plan, by, &tools, terms).await,
            None => self.ask_for_plan(course, &tools, terms).await,
        }
    }

    /// How a run of the loop stands; waits for it, and drives it if nobody does. If it failed and a
    /// new plan may be made, the loop goes on with that.
    pub async fn follow(&self, run: &RunId, terms: &Terms) -> Result<Response, Fault> {
        let ended = perform::attend(&self.engine, run, None, &terms.cancel).await?;
        let loaded = self.engine.load(run).await?;
        let Some(course) = Course::read(&loaded.run.started.input) else {
            let message = format!("{run} is no run of a loop; `tramline runs show` tells of it");
            return Err(Fault::Refused(message));
        };
        let tools = self.tools(&course.request).await?;
        self.settle(course, run, ended, &tools, terms).await
    }

    /// Whether a run is one of a loop.
    pub async fn is_loop(&self, run: &RunId) -> bool {
        let loaded = self.engine.load(run).await;
        loaded.is_ok_and(|loaded| Course::read(&loaded.run.started.input).is_some())
    }

    /// Takes the plan that a calling agent was asked for. What is wrong with it is told at once, and
    /// it can be given again.
    pub async fn submit(
        &self,
        handle: &str,
        plan: &Value,
        terms: &Terms,
    ) -> Result<Response, Fault> {
        let course = match ask::take(self.engine.store(), handle, terms).await? {
            Asked::Loop(course) => *course,
            Asked::Else(_) => {
                let message = format!("{handle} asks for the tasks of a workflow");
                return Err(Fault::Refused(message));
            }
        };
        let tools = self.tools(&course.request).await?;
        let checked = Plan::from_value(plan).and_then(|plan| {
            if plan.steps.is_empty() && !course.earlier.is_empty() {
                return Err(vec![
                    "a plan for what is left has at least one step".to_owned(),
                ]);
            }
            let plan = course.distinct(plan);
            match check::check(&plan, &course, &tools).wrong.as_slice() {
                [] => Ok(plan),
                wrong => Err(wrong.to_vec()),
            }
        });
        match checked {
            // The handle stays: the agent repairs what it is told.
            Err(wrong) => Ok(Response::refused(&course, wrong).with_handle(handle)),
            Ok(plan) => {
                ask::forget(self.engine.store(), handle).await?;
                self.pursue(course, plan, By::Agent, &tools, terms).await
            }
        }
    }

    /// Checks a plan, runs what can be run of it, and tells what came of it.
    async fn pursue(
        &self,
        mut course: Course,
        plan: Plan,
        by: By,
        tools: &[Arc<Tool>],
        terms: &Terms,
    ) -> Result<Response, Fault> {
        course.plan = plan;
        course.by = Some(by);
        let checked = check::check(&course.plan, &course, tools);
        if course.request.strict && !checked.wrong.is_empty() {
            return Ok(Response::refused(&course, checked.wrong));
        }
        course.failed = checked.failed;
        save::draft(&mut course, &checked.runs);
        if course.earlier.is_empty()
            && let Some(says) = save::hindrance(&self.engine, &course).await?
        {
            return Ok(Response::refused(&course, vec![says]));
        }
        if checked.runs.steps.is_empty() {
            return self.settled(course, None, Vec::new(), tools, terms).await;
        }
        let started = perform::start(&self.engine, &course, &checked.runs, terms).await?;
        let handle = match started {
            Ok(handle) => handle,
            Err(wrong) => return Ok(Response::refused(&course, wrong)),
        };
        let run = handle.run.clone();
        let ended = perform::attend(&self.engine, &run, Some(handle), &terms.cancel).await?;
        self.settle(course, &run, ended, tools, terms).await
    }

    /// Tells how a run stands, and plans anew if it failed and that is wanted.
    async fn settle(
        &self,
        mut course: Course,
        run: &RunId,
        ended: perform::Attended,
        tools: &[Arc<Tool>],
        terms: &Terms,
    ) -> Result<Response, Fault> {
        let loaded = self.engine.load(run).await?;
        let done = perform::results(&course.plan, &loaded);
        match ended {
            perform::Attended::Over => {
                course.spend(&loaded);
                let over = perform::end(&loaded);
                self.settled(course, Some((run, over)), done, tools, terms)
                    .await
            }
            perform::Attended::Waits(pauses) => {
                let waiting = perform::waiting(&loaded.run.graph, run, &pauses);
                let results = course.merged(done);
                let response = Response::new(&course, results, Standing::Waiting);
                Ok(response.of(run).waiting(waiting))
            }
        }
    }

    /// What is left to do once nothing runs any more.
    async fn settled(
        &self,
        course: Course,
        over: Option<(&RunId, Option<perform::End>)>,
        done: Vec<StepResult>,
        tools: &[Arc<Tool>],
        terms: &Terms,
    ) -> Result<Response, Fault> {
        let run = over.as_ref().map(|(run, _)| (*run).clone());
        let results = course.merged(done);
        let failed = results.iter().any(|result| result.counts_as_failed());
        let forced = over.and_then(|(_, end)| end);
        let standing = match (&forced, failed, course.request.on_error) {
            (Some(end), ..) => end.standing,
            (None, true, Mend::Stop | Mend::Replan) => Standing::Failed,
            (None, true, Mend::Continue) | (None, false, _) => Standing::Complete,
        };
        let mends = course.request.on_error == Mend::Replan && course.replans > 0;
        if standing == Standing::Failed && mends && forced.is_none() {
            return self
                .mend(course, run.as_ref(), &results, tools, terms)
                .await;
        }
        let mut response = Response::new(&course, results, standing);
        if let Some(run) = &run {
            response = response.of(run);
        }
        if let Some(end) = forced {
            response.problems.push(end.says);
        }
        self.close(course, response, terms).await
    }

    /// Has a plan made for what is left of one that failed: by the model, or by the calling agent
    /// where there is none.
    async fn mend(
        &self,
        mut course: Course,
        run: Option<&RunId>,
        results: &[StepResult],
        tools: &[Arc<Tool>],
        terms: &Terms,
    ) -> Result<Response, Fault> {
        course.replans -= 1;
        save::keep_done(&mut course, results);
        course.remember(run, results);
        course.failed = Vec::new();
        if self.model.is_none() {
            let offered = candidates::for_agent(&self.engine, &course.request, tools, None, true);
            let request = plan_request::mend(&self.engine, &course, &offered.await);
            return self.asked(course, request, terms).await;
        }
        let before = course.plan.clone();
        if let Some((plan, by)) = self.think(&mut course, tools, Some(&before)).await {
            return Box::pin(self.pursue(course, plan, by, tools, terms)).await;
        }
        // Nothing better came: what stands, stands.
        let response = Response::new(&course, Vec::new(), Standing::Failed);
        self.close(course, response, terms).await
    }

    /// Saves what was done where that is wanted, remembers what was said, and leaves.
    async fn close(
        &self,
        course: Course,
        mut response: Response,
        terms: &Terms,
    ) -> Result<Response, Fault> {
        if response.standing == Standing::Complete {
            let done = &response.results[course.earlier.len()..];
            response.saved = save::save(&self.engine, &course, done, terms).await;
        }
        let owner = terms.owner.as_deref();
        let said = response.summary.as_deref();
        memory::keep(self.engine.store(), owner, &course.request, said).await?;
        Ok(response)
    }

    /// Asks the calling agent for a plan.
    async fn ask_for_plan(
        &self,
        course: Course,
        tools: &[Arc<Tool>],
        terms: &Terms,
    ) -> Result<Response, Fault> {
        let guess = self.guess(&course).await?;
        let asked = &course.request;
        let offered = candidates::for_agent(&self.engine, asked, tools, Some(&guess), true).await;
        let request = plan_request::request(&self.engine, &course, &guess, &offered);
        self.asked(course, request, terms).await
    }

    /// Keeps a question for a plan until its answer comes.
    async fn asked(
        &self,
        course: Course,
        request: PlanRequest,
        terms: &Terms,
    ) -> Result<Response, Fault> {
        let handle = ask::keep(self.engine.store(), Asked::Loop(Box::new(course)), terms).await?;
        Ok(request.into_response(&handle))
    }

    /// The tools that a request may use, as the registry knows them: no server is started for it that
    /// was ever listed.
    async fn tools(&self, request: &Request) -> Result<Vec<Arc<Tool>>, Fault> {
        let list = self.engine.registry().list().await?;
        let all = list.tools.iter();
        Ok(all
            .filter(|tool| request.may_use(&tool.name))
            .cloned()
            .collect())
    }

    /// What a handle asks for, if it is this owner's.
    pub async fn question(&self, handle: &str, terms: &Terms) -> Result<Asked, Fault> {
        ask::take(self.engine.store(), handle, terms).await
    }

    /// Forgets a question that was answered.
    pub async fn forget_question(&self, handle: &str) -> Result<(), Fault> {
        ask::forget(self.engine.store(), handle).await
    }
}

impl std::fmt::Debug for LoopRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopRunner")
            .field("model", &self.model.is_some())
            .finish_non_exhaustive()
    }
}
