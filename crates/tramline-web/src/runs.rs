//! Runs: the list, one of them, its graph, its trace.

use crate::Desk;
use crate::asked::Given;
use crate::told::{self, Wrong};
use axum::Json;
use axum::extract::{Extension, Path, State};
use serde::Deserialize;
use serde_json::{Value as Told, json};
use tramline_core::ids::{RunId, Seq};
use tramline_core::picture::Drawing;
use tramline_core::trace::Trace;
use tramline_engine::seams::{RunFilter, RunRow, Status};
use tramline_engine::{At, Owner};

/// So many rows come at once at most.
const ROWS_MAX: usize = 200;
/// So many rows are looked at for those of one owner, before the next page is asked for.
const ROWS_READ_MAX: usize = 2_000;

/// Which runs are asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Wanted {
    status: Option<String>,
    workflow: Option<String>,
    session_id: Option<String>,
    after: Option<String>,
    most: Option<usize>,
    /// A part of the id, of the workflow's name or of the session's label.
    text: Option<String>,
    since_ms: Option<i64>,
    until_ms: Option<i64>,
}

impl Wanted {
    /// Whether a row is asked for, as far as the store does not tell.
    fn fits(&self, row: &RunRow) -> bool {
        let text = self.text.as_deref().unwrap_or_default().to_lowercase();
        let has = |part: &str| part.to_lowercase().contains(&text);
        let head = &row.head;
        let named = has(row.run.as_str()) || has(&head.workflow);
        let named = named || head.session.as_deref().is_some_and(has);
        let since = self.since_ms.is_none_or(|since| head.started_ms >= since);
        let until = self.until_ms.is_none_or(|until| head.started_ms <= until);
        named && since && until
    }

    fn filter(&self) -> Result<RunFilter, Wrong> {
        let given = self.status.as_deref().unwrap_or_default();
        let words = given.split(',').filter(|word| !word.is_empty());
        let status = words.map(|word| {
            Status::parse(word).ok_or_else(|| {
                let all = Status::ALL.map(Status::as_str).join(", ");
                Wrong::request(format!("`{word}` is no status; there are {all}"))
            })
        });
        Ok(RunFilter {
            status: status.collect::<Result<_, _>>()?,
            workflow: self.workflow.as_deref().map(Into::into),
            session: self.session_id.as_deref().map(Into::into),
            after: self.after.as_deref().map(str::parse).transpose()?,
            most: self.most.unwrap_or(50).clamp(1, ROWS_MAX),
            ..RunFilter::default()
        })
    }
}

pub(crate) async fn list(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Given(wanted): Given<Wanted>,
) -> Result<Json<Told>, Wrong> {
    let mut filter = wanted.filter()?;
    let most = filter.most;
    let (mut rows, mut looked) = (Vec::new(), 0);
    loop {
        let page = desk.engine.runs(filter.clone()).await?;
        looked += page.rows.len();
        for row in &page.rows {
            if wanted.fits(row)
                && let Ok(begun) = desk.owners.begun(&desk.engine, &row.run).await
                && begun.owner == owner
            {
                let mut told = told::row(row);
                told["kind"] = json!(told::kind(&begun));
                rows.push(told);
            }
            filter.after = Some(row.run.clone());
            if rows.len() == most {
                break;
            }
        }
        if !page.more || rows.len() == most || looked >= ROWS_READ_MAX {
            let next = (page.more || rows.len() == most).then(|| filter.after.clone());
            return Ok(Json(json!({"runs": rows, "next": next.flatten()})));
        }
    }
}

pub(crate) async fn one(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    if told::begun(&desk, &owner, &run).await?.guided {
        let told = desk.engine.walk(&run, told::guided).await?;
        return Ok(Json(told));
    }
    let loaded = told::load(&desk.engine, &owner, &run).await?;
    let mut told = told::whole(&loaded);
    let questions = desk.engine.questions(&loaded).await;
    told["questions"] = questions.iter().map(told::plain).collect();
    Ok(Json(told))
}

/// The moment that is asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Moment {
    seq: Option<Seq>,
}

pub(crate) async fn graph(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
    Given(moment): Given<Moment>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let drawing = if told::begun(&desk, &owner, &run).await?.guided {
        let drawn = |walk: &tramline_core::navigate::Walk| Drawing::of_sop(walk.sop());
        desk.engine.walk(&run, drawn).await?
    } else {
        let loaded = match moment.seq {
            None => desk.engine.load(&run).await?,
            Some(seq) => desk.engine.load_at(&run, At::Event(seq)).await?,
        };
        let mut drawing = Drawing::of(&loaded.run.graph);
        drawing.mark_patches(&loaded.entries);
        drawing
    };
    Ok(Json(serde_json::to_value(drawing).unwrap_or_default()))
}

pub(crate) async fn trace(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let loaded = told::load(&desk.engine, &owner, &run).await?;
    let trace = Trace::of(&run, &loaded.run.graph, &loaded.entries);
    Ok(Json(serde_json::to_value(trace).unwrap_or_default()))
}
