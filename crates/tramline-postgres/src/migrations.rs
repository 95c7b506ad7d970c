//! The tables, and how an older version of them becomes the current one.

use crate::connection::{Link, StatementError};
use tokio_postgres::types::Type;
use tramline_engine::ports::StoreFault;

/// The version of the tables that this program reads and writes.
const VERSION: i32 = MIGRATIONS.len() as i32;

/// The oldest server that has everything the statements use, as `server_version_num`.
const SERVER_VERSION_MIN: i32 = 130_000;

/// The key of the lock that makes one replica migrate at a time: `tramline` in ASCII, shortened.
const MIGRATION_LOCK: i64 = 0x7472_616d_6c69_6e65;

/// The key of the lock between appends that refer to documents and the removal of such documents.
pub(crate) const DOCUMENT_LOCK: i64 = MIGRATION_LOCK + 1;

/// The migrations, in order. Published ones never change.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_tables.sql")];

/// Brings the tables up to date. Returns warnings about the server for the operator.
pub(crate) async fn migrate(link: &Link) -> Result<Vec<String>, StoreFault> {
    let facts = link
        .repeat(
            "SELECT current_setting('server_version_num')::int4, pg_is_in_recovery(), \
             current_setting('synchronous_commit'), to_regclass('tramline.schema_version') IS NOT NULL",
            &[],
        )
        .await?;
    let Some(facts) = facts.first() else {
        return Err(fault("the database says nothing about itself"));
    };
    let server: i32 = facts.get(0);
    if server < SERVER_VERSION_MIN {
        return Err(fault("PostgreSQL 13 or newer is needed"));
    }
    if facts.get(1) {
        return Err(fault(
            "the database is a standby that cannot be written to: name the primary in --store, or several hosts with \
             target_session_attrs=read-write",
        ));
    }
    let mut warnings = Vec::new();
    let commit: String = facts.get(2);
    if commit == "off" {
        warnings.push(
            "the database acknowledges commits that are not on its disk (synchronous_commit = off): a crash of \
             PostgreSQL loses events that were reported as durable"
                .to_owned(),
        );
    }
    let found = if facts.get(3) {
        version(link).await?
    } else {
        0
    };
    if found > VERSION {
        return Err(fault(&format!(
            "the tables have version {found}, and this program knows {VERSION}: use a newer Tramline"
        )));
    }
    if found < VERSION {
        upgrade(link).await?;
    }
    Ok(warnings)
}

async fn version(link: &Link) -> Result<i32, StatementError> {
    let rows = link
        .repeat("SELECT max(version) FROM tramline.schema_version", &[])
        .await?;
    let version = rows.first().and_then(|row| row.get::<_, Option<i32>>(0));
    Ok(version.unwrap_or_default())
}

/// Applies the missing migrations in one transaction, one replica at a time.
async fn upgrade(link: &Link) -> Result<(), StoreFault> {
    let (client, _) = link.client().await?;
    let failed = |error: tokio_postgres::Error| {
        let why = error
            .as_db_error()
            .map_or_else(|| error.to_string(), ToString::to_string);
        fault(&format!("cannot create Tramline's tables: {why}"))
    };
    let work = async {
        client
            .batch_execute(&format!(
                "BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK}); \
                 CREATE SCHEMA IF NOT EXISTS tramline; \
                 CREATE TABLE IF NOT EXISTS tramline.schema_version \
                 (version int4 PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
            ))
            .await?;
        let rows = client
            .query_typed("SELECT max(version) FROM tramline.schema_version", &[])
            .await?;
        let found = rows.first().and_then(|row| row.get::<_, Option<i32>>(0));
        let found = usize::try_from(found.unwrap_or_default()).unwrap_or_default();
        for (at, migration) in MIGRATIONS.iter().enumerate().skip(found) {
            client.batch_execute(migration).await?;
            let version = at as i32 + 1;
            client
                .query_typed(
                    "INSERT INTO tramline.schema_version (version) VALUES ($1)",
                    &[(&version, Type::INT4)],
                )
                .await?;
        }
        client.batch_execute("COMMIT").await
    };
    if let Err(error) = work.await {
        // Ends the transaction, too.
        link.drop_client().await;
        return Err(failed(error));
    }
    Ok(())
}

fn fault(message: &str) -> StoreFault {
    StoreFault {
        message: message.to_owned(),
    }
}
