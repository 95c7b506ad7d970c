//! `workflow_validate`: every flaw at once, with what to write instead.

use super::bring::{Brought, bring, check_calls, fatal, told};
use super::{Wrong, made, success, workflow};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::graph::Graph;
use tramline_core::{Map, Value};

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResult {
    made(validate(&means, &arguments).await)
}

async fn validate(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let mut data = Map::new();
    let (flaws, graphs) = match bring(means, workflow(arguments))? {
        Brought::Known(graph, _) => (Vec::new(), vec![graph]),
        Brought::Flawed(flaws) => (flaws, Vec::new()),
        Brought::Document(document) => {
            let mut flaws = document.warnings.clone();
            flaws.extend(check_calls(means, &document).await);
            (flaws, document.workflows)
        }
    };
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
