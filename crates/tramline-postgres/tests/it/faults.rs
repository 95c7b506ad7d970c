//! What happens when replicas stop, sessions break and the server restarts.

use crate::{chunk, database, open, run};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::ports::{AppendError, Claim, ClaimChange, JournalStore};
use tramline_test_server::postgres_server::PostgresServer;

/// Longer than any pause of a busy machine.
const LEASE: Duration = Duration::from_secs(60);

/// Events that writers append while the server has faults.
const EVENTS: u64 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn appends_survive_cut_sessions_restarts_and_a_crash_of_the_server() {
    let (server, url) = database();
    let stores = ["a", "b"].map(|name| Arc::new(open(&url, name, LEASE)));
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let store = Arc::clone(&stores[n % 2]);
            tokio::spawn(async move {
                let run = run(n as u64);
                let mut epoch = store
                    .append(chunk(&run, 0, ClaimChange::Take))
                    .await
                    .unwrap();
                for seen in 1..EVENTS {
                    let next = chunk(&run, seen, ClaimChange::Hold(epoch));
                    epoch = store.append(next).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
        })
        .collect();
    let faults = std::thread::spawn(move || {
        for _ in 0..3 {
            server.cut_sessions().unwrap();
            std::thread::sleep(Duration::from_millis(100));
        }
        server.restart().unwrap();
        server.stop("immediate").unwrap();
        server.resume().unwrap();
        server
    });
    for writer in writers {
        writer.await.unwrap();
    }
    let server = faults.join().unwrap();
    for n in 0..8 {
        let chunks = stores[0].read(&run(n), 0).await.unwrap();
        assert_eq!(chunks.len() as u64, EVENTS, "every event once");
        let row = stores[0].row(&run(n)).await.unwrap().unwrap();
        assert!(row.driven, "nobody lost a run");
    }
    for store in &stores {
        assert_eq!(store.lease_counts().unwrap().fenced, 0);
        assert_eq!(store.lease_counts().unwrap().take_overs, 0);
    }
    drop(stores);
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_holder_of_a_lease_that_has_run_out_is_fenced() {
    let (server, url) = database();
    let (first, second) = (open(&url, "first", LEASE), open(&url, "second", LEASE));
    let one = run(1);
    let epoch = first
        .append(chunk(&one, 0, ClaimChange::Take))
        .await
        .unwrap();
    let held = second.claim(&one).await.unwrap();
    assert!(matches!(held, Claim::Elsewhere { owner } if owner == "first"));
    assert!(second.takeable(10).await.unwrap().is_empty());
    expire(&server, "first");
    let takeable = second.takeable(10).await.unwrap();
    assert_eq!(takeable.len(), 1, "{takeable:?}");
    let Claim::Held(next) = second.claim(&one).await.unwrap() else {
        panic!("it was not taken over");
    };
    assert!(next > epoch);
    assert_eq!(second.lease_counts().unwrap().take_overs, 1);
    // The first one wakes up; its lease is renewed, its runs are not its own.
    assert!(!first.confirm_claim(&one, epoch).await.unwrap());
    let late = first.append(chunk(&one, 1, ClaimChange::Hold(epoch))).await;
    assert!(
        matches!(&late, Err(AppendError::Elsewhere { owner }) if owner == "second"),
        "{late:?}"
    );
    let late = first
        .append(chunk(&one, 1, ClaimChange::Release(epoch)))
        .await;
    assert!(
        matches!(late, Err(AppendError::Elsewhere { .. })),
        "{late:?}"
    );
    assert_eq!(first.lease_counts().unwrap().fenced, 3);
    // A command does not depend on who drives the run.
    first
        .append(chunk(&one, 1, ClaimChange::Keep))
        .await
        .unwrap();
    let moved = second.append(chunk(&one, 1, ClaimChange::Hold(next))).await;
    assert!(
        matches!(moved, Err(AppendError::Conflict { last: 2 })),
        "{moved:?}"
    );
    second
        .append(chunk(&one, 2, ClaimChange::Hold(next)))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_leaves_gives_its_runs_back_at_once() {
    let (_server, url) = database();
    let (first, second) = (open(&url, "first", LEASE), open(&url, "second", LEASE));
    first
        .append(chunk(&run(1), 0, ClaimChange::Take))
        .await
        .unwrap();
    drop(first);
    assert!(second.claim(&run(1)).await.unwrap().is_held());
    let replicas = second.replicas().await.unwrap();
    let alive = replicas.iter().filter(|one| one.lease_left_ms > 0);
    assert_eq!(alive.count(), 1, "{replicas:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_run_are_heard_by_other_replicas() {
    let (_server, url) = database();
    let (first, second) = (open(&url, "first", LEASE), open(&url, "second", LEASE));
    first.is_shared().await.unwrap();
    second.is_shared().await.unwrap();
    let mut changes = second.changes_of(&run(1));
    let mut other = second.changes_of(&run(2));
    first
        .append(chunk(&run(1), 0, ClaimChange::Take))
        .await
        .unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(20), changes.changed());
    heard.await.unwrap().unwrap();
    assert!(!other.has_changed().unwrap(), "only those of the run");
    other.mark_unchanged();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_and_a_wrong_address_are_refused() {
    let (server, url) = database();
    drop(open(&url, "first", LEASE));
    sql(
        &server,
        "INSERT INTO tramline.schema_version (version) VALUES (999)",
    );
    let options = tramline_postgres::PostgresOptions::default;
    let newer = tramline_postgres::Postgres::open(url.parse().unwrap(), options());
    let message = newer.unwrap_err().message;
    assert!(message.contains("use a newer Tramline"), "{message}");
    let gone = url.replace("/runs", "/no_such_database");
    let gone = tramline_postgres::Postgres::open(gone.parse().unwrap(), options());
    let message = gone.unwrap_err().message;
    assert!(message.contains("cannot open postgres://"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_found() {
    let (server, url) = database();
    let store = open(&url, "first", LEASE);
    for seen in 0..3 {
        let next = chunk(&run(1), seen, ClaimChange::Keep);
        store.append(next).await.unwrap();
    }
    sql(
        &server,
        "UPDATE tramline.chunks SET body = 'x' WHERE last = 2",
    );
    let damaged = store.read(&run(1), 0).await.unwrap_err();
    assert!(damaged.message.contains("damaged at event 2"), "{damaged}");
    assert_eq!(store.read_intact(&run(1)).await.unwrap().len(), 2);
}

/// Ends the lease of a replica that is alive, as if it had been stopped.
fn expire(server: &PostgresServer, name: &str) {
    sql(
        server,
        &format!(
            "UPDATE tramline.replicas SET expires = now() - interval '1 s' WHERE name = '{name}'"
        ),
    );
}

fn sql(server: &PostgresServer, statement: &str) {
    server.sql("runs", statement).unwrap();
}
