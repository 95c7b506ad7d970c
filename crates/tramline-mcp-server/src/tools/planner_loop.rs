//! The loop toolset: plans tool calls for a message, runs them, and returns the results.

use super::submit_plan::SUBMIT_PLAN;
use crate::elicitation::{self, AfterElicitation};
use crate::error_codes::ReplyCode;
use crate::planner;
use crate::reply;
use crate::run_wait::AwaitedRun;
use crate::tool::{CallContext, PLAIN_RULES, RUNS_TOOLS, ToolDef};
use rmcp::model::{CallToolResponse, CallToolResult};
use tramline_engine::Fault;
use tramline_expr::{Map, Value};
use tramline_planner::loop_runner::{
    CallerContext, LoopRequest, LoopResponse, LoopRunner, LoopStatus,
};
use tramline_workflow::ids::{InvalidId, RunId};

/// The tools of this toolset.
pub(crate) const TOOLS: &[ToolDef] = &[
    ToolDef {
        name: "run_loop",
        title: "Plan and run",
        description: "Plans tool calls for the last message and runs them. Returns success, status and \
                      data {context, intermediateResults, plan, semanticMatches, summaryMessage}. \
                      Without a model, only plans that certainly just read run at once. status \
                      plan_request: write the plan yourself, or a new one after a failed step, and \
                      pass it to submit_plan; the step builtin:ask {message, schema} asks the user. status \
                      paused: a person must answer; then call again with runId only.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "mode": { "type": "string", "maxLength": 256, "description": "analyst, candidate, hiring, general" },
                "sessionId": { "type": "string", "maxLength": 256, "description": "Remembers its messages" },
                "messages": { "type": "array", "items": { "type": "object", "properties": {
                    "role": { "type": "string" }, "content": { "type": "string" } }, "required": ["content"] } },
                "context": { "type": "object" },
                "plannerRecommendations": { "type": "array" },
                "availableTools": { "type": "array", "description": "server:tool, or server:*" },
                "plan": { "description": "[{tool, args, id?}] to run unchanged; args may use $OUTPUT[id].path" },
                "on_error": { "enum": ["continue", "stop", "replan"], "default": "replan" },
                "strict": { "type": "boolean", "description": "Reject a plan with any problem" },
                "budget": { "type": "object", "description": "calls, active_ms, bytes, tokens" },
                "save_as": {
                    "type": "string", "maxLength": 256,
                    "description": "Saves the plan as a workflow if it succeeds"
                },
                "runId": { "type": "string", "description": "Returns the status of an earlier loop" }
            },
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: PLAIN_RULES,
        call: |means, arguments| Box::pin(run_loop(means, arguments)),
    },
    SUBMIT_PLAN,
];

async fn run_loop(means: CallContext, arguments: Value) -> CallToolResponse {
    let desk = LoopContext::new(&means, "run_loop");
    if let Some(response) = desk.resume_with_answer().await {
        return response;
    }
    let response = match arguments.get("runId").and_then(Value::as_str) {
        Some(id) => match visible_run(&means, id, &arguments).await {
            Ok(run) => desk.runner.wait_for(&run, &desk.terms).await,
            Err(fault) => Err(fault),
        },
        None => match LoopRequest::read(&arguments) {
            Ok(request) => desk.runner.run_for(request, &desk.terms).await,
            Err(wrong) => Err(Fault::Rejected(wrong)),
        },
    };
    desk.reply(response).await
}

/// Context of a call of this toolset: the loop runner, and the client that may be asked.
pub(super) struct LoopContext<'m> {
    means: &'m CallContext,
    tool: &'static str,
    pub(super) runner: LoopRunner,
    pub(super) terms: CallerContext,
}

impl<'m> LoopContext<'m> {
    pub(super) fn new(means: &'m CallContext, tool: &'static str) -> Self {
        let (runner, terms) = (planner::loop_runner(means), planner::caller_context(means));
        Self {
            means,
            tool,
            runner,
            terms,
        }
    }

    /// Resumes a loop with an answer from the client.
    pub(super) async fn resume_with_answer(&self) -> Option<CallToolResponse> {
        let (state, responses) = self.means.client_answers.as_ref()?;
        let context = &self.means.request;
        let answered =
            elicitation::apply_answers(&self.means.shared, state.clone(), responses, context);
        let (underway, next) = match answered.await {
            Ok(answered) => answered,
            Err(fault) => return Some(loop_reply(Err(fault)).into()),
        };
        let response = self.runner.wait_for(&underway.run, &self.terms).await;
        Some(match next {
            AfterElicitation::Resume => self.reply(response).await,
            AfterElicitation::Reply(_) => loop_reply(response).into(),
        })
    }

    /// The reply to a call. Asks the client what the loop waits for, if the client supports it.
    pub(super) async fn reply(
        &self,
        mut response: Result<LoopResponse, Fault>,
    ) -> CallToolResponse {
        while let Some(run) = waiting_run(&response) {
            match self.ask_client(&run).await {
                Ok(None) => break,
                Ok(Some(AfterElicitation::Resume)) => {
                    response = self.runner.wait_for(&run, &self.terms).await;
                }
                Ok(Some(AfterElicitation::Reply(reply))) => return *reply,
                Err(fault) => return reply::fault_reply(&fault, Some(&run)).into(),
            }
        }
        if saved_new_workflow(&response) {
            self.means.shared.library_changed();
        }
        loop_reply(response).into()
    }

    async fn ask_client(&self, run: &RunId) -> Result<Option<AfterElicitation>, Fault> {
        let engine = &self.means.engine;
        let pauses: Vec<_> = engine.load(run).await?.run.pauses.into_iter().collect();
        let underway = AwaitedRun::load(engine, run).await?;
        let (shared, context) = (&self.means.shared, &self.means.request);
        elicitation::ask_client(shared, self.tool, &underway, &pauses, context).await
    }
}

/// The run whose answer a loop waits for.
fn waiting_run(response: &Result<LoopResponse, Fault>) -> Option<RunId> {
    let response = response.as_ref().ok()?;
    let waits = response.status == LoopStatus::Paused;
    response.runs.last().filter(|_| waits)?.parse().ok()
}

/// Whether a new workflow was saved.
fn saved_new_workflow(response: &Result<LoopResponse, Fault>) -> bool {
    let saved = response.as_ref().ok().and_then(|one| one.saved.as_ref());
    saved.and_then(|saved| saved.get("new")) == Some(&Value::Bool(true))
}

/// The run that a call names, if this caller may see it.
async fn visible_run(means: &CallContext, id: &str, arguments: &Value) -> Result<RunId, Fault> {
    let run = id
        .parse()
        .map_err(|bad: InvalidId| Fault::Rejected(bad.to_string()))?;
    let session = arguments.get("sessionId").and_then(Value::as_str);
    means
        .caller()
        .load_run(&means.engine, &run, session)
        .await?;
    Ok(run)
}

/// The reply of this toolset. Only a plan rejected before anything ran is an error.
fn loop_reply(response: Result<LoopResponse, Fault>) -> CallToolResult {
    let response = match response {
        Ok(response) => response,
        Err(fault) => return reply::fault_reply(&fault, None),
    };
    if response.status == LoopStatus::Refused {
        let details = response
            .problems
            .iter()
            .map(|one| Value::from(one.as_str()));
        let message = "the plan is invalid";
        let mut error = reply::error_object(ReplyCode::InvalidParams, message, Map::new());
        error.insert("details", Value::array(details));
        if let Some(handle) = &response.handle {
            error.insert("handle", handle.as_str().into());
        }
        return reply::error_reply(error);
    }
    reply::success(&response.to_value())
}
