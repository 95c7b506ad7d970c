//! `workflow_execute`: one run of what was brought, and what came of it.

use super::bring::{Brought, bring, called, served};
use super::run::{End, run};
use super::{Wrong, caller_key, made, success, text, workflow};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use std::sync::Arc;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::graph::Graph;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Map, Str, Value};
use tramline_engine::Start;

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResult {
    made(execute(&means, &arguments).await)
}

async fn execute(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let (graph, origin, used, proof) = match bring(means, workflow(arguments)).await? {
        Brought::Known(graph, origin) => {
            let name = format!("{WORKFLOW_SERVER}:{}", graph.workflow.name);
            (graph, origin, vec![Str::from(name)], None)
        }
        Brought::Text(brought) => {
            let document = brought.sound(means).await?;
            let tool = Some(text(arguments, "tool")).filter(|name| !name.is_empty());
            // A document that an agent brings asks before destructive calls, whatever its format.
            let graph = Graph::cautious(&choose(&document, tool)?);
            (graph, Value::Null, called(&document), Some(brought.text))
        }
    };
    let input = arguments.get("parameters").cloned();
    let input = input.unwrap_or_else(|| Value::object::<Str>([]));
    let mut start = Start::new(graph, input);
    start.origin = origin;
    match run(means, start).await? {
        (id, End::Result(result)) => {
            served(means, &used);
            if let Some(text) = proof {
                let uses = means.engine.registry().uses();
                uses.proved(&caller_key(means), &text);
            }
            let mut data = Map::new();
            data.insert("status", "completed".into());
            data.insert("outputs", result);
            Ok(success(data.into(), Some(id.as_str())))
        }
        (id, End::Waits(data)) => Ok(success(data, Some(id.as_str()))),
    }
}

fn choose(document: &Document, tool: Option<&str>) -> Result<Arc<Graph>, Wrong> {
    let found = match (tool, document.workflows.as_slice()) {
        (Some(name), _) => document.workflow(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.cloned().ok_or_else(|| {
        let graphs = document.workflows.iter();
        let names: Vec<_> = graphs.map(|graph| graph.workflow.name.as_str()).collect();
        Wrong::new("validation", "which tool of the document is meant?")
            .suggesting(format!("set `tool` to one of {}", names.join(", ")))
    })
}
