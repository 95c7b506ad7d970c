//! The playground: evaluates an expression or rule on a value or on a run's past state.

use crate::AppState;
use crate::extract::JsonBody;
use crate::history::{explanation_json, inspector, up_to};
use crate::response::{self, ApiError, to_json};
use axum::Json;
use axum::extract::{Extension, State};
use serde::Deserialize;
use serde_json::{Value as Told, json};
use std::time::Instant;
use tramline_engine::{RunOwner, clock, try_blocking};
use tramline_expr::Value;
use tramline_workflow::explanation::{
    TrialResult, TrialSource, TrialTarget, evaluate_trial, trial_limits,
};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::scope::EvalMoment;

/// An evaluation request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvalRequest {
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
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    JsonBody(asked): JsonBody<EvalRequest>,
) -> Result<Json<Told>, ApiError> {
    let look = match &asked.run_id {
        None => None,
        Some(run) => {
            let run: RunId = run.parse()?;
            let loaded = response::load(&desk.engine, &owner, &run).await?;
            let seq = asked.seq.unwrap_or(loaded.run.seq);
            Some(inspector(&run, up_to(&run, &loaded.entries, seq)?)?)
        }
    };
    let moment = EvalMoment {
        now_ms: clock::now_ms(),
        seed: clock::random(),
    };
    // Long evaluations must not block other requests, and many of them must not fill the memory.
    let tried = try_blocking(move || {
        let data: Value = asked.data.clone().into();
        let on = look
            .as_ref()
            .map_or(TrialTarget::Value(&data), TrialTarget::Run);
        evaluate(&asked, on, moment)
    });
    let died = || ApiError::bad_request("the evaluation panicked; please report the expression");
    tried.await.ok_or_else(died)?.map(Json)
}

fn evaluate(
    asked: &EvalRequest,
    on: TrialTarget<'_>,
    moment: EvalMoment,
) -> Result<Told, ApiError> {
    let limits = trial_limits(Instant::now());
    let source = asked.expression.as_str();
    let done = match (asked.language, source) {
        (Language::Jsonata, Some(source)) => {
            evaluate_trial(TrialSource::Expression(source), on, moment, &limits)
        }
        (Language::Jsonata, None) => {
            return Err(ApiError::bad_request(
                "a JSONata expression must be a string",
            ));
        }
        (Language::Jsonlogic, source) => {
            let rule = match source.map(Value::from_json) {
                Some(Ok(rule)) => rule,
                Some(Err(error)) => {
                    return Err(ApiError::bad_request(format!(
                        "the rule is not valid JSON: {error}"
                    )));
                }
                None => asked.expression.clone().into(),
            };
            evaluate_trial(TrialSource::Rule(&rule), on, moment, &limits)
        }
    };
    Ok(outcome(&done))
}

fn outcome(tried: &TrialResult) -> Told {
    let mut told = match &tried.result {
        Ok(Some(value)) => json!({"value": to_json(value)}),
        Ok(None) => json!({"value": null, "undefined": true}),
        Err(error) => {
            let mut told = json!({"code": error.code, "message": error.to_string()});
            if let Some(position) = error.position {
                told["position"] = json!(position);
            }
            json!({"error": told})
        }
    };
    if let Some(explained) = &tried.explanation {
        told["tree"] = explanation_json(explained);
    }
    told
}
