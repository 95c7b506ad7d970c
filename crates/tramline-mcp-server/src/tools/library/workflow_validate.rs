//! `workflow_validate`: all flaws of a workflow, with suggested fixes.

use super::source::{WorkflowSource, has_errors, resolve};
use super::{LibraryReplyError, reply_or_error, success, workflow_argument};
use crate::document_check::flaws_value;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_expr::{Map, Value};
use tramline_workflow::graph::Graph;

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(validate(&means, &arguments).await)
}

async fn validate(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let (graphs, flaws) = match resolve(means, workflow_argument(arguments)).await? {
        WorkflowSource::Known(graph, _) => (vec![graph], Vec::new()),
        WorkflowSource::Document(text) => {
            let (document, flaws) = text.check(means).await;
            let graphs = document.map(|document| document.workflows);
            (graphs.unwrap_or_default(), flaws)
        }
    };
    let mut data = Map::new();
    data.insert("valid", (!has_errors(&flaws)).into());
    data.insert("errors", flaws_value(&flaws));
    let graphs = graphs.iter().map(|graph| workflow_interface(graph));
    data.insert("workflows", Value::array(graphs));
    Ok(success(data.into(), None))
}

/// Inputs and outputs of a workflow.
fn workflow_interface(graph: &Graph) -> Value {
    let workflow = &graph.workflow;
    let mut told = Map::new();
    told.insert("name", workflow.name.clone().into());
    if let Some(schema) = &workflow.input_schema {
        told.insert("inputs", schema.clone());
    }
    if let Some(schema) = &workflow.output_schema {
        told.insert("outputs", schema.clone());
    }
    told.insert("nodes", (graph.len() as u64).into());
    told.into()
}
