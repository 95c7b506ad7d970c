//! A graph as a tool: arguments in, one run, result out.

use super::teller::Teller;
use super::{reply, toolset};
use rmcp::model::{CallToolRequestParams, CallToolResult, JsonObject, Tool};
use rmcp::service::{RequestContext, RoleServer};
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

/// Runs the graph for a caller, with progress while it lasts.
pub(super) async fn call(
    engine: &Engine,
    graph: &Arc<Graph>,
    origin: &Value,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> CallToolResult {
    let mut start = Start::new(Arc::clone(graph), toolset::read(request.arguments));
    start.origin = origin.clone();
    let handle = match engine.start(start).await {
        Ok(handle) => handle,
        Err(fault) => return reply::as_promised(graph, reply::fault(&fault, None)),
    };
    let run = handle.run.clone();
    let token = context.meta.get_progress_token();
    let peer = context.peer.clone();
    let mut teller = token.map(|token| Teller::new(engine, graph, &run, peer, token));
    let ended = handle.ended();
    tokio::pin!(ended);
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut ended => break ended,
            () = context.ct.cancelled() => {
                let why = Some("the caller cancelled".to_owned());
                // It may have ended by itself in this moment; then that stands.
                let _ = engine.abort(&run, "caller".into(), why).await;
                break ended.await;
            }
            event = Teller::event(&mut teller) => Teller::tell(&mut teller, event).await,
        }
    };
    if let Some(teller) = teller {
        // What happened is told before how it ended; a caller that does not listen is not waited for.
        let _ = tokio::time::timeout(TELL_MAX, teller.rest(&ended)).await;
    }
    let reply = match ended {
        Ok(Ended::Finished(outcome)) => reply::outcome(graph, &run, &outcome),
        Ok(Ended::Paused(pauses)) => reply::paused(graph, &run, &pauses),
        Ok(Ended::Stopped) => {
            reply::fault(&Fault::Refused("the server is stopping".into()), Some(&run))
        }
        Err(fault) => reply::fault(&fault, Some(&run)),
    };
    reply::as_promised(graph, reply)
}
