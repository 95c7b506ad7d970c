//! Streams a run's events as server-sent events.

use crate::AppState;
use crate::extract::QueryParams;
use crate::response::{self, ApiError};
use axum::extract::{Extension, Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::convert::Infallible;
use tramline_engine::{EventStream, RunOwner};
use tramline_views::event_summary::EventSummarizer;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::Entry;

/// Where to start following a run.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FollowQuery {
    #[serde(default)]
    after: Seq,
    /// Whether to include each event as stored in the journal.
    #[serde(default)]
    whole: bool,
}

/// A run being followed.
struct SseState {
    follow: EventStream,
    teller: EventSummarizer,
    whole: bool,
}

pub(crate) async fn follow(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    Path(run): Path<String>,
    QueryParams(from): QueryParams<FollowQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let run: RunId = run.parse()?;
    response::load_started(&desk, &owner, &run).await?;
    let mut teller = EventSummarizer::default();
    if from.after > 0 {
        let entries = desk.engine.entries(&run).await?;
        let seen = entries.iter().take_while(|entry| entry.seq <= from.after);
        seen.for_each(|entry| drop(teller.summarize(entry)));
    }
    let following = SseState {
        follow: desk.engine.subscribe(run, from.after),
        teller,
        whole: from.whole,
    };
    let events = stream::unfold(Some(following), next);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The next event; the stream ends after the last one and after a fault.
async fn next(
    following: Option<SseState>,
) -> Option<(Result<Event, Infallible>, Option<SseState>)> {
    let mut following = following?;
    match following.follow.next().await {
        Ok(Some(entry)) => Some((Ok(following.event(&entry)), Some(following))),
        Ok(None) => None,
        Err(fault) => {
            let event = Event::default().event("fault").data(fault.to_string());
            Some((Ok(event), None))
        }
    }
}

impl SseState {
    fn event(&mut self, entry: &Entry) -> Event {
        let line = self.teller.summarize(entry);
        let mut data = serde_json::to_value(line).unwrap_or_default();
        if self.whole {
            data["entry"] = serde_json::to_value(&entry.event).unwrap_or_default();
        }
        let event = Event::default().id(entry.seq.to_string());
        event.data(data.to_string())
    }
}
