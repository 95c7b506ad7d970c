//! The PostgreSQL store against a real server: the contract, leases, and faults of the server.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod contract;
mod faults;

use std::time::Duration;
use tramline_engine::ports::{Append, ClaimChange, RunIndexRow, RunStatus};
use tramline_postgres::{Postgres, PostgresOptions};
use tramline_test_server::postgres_server::PostgresServer;
use tramline_workflow::ids::{RunId, Seq};

/// A server of its own for a test, and the address of a database on it.
fn database() -> (PostgresServer, String) {
    let server = PostgresServer::start().unwrap();
    let url = server.database("runs").unwrap();
    (server, url)
}

/// A replica on a database.
fn open(url: &str, name: &str, lease: Duration) -> Postgres {
    let options = PostgresOptions {
        name: name.into(),
        lease,
        ..PostgresOptions::default()
    };
    Postgres::open(url.parse().unwrap(), options).unwrap()
}

fn run(n: u64) -> RunId {
    RunId::new(1_700_000_000_000 + n as i64, u128::from(n))
}

fn chunk(run: &RunId, seen: Seq, claim: ClaimChange) -> Append {
    Append {
        run: run.clone(),
        seen,
        last: seen + 1,
        body: format!("{run} {seen}").into_bytes(),
        index_row: RunIndexRow {
            status: RunStatus::Running,
            workflow: "w".into(),
            session: None,
            started_ms: 1,
            updated_ms: 2,
        },
        claim,
        documents: Vec::new(),
    }
}
