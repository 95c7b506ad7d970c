//! A graph as a tool: arguments in, one run, result out.

use super::reply;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, JsonObject, ProgressNotificationParam, ProgressToken,
    Tool, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::Event;
use tramline_core::workflow::Action;
use tramline_core::{Map, Value};
use tramline_engine::{Ended, Engine, Fault, Start};

/// The graph as `tools/list` shows it.
pub(super) fn describe(graph: &Graph) -> Tool {
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
    let calls = workflow
        .nodes
        .iter()
        .any(|node| matches!(node.action, Action::Call { .. }));
    if calls {
        tool
    } else {
        tool.with_annotations(ToolAnnotations::new().read_only(true).open_world(false))
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
    let arguments: Map = request
        .arguments
        .unwrap_or_default()
        .into_iter()
        .map(|(key, value)| (key, value.into()))
        .collect();
    let mut start = Start::new(Arc::clone(graph), arguments.into());
    start.origin = origin.clone();
    let handle = match engine.start(start).await {
        Ok(handle) => handle,
        Err(fault) => return reply::fault(&fault, None),
    };
    let run = handle.run.clone();
    let telling = context.meta.get_progress_token().map(|token| {
        tokio::spawn(tell(
            engine.clone(),
            Arc::clone(graph),
            run.clone(),
            context.peer.clone(),
            token,
        ))
    });
    let ended = handle.ended();
    tokio::pin!(ended);
    let ended = tokio::select! {
        ended = &mut ended => ended,
        () = context.ct.cancelled() => {
            let why = Some("the caller cancelled".to_owned());
            // It may have ended by itself in this moment; then that stands.
            let _ = engine.abort(&run, "caller".into(), why).await;
            ended.await
        }
    };
    if let Some(telling) = telling {
        telling.abort();
    }
    match ended {
        Ok(Ended::Finished(outcome)) => reply::outcome(graph, &run, &outcome),
        Ok(Ended::Paused(pauses)) => reply::paused(graph, &run, &pauses),
        Ok(Ended::Stopped) => {
            reply::fault(&Fault::Refused("the server is stopping".into()), Some(&run))
        }
        Err(fault) => reply::fault(&fault, Some(&run)),
    }
}

/// Tells the caller of every step that ends.
async fn tell(
    engine: Engine,
    graph: Arc<Graph>,
    run: RunId,
    peer: Peer<RoleServer>,
    token: ProgressToken,
) {
    let mut follow = engine.subscribe(run, 0);
    let mut done = 0.0;
    while let Ok(Some(entry)) = follow.next().await {
        let (node, what) = match entry.event {
            Event::StepStarted { node, .. } => (node, "begins"),
            Event::StepFinished { node, .. } => (node, "is done"),
            Event::StepFailed { node, .. } => (node, "failed"),
            Event::Started(_)
            | Event::Resumed { .. }
            | Event::AttemptFailed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Amended { .. }
            | Event::Finished { .. } => continue,
        };
        done += 1.0;
        let message = match &graph.node(node).action {
            Action::Call {
                tool: ToolName { server, tool },
                ..
            } => {
                format!("{} {what} ({server}:{tool})", graph.node(node).id)
            }
            Action::Entry | Action::Compute { .. } | Action::Choose { .. } | Action::Exit => {
                format!("{} {what}", graph.node(node).id)
            }
        };
        let param = ProgressNotificationParam::new(token.clone(), done).with_message(message);
        if peer.notify_progress(param).await.is_err() {
            return;
        }
    }
}
