//! The playground: an expression or a rule tried out, on a value or on a run as it stood.

use crate::Desk;
use crate::asked::Body;
use crate::past::{looked, tree, up_to};
use crate::told::{self, Wrong, plain};
use axum::Json;
use axum::extract::{Extension, State};
use serde::Deserialize;
use serde_json::{Value as Told, json};
use std::time::Instant;
use tramline_core::Value;
use tramline_core::explained::{On, Trial, Tried, trial_limits, try_out};
use tramline_core::ids::{RunId, Seq};
use tramline_core::scope::Moment;
use tramline_engine::{Owner, clock, try_aside};

/// What is tried out, on what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    language: Language,
    /// JSONata as text; a rule as JSON, or as its text.
    expression: Told,
    #[serde(default)]
    data: Told,
    run_id: Option<String>,
    seq: Option<Seq>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Language {
    Jsonata,
    Jsonlogic,
}

pub(crate) async fn eval(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Body(asked): Body<Asked>,
) -> Result<Json<Told>, Wrong> {
    let look = match &asked.run_id {
        None => None,
        Some(run) => {
            let run: RunId = run.parse()?;
            let loaded = told::load(&desk.engine, &owner, &run).await?;
            let seq = asked.seq.unwrap_or(loaded.run.seq);
            Some(looked(&run, up_to(&run, &loaded.entries, seq)?)?)
        }
    };
    let moment = Moment {
        now_ms: clock::now_ms(),
        seed: clock::random(),
    };
    // What computes for long must not keep others waiting, nor many of them fill the memory.
    let tried = try_aside(move || {
        let data: Value = asked.data.clone().into();
        let on = look.as_ref().map_or(On::Value(&data), On::Run);
        tried(&asked, on, moment)
    });
    let died = || Wrong::request("the evaluation panicked; please report the expression");
    tried.await.ok_or_else(died)?.map(Json)
}

fn tried(asked: &Asked, on: On<'_>, moment: Moment) -> Result<Told, Wrong> {
    let limits = trial_limits(Instant::now());
    let source = asked.expression.as_str();
    let done = match (asked.language, source) {
        (Language::Jsonata, Some(source)) => {
            try_out(Trial::Expression(source), on, moment, &limits)
        }
        (Language::Jsonata, None) => return Err(Wrong::request("JSONata is text")),
        (Language::Jsonlogic, source) => {
            let rule = match source.map(Value::from_json) {
                Some(Ok(rule)) => rule,
                Some(Err(error)) => return Err(Wrong::request(format!("no JSON: {error}"))),
                None => asked.expression.clone().into(),
            };
            try_out(Trial::Rule(&rule), on, moment, &limits)
        }
    };
    Ok(outcome(&done))
}

fn outcome(tried: &Tried) -> Told {
    let mut told = match &tried.result {
        Ok(Some(value)) => json!({"value": plain(value)}),
        Ok(None) => json!({"value": null, "undefined": true}),
        Err(error) => {
            let mut told = json!({"code": error.code, "message": error.to_string()});
            if let Some(position) = error.position {
                told["position"] = json!(position);
            }
            json!({"error": told})
        }
    };
    if let Some(explained) = &tried.explained {
        told["tree"] = tree(explained);
    }
    told
}
