//! A run as it happens: its events, one after the other, as server-sent events.

use crate::Desk;
use crate::told::{self, Wrong};
use axum::extract::{Extension, Path, Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::convert::Infallible;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{self, Entry};
use tramline_engine::{Follow, Owner};

/// From where on a run is followed.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct From {
    #[serde(default)]
    after: Seq,
}

pub(crate) async fn follow(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
    Query(from): Query<From>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Wrong> {
    let run: RunId = run.parse()?;
    told::load(&desk.engine, &owner, &run).await?;
    let follow = desk.engine.subscribe(run, from.after);
    let events = stream::unfold(Some(follow), next);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The next event; after the last one, and after a fault, the stream ends.
async fn next(follow: Option<Follow>) -> Option<(Result<Event, Infallible>, Option<Follow>)> {
    let mut follow = follow?;
    match follow.next().await {
        Ok(Some(entry)) => Some((Ok(event(&entry)), Some(follow))),
        Ok(None) => None,
        Err(fault) => {
            let event = Event::default().event("fault").data(fault.to_string());
            Some((Ok(event), None))
        }
    }
}

fn event(entry: &Entry) -> Event {
    let mut line = Vec::new();
    let written = journal::encode(entry, &mut line);
    let data = String::from_utf8_lossy(&line);
    let event = Event::default().id(entry.seq.to_string());
    match written {
        Ok(()) => event.data(data.trim_end()),
        Err(large) => event.event("fault").data(large.to_string()),
    }
}
