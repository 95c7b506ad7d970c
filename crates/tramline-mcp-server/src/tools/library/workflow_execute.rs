//! `workflow_execute`: one run of a workflow and its result.

use super::run::{RunResult, run};
use super::source::{WorkflowSource, called_tools, record_use, resolve};
use super::{
    LibraryReplyError, caller_key, reply_or_error, success, text_argument, workflow_argument,
};
use crate::document_check::flaws_value;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use std::sync::Arc;
use tramline_engine::RunStart;
use tramline_expr::{Map, Str, Value};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_workflow::flaw::Flaw;
use tramline_workflow::graph::Graph;
use tramline_workflow::workflow::WORKFLOW_SERVER;

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(execute(&means, &arguments).await)
}

/// The workflow that arguments name, ready to start, with its origin.
pub(super) async fn startable(
    means: &CallContext,
    arguments: &Value,
) -> Result<(Arc<Graph>, Value), LibraryReplyError> {
    match resolve(means, workflow_argument(arguments)).await? {
        WorkflowSource::Known(graph, origin) => Ok((graph, origin)),
        WorkflowSource::Document(brought) => {
            let (document, _) = brought.valid_document(means).await?;
            let tool = Some(text_argument(arguments, "tool")).filter(|name| !name.is_empty());
            let graph = Graph::cautious(&choose_workflow(&document, tool)?);
            Ok((graph, Value::Null))
        }
    }
}

async fn execute(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let (graph, origin, used, proof, warnings) =
        match resolve(means, workflow_argument(arguments)).await? {
            WorkflowSource::Known(graph, origin) => {
                let name = format!("{WORKFLOW_SERVER}:{}", graph.workflow.name);
                (graph, origin, vec![Str::from(name)], None, Vec::new())
            }
            WorkflowSource::Document(brought) => {
                let (document, warnings) = brought.valid_document(means).await?;
                let tool = Some(text_argument(arguments, "tool")).filter(|name| !name.is_empty());
                // A document from an agent asks before destructive calls, whatever its format.
                let graph = Graph::cautious(&choose_workflow(&document, tool)?);
                (
                    graph,
                    Value::Null,
                    called_tools(&document),
                    Some(brought.text),
                    warnings,
                )
            }
        };
    let input = arguments.get("parameters").cloned();
    let input = input.unwrap_or_else(|| Value::object::<Str>([]));
    let mut start = RunStart::new(graph, input);
    start.origin = origin;
    match run(means, start).await? {
        (id, RunResult::Result(result)) => {
            record_use(means, &used);
            if let Some(text) = proof {
                let uses = means.catalog.registry().usage();
                uses.record_document_run(&caller_key(means), &text);
            }
            let mut data = Map::new();
            data.insert("status", "completed".into());
            data.insert("outputs", result);
            add_warnings(&mut data, &warnings);
            Ok(success(data.into(), Some(id.as_str())))
        }
        (id, RunResult::Paused(data)) => {
            let mut data = data.as_object().cloned().unwrap_or_default();
            add_warnings(&mut data, &warnings);
            Ok(success(data.into(), Some(id.as_str())))
        }
    }
}

/// Adds the warnings about the document: parts of it have no effect.
fn add_warnings(data: &mut Map, warnings: &[Flaw]) {
    if !warnings.is_empty() {
        data.insert("warnings", flaws_value(warnings));
    }
}

fn choose_workflow(
    document: &GraphDocument,
    tool: Option<&str>,
) -> Result<Arc<Graph>, LibraryReplyError> {
    let found = match (tool, document.workflows.as_slice()) {
        (Some(name), _) => document.workflow(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.cloned().ok_or_else(|| {
        let graphs = document.workflows.iter();
        let names: Vec<_> = graphs.map(|graph| graph.workflow.name.as_str()).collect();
        LibraryReplyError::new("validation", "`tool` must name one of the document's tools")
            .suggesting(format!("set `tool` to one of {}", names.join(", ")))
    })
}
