//! `workflow_validate`: every flaw at once, with what to write instead.

use super::bring::{Brought, bring, fatal, told};
use super::{Wrong, made, success, workflow};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::graph::Graph;
use tramline_core::{Map, Value};

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResult {
    made(validate(&means, &arguments).await)
}

async fn validate(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let (graphs, flaws) = match bring(means, workflow(arguments)).await? {
        Brought::Known(graph, _) => (vec![graph], Vec::new()),
        Brought::Text(text) => {
            let (document, flaws) = text.check(means).await;
            let graphs = document.map(|document| document.workflows);
            (graphs.unwrap_or_default(), flaws)
        }
    };
    let mut data = Map::new();
    data.insert("valid", (!fatal(&flaws)).into());
    data.insert("errors", told(&flaws));
    let graphs = graphs.iter().map(|graph| interface(graph));
    data.insert("workflows", Value::array(graphs));
    Ok(success(data.into(), None))
}

/// What a workflow takes and gives.
fn interface(graph: &Graph) -> Value {
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
