//! A graph as a tool: arguments in, one run, result out.

use crate::caller::Caller;
use crate::catalog::GraphTool;
use crate::client_log::MinLevel;
use crate::elicitation::AfterElicitation;
use crate::progress::{NotifyOptions, wait_with_progress};
use crate::run_wait::AwaitedRun;
use crate::tools::{Toolset, running_reply};
use crate::{SharedState, elicitation, reply, request_state, tasks, tool};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject, Tool};
use rmcp::service::{RequestContext, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::ToolHints;
use tramline_engine::{DriveOutcome, Fault, RunStart};
use tramline_expr::Value;
use tramline_workflow::graph::Graph;

pub(crate) mod annotations;

/// The graph as `tools/list` shows it, with its annotations if known.
pub(crate) fn describe(graph: &Graph, hints: Option<ToolHints>) -> Tool {
    let workflow = &graph.workflow;
    let input = workflow
        .input_schema
        .as_ref()
        .map_or_else(any_object, schema);
    let description = workflow
        .description
        .as_deref()
        .unwrap_or_default()
        .to_owned();
    let mut tool = Tool::new(workflow.name.to_string(), description, input);
    if let Some(title) = &workflow.title {
        tool = tool.with_title(title.as_str());
    }
    if let Some(output) = &workflow.output_schema {
        tool = tool.with_raw_output_schema(Arc::new(reply::output_schema(output)));
    }
    match hints {
        Some(hints) => tool.with_annotations(tool::annotations(hints)),
        None => tool,
    }
}

fn any_object() -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema
}

fn schema(value: &Value) -> JsonObject {
    match serde_json::Value::from(value) {
        serde_json::Value::Object(map) => map,
        _ => any_object(),
    }
}

/// Runs the graph for a caller, or resumes the run that the caller answers.
pub(crate) async fn call(
    shared: &SharedState,
    (graph, origin): &GraphTool,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
    log: Option<MinLevel>,
) -> Result<CallToolResponse, ErrorData> {
    let tool = request.name.clone();
    let begun = match &request.request_state {
        Some(sealed) => {
            let responses = request.input_responses.unwrap_or_default();
            let state =
                request_state::unseal_request(shared.engine.store(), &tool, sealed, &context)
                    .await?;
            Box::pin(elicitation::apply_answers(
                shared, state, &responses, &context,
            ))
            .await
        }
        None => {
            let mut start = RunStart::new(Arc::clone(graph), tool::to_value(request.arguments));
            start.origin = origin.clone();
            Caller::sign(&mut start, &context);
            let started = AwaitedRun::start(&shared.engine, start).await;
            started.map(|underway| (underway, AfterElicitation::Resume))
        }
    };
    let response = match begun {
        Ok((underway, AfterElicitation::Resume)) => {
            let wishes = NotifyOptions::new(&context, log);
            run_to_reply(shared, &tool, underway, &context, &wishes).await
        }
        Ok((_, AfterElicitation::Reply(reply))) => *reply,
        Err(fault) => reply::fault_reply(&fault, None).into(),
    };
    Ok(match response {
        CallToolResponse::Complete(reply) => {
            reply::without_unpromised_structure(graph, reply).into()
        }
        unfinished => unfinished,
    })
}

/// Waits for a run and asks the caller its questions, until there is a reply.
async fn run_to_reply(
    shared: &SharedState,
    tool: &str,
    mut underway: AwaitedRun,
    context: &RequestContext<RoleServer>,
    wishes: &NotifyOptions,
) -> CallToolResponse {
    let has_tasks = tasks::supports_tasks(context);
    let patience = match (has_tasks, shared.has(Toolset::Runs)) {
        (true, _) => tasks::TASK_AFTER,
        (false, true) => shared.options.call_wait,
        (false, false) => Duration::MAX,
    };
    loop {
        let ending = wait_with_progress(&shared.engine, &mut underway, context, wishes);
        let Ok(ended) = tokio::time::timeout(patience, ending).await else {
            return match has_tasks {
                true => Box::pin(tasks::create_task(shared, &underway.run)).await,
                false => running_reply(&underway.graph, &underway.run).into(),
            };
        };
        let (graph, run) = (&underway.graph, &underway.run);
        let reply = match ended {
            Ok(DriveOutcome::Finished(outcome)) => reply::outcome_reply(graph, run, &outcome),
            Ok(DriveOutcome::Paused(pauses)) => {
                match Box::pin(elicitation::ask_or_reply(
                    shared, tool, &underway, &pauses, context,
                ))
                .await
                {
                    AfterElicitation::Resume => continue,
                    AfterElicitation::Reply(reply) => return *reply,
                }
            }
            Ok(DriveOutcome::Stopped) => {
                reply::fault_reply(&Fault::Rejected("the server is stopping".into()), Some(run))
            }
            Err(fault) => reply::fault_reply(&fault, Some(run)),
        };
        return reply.into();
    }
}
