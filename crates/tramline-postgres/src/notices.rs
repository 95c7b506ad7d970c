//! Notices between replicas: coalesced, on a connection of their own, never inside an append.
//!
//! A notice takes a lock of the whole server when it is committed, so each replica sends at most forty a second,
//! whatever it appends. Polling once a second finds what was not announced.

use crate::change_hub::{ChangeHub, POLL_EVERY};
use crate::connection::{Connector, Link, StatementError};
use crate::lease::Lease;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::types::Type;
use tramline_workflow::ids::RunId;

/// The channel of all replicas.
const CHANNEL: &str = "tramline_runs";
/// The shortest time between two announcements.
const ANNOUNCE_EVERY: Duration = Duration::from_millis(25);
/// The longest notice, in bytes: the server's own limit is 8,000.
const NOTICE_BYTES_MAX: usize = 7_500;
/// Notices that are sent in one turn; runs beyond that are found by polling.
const NOTICES_MAX: usize = 4;

/// Sends and receives notices as long as the store is open.
pub(crate) async fn exchange(connector: Arc<Connector>, lease: Arc<Lease>, hub: Arc<ChangeHub>) {
    let (heard_by, own) = (Arc::clone(&hub), Arc::clone(&lease));
    let link = Link::hearing(&connector, move |said| {
        let Some((sender, runs)) = said.payload().split_once(':') else {
            return;
        };
        // Our own notices come back.
        if sender.parse() != Ok(own.known_id().unwrap_or_default()) {
            heard_by.announced(runs.split(',').filter_map(|run| run.parse().ok()));
        }
    });
    let mut polled = Instant::now();
    loop {
        // The first commit after a quiet time is announced at once.
        let _ = tokio::time::timeout(POLL_EVERY, hub.wakeup.notified()).await;
        // Polling finds what is lost here.
        let _ = announce(&link, &lease, &hub).await;
        if polled.elapsed() >= POLL_EVERY {
            polled = Instant::now();
            let _ = poll(&link, &hub).await;
        }
        tokio::time::sleep(ANNOUNCE_EVERY).await;
    }
}

/// Makes sure that we listen, and announces our commits.
async fn announce(link: &Link, lease: &Lease, hub: &ChangeHub) -> Result<(), StatementError> {
    let runs = hub.take_unannounced();
    let Some(own) = lease.known_id() else {
        // We drive nothing. We listen only if somebody waits.
        if hub.waited_for().is_empty() {
            return Ok(());
        }
        return listen(link).await;
    };
    listen(link).await?;
    if !lease.has_peers() || runs.is_empty() {
        return Ok(());
    }
    for notice in notices(own, runs.into_iter()) {
        link.once(
            "SELECT pg_notify($1, $2)",
            &[(&CHANNEL, Type::TEXT), (&notice, Type::TEXT)],
        )
        .await?;
    }
    Ok(())
}

async fn listen(link: &Link) -> Result<(), StatementError> {
    let (client, is_new) = link.client().await?;
    if is_new
        && client
            .batch_execute(&format!("LISTEN {CHANNEL}"))
            .await
            .is_err()
    {
        link.drop_client().await;
    }
    Ok(())
}

/// As many runs as fit into a few notices.
fn notices(own: i64, runs: impl Iterator<Item = RunId>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for run in runs {
        let is_last = all.len() == NOTICES_MAX;
        match all.last_mut() {
            Some(notice) if notice.len() + 1 + run.as_str().len() <= NOTICE_BYTES_MAX => {
                notice.push(',');
                notice.push_str(run.as_str());
            }
            Some(_) if is_last => return all,
            Some(_) | None => all.push(format!("{own}:{run}")),
        }
    }
    all
}

/// Compares the runs that somebody waits for with the database.
async fn poll(link: &Link, hub: &ChangeHub) -> Result<(), StatementError> {
    let runs = hub.waited_for();
    // Whoever waits for any change polls, too.
    hub.tick();
    if runs.is_empty() {
        return Ok(());
    }
    let runs: Vec<&str> = runs.iter().map(RunId::as_str).collect();
    let rows = link
        .once(
            "SELECT run, last FROM tramline.runs WHERE run = ANY($1)",
            &[(&runs, Type::TEXT_ARRAY)],
        )
        .await?;
    for row in rows {
        if let Ok(run) = row.get::<_, &str>(0).parse::<RunId>() {
            hub.polled(&run, row.get::<_, i64>(1) as u64);
        }
    }
    Ok(())
}
