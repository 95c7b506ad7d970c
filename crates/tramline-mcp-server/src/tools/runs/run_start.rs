//! `run_start`: starts a workflow without waiting for it.

use crate::caller::Caller;
use crate::catalog::CatalogEntry;
use crate::error_codes::ReplyCode;
use crate::reply;
use crate::resources::own_resources::run_uri;
use crate::tasks;
use crate::tool::CallContext;
use crate::tools::{Toolset, library};
use rmcp::model::CallToolResult;
use std::sync::Arc;
use tramline_engine::{Fault, RunStart, StartKey, StartedRun};
use tramline_expr::{Map, Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::text::{display_name, nearest};

/// What a repeated start has to name again.
const REQUEST_FIELDS: [&str; 3] = ["workflow", "tool", "arguments"];

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResult {
    let (graph, origin) = match workflow(&means, &arguments).await {
        Ok(found) => found,
        Err(reply) => return *reply,
    };
    match start(&means, graph, origin, &arguments).await {
        Ok(started) => started_reply(&means, started).await,
        Err(fault) => reply::fault_reply(&fault, None),
    }
}

/// The workflow to start, with its origin: one that is served here, or one that the library toolset could run.
async fn workflow(
    means: &CallContext,
    arguments: &Value,
) -> Result<(Arc<Graph>, Value), Box<CallToolResult>> {
    let name = arguments.get("workflow").and_then(Value::as_str);
    let catalog = means.shared.catalog();
    if let Some(name) = name
        && let Ok(CatalogEntry::Graph((graph, origin))) = catalog.find(name)
    {
        return Ok((Arc::clone(graph), origin.clone()));
    }
    if [Toolset::Library, Toolset::Control]
        .into_iter()
        .any(|toolset| means.shared.has(toolset))
    {
        return library::startable_workflow(means, arguments).await;
    }
    let names = catalog.graph_names();
    let given = name.map_or_else(
        || "a document".to_owned(),
        |name| format!("`{}`", display_name(name)),
    );
    let hint = match name.and_then(|name| nearest(name, names.iter().map(Str::as_str))) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "the tools that run workflows are listed by tools/list".to_owned(),
    };
    let message = format!("{given} is not served here; {hint}");
    let error = reply::error_object(ReplyCode::NotFound, message, Map::new());
    Err(Box::new(reply::error_reply(error)))
}

async fn start(
    means: &CallContext,
    graph: Arc<Graph>,
    origin: Value,
    arguments: &Value,
) -> Result<StartedRun, Fault> {
    let text = |key| arguments.get(key).and_then(Value::as_str);
    let input = arguments.get("arguments").cloned();
    let mut start = RunStart::new(graph, input.unwrap_or_else(|| Value::object::<Str>([])));
    start.origin = match origin {
        Value::Null => means.shared.options.origin.clone(),
        origin => origin,
    };
    start.session = text("session_id").map(Str::from);
    Caller::sign(&mut start, &means.request);
    match text("key") {
        None => means.engine.start_detached(start).await,
        Some(key) => {
            let asked = REQUEST_FIELDS.into_iter();
            let asked = asked.filter_map(|field| Some((field, arguments.get(field)?.clone())));
            let key = StartKey {
                key: key.into(),
                request: Value::object(asked),
            };
            means.engine.start_once(key, start).await
        }
    }
}

async fn workflow_name(means: &CallContext, run: &RunId) -> String {
    let row = means.engine.store().row(run).await;
    let row = row.ok().flatten();
    row.map_or_else(String::new, |row| row.index_row.workflow.to_string())
}

async fn started_reply(means: &CallContext, started: StartedRun) -> CallToolResult {
    let StartedRun { run, is_new } = started;
    if is_new && means.shared.options.claude_channel {
        let name = workflow_name(means, &run).await;
        means.shared.subscribers.announce_run(&run, &name);
        means.shared.watch_run(&run);
    }
    if !is_new {
        // The process that drove it may have died.
        tasks::drive_in_background(&means.shared, &run);
    }
    let row = match means.engine.store().row(&run).await {
        Ok(row) => row,
        Err(fault) => return reply::fault_reply(&fault.into(), Some(&run)),
    };
    let status = row
        .as_ref()
        .map_or("running", |row| row.index_row.status.as_str());
    let mut told = Map::new();
    told.insert("run_id", run.as_str().into());
    if let Some(row) = &row {
        told.insert("workflow", row.index_row.workflow.clone().into());
    }
    told.insert("status", status.into());
    told.insert("is_new", is_new.into());
    told.insert("resource", run_uri(&run).into());
    told.insert("next", "call run_await with this run_id".into());
    reply::success(&told.into())
}
