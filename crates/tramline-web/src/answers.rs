//! Answers and ends: what is said about a run from the studio, noted like every other command.

use crate::Desk;
use crate::asked::Body;
use crate::told::{self, Wrong};
use axum::Json;
use axum::extract::{Extension, FromRequestParts, Path, State};
use axum::http::Extensions;
use axum::http::request::Parts;
use serde::Deserialize;
use serde_json::Value as Told;
use std::convert::Infallible;
use tramline_core::authority::AnswerChannel;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::journal::{Answer, Budget, Pause};
use tramline_core::{Str, question};
use tramline_engine::{Admission, Owner, Respondent, Said};

/// What somebody says to a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// One of the question's options.
    answer: String,
    /// With `skip`: what is taken for the output.
    #[serde(default)]
    output: Told,
    /// With `extend`: what is added. As much again where nothing is said.
    budget: Option<Told>,
    /// With `proceed`: all of the arguments, where a person has changed them.
    arguments: Option<Told>,
    why: Option<String>,
    by: Option<String>,
}

/// Why somebody ends a run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ended {
    why: Option<String>,
    by: Option<String>,
}

pub(crate) async fn answer(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    speaker: Speaker,
    Path(checkpoint): Path<String>,
    Body(given): Body<Given>,
) -> Result<Json<Told>, Wrong> {
    let asked: Checkpoint = checkpoint.parse()?;
    let respondent = respondent(&owner, given.by.as_deref(), &speaker);
    settle(&desk, &owner, &asked, &given, respondent)
        .await
        .map(Json)
}

pub(crate) async fn abort(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    speaker: Speaker,
    Path(run): Path<String>,
    Body(given): Body<Ended>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let by = respondent(&owner, given.by.as_deref(), &speaker).name;
    end(&desk, &owner, &run, by, given.why).await.map(Json)
}

/// The caller's name in the journal. A token's name counts for more than what its holder says, and
/// only a request with the studio's key is called the studio.
pub(crate) fn name(owner: &Owner, said: Option<&str>, person: Option<&Respondent>) -> Str {
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    let is_studio = person.is_some_and(|person| person.channel == AnswerChannel::Studio);
    let door = if is_studio { "studio" } else { "http" };
    match (&owner.0, said) {
        (Some(name), _) if !is_studio => name.clone(),
        (_, Some(said)) => format!("{door} {said}").into(),
        (_, None) => door.into(),
    }
}

/// Who speaks by a request, as far as the door knows.
pub(crate) struct Speaker {
    person: Option<Respondent>,
    admission: Admission,
}

impl Speaker {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        Self {
            person: extensions.get().cloned(),
            admission: extensions.get().copied().unwrap_or_default(),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Speaker {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// Who answers: the person that the door let in, or a caller with the run's own token.
pub(crate) fn respondent(owner: &Owner, said: Option<&str>, speaker: &Speaker) -> Respondent {
    match &speaker.person {
        Some(person) if person.channel == AnswerChannel::Studio => {
            Respondent::new(name(owner, said, Some(person)), person.channel)
        }
        Some(person) => person.clone(),
        None => Respondent {
            admission: speaker.admission,
            ..Respondent::new(name(owner, said, None), AnswerChannel::Http)
        },
    }
}

async fn settle(
    desk: &Desk,
    owner: &Owner,
    asked: &Checkpoint,
    given: &Given,
    by: Respondent,
) -> Result<Told, Wrong> {
    let run = told::load(&desk.engine, owner, &asked.run).await?.run;
    let Some(pause) = run.pauses.get(&asked.seq) else {
        return Err(told::answered_already(&run, asked.seq));
    };
    let said = Said {
        pause: asked.seq,
        answer: read(given, pause)?,
        by,
        why: given.why.clone(),
    };
    // Once it is written down the run goes on behind the reply; who watches sees how far.
    if let Some(driven) = desk.engine.go_on_with(&asked.run, vec![said]).await? {
        driven.heard().await?;
    }
    let run = told::load(&desk.engine, owner, &asked.run).await?.run;
    Ok(told::standing(&run))
}

fn read(given: &Given, pause: &Pause) -> Result<Answer, Wrong> {
    let fits = question::options(pause);
    let word = given.answer.as_str();
    if !fits.contains(&word) {
        let fits = fits.join(", ");
        return Err(Wrong::request(format!(
            "`{word}` is no answer to it; it takes {fits}"
        )));
    }
    if given.arguments.is_some() && word != "proceed" {
        return Err(Wrong::request(
            "`arguments` go with the answer `proceed` only",
        ));
    }
    Ok(match word {
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
                Some(budget) => Budget::read(&budget.clone().into()).map_err(Wrong::request)?,
                None => question::extension(pause).unwrap_or_default(),
            },
        },
        _ => Answer::Reject,
    })
}

async fn end(
    desk: &Desk,
    owner: &Owner,
    run: &RunId,
    by: Str,
    why: Option<String>,
) -> Result<Told, Wrong> {
    told::load(&desk.engine, owner, run).await?;
    desk.engine.abort(run, by, why).await?;
    let run = told::load(&desk.engine, owner, run).await?.run;
    Ok(told::standing(&run))
}
