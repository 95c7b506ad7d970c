//! `registry_run`: one node by itself, its real output, and every path in that.

use super::bring::served;
use super::describe::not_found;
use super::run::{End, run};
use super::{Wrong, fields, made, success, text};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::schema::Faults;
use tramline_core::{Map, Str, Value};
use tramline_engine::registry::{Path, Untried, shape};
use tramline_engine::seams::Tool;

/// A larger output is cut to its shape: it is there to be looked at.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResult {
    made(attempt(&means, &arguments).await)
}

async fn attempt(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let parameters = arguments.get("parameters").cloned();
    let parameters = parameters.unwrap_or_else(|| Value::object::<Str>([]));
    let node = text(arguments, "node_type");
    let trial = means.engine.trial(node, parameters.clone()).await;
    let trial = trial.map_err(|untried| refused(untried, &parameters))?;
    let name = trial.tool.name.to_string();
    match run(means, trial.start).await? {
        (id, End::Waits(data)) => Ok(success(data, Some(id.as_str()))),
        (id, End::Result(output)) => {
            served(means, &[name.as_str().into()]);
            let (paths, more) = shape(&output);
            let mut data = Map::new();
            data.insert("node_type", name.into());
            let bytes = output.to_json().len();
            match bytes > OUTPUT_BYTES_MAX {
                true => {
                    let says = format!("{bytes} bytes are too many to show: see structure");
                    data.insert("output_omitted", says.into());
                }
                false => {
                    data.insert("output", output);
                }
            }
            data.insert("structure", Value::array(paths.iter().map(path)));
            if more {
                data.insert("structure_cut", true.into());
            }
            Ok(success(data.into(), Some(id.as_str())))
        }
    }
}

fn path(path: &Path) -> Value {
    let mut told = Map::new();
    told.insert("path", path.path.as_str().into());
    told.insert("type", path.kind.as_str().into());
    if let Some(example) = &path.example {
        told.insert("example", example.clone());
    }
    told.into()
}

fn refused(untried: Untried, parameters: &Value) -> Wrong {
    match untried {
        Untried::Unknown(unknown) => not_found(&[unknown]),
        Untried::Parameters { tool, faults } => unfit(&tool, &faults, parameters),
        Untried::Forbidden {
            tool,
            message,
            approval: true,
        } => {
            let mut wrong = Wrong::new("execution", message);
            wrong.details = Value::object([("reason", "approval_required".into())]);
            wrong
                .suggesting(format!(
                    "run it in a workflow: a node that calls {tool} with `approval: true`, by workflow_execute; a person then agrees"
                ))
                .suggesting("look at its interface with registry_describe instead")
        }
        Untried::Forbidden { message, .. } => {
            let mut wrong = Wrong::new("execution", message);
            wrong.details = Value::object([("reason", "denied".into())]);
            wrong.suggesting("find another node with registry_discover")
        }
    }
}

fn unfit(tool: &Tool, faults: &Faults, parameters: &Value) -> Wrong {
    let says: Vec<_> = faults
        .iter()
        .map(|(at, what)| match at.as_str() {
            "" => what.clone(),
            at => format!("{at}: {what}"),
        })
        .collect();
    let message = format!(
        "the parameters do not fit {}: {}",
        tool.name,
        says.join("; ")
    );
    let mut wrong = Wrong::new("validation", message);
    wrong.suggestions = fields::mending(&tool.input_schema, parameters);
    wrong
}
