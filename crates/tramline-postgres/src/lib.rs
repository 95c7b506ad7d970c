//! Stores journals in PostgreSQL, shared by several replicas: leases in database time, fenced appends, group
//! commit.
//!
//! Each [`Postgres`] is one replica with at most five connections, however many runs it drives: two writers, a
//! reader, one for the lease and one for notices. All statements are unnamed and no session keeps state, so a pooler
//! in transaction mode may stand in between.

mod append_group;
mod change_hub;
mod chunks;
mod connection;
mod documents;
mod group_writer;
mod lease;
mod listing;
mod migrations;
mod notices;
mod postgres;
mod runtime_thread;
mod store_url;
mod tls;

pub use postgres::{Postgres, PostgresOptions};
pub use store_url::StoreUrl;
