//! The loop toolset: a message in, a plan made and done, its results out.

use super::codes::Code;
use super::control;
use super::pausing::{self, Next};
use super::reply;
use super::toolset::{ACTS, Means, Own};
use super::underway::Underway;
use rmcp::model::{CallToolResponse, CallToolResult};
use tramline_core::ids::{BadId, RunId};
use tramline_core::{Map, Value};
use tramline_engine::Fault;
use tramline_engine::loop_runner::{Asked, LoopRunner, Request, Response, Standing, Terms};

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[
    Own {
        name: "run_loop",
        title: "Plan and do",
        description: "Plans tool calls for the last message and runs them. Gives success, status and \
                      data {context, intermediateResults, plan, semanticMatches, summaryMessage}. \
                      Without a model only what surely just reads runs at once; status plan_request: \
                      make the plan yourself, or a new one after a step failed, and give it to \
                      submit_plan. status paused: a person must answer; then call \
                      again with runId alone.",
        input: r#"{
            "type": "object",
            "properties": {
                "mode": { "type": "string", "maxLength": 256, "description": "analyst, candidate, hiring, general" },
                "sessionId": { "type": "string", "maxLength": 256, "description": "Its messages are remembered" },
                "messages": { "type": "array", "items": { "type": "object", "properties": {
                    "role": { "type": "string" }, "content": { "type": "string" } }, "required": ["content"] } },
                "context": { "type": "object" },
                "plannerRecommendations": { "type": "array" },
                "availableTools": { "type": "array", "description": "server:tool, or server:*" },
                "plan": { "description": "[{tool, args, id?}] to run as it is; args may use $OUTPUT[id].path" },
                "on_error": { "enum": ["continue", "stop", "replan"], "default": "replan" },
                "strict": { "type": "boolean", "description": "Refuse a plan with anything wrong" },
                "budget": { "type": "object", "description": "calls, active_ms, bytes, tokens" },
                "save_as": { "type": "string", "maxLength": 256, "description": "Saves the plan as a workflow once it is done" },
                "runId": { "type": "string", "description": "How an earlier loop stands" }
            },
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| Box::pin(run(means, arguments)),
    },
    SUBMIT_PLAN,
];

/// The tool that takes the plans that other tools ask for. It is part of every toolset that asks.
pub(super) const SUBMIT_PLAN: Own = Own {
    name: "submit_plan",
    title: "Give a plan",
    description: "Gives the plan that a reply asked for under plan_request, by its handle: the plan runs \
                  as if you had given it to that tool, with the same config, budget and session, and the \
                  reply has that tool's shape. Steps {tool, args, id?} run one after the other; with \
                  depends_on in any of them, as that says. What is wrong with a plan is told all at once; \
                  repair it and give it again.",
    input: r#"{
        "type": "object",
        "properties": {
            "handle": { "type": "string", "maxLength": 64 },
            "plan": { "type": ["array", "object"], "description": "[{tool, args, id?, depends_on?}]" },
            "session_id": { "type": "string", "maxLength": 256 }
        },
        "required": ["handle", "plan"],
        "additionalProperties": false
    }"#,
    hints: ACTS,
    answer: |means, arguments| Box::pin(submit(means, arguments)),
};

async fn run(means: Means, arguments: Value) -> CallToolResponse {
    let desk = Desk::new(&means, "run_loop");
    if let Some(response) = desk.brought().await {
        return response;
    }
    let response = match arguments.get("runId").and_then(Value::as_str) {
        Some(id) => match admitted(&means, id, &arguments).await {
            Ok(run) => desk.runner.follow(&run, &desk.terms).await,
            Err(fault) => Err(fault),
        },
        None => match Request::read(&arguments) {
            Ok(request) => desk.runner.run_for(request, &desk.terms).await,
            Err(wrong) => Err(Fault::Refused(wrong)),
        },
    };
    desk.reply(response).await
}

/// Where a call of this toolset is answered: the loop, and the client that may be asked.
struct Desk<'m> {
    means: &'m Means,
    tool: &'static str,
    runner: LoopRunner,
    terms: Terms,
}

impl<'m> Desk<'m> {
    fn new(means: &'m Means, tool: &'static str) -> Self {
        let (runner, terms) = (control::runner(means), control::terms(means));
        Self {
            means,
            tool,
            runner,
            terms,
        }
    }

    /// Goes on with the loop about which the client brings an answer.
    async fn brought(&self) -> Option<CallToolResponse> {
        let (state, responses) = self.means.brought.as_ref()?;
        let context = &self.means.context;
        let answered = pausing::answered(&self.means.shared, state.clone(), responses, context);
        let (underway, next) = match answered.await {
            Ok(answered) => answered,
            Err(fault) => return Some(told(Err(fault)).into()),
        };
        let response = self.runner.follow(&underway.run, &self.terms).await;
        Some(match next {
            Next::GoOn => self.reply(response).await,
            Next::Reply(_) => told(response).into(),
        })
    }

    /// The reply to a call. What the loop waits for is put to the client, if it can be asked.
    async fn reply(&self, mut response: Result<Response, Fault>) -> CallToolResponse {
        while let Some(run) = waits(&response) {
            match self.put(&run).await {
                Ok(None) => break,
                Ok(Some(Next::GoOn)) => {
                    response = self.runner.follow(&run, &self.terms).await;
                }
                Ok(Some(Next::Reply(reply))) => return *reply,
                Err(fault) => return reply::fault(&fault, Some(&run)).into(),
            }
        }
        if is_new(&response) {
            self.means.shared.library_changed();
        }
        told(response).into()
    }

    async fn put(&self, run: &RunId) -> Result<Option<Next>, Fault> {
        let engine = &self.means.engine;
        let pauses: Vec<_> = engine.load(run).await?.run.pauses.into_iter().collect();
        let underway = Underway::take_up(engine, run).await?;
        let (shared, context) = (&self.means.shared, &self.means.context);
        pausing::put(shared, self.tool, &underway, &pauses, context).await
    }
}

/// The run for whose answer a loop waits.
fn waits(response: &Result<Response, Fault>) -> Option<RunId> {
    let response = response.as_ref().ok()?;
    let waits = response.standing == Standing::Waiting;
    response.runs.last().filter(|_| waits)?.parse().ok()
}

/// Whether a workflow was saved that was not there.
fn is_new(response: &Result<Response, Fault>) -> bool {
    let saved = response.as_ref().ok().and_then(|one| one.saved.as_ref());
    saved.and_then(|saved| saved.get("new")) == Some(&Value::Bool(true))
}

/// The run that a call names, if it is this caller's.
async fn admitted(means: &Means, id: &str, arguments: &Value) -> Result<RunId, Fault> {
    let run = id
        .parse()
        .map_err(|bad: BadId| Fault::Refused(bad.to_string()))?;
    let session = arguments.get("sessionId").and_then(Value::as_str);
    means.caller().load(&means.engine, &run, session).await?;
    Ok(run)
}

async fn submit(means: Means, arguments: Value) -> CallToolResponse {
    let handle = arguments.get("handle").and_then(Value::as_str);
    let handle = handle.unwrap_or_default();
    let plan = arguments.get("plan").cloned().unwrap_or_default();
    let desk = Desk::new(&means, "submit_plan");
    let brought = match &means.brought {
        Some((state, _)) if desk.runner.is_loop(&state.run).await => desk.brought().await,
        Some(_) => control::brought_back(&means).await,
        None => None,
    };
    if let Some(response) = brought {
        return response;
    }
    match desk.runner.question(handle, &desk.terms).await {
        Ok(Asked::Loop(_)) => {
            let response = desk.runner.submit(handle, &plan, &desk.terms).await;
            desk.reply(response).await
        }
        Ok(Asked::Else(about)) => control::submitted(&means, &arguments, &about).await,
        Err(fault) => control::no_question(&arguments, fault),
    }
}

/// The response as this toolset gives it. Only what was refused before anything ran is an error.
fn told(response: Result<Response, Fault>) -> CallToolResult {
    let response = match response {
        Ok(response) => response,
        Err(fault) => return reply::fault(&fault, None),
    };
    if response.standing == Standing::Refused {
        let details = response
            .problems
            .iter()
            .map(|one| Value::from(one.as_str()));
        let message = "the plan cannot be used as it is";
        let mut error = reply::coded(Code::InvalidParams, message, Map::new());
        error.insert("details", Value::array(details));
        if let Some(handle) = &response.handle {
            error.insert("handle", handle.as_str().into());
        }
        return reply::errored(error);
    }
    reply::success(&response.to_value())
}
