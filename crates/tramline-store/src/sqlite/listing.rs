//! The list of runs, newest first, using the index that fits the filter.

use super::error::DbError;
use super::process_lock::ProcessLocks;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use std::collections::HashMap;
use tramline_engine::ports::{RunFilter, RunIndexRow, RunPage, RunRow, RunStatus, StoreUsage};
use tramline_workflow::ids::RunId;

/// The default number of rows in a page.
const PAGE_ROWS: usize = 100;

/// The maximum number of rows in a page; the rest is on the next page.
const PAGE_ROWS_MAX: usize = 1_000;

const COLUMNS: &str = "SELECT r.run, r.last, r.bytes, r.status, r.workflow, r.session, \
     r.started_ms, r.updated_ms, c.owner FROM runs r LEFT JOIN claims c ON c.run = r.run";

/// One page of the matching runs.
pub(super) fn page(
    conn: &Connection,
    owners: &ProcessLocks,
    filter: &RunFilter,
) -> Result<RunPage, DbError> {
    let most = match filter.limit {
        0 => PAGE_ROWS,
        most => most.min(PAGE_ROWS_MAX),
    };
    let mut alive = OwnerLiveness::new(owners);
    let mut rows = Vec::new();
    for status in statuses(filter) {
        // One row more than requested shows whether there are more.
        rows.extend(select(conn, &mut alive, filter, status, most + 1)?);
    }
    // Each status is in order; together they must be sorted again.
    rows.sort_unstable_by(|a, b| b.run.cmp(&a.run));
    let more = rows.len() > most;
    rows.truncate(most);
    Ok(RunPage { rows, more })
}

/// The size of all runs, computed in the database.
pub(super) fn usage(conn: &Connection) -> Result<StoreUsage, DbError> {
    let open =
        [RunStatus::Running, RunStatus::Paused, RunStatus::SopSession].map(RunStatus::as_str);
    let (open, bytes): (i64, i64) = conn
        .prepare_cached(
            "SELECT count(*) FILTER (WHERE status IN (?1, ?2, ?3)), \
               coalesce(sum(bytes), 0) + (SELECT coalesce(sum(bytes), 0) FROM contents) FROM runs",
        )?
        .query_row(open, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(StoreUsage {
        open: u64::try_from(open).unwrap_or(0),
        bytes: u64::try_from(bytes).unwrap_or(0),
    })
}

/// The bytes of the file in use, without reading any row.
pub(super) fn footprint(conn: &Connection) -> Result<u64, DbError> {
    let bytes: i64 = conn
        .prepare_cached(
            "SELECT (p.page_count - f.freelist_count) * s.page_size \
               FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// How many runs started in a millisecond, by the range of ids that begin with it.
pub(super) fn born(conn: &Connection, at_ms: i64) -> Result<u64, DbError> {
    let (first, last) = (RunId::new(at_ms, 0), RunId::new(at_ms, u128::MAX));
    let born: i64 = conn
        .prepare_cached("SELECT count(*) FROM runs WHERE run BETWEEN ?1 AND ?2")?
        .query_row([first.as_str(), last.as_str()], |row| row.get(0))?;
    Ok(u64::try_from(born).unwrap_or(0))
}

/// One run's row.
pub(super) fn row(
    conn: &Connection,
    owners: &ProcessLocks,
    run: &RunId,
) -> Result<Option<RunRow>, DbError> {
    let mut alive = OwnerLiveness::new(owners);
    conn.prepare_cached(&format!("{COLUMNS} WHERE r.run = ?1"))?
        .query_row([run.as_str()], |row| Ok(read_row(row, &mut alive)))
        .optional()?
        .transpose()
}

/// The statuses to query one by one, each an ordered index range; `None` is any.
fn statuses(filter: &RunFilter) -> Vec<Option<RunStatus>> {
    let all = || RunStatus::ALL.into_iter();
    let some: Vec<_> = all()
        .filter(|status| filter.status.contains(status))
        .collect();
    if some.is_empty() || some.len() == RunStatus::ALL.len() {
        return vec![None];
    }
    some.into_iter().map(Some).collect()
}

fn select(
    conn: &Connection,
    alive: &mut OwnerLiveness<'_>,
    filter: &RunFilter,
    status: Option<RunStatus>,
    most: usize,
) -> Result<Vec<RunRow>, DbError> {
    let text = |text: &str| Value::from(text.to_owned());
    let conditions = [
        ("r.status = ?", status.map(|status| text(status.as_str()))),
        ("r.workflow = ?", filter.workflow.as_deref().map(text)),
        ("r.session = ?", filter.session.as_deref().map(text)),
        (
            "r.updated_ms < ?",
            filter.updated_before_ms.map(Value::from),
        ),
        (
            "r.run < ?",
            filter.after.as_ref().map(|run| text(run.as_str())),
        ),
    ];
    let mut sql = String::from(COLUMNS);
    let mut values = Vec::new();
    for (condition, value) in conditions {
        if let Some(value) = value {
            sql.push_str(if values.is_empty() {
                " WHERE "
            } else {
                " AND "
            });
            sql.push_str(condition);
            values.push(value);
        }
    }
    sql.push_str(" ORDER BY r.run DESC LIMIT ?");
    values.push(Value::from(most as i64));
    let mut query = conn.prepare_cached(&sql)?;
    let mut found = query.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(read_row(row, alive)?);
    }
    Ok(rows)
}

fn read_row(row: &Row<'_>, alive: &mut OwnerLiveness<'_>) -> Result<RunRow, DbError> {
    let (run, status): (String, String) = (row.get(0)?, row.get(3)?);
    let owner: Option<String> = row.get(8)?;
    let odd = |what: &str| DbError::Damage(format!("the list of runs contains {what}"));
    Ok(RunRow {
        run: run.parse().map_err(|error| odd(&format!("{error}")))?,
        last: row.get::<_, i64>(1)? as u64,
        bytes: row.get::<_, i64>(2)? as u64,
        index_row: RunIndexRow {
            status: RunStatus::parse(&status)
                .ok_or_else(|| odd(&format!("the status {status}")))?,
            workflow: row.get::<_, String>(4)?.into(),
            session: row.get::<_, Option<String>>(5)?.map(Into::into),
            started_ms: row.get(6)?,
            updated_ms: row.get(7)?,
        },
        driven: owner.is_some_and(|owner| alive.is_alive(owner)),
        pool: None,
    })
}

/// Caches for one list which owners are alive: a page of runs has few owners.
struct OwnerLiveness<'o> {
    owners: &'o ProcessLocks,
    known: HashMap<String, bool>,
}

impl<'o> OwnerLiveness<'o> {
    fn new(owners: &'o ProcessLocks) -> Self {
        Self {
            owners,
            known: HashMap::new(),
        }
    }

    fn is_alive(&mut self, owner: String) -> bool {
        if let Some(lives) = self.known.get(&owner) {
            return *lives;
        }
        let lives = self.owners.is_alive(&owner);
        self.known.insert(owner, lives);
        lives
    }
}
