//! `tramline registry run`: runs one tool by itself.

use super::super::{CliError, CliResult, CommonArgs, Exit, output};
use super::{read_parameters, unknown_name_message};
use crate::app::App;
use serde_json::{Value as Json, json};
use tramline_catalog::registry::{OutputPath, TrialError, output_paths};
use tramline_engine::{DriveOutcome, RunStart};
use tramline_expr::Value;
use tramline_views::trace;
use tramline_workflow::journal::Outcome;

/// Run one tool by itself.
#[derive(clap::Args)]
pub(super) struct TryToolArgs {
    /// server:tool, mcp-server-tool, a built-in tool or a workflow's name
    node: String,
    /// Its parameters
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All parameters: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
}

impl TryToolArgs {
    /// The options as recorded in the audit log.
    pub(super) fn recorded(&self) -> Json {
        let mut told = json!({ "node": self.node });
        if !self.pairs.is_empty() {
            told["parameters"] = self.pairs.clone().into();
        }
        if let Some(input) = &self.input {
            told["input"] = input.as_str().into();
        }
        told
    }
}

pub(super) async fn run_tool(
    common: &CommonArgs,
    house: &App,
    trying: &TryToolArgs,
    origin: Value,
) -> CliResult {
    let found = house.catalog.registry().find(&trying.node).await;
    let tool = found.map_err(|unknown| CliError::bad_input(unknown_name_message(&unknown)))?;
    let given = read_parameters(trying.input.as_deref(), &trying.pairs, &tool.input_schema)?;
    let policy = house.engine.policy();
    let trial = house
        .catalog
        .prepare_trial(&tool.name.to_string(), given, policy)
        .await;
    let trial = trial.map_err(|untried| CliError::bad_input(refusal_message(&untried)))?;
    let graph = trial.graph.clone();
    let mut start = RunStart::new(trial.graph, trial.input);
    start.origin = origin;
    let handle = house.engine.start(start).await?;
    let run = handle.run.clone();
    match handle.wait().await? {
        DriveOutcome::Finished(Outcome::Completed { result }) => {
            print_result(common, run.as_str(), &result);
            Ok(Exit::Done)
        }
        DriveOutcome::Finished(outcome) => {
            let how = trace::outcome_value(&graph, &outcome);
            let error = how.get("error").and_then(|error| error.get("message"));
            let message = error.and_then(Value::as_str).unwrap_or("it failed");
            Err(CliError {
                exit: Exit::Failed,
                message: format!("{message} (tramline runs show {run})"),
            })
        }
        DriveOutcome::Paused(_) => {
            let says = format!("{run} waits for an answer: tramline runs show {run}");
            if common.json {
                output::line(&json!({ "status": "paused", "run_id": run }));
            } else {
                output::status_line(&says);
            }
            Ok(Exit::Paused)
        }
        DriveOutcome::Stopped => Ok(Exit::Interrupted),
    }
}

fn print_result(common: &CommonArgs, run: &str, result: &Value) {
    let (paths, more) = output_paths(result);
    if common.json {
        let paths: Vec<_> = paths.iter().map(as_json).collect();
        output::line(&json!({
            "status": "completed",
            "run_id": run,
            "output": Json::from(result),
            "structure": paths,
            "structure_cut": more,
        }));
        return;
    }
    output::json(&result.to_json_pretty());
    for path in &paths {
        let example = path
            .example
            .as_ref()
            .map_or_else(String::new, Value::to_json);
        let name = if path.path.is_empty() {
            "(all)"
        } else {
            &path.path
        };
        output::status_line(&format!("{name:<40}  {:<14}  {example}", path.kind));
    }
}

fn as_json(path: &OutputPath) -> Json {
    json!({
        "path": path.path,
        "type": path.kind,
        "example": path.example.as_ref().map_or(Json::Null, Json::from),
    })
}

fn refusal_message(untried: &TrialError) -> String {
    match untried {
        TrialError::Unknown(unknown) => unknown_name_message(unknown),
        TrialError::Forbidden {
            tool,
            message,
            approval,
        } => match approval {
            true => format!(
                "{message}; call {tool} in a workflow with `tramline run`, which asks for approval"
            ),
            false => message.clone(),
        },
        TrialError::Parameters { tool, faults } => {
            let faults = faults.iter().map(|(at, what)| format!("{at} {what}"));
            let faults: Vec<_> = faults.map(|fault| fault.trim().to_owned()).collect();
            let name = &tool.name;
            let faults = faults.join("; ");
            format!(
                "invalid parameters for {name}: {faults}; `tramline registry show {name}` shows its schema"
            )
        }
    }
}
