//! A graph as a tool: arguments in, one run, result out.

use super::caller::Caller;
use super::log::From;
use super::offer::Served;
use super::pausing::Next;
use super::teller::{Teller, Wishes};
use super::underway::{self, Cancelled, Underway};
use super::{Shared, pausing, reply, seal, tasks, toolset, upstream};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject, Tool};
use rmcp::service::{RequestContext, RoleServer};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::Value;
use tramline_core::graph::Graph;
use tramline_engine::seams::Hints;
use tramline_engine::{Ended, Engine, Fault, Start};

/// How long a result is held back for the progress before it.
const TELL_MAX: Duration = Duration::from_secs(1);

/// The graph as `tools/list` shows it, with what is known of its effects.
pub(super) fn describe(graph: &Graph, hints: Option<Hints>) -> Tool {
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
        Some(hints) => tool.with_annotations(toolset::annotations(hints)),
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

/// Runs the graph for a caller, or goes on with the run that it brings an answer for.
pub(super) async fn call(
    shared: &Shared,
    (graph, origin): &Served,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
    log: Option<From>,
) -> Result<CallToolResponse, ErrorData> {
    let tool = request.name.clone();
    let begun = match &request.request_state {
        Some(sealed) => {
            let responses = request.input_responses.unwrap_or_default();
            let state = seal::opened(shared.engine.store(), &tool, sealed).await?;
            Box::pin(pausing::answered(shared, state, &responses, &context)).await
        }
        None => {
            let mut start = Start::new(Arc::clone(graph), toolset::read(request.arguments));
            start.origin = origin.clone();
            start.owner = Caller::of(&context).name;
            start.upstream = upstream::of(&context);
            let started = Underway::start(&shared.engine, start).await;
            started.map(|underway| (underway, Next::GoOn))
        }
    };
    let response = match begun {
        Ok((underway, Next::GoOn)) => {
            let wishes = Wishes::new(&context, log);
            to_the_end(shared, &tool, underway, &context, &wishes).await
        }
        Ok((_, Next::Reply(reply))) => *reply,
        Err(fault) => reply::fault(&fault, None).into(),
    };
    Ok(match response {
        CallToolResponse::Complete(reply) => reply::as_promised(graph, reply).into(),
        unfinished => unfinished,
    })
}

/// Waits for a run, and asks the caller what it asks, until there is something to reply.
async fn to_the_end(
    shared: &Shared,
    tool: &str,
    mut underway: Underway,
    context: &RequestContext<RoleServer>,
    wishes: &Wishes,
) -> CallToolResponse {
    let patience = if tasks::known(context) {
        tasks::HAND_OVER_AFTER
    } else {
        Duration::MAX
    };
    loop {
        let ending = watch(&shared.engine, &mut underway, context, wishes);
        let Ok(ended) = tokio::time::timeout(patience, ending).await else {
            return Box::pin(tasks::hand_over(shared, &underway.run)).await;
        };
        let (graph, run) = (&underway.graph, &underway.run);
        let reply = match ended {
            Ok(Ended::Finished(outcome)) => reply::outcome(graph, run, &outcome),
            Ok(Ended::Paused(pauses)) => {
                match Box::pin(pausing::ask(shared, tool, &underway, &pauses, context)).await {
                    Next::GoOn => continue,
                    Next::Reply(reply) => return *reply,
                }
            }
            Ok(Ended::Stopped) => {
                reply::fault(&Fault::Refused("the server is stopping".into()), Some(run))
            }
            Err(fault) => reply::fault(&fault, Some(run)),
        };
        return reply.into();
    }
}

/// Waits until a run ends or pauses, with progress while it lasts.
pub(super) async fn watch(
    engine: &Engine,
    underway: &mut Underway,
    context: &RequestContext<RoleServer>,
    wishes: &Wishes,
) -> Result<Ended, Fault> {
    let mut teller = Teller::new(engine, underway, &context.peer, wishes);
    let (run, cancelled) = (underway.run.clone(), underway.cancelled);
    let ended = {
        let mut ending = pin!(underway.ended(engine));
        loop {
            tokio::select! {
                biased;
                ended = &mut ending => break ended,
                () = context.ct.cancelled() => match cancelled {
                    Cancelled::Ends => {
                        Box::pin(underway::end(engine, &run)).await;
                        break ending.await;
                    }
                    Cancelled::GoesOn => return Ok(Ended::Stopped),
                },
                tick = Teller::tick(&mut teller) => {
                    Box::pin(Teller::tell(&mut teller, tick)).await;
                }
            }
        }
    };
    if let Some(teller) = teller {
        // What happened is told before how it ended; a caller that does not listen is not waited for.
        let told = Box::pin(tokio::time::timeout(TELL_MAX, teller.rest(&ended))).await;
        underway.told = told.unwrap_or(underway.told);
    }
    ended
}
