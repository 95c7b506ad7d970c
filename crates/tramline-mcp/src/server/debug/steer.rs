//! Running under control: start with breakpoints, step, go on, pause, stop.

use super::super::reply;
use super::super::toolset::Means;
use super::{run_id, standing};
use rmcp::model::CallToolResult;
use std::time::Duration;
use tramline_core::ids::RunId;
use tramline_core::journal::{Break, Watch};
use tramline_core::text::nearest;
use tramline_core::{Str, Value};
use tramline_engine::{Fault, Start};

/// A run that neither halts nor ends by then is told of as it stands.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Who we are in the journal.
const BY: &str = "debug tools";

pub(super) async fn debug(means: Means, arguments: Value) -> CallToolResult {
    let command = arguments
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or("start");
    let id = match command {
        "start" => start(&means, &arguments).await,
        _ => match run_id(&arguments, "run_id") {
            Ok(id) => steer(&means, &id, command, &arguments).await.map(|()| id),
            Err(fault) => Err(fault),
        },
    };
    match id {
        Ok(id) => reply::made(settled(&means, &id).await, Some(&id)),
        Err(fault) => reply::fault(&fault, None),
    }
}

async fn start(means: &Means, arguments: &Value) -> Result<RunId, Fault> {
    let workflows = means.engine.workflows();
    let Some(name) = arguments.get("workflow").and_then(Value::as_str) else {
        return Err(Fault::Refused(
            "`start` needs `workflow`: the name of one".into(),
        ));
    };
    let callable = workflows.find(name).ok_or_else(|| {
        let names = workflows.names();
        let near = nearest(name, names.iter().map(Str::as_str))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        Fault::Refused(format!("there is no workflow `{name}`{near}"))
    })?;
    let input = arguments.get("input").cloned();
    let mut start = Start::new(
        callable.graph,
        input.unwrap_or_else(|| Value::object::<Str>([])),
    );
    start.origin = callable.origin;
    start.owner = means.caller().name;
    start.upstream = means.upstream();
    start.watch = Some(watch(arguments));
    Ok(means.engine.start(start).await?.run)
}

/// Where the run is to halt, as the arguments say.
pub(super) fn watch(arguments: &Value) -> Watch {
    let breaks = arguments
        .get("breakpoints")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let place = |value: &Value| match value {
        Value::String(node) => Some(Break {
            node: node.clone(),
            condition: None,
        }),
        other => Some(Break {
            node: other.get("node").and_then(Value::as_str)?.into(),
            condition: other.get("condition").cloned(),
        }),
    };
    let stepping = arguments.get("step").and_then(Value::as_bool);
    Watch {
        breaks: breaks.iter().filter_map(place).collect(),
        stepping: stepping.unwrap_or(false),
    }
}

async fn steer(means: &Means, id: &RunId, command: &str, arguments: &Value) -> Result<(), Fault> {
    let engine = &means.engine;
    let said = |stepping: bool| Watch {
        stepping,
        ..watch(arguments)
    };
    match command {
        "stop" => {
            let why = arguments
                .get("why")
                .and_then(Value::as_str)
                .map(str::to_owned);
            engine.abort(id, BY.into(), why).await
        }
        "pause" => engine.watch(id, said(true), BY.into()).await,
        "watch" => engine.watch(id, watch(arguments), BY.into()).await,
        "step" => {
            engine.watch(id, said(true), BY.into()).await?;
            go_on(means, id).await
        }
        _ => {
            engine.watch(id, said(false), BY.into()).await?;
            go_on(means, id).await
        }
    }
}

/// Lets the run go on, driving it here unless somebody else does.
async fn go_on(means: &Means, id: &RunId) -> Result<(), Fault> {
    means.engine.go_on(id, means.respondent()).await?;
    driven(means, id).await
}

/// Drives a run here, unless somebody does already.
pub(super) async fn driven(means: &Means, id: &RunId) -> Result<(), Fault> {
    match means.engine.resume(id).await {
        Ok(_) | Err(Fault::Elsewhere { .. }) => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// How the run stands once it has halted or ended, or after a while.
pub(super) async fn settled(means: &Means, id: &RunId) -> Result<Value, Fault> {
    let engine = &means.engine;
    let mut changes = engine.store().changes();
    let waited = tokio::time::timeout(WAIT_MAX, async {
        loop {
            changes.mark_unchanged();
            let row = engine.store().row(id).await?;
            let still =
                row.is_some_and(|row| row.head.status != tramline_engine::seams::Status::Running);
            if still || changes.changed().await.is_err() {
                return Ok::<(), Fault>(());
            }
        }
    });
    if let Ok(done) = waited.await {
        done?;
    }
    let loaded = engine.load(id).await?;
    let mut told = standing(&loaded);
    told.insert("outputs", loaded.run.outputs().clone());
    Ok(told.into())
}
