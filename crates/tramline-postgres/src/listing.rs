//! The list of runs.

use crate::append_group::{status_code, status_of};
use crate::connection::Link;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use tramline_engine::ports::{
    RunFilter, RunIndexRow, RunPage, RunRow, RunStatus, StoreFault, StoreUsage,
};
use tramline_workflow::ids::RunId;

/// Rows of a page when the filter sets no size.
const PAGE_ROWS: usize = 100;
/// Rows of the largest page.
const PAGE_ROWS_MAX: usize = 10_000;

/// The columns of a row; `r` is the run.
const COLUMNS: &str = "r.run, r.last, r.bytes, r.status, r.workflow, r.session, r.started_ms, r.updated_ms, r.pool, \
    EXISTS (SELECT 1 FROM tramline.replicas p WHERE p.id = r.owner AND p.expires > now())";

fn run_row(row: &Row) -> Result<RunRow, StoreFault> {
    let (run, status): (&str, i16) = (row.get(0), row.get(3));
    let unreadable = || StoreFault {
        message: format!("the row of {run} was not written by Tramline"),
    };
    Ok(RunRow {
        run: run.parse().map_err(|_| unreadable())?,
        last: row.get::<_, i64>(1) as u64,
        bytes: row.get::<_, i64>(2) as u64,
        index_row: RunIndexRow {
            status: status_of(status).ok_or_else(unreadable)?,
            workflow: row.get::<_, &str>(4).into(),
            session: row.get::<_, Option<&str>>(5).map(Into::into),
            started_ms: row.get(6),
            updated_ms: row.get(7),
        },
        pool: row.get::<_, Option<&str>>(8).map(Into::into),
        driven: row.get(9),
    })
}

/// One page, newest first.
pub(crate) async fn page(link: &Link, filter: &RunFilter) -> Result<RunPage, StoreFault> {
    let most = match filter.limit {
        0 => PAGE_ROWS,
        most => most.min(PAGE_ROWS_MAX),
    };
    let statuses: Vec<i16> = filter.status.iter().copied().map(status_code).collect();
    let statuses = (!statuses.is_empty()).then_some(statuses);
    let (workflow, session) = (filter.workflow.as_deref(), filter.session.as_deref());
    let after = filter.after.as_ref().map(RunId::as_str);
    let limit = most as i64 + 1;
    // The index of open runs is used only if the condition says so itself.
    let only_open = !filter.status.is_empty() && filter.status.iter().all(|it| !it.is_over());
    let open = if only_open { "AND r.status < 3" } else { "" };
    // Each statement is planned with its parameters, so what is NULL costs nothing.
    let sql = format!(
        "SELECT {COLUMNS} FROM tramline.runs r WHERE r.last > 0 {open} \
         AND ($1::int2[] IS NULL OR r.status = ANY($1)) AND ($2::text IS NULL OR r.workflow = $2) \
         AND ($3::text IS NULL OR r.session = $3) AND ($4::int8 IS NULL OR r.updated_ms < $4) \
         AND ($5::text IS NULL OR r.run < $5) ORDER BY r.run DESC LIMIT $6"
    );
    let params: [(&(dyn ToSql + Sync), Type); 6] = [
        (&statuses, Type::INT2_ARRAY),
        (&workflow, Type::TEXT),
        (&session, Type::TEXT),
        (&filter.updated_before_ms, Type::INT8),
        (&after, Type::TEXT),
        (&limit, Type::INT8),
    ];
    let rows = link.repeat(&sql, &params).await?;
    let mut rows: Vec<_> = rows.iter().map(run_row).collect::<Result<_, _>>()?;
    let more = rows.len() > most;
    rows.truncate(most);
    Ok(RunPage { rows, more })
}

/// One run's row.
pub(crate) async fn row(link: &Link, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
    let sql = format!("SELECT {COLUMNS} FROM tramline.runs r WHERE r.run = $1 AND r.last > 0");
    let run = run.as_str();
    let rows = link.repeat(&sql, &[(&run, Type::TEXT)]).await?;
    rows.first().map(run_row).transpose()
}

/// Running runs of these pools without a live driver.
pub(crate) async fn takeable(
    link: &Link,
    pools: &[String],
    most: usize,
) -> Result<Vec<RunRow>, StoreFault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tramline.runs r WHERE r.status = $1 AND r.status < 3 AND r.last > 0 \
         AND (r.pool IS NULL OR r.pool = ANY($2)) AND (r.owner IS NULL OR NOT EXISTS \
         (SELECT 1 FROM tramline.replicas p WHERE p.id = r.owner AND p.expires > now())) ORDER BY r.run LIMIT $3"
    );
    let (running, most) = (status_code(RunStatus::Running), most as i64);
    let params: [(&(dyn ToSql + Sync), Type); 3] = [
        (&running, Type::INT2),
        (&pools, Type::TEXT_ARRAY),
        (&most, Type::INT8),
    ];
    let rows = link.repeat(&sql, &params).await?;
    rows.iter().map(run_row).collect()
}

/// How many runs were created in a millisecond.
pub(crate) async fn born(link: &Link, at_ms: i64) -> Result<u64, StoreFault> {
    let (first, last) = (RunId::new(at_ms, 0), RunId::new(at_ms, u128::MAX));
    let (first, last) = (first.as_str(), last.as_str());
    let rows = link
        .repeat(
            "SELECT count(*) FROM tramline.runs WHERE run >= $1 AND run <= $2 AND last > 0",
            &[(&first, Type::TEXT), (&last, Type::TEXT)],
        )
        .await?;
    Ok(rows
        .first()
        .map_or(0, |row| row.get::<_, i64>(0).max(0) as u64))
}

/// How much space all runs use, from the counters.
pub(crate) async fn usage(link: &Link) -> Result<StoreUsage, StoreFault> {
    let rows = link
        .repeat(
            "SELECT coalesce(sum(open), 0)::int8, coalesce(sum(bytes), 0)::int8 FROM tramline.usage",
            &[],
        )
        .await?;
    let count = |at| {
        rows.first()
            .map_or(0, |row| row.get::<_, i64>(at).max(0) as u64)
    };
    Ok(StoreUsage {
        open: count(0),
        bytes: count(1),
    })
}

/// How many bytes the tables use on disk.
pub(crate) async fn disk_bytes(link: &Link) -> Result<u64, StoreFault> {
    let rows = link
        .repeat(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'tramline' AND c.relkind = 'r'",
            &[],
        )
        .await?;
    Ok(rows
        .first()
        .map_or(0, |row| row.get::<_, i64>(0).max(0) as u64))
}
