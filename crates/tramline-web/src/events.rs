//! A run as it happens: its events, one after the other, as server-sent events.

use crate::Desk;
use crate::asked::Given;
use crate::told::{self, Wrong};
use axum::extract::{Extension, Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::convert::Infallible;
use tramline_core::headline::Teller;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::Entry;
use tramline_engine::{Follow, Owner};

/// From where on a run is followed.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct From {
    #[serde(default)]
    after: Seq,
    /// Whether each event is told as the journal keeps it, too.
    #[serde(default)]
    whole: bool,
}

/// A run that is followed.
struct Following {
    follow: Follow,
    teller: Teller,
    whole: bool,
}

pub(crate) async fn follow(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
    Given(from): Given<From>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Wrong> {
    let run: RunId = run.parse()?;
    told::begun(&desk, &owner, &run).await?;
    let mut teller = Teller::default();
    if from.after > 0 {
        let entries = desk.engine.entries(&run).await?;
        let seen = entries.iter().take_while(|entry| entry.seq <= from.after);
        seen.for_each(|entry| drop(teller.tell(entry)));
    }
    let following = Following {
        follow: desk.engine.subscribe(run, from.after),
        teller,
        whole: from.whole,
    };
    let events = stream::unfold(Some(following), next);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The next event; after the last one, and after a fault, the stream ends.
async fn next(
    following: Option<Following>,
) -> Option<(Result<Event, Infallible>, Option<Following>)> {
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

impl Following {
    fn event(&mut self, entry: &Entry) -> Event {
        let line = self.teller.tell(entry);
        let mut data = serde_json::to_value(line).unwrap_or_default();
        if self.whole {
            data["entry"] = serde_json::to_value(&entry.event).unwrap_or_default();
        }
        let event = Event::default().id(entry.seq.to_string());
        event.data(data.to_string())
    }
}
