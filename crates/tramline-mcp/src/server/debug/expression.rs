//! Expressions tried out: over a value, or over a run as it stood at a step.

use super::super::reply;
use super::super::toolset::Means;
use super::{at, run_id};
use rmcp::model::CallToolResult;
use std::time::Instant;
use tramline_core::explained::{On, Trial, Tried, trial_limits, try_out};
use tramline_core::look::Look;
use tramline_core::scope::Moment;
use tramline_core::{Map, Value};
use tramline_engine::{Fault, clock, try_aside};

pub(super) async fn test(means: Means, arguments: Value) -> CallToolResult {
    reply::made(tried(&means, &arguments).await, None)
}

async fn tried(means: &Means, arguments: &Value) -> Result<Value, Fault> {
    if trial(arguments).is_none() {
        return Err(Fault::Refused(
            "give either `expression` (JSONata) or `rule` (JSON Logic)".into(),
        ));
    }
    let moment = Moment {
        now_ms: clock::now_ms(),
        seed: clock::random(),
    };
    let look = if arguments.get("run_id").is_some() {
        let id = run_id(arguments, "run_id")?;
        let loaded = match at(arguments) {
            Some(at) => means.engine.load_at(&id, at).await?,
            None => means.engine.load(&id).await?,
        };
        let look =
            Look::at(id, &loaded.entries).map_err(|illegal| Fault::Refused(illegal.to_string()))?;
        Some(look)
    } else {
        None
    };
    let given = arguments.clone();
    let tried = try_aside(move || {
        let empty = Value::Null;
        let context = given.get("context").unwrap_or(&empty);
        let on = look.as_ref().map_or(On::Value(context), On::Run);
        let limits = trial_limits(Instant::now());
        trial(&given).map(|trial| try_out(trial, on, moment, &limits))
    });
    let died = || Fault::Refused("the evaluation panicked; please report the expression".into());
    let tried = tried.await.flatten().ok_or_else(died)?;
    let explain = arguments.get("explain").and_then(Value::as_bool);
    Ok(told(tried, explain.unwrap_or(false)))
}

fn trial(arguments: &Value) -> Option<Trial<'_>> {
    match (arguments.get("expression"), arguments.get("rule")) {
        (Some(Value::String(source)), None) => Some(Trial::Expression(source)),
        (None, Some(rule)) => Some(Trial::Rule(rule)),
        _ => None,
    }
}

fn told(tried: Tried, explain: bool) -> Value {
    let mut told = Map::new();
    match tried.result {
        Ok(value) => {
            told.insert("valid", true.into());
            told.insert("defined", value.is_some().into());
            told.insert("value", value.unwrap_or_default());
        }
        Err(error) => {
            told.insert("valid", false.into());
            let mut wrong = Map::new();
            wrong.insert("code", error.code.as_str().into());
            wrong.insert("message", error.message.as_str().into());
            if let Some(position) = error.position {
                wrong.insert("position", position.into());
            }
            told.insert("error", wrong.into());
        }
    }
    if let (Some(tree), true) = (tried.explained, explain) {
        told.insert("explanation", tree.to_value());
    }
    told.into()
}
