//! Runs: the list, one run, its graph, its trace.

use crate::AppState;
use crate::approvals::question_reader;
use crate::extract::QueryParams;
use crate::response::{self, ApiError};
use crate::summary;
use axum::Json;
use axum::extract::{Extension, Path, State};
use serde::Deserialize;
use serde_json::{Value as Told, json};
use tramline_engine::ports::{RunFilter, RunRow, RunStatus};
use tramline_engine::{JournalPoint, Respondent, RunOwner};
use tramline_views::diagram::DiagramJson;
use tramline_views::trace::Trace;
use tramline_workflow::ids::{RunId, Seq};

/// The maximum number of rows in one reply.
const ROWS_MAX: usize = 200;
/// How many rows are read to find those of one owner before the reply ends with a next page.
const ROWS_READ_MAX: usize = 2_000;
/// The maximum number of journal bytes that one reply reads for summaries: what is left out is read
/// by a later request.
const SUMMARY_BYTES_MAX: u64 = 8 << 20;

/// The requested filter.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RunsQuery {
    status: Option<String>,
    workflow: Option<String>,
    session_id: Option<String>,
    after: Option<String>,
    most: Option<usize>,
    /// A part of the id, of the workflow's name, of the session's label, or of the start of the
    /// input, the result or the error.
    text: Option<String>,
    /// Of the rows with the status `running`, only those with or without a live process.
    driven: Option<bool>,
    since_ms: Option<i64>,
    until_ms: Option<i64>,
}

impl RunsQuery {
    /// Whether a row matches the conditions that the store does not check, except for the text.
    fn matches(&self, row: &RunRow) -> bool {
        let head = &row.index_row;
        let since = self.since_ms.is_none_or(|since| head.started_ms >= since);
        let until = self.until_ms.is_none_or(|until| head.started_ms <= until);
        let is_running = head.status == RunStatus::Running;
        let driven = self
            .driven
            .is_none_or(|want| !is_running || row.driven == want);
        since && until && driven
    }

    /// Whether the text is part of the row itself.
    fn names(&self, row: &RunRow, text: &str) -> bool {
        let has = |part: &str| part.to_lowercase().contains(text);
        let head = &row.index_row;
        let named = has(row.run.as_str()) || has(&head.workflow);
        named || head.session.as_deref().is_some_and(has)
    }

    fn filter(&self) -> Result<RunFilter, ApiError> {
        let given = self.status.as_deref().unwrap_or_default();
        let words = given.split(',').filter(|word| !word.is_empty());
        let status = words.map(|word| {
            RunStatus::parse(word).ok_or_else(|| {
                let all = RunStatus::ALL.map(RunStatus::as_str).join(", ");
                ApiError::bad_request(format!("unknown status `{word}`; known: {all}"))
            })
        });
        Ok(RunFilter {
            status: status.collect::<Result<_, _>>()?,
            workflow: self.workflow.as_deref().map(Into::into),
            session: self.session_id.as_deref().map(Into::into),
            after: self.after.as_deref().map(str::parse).transpose()?,
            limit: self.most.unwrap_or(50).clamp(1, ROWS_MAX),
            ..RunFilter::default()
        })
    }
}

pub(crate) async fn list(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    QueryParams(wanted): QueryParams<RunsQuery>,
) -> Result<Json<Told>, ApiError> {
    let mut filter = wanted.filter()?;
    let most = filter.limit;
    let text = wanted.text.as_deref().unwrap_or_default().to_lowercase();
    let (mut rows, mut looked) = (Vec::new(), 0);
    let mut bytes_left = SUMMARY_BYTES_MAX;
    loop {
        let page = desk.engine.runs(filter.clone()).await?;
        looked += page.rows.len();
        for row in &page.rows {
            if wanted.matches(row)
                && let Ok(begun) = desk.owners.started(&desk.engine, &row.run).await
                && begun.owner == owner
            {
                let summary = match begun.is_sop_session {
                    true => None,
                    false => {
                        let read = desk.summaries.get(&desk.engine, row, &mut bytes_left);
                        read.await.ok().flatten()
                    }
                };
                let told_in_text = || summary.as_ref().is_some_and(|it| it.contains(&text));
                if wanted.names(row, &text) || told_in_text() {
                    let mut told = response::run_row(row);
                    told["kind"] = json!(response::run_kind(&begun));
                    if let Some(summary) = summary {
                        summary.add_to(&mut told);
                    }
                    rows.push(told);
                }
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
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    person: Option<Extension<Respondent>>,
    Path(run): Path<String>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    if response::load_started(&desk, &owner, &run)
        .await?
        .is_sop_session
    {
        let mut told = desk
            .engine
            .read_sop_session(&run, response::sop_status)
            .await?;
        told["driven"] = json!(true);
        return Ok(Json(told));
    }
    let loaded = response::load(&desk.engine, &owner, &run).await?;
    let mut told = response::run_details(&loaded);
    summary::add_details(&loaded, &mut told);
    let row = desk.engine.store().row(&run).await?;
    told["driven"] = json!(row.is_some_and(|row| row.driven));
    if loaded.run.outcome.is_none() {
        told["starting"] = response::starting_servers(&desk.engine);
    }
    let questions = desk
        .engine
        .pause_details(&loaded, question_reader(person.is_some()))
        .await;
    told["questions"] = questions.iter().map(response::to_json).collect();
    Ok(Json(told))
}

/// The requested position.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PositionQuery {
    seq: Option<Seq>,
}

pub(crate) async fn graph(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    Path(run): Path<String>,
    QueryParams(moment): QueryParams<PositionQuery>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let drawing = if response::load_started(&desk, &owner, &run)
        .await?
        .is_sop_session
    {
        let drawn = |walk: &tramline_sop::SopSession| DiagramJson::of_sop(walk.sop());
        desk.engine.read_sop_session(&run, drawn).await?
    } else {
        let loaded = match moment.seq {
            None => desk.engine.load(&run).await?,
            Some(seq) => desk.engine.load_at(&run, JournalPoint::Event(seq)).await?,
        };
        let mut drawing = DiagramJson::of(&loaded.run.graph);
        drawing.mark_patches(&loaded.entries);
        drawing
    };
    Ok(Json(serde_json::to_value(drawing).unwrap_or_default()))
}

pub(crate) async fn trace(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    Path(run): Path<String>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let loaded = response::load(&desk.engine, &owner, &run).await?;
    let trace = Trace::of(&run, &loaded.run.graph, &loaded.entries);
    Ok(Json(serde_json::to_value(trace).unwrap_or_default()))
}
