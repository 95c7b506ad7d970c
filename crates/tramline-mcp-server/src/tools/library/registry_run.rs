//! `registry_run`: runs one node, and returns its output and every path in it.

use super::describe::nodes_not_found;
use super::run::{RunResult, run};
use super::source::record_use;
use super::{LibraryReplyError, argument_help, reply_or_error, success, text_argument};
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_catalog::registry::{OutputPath, TrialError, output_paths};
use tramline_engine::RunStart;
use tramline_engine::ports::Tool;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::schema::SchemaErrors;

/// Maximum size of an output that is returned, in bytes. For larger ones only the structure is returned.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(run_node(&means, &arguments).await)
}

async fn run_node(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let parameters = arguments.get("parameters").cloned();
    let parameters = parameters.unwrap_or_else(|| Value::object::<Str>([]));
    let node = text_argument(arguments, "node_type");
    let policy = means.engine.policy();
    let trial = means
        .catalog
        .prepare_trial(node, parameters.clone(), policy);
    let trial = trial.await;
    let trial = trial.map_err(|untried| trial_error(untried, &parameters))?;
    let name = trial.tool.name.to_string();
    match run(means, RunStart::new(trial.graph, trial.input)).await? {
        (id, RunResult::Paused(data)) => Ok(success(data, Some(id.as_str()))),
        (id, RunResult::Result(output)) => {
            record_use(means, &[name.as_str().into()]);
            let (paths, more) = output_paths(&output);
            let mut data = Map::new();
            data.insert("node_type", name.into());
            let bytes = output.to_json().len();
            match bytes > OUTPUT_BYTES_MAX {
                true => {
                    let says =
                        format!("the output has {bytes} bytes and is not shown: see structure");
                    data.insert("output_omitted", says.into());
                }
                false => {
                    data.insert("output", output);
                }
            }
            data.insert("structure", Value::array(paths.iter().map(path_value)));
            if more {
                data.insert("structure_cut", true.into());
            }
            Ok(success(data.into(), Some(id.as_str())))
        }
    }
}

fn path_value(path: &OutputPath) -> Value {
    let mut told = Map::new();
    told.insert("path", path.path.as_str().into());
    told.insert("type", path.kind.as_str().into());
    if let Some(example) = &path.example {
        told.insert("example", example.clone());
    }
    told.into()
}

fn trial_error(untried: TrialError, parameters: &Value) -> LibraryReplyError {
    match untried {
        TrialError::Unknown(unknown) => nodes_not_found(&[unknown]),
        TrialError::Parameters { tool, faults } => invalid_parameters(&tool, &faults, parameters),
        TrialError::Forbidden {
            tool,
            message,
            approval: true,
        } => {
            let mut wrong = LibraryReplyError::new("execution", message);
            wrong.details = Value::object([("reason", "approval_required".into())]);
            wrong
                .suggesting(format!(
                    "use workflow_execute with a node that calls {tool} and has `approval: true`, \
                     so that a person approves it"
                ))
                .suggesting("read its interface with registry_describe instead")
        }
        TrialError::Forbidden { message, .. } => {
            let mut wrong = LibraryReplyError::new("execution", message);
            wrong.details = Value::object([("reason", "denied".into())]);
            wrong.suggesting("find another node with registry_discover")
        }
    }
}

fn invalid_parameters(tool: &Tool, faults: &SchemaErrors, parameters: &Value) -> LibraryReplyError {
    let says: Vec<_> = faults
        .iter()
        .map(|(at, what)| match at.as_str() {
            "" => what.clone(),
            at => format!("{at}: {what}"),
        })
        .collect();
    let message = format!("invalid parameters for {}: {}", tool.name, says.join("; "));
    let mut wrong = LibraryReplyError::new("validation", message);
    wrong.suggestions = argument_help::suggest_fixes(&tool.input_schema, parameters);
    wrong
}
