//! The planner loop: turns a message into a plan, runs the plan, and returns the results.
//!
//! A plan runs like any other graph: it is journaled, asks for approvals and resumes after a crash. The state of the
//! loop is stored in the run's input, so any later process can report on it. Planners are tried in this order: the plan
//! of the caller, the model, the planner without a model, and finally the calling agent.

use crate::planning::Planner;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tramline_engine::Fault;
use tramline_engine::ports::{Model, Tool};
use tramline_engine::{Engine, RunHandle};
use tramline_expr::{Str, Value};
use tramline_formats::tool_plan::ToolPlan;
use tramline_workflow::ids::RunId;
use tramline_workflow::trace_context::TraceContext;

mod candidates;
mod check;
mod memory;
mod plan_maker;
mod plan_request;
mod plan_request_store;
mod plan_step;
mod prompt;
mod propose;
mod related_words;
mod request;
mod response;
mod run_plan;
mod save;
mod schema;
mod state;

pub use plan_maker::{PlanMaker, PlannerPrompt, PlanningTask, PromptEditor};
pub use plan_request::{PlanRequest, dag_schema, placeholder_problem, plan_schema, tools_json};
pub use plan_request_store::{PendingPlan, PlanClaim};
pub use propose::{Intent, Proposal};
pub use request::{LoopRequest, OnFailure};
pub use response::{LoopResponse, LoopStatus, PlannerKind, StepResult};

use state::LoopState;

/// Runs the planner loop. Clones share everything.
#[derive(Clone)]
pub struct LoopRunner {
    planner: Planner,
    model: Option<Arc<dyn Model>>,
    plan_maker: Option<Arc<dyn PlanMaker>>,
    prompt_editor: Option<Arc<PromptEditor>>,
}

/// On whose behalf a loop runs, and until when.
#[derive(Clone, Debug, Default)]
pub struct CallerContext {
    /// The owner of its runs and its memory.
    pub owner: Option<Str>,
    /// The caller's name, stored with its runs and saved workflows.
    pub caller: Option<Str>,
    /// How to find its servers again, in the front end's own format.
    pub origin: Value,
    /// How long one of its runs waits for an answer before it expires, in milliseconds.
    pub ttl_ms: Option<u64>,
    /// Fires when the answer is no longer needed; the active run is aborted.
    pub cancel: CancellationToken,
    /// The caller's span that it belongs to.
    pub upstream: Option<TraceContext>,
}

impl LoopRunner {
    /// A loop over a planner's tools, without a model.
    pub fn new(planner: Planner) -> Self {
        Self {
            planner,
            model: None,
            plan_maker: None,
            prompt_editor: None,
        }
    }

    fn engine(&self) -> &Engine {
        &self.planner.engine
    }

    /// Sets the model that plans.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Plans and executes a request without an owner.
    pub async fn run(&self, request: LoopRequest) -> Result<LoopResponse, Fault> {
        self.run_for(request, &CallerContext::default()).await
    }

    /// Plans and executes a request.
    pub async fn run_for(
        &self,
        request: LoopRequest,
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        request.check().map_err(Fault::Rejected)?;
        let tools = self.tools(&request).await?;
        let owner = terms.owner.as_deref();
        let recalled = memory::recall(&self.planner, owner, &request).await?;
        let mut course = LoopState::new(request, recalled);
        course.upstream = terms.upstream.clone();
        let step = match course.request.plan.clone() {
            Some(given) => match ToolPlan::from_value(&given) {
                Ok(plan) => {
                    let by = (PlannerKind::Caller, None);
                    self.start_plan(course, plan, by, terms, &tools).await?
                }
                Err(wrong) => LoopStep::Done(Box::new(LoopResponse::rejected(&course, wrong))),
            },
            None => LoopStep::Plan {
                course: Box::new(course),
                failed: None,
            },
        };
        self.finish_from(step, &tools, terms).await
    }

    /// The state of a loop run. Waits until it pauses or ends, and drives it if no process does. If it failed and may
    /// be replanned, the loop continues with a new plan.
    pub async fn wait_for(
        &self,
        run: &RunId,
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        let ended = run_plan::wait_for_run(self.engine(), run, None, &terms.cancel).await?;
        let loaded = self.engine().load(run).await?;
        let Some(course) = LoopState::from_value(&loaded.run.started.input) else {
            let message = format!("{run} is not a loop run; inspect it with `tramline runs show`");
            return Err(Fault::Rejected(message));
        };
        let tools = self.tools(&course.request).await?;
        let step = LoopStep::Run {
            course: Box::new(course),
            progress: RunProgress::Waited(run.clone(), ended),
        };
        self.finish_from(step, &tools, terms).await
    }

    /// Whether a run belongs to a loop.
    pub async fn is_loop(&self, run: &RunId) -> bool {
        let loaded = self.engine().load(run).await;
        loaded.is_ok_and(|loaded| LoopState::from_value(&loaded.run.started.input).is_some())
    }

    /// Accepts the plan that was requested from a calling agent. Problems are returned immediately, and the plan can be
    /// submitted again.
    pub async fn submit(
        &self,
        handle: &str,
        plan: &Value,
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        let course = match plan_request_store::load_request(&self.planner, handle, terms).await? {
            PendingPlan::Loop(course) => *course,
            PendingPlan::Used(run) => {
                let message = plan_request_store::used_message(handle, &run);
                return Err(Fault::Rejected(message));
            }
            PendingPlan::External(_) => {
                let message = format!("{handle} is a plan request of a workflow, not of a loop");
                return Err(Fault::Rejected(message));
            }
        };
        let tools = self.tools(&course.request).await?;
        let checked = ToolPlan::from_value(plan).and_then(|plan| {
            if plan.steps.is_empty() && !course.earlier.is_empty() {
                return Err(vec![
                    "a plan for the remaining work needs at least one step".to_owned(),
                ]);
            }
            let plan = course.with_distinct_ids(plan);
            match check::check(&plan, &course, &tools).problems.as_slice() {
                [] => Ok(plan),
                wrong => Err(wrong.to_vec()),
            }
        });
        match checked {
            // The handle stays valid: the agent fixes the reported problems and submits again.
            Err(wrong) => Ok(LoopResponse::rejected(&course, wrong).with_handle(handle)),
            Ok(plan) => {
                let run = self.engine().new_run_id();
                let Some(claim) = self.claim_plan_request(handle, run).await? else {
                    // Another submission came first.
                    let message = match self.plan_request(handle, terms).await? {
                        PendingPlan::Used(run) => plan_request_store::used_message(handle, &run),
                        PendingPlan::Loop(_) | PendingPlan::External(_) => {
                            format!("another plan is being submitted for {handle}; try again")
                        }
                    };
                    return Err(Fault::Rejected(message));
                };
                self.execute_claimed(claim, (course, plan), &tools, terms)
                    .await
            }
        }
    }

    /// Executes a submitted plan. If it is rejected before anything ran, its handle stays valid.
    async fn execute_claimed(
        &self,
        claim: PlanClaim,
        (course, plan): (LoopState, ToolPlan),
        tools: &[Arc<Tool>],
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        let started = self.start_plan(
            course,
            plan,
            (PlannerKind::Agent, Some(claim.run.clone())),
            terms,
            tools,
        );
        match started.await {
            Ok(LoopStep::Done(response)) => {
                let handle = claim.handle().to_owned();
                self.release_plan_request(claim).await?;
                Ok(response.with_handle(&handle))
            }
            Ok(started) => self.finish_from(started, tools, terms).await,
            Err(fault) => {
                self.release_plan_request(claim).await?;
                Err(fault)
            }
        }
    }

    /// Takes the steps of a loop until it is done or waits for the agent.
    async fn finish_from(
        &self,
        mut step: LoopStep,
        tools: &[Arc<Tool>],
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        loop {
            step = match step {
                LoopStep::Done(response) => return Ok(*response),
                LoopStep::Plan { .. } | LoopStep::Run { .. } | LoopStep::AskAgent { .. } => {
                    self.take_step(step, tools, terms).await?
                }
            };
        }
    }

    /// Takes one step, and returns the next one.
    async fn take_step(
        &self,
        step: LoopStep,
        tools: &[Arc<Tool>],
        terms: &CallerContext,
    ) -> Result<LoopStep, Fault> {
        match step {
            LoopStep::Plan { course, failed } => self.plan(*course, failed, tools, terms).await,
            LoopStep::Run { course, progress } => self.report(*course, progress, terms).await,
            LoopStep::AskAgent { course, is_replan } => {
                let response = match is_replan {
                    true => self.ask_for_replan(*course, tools, terms).await?,
                    false => self.ask_for_plan(*course, tools, terms).await?,
                };
                Ok(LoopStep::Done(Box::new(response)))
            }
            LoopStep::Done(_) => Ok(step),
        }
    }

    /// Makes a plan for the message, or for the remaining work of a failed plan, and starts it.
    async fn plan(
        &self,
        mut course: LoopState,
        failed: Option<ToolPlan>,
        tools: &[Arc<Tool>],
        terms: &CallerContext,
    ) -> Result<LoopStep, Fault> {
        let thinking = self.make_plan(&mut course, tools, failed.as_ref());
        let plan = match failed {
            Some(_) => thinking.await,
            None => {
                let thought = terms.cancel.run_until_cancelled(thinking).await;
                thought.ok_or_else(|| Fault::Rejected("the caller cancelled".to_owned()))?
            }
        };
        match (plan, failed) {
            (Some((plan, by)), _) => {
                self.start_plan(course, plan, (by, None), terms, tools)
                    .await
            }
            (None, None) => Ok(LoopStep::AskAgent {
                course: Box::new(course),
                is_replan: false,
            }),
            (None, Some(_)) => {
                // There is no better plan, so the failure is final.
                let response = LoopResponse::new(&course, Vec::new(), LoopStatus::Failed);
                self.conclude(course, response, terms).await
            }
        }
    }

    /// Checks a plan and starts the valid part of it, under an id that was chosen before if one is given. A rejected
    /// plan is [`LoopStep::Done`].
    async fn start_plan(
        &self,
        mut course: LoopState,
        plan: ToolPlan,
        (by, id): (PlannerKind, Option<RunId>),
        terms: &CallerContext,
        tools: &[Arc<Tool>],
    ) -> Result<LoopStep, Fault> {
        course.plan = plan;
        course.by = Some(by);
        let checked = check::check(&course.plan, &course, tools);
        let rejected = |course: &LoopState, wrong| {
            let response = LoopResponse::rejected(course, wrong);
            Ok(LoopStep::Done(Box::new(response)))
        };
        if course.request.strict && !checked.problems.is_empty() {
            return rejected(&course, checked.problems);
        }
        course.failed = checked.failed;
        save::draft_workflow(&mut course, &checked.runnable);
        if course.earlier.is_empty()
            && let Some(says) = save::save_obstacle(self.planner.catalog.library(), &course).await?
        {
            return rejected(&course, vec![says]);
        }
        if checked.runnable.steps.is_empty() {
            return Ok(LoopStep::Run {
                course: Box::new(course),
                progress: RunProgress::Empty,
            });
        }
        self.engine().audit_plan(&checked.runnable.tasks()).await;
        match run_plan::start(self.engine(), &course, &checked.runnable, terms, id).await? {
            Ok(handle) => Ok(LoopStep::Run {
                course: Box::new(course),
                progress: RunProgress::Started(handle),
            }),
            Err(wrong) => rejected(&course, wrong),
        }
    }

    /// Waits for a plan that was started, and decides what its end means.
    async fn report(
        &self,
        mut course: LoopState,
        progress: RunProgress,
        terms: &CallerContext,
    ) -> Result<LoopStep, Fault> {
        let (run, ended) = match progress {
            RunProgress::Empty => return self.finish(course, None, Vec::new(), terms).await,
            RunProgress::Waited(run, ended) => (run, ended),
            RunProgress::Started(handle) => {
                let (run, cancel) = (handle.run.clone(), &terms.cancel);
                let ended =
                    run_plan::wait_for_run(self.engine(), &run, Some(handle), cancel).await?;
                (run, ended)
            }
        };
        let loaded = self.engine().load(&run).await?;
        let done = run_plan::results(&course.plan, &loaded);
        match ended {
            run_plan::WaitResult::Ended => {
                course.deduct(&loaded);
                let over = run_plan::forced_outcome(&loaded);
                self.finish(course, Some((run, over)), done, terms).await
            }
            run_plan::WaitResult::Paused(pauses) => {
                let waiting = run_plan::pauses_json(&loaded.run.graph, &run, &pauses);
                let results = course.merged(done);
                let response = LoopResponse::new(&course, results, LoopStatus::Paused);
                let response = response.with_run(&run).with_pauses(waiting);
                Ok(LoopStep::Done(Box::new(response)))
            }
        }
    }

    /// Finishes once nothing is running any more.
    async fn finish(
        &self,
        course: LoopState,
        over: Option<(RunId, Option<run_plan::ForcedOutcome>)>,
        done: Vec<StepResult>,
        terms: &CallerContext,
    ) -> Result<LoopStep, Fault> {
        let (run, forced) = over.unzip();
        let forced = forced.flatten();
        let results = course.merged(done);
        let failed = results.iter().any(|result| result.counts_as_failed());
        let standing = match (&forced, failed, course.request.on_error) {
            (Some(end), ..) => end.status,
            // A plan of which no step could run has not done what was asked.
            (None, ..) if response::is_nothing_done(&results) => LoopStatus::Failed,
            (None, true, OnFailure::Stop | OnFailure::Replan) => LoopStatus::Failed,
            (None, true, OnFailure::Continue) | (None, false, _) => LoopStatus::Complete,
        };
        let replans_left = course.request.on_error == OnFailure::Replan && course.replans > 0;
        if standing == LoopStatus::Failed && replans_left && forced.is_none() {
            return Ok(self.replan(course, run.as_ref(), &results));
        }
        let mut response = LoopResponse::new(&course, results, standing);
        if let Some(run) = &run {
            response = response.with_run(run);
        }
        if let Some(end) = forced {
            response.problems.push(end.message);
        }
        self.conclude(course, response, terms).await
    }

    /// Continues with a plan for the remaining work of a failed plan: from the model, or from the calling agent if
    /// there is none.
    fn replan(
        &self,
        mut course: LoopState,
        run: Option<&RunId>,
        results: &[StepResult],
    ) -> LoopStep {
        course.replans -= 1;
        save::keep_successful_steps(&mut course, results);
        course.record_results(run, results);
        course.failed = Vec::new();
        let failed = course.plan.clone();
        let course = Box::new(course);
        match self.plans_itself() {
            true => LoopStep::Plan {
                course,
                failed: Some(failed),
            },
            false => LoopStep::AskAgent {
                course,
                is_replan: true,
            },
        }
    }

    /// Whether a planner other than the calling agent can plan the remaining work of a failed plan.
    fn plans_itself(&self) -> bool {
        self.model.is_some() || self.plan_maker.is_some()
    }

    /// Saves the plan if requested, stores the messages, and returns the response.
    async fn conclude(
        &self,
        course: LoopState,
        mut response: LoopResponse,
        terms: &CallerContext,
    ) -> Result<LoopStep, Fault> {
        if response.status == LoopStatus::Complete {
            let done = &response.results[course.earlier.len()..];
            response.saved = save::save(self.planner.catalog.library(), &course, done, terms).await;
        }
        let owner = terms.owner.as_deref();
        let said = response.summary.as_deref();
        memory::store_messages(&self.planner, owner, &course, said).await?;
        Ok(LoopStep::Done(Box::new(response)))
    }

    /// Requests a plan from the calling agent.
    async fn ask_for_plan(
        &self,
        course: LoopState,
        tools: &[Arc<Tool>],
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        let guess = self.guess_plan(&course).await?;
        let asked = &course.request;
        let offered = candidates::for_agent(&self.planner, asked, tools, Some(&guess), true).await;
        let request = plan_request::request(self.engine(), &course, &guess, &offered);
        self.store_plan_request(course, request, terms).await
    }

    /// Requests a plan for the remaining work from the calling agent.
    async fn ask_for_replan(
        &self,
        course: LoopState,
        tools: &[Arc<Tool>],
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        let offered = candidates::for_agent(&self.planner, &course.request, tools, None, true);
        let request = plan_request::replan_request(self.engine(), &course, &offered.await);
        self.store_plan_request(course, request, terms).await
    }

    /// Stores a plan request until it is answered.
    async fn store_plan_request(
        &self,
        mut course: LoopState,
        request: PlanRequest,
        terms: &CallerContext,
    ) -> Result<LoopResponse, Fault> {
        // The plan may never come, but what was said was said.
        let owner = terms.owner.as_deref();
        memory::store_messages(&self.planner, owner, &course, None).await?;
        course.is_remembered = true;
        let handle = plan_request_store::store_request(
            &self.planner,
            PendingPlan::Loop(Box::new(course)),
            terms,
        )
        .await?;
        Ok(request.into_response(&handle))
    }

    /// The tools that a request may use, from the registry. Starts only servers that were never listed.
    async fn tools(&self, request: &LoopRequest) -> Result<Vec<Arc<Tool>>, Fault> {
        let list = self.planner.catalog.registry().list().await?;
        let all = list.tools.iter();
        Ok(all
            .filter(|tool| request.may_use(&tool.name))
            .cloned()
            .collect())
    }

    /// The plan request with a handle, if it belongs to this owner.
    pub async fn plan_request(
        &self,
        handle: &str,
        terms: &CallerContext,
    ) -> Result<PendingPlan, Fault> {
        plan_request_store::load_request(&self.planner, handle, terms).await
    }

    /// Claims a plan request for the run that will execute its plan; `None` if it is used already. A handle can be
    /// used once, whichever process it is submitted to.
    pub async fn claim_plan_request(
        &self,
        handle: &str,
        run: RunId,
    ) -> Result<Option<PlanClaim>, Fault> {
        plan_request_store::claim_request(&self.planner, handle, run).await
    }

    /// Opens a claimed plan request again, because its plan was not executed.
    pub async fn release_plan_request(&self, claim: PlanClaim) -> Result<(), Fault> {
        plan_request_store::release_request(&self.planner, claim).await
    }
}

/// What a loop does next.
enum LoopStep {
    /// A planner makes a plan.
    Plan {
        course: Box<LoopState>,
        /// The plan that failed, if this one is for its remaining work.
        failed: Option<ToolPlan>,
    },
    /// A plan runs.
    Run {
        course: Box<LoopState>,
        progress: RunProgress,
    },
    /// The calling agent is asked for a plan.
    AskAgent {
        course: Box<LoopState>,
        /// Whether it is for the remaining work of a failed plan.
        is_replan: bool,
    },
    /// There is nothing more to do in this call.
    Done(Box<LoopResponse>),
}

/// How far the run of a plan has got.
enum RunProgress {
    /// No step of the plan can run.
    Empty,
    /// It is running.
    Started(RunHandle),
    /// It has paused or ended.
    Waited(RunId, run_plan::WaitResult),
}

impl std::fmt::Debug for LoopRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopRunner")
            .field("model", &self.model.is_some())
            .finish_non_exhaustive()
    }
}
