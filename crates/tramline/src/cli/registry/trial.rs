//! `tramline registry run`: one node by itself.

use super::super::{Common, Done, Exit, Stopped, output};
use super::{meant, parameters};
use crate::wire::House;
use serde_json::{Value as Json, json};
use tramline_core::Value;
use tramline_core::journal::Outcome;
use tramline_core::trace;
use tramline_engine::Ended;
use tramline_engine::registry::{Path, Untried, shape};

/// Run one node by itself.
#[derive(clap::Args)]
pub(super) struct Trying {
    /// server:tool, mcp-server-tool, a built-in tool or a workflow's name
    node: String,
    /// Its parameters
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All parameters: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
}

pub(super) async fn attempt(
    common: &Common,
    house: &House,
    trying: &Trying,
    origin: Value,
) -> Done {
    let found = house.engine.registry().find(&trying.node).await;
    let tool = found.map_err(|unknown| Stopped::bad(meant(&unknown)))?;
    let given = parameters(trying.input.as_deref(), &trying.pairs, &tool.input_schema)?;
    let trial = house.engine.trial(&tool.name.to_string(), given).await;
    let mut trial = trial.map_err(|untried| Stopped::bad(refused(&untried)))?;
    trial.start.origin = origin;
    let graph = trial.start.graph.clone();
    let handle = house.engine.start(trial.start).await?;
    let run = handle.run.clone();
    match handle.ended().await? {
        Ended::Finished(Outcome::Completed { result }) => {
            told(common, run.as_str(), &result);
            Ok(Exit::Done)
        }
        Ended::Finished(outcome) => {
            let how = trace::outcome(&graph, &outcome);
            let error = how.get("error").and_then(|error| error.get("message"));
            let message = error.and_then(Value::as_str).unwrap_or("it failed");
            Err(Stopped {
                exit: Exit::Failed,
                message: format!("{message} (tramline runs show {run})"),
            })
        }
        Ended::Paused(_) => {
            let says = format!("{run} waits for an answer: tramline runs show {run}");
            if common.json {
                output::line(&json!({ "status": "paused", "run_id": run }));
            } else {
                output::say(&says);
            }
            Ok(Exit::Paused)
        }
        Ended::Stopped => Ok(Exit::Interrupted),
    }
}

fn told(common: &Common, run: &str, result: &Value) {
    let (paths, more) = shape(result);
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
        output::say(&format!("{name:<40}  {:<14}  {example}", path.kind));
    }
}

fn as_json(path: &Path) -> Json {
    json!({
        "path": path.path,
        "type": path.kind,
        "example": path.example.as_ref().map_or(Json::Null, Json::from),
    })
}

fn refused(untried: &Untried) -> String {
    match untried {
        Untried::Unknown(unknown) => meant(unknown),
        Untried::Forbidden {
            tool,
            message,
            approval,
        } => match approval {
            true => format!("{message}; call {tool} in a workflow, by `tramline run`, which asks"),
            false => message.clone(),
        },
        Untried::Parameters { tool, faults } => {
            let faults = faults.iter().map(|(at, what)| format!("{at} {what}"));
            let faults: Vec<_> = faults.map(|fault| fault.trim().to_owned()).collect();
            let name = &tool.name;
            let faults = faults.join("; ");
            format!(
                "the parameters do not fit {name}: {faults}; `tramline registry show {name}` tells what it takes"
            )
        }
    }
}
