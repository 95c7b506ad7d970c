//! Answering and aborting runs from the studio, recorded like every other command.

use crate::AppState;
use crate::extract::JsonBody;
use crate::response::{self, ApiError};
use axum::Json;
use axum::extract::{Extension, FromRequestParts, Path, State};
use axum::http::Extensions;
use axum::http::request::Parts;
use serde::Deserialize;
use serde_json::Value as Told;
use std::convert::Infallible;
use tramline_engine::{Admission, PauseAnswer, Respondent, RunOwner};
use tramline_expr::Str;
use tramline_views::pause_view;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Answer, Budget, Pause};

/// An answer to a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    /// One of the question's options.
    answer: String,
    /// With `skip`: the output to use.
    #[serde(default)]
    output: Told,
    /// With `extend`: the budget to add; doubles the budget if missing.
    budget: Option<Told>,
    /// With `proceed`: all arguments, if a person edited them.
    arguments: Option<Told>,
    /// With `submit`: the fields of the form.
    content: Option<Told>,
    why: Option<String>,
    by: Option<String>,
}

/// The reason for aborting a run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AbortBody {
    why: Option<String>,
    by: Option<String>,
}

pub(crate) async fn answer(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(checkpoint): Path<String>,
    JsonBody(given): JsonBody<AnswerBody>,
) -> Result<Json<Told>, ApiError> {
    let asked: Checkpoint = checkpoint.parse()?;
    let respondent = respondent(&owner, given.by.as_deref(), &speaker);
    append_answer(&desk, &owner, &asked, &given, respondent)
        .await
        .map(Json)
}

pub(crate) async fn abort(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(run): Path<String>,
    JsonBody(given): JsonBody<AbortBody>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let by = respondent(&owner, given.by.as_deref(), &speaker).name;
    abort_run(&desk, &owner, &run, by, given.why)
        .await
        .map(Json)
}

/// The caller's name in the journal. A token's name overrides what its holder claims, and only a
/// request with the studio's key is named the studio.
pub(crate) fn caller_name(
    owner: &RunOwner,
    said: Option<&str>,
    person: Option<&Respondent>,
) -> Str {
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    let is_studio = person.is_some_and(|person| person.channel == AnswerChannel::Studio);
    let door = if is_studio { "studio" } else { "http" };
    match (&owner.0, said) {
        (Some(name), _) if !is_studio => name.clone(),
        (_, Some(said)) => format!("{door} {said}").into(),
        (_, None) => door.into(),
    }
}

/// Who sends a request, as far as authentication knows.
pub(crate) struct RequestAuthor {
    person: Option<Respondent>,
    admission: Admission,
}

impl RequestAuthor {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        Self {
            person: extensions.get().cloned(),
            admission: extensions.get().copied().unwrap_or_default(),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestAuthor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// Who answers: the authenticated person, or a caller with the run's own token.
pub(crate) fn respondent(
    owner: &RunOwner,
    said: Option<&str>,
    speaker: &RequestAuthor,
) -> Respondent {
    match &speaker.person {
        Some(person) if person.channel == AnswerChannel::Studio => {
            Respondent::new(caller_name(owner, said, Some(person)), person.channel)
        }
        Some(person) => person.clone(),
        None => Respondent {
            admission: speaker.admission,
            ..Respondent::new(caller_name(owner, said, None), AnswerChannel::Http)
        },
    }
}

async fn append_answer(
    desk: &AppState,
    owner: &RunOwner,
    asked: &Checkpoint,
    given: &AnswerBody,
    by: Respondent,
) -> Result<Told, ApiError> {
    let run = response::load(&desk.engine, owner, &asked.run).await?.run;
    let Some(pause) = run.pauses.get(&asked.seq) else {
        return Err(response::answered_already(&run, asked.seq));
    };
    let said = PauseAnswer {
        pause: asked.seq,
        answer: parse_answer(given, pause)?,
        by,
        why: given.why.clone(),
    };
    // Once the answer is durable, the run continues in the background; subscribers see its
    // progress.
    if let Some(driven) = desk
        .engine
        .answer_and_resume(&asked.run, vec![said])
        .await?
    {
        driven.answers_recorded().await?;
    }
    let run = response::load(&desk.engine, owner, &asked.run).await?.run;
    Ok(response::run_status_json(&run))
}

fn parse_answer(given: &AnswerBody, pause: &Pause) -> Result<Answer, ApiError> {
    let fits = pause.options();
    let word = given.answer.as_str();
    if !fits.contains(&word) {
        let fits = fits.join(", ");
        return Err(ApiError::bad_request(format!(
            "`{word}` is not a valid answer; valid answers: {fits}"
        )));
    }
    if given.arguments.is_some() && word != "proceed" {
        return Err(ApiError::bad_request(
            "`arguments` are only valid with the answer `proceed`",
        ));
    }
    if given.content.is_some() && word != "submit" {
        return Err(ApiError::bad_request(
            "`content` is only valid with the answer `submit`",
        ));
    }
    Ok(match word {
        "submit" => Answer::Submit {
            content: given
                .content
                .clone()
                .unwrap_or_else(|| Told::Object(Default::default()))
                .into(),
        },
        "decline" => Answer::Decline,
        "cancel" => Answer::Cancel,
        "proceed" => match &given.arguments {
            Some(arguments) => Answer::ProceedWith {
                arguments: arguments.clone().into(),
            },
            None => Answer::Proceed,
        },
        "retry" => Answer::Retry,
        "skip" => Answer::Skip {
            output: given.output.clone().into(),
        },
        "extend" => Answer::Extend {
            budget: match &given.budget {
                Some(budget) => {
                    Budget::parse(&budget.clone().into()).map_err(ApiError::bad_request)?
                }
                None => pause_view::default_extension(pause).unwrap_or_default(),
            },
        },
        _ => Answer::Reject,
    })
}

async fn abort_run(
    desk: &AppState,
    owner: &RunOwner,
    run: &RunId,
    by: Str,
    why: Option<String>,
) -> Result<Told, ApiError> {
    response::load(&desk.engine, owner, run).await?;
    desk.engine.abort(run, by, why).await?;
    let run = response::load(&desk.engine, owner, run).await?.run;
    Ok(response::run_status_json(&run))
}
