//! Journals as rows: adding a chunk after what was seen, reading a stretch, forgetting all.

use super::faults::{Trouble, plain_fault};
use rusqlite::{Connection, OptionalExtension, params};
use tramline_core::ids::{RunId, Seq};
use tramline_engine::seams::{Append, Chunk, StoreFault};

/// A chunk's id is its journal's key in the upper and its first event in the lower bits.
const FIRST_BITS: u32 = 32;

/// The last event a journal can hold: what fits into a chunk's id.
const SEQ_MAX: i64 = (1 << FIRST_BITS) - 1;

/// The largest chunk, well below what SQLite takes (1 GB), and more than any step should keep.
const CHUNK_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Refuses what can never be appended before it gets to share a group with others.
pub(super) fn check(append: &Append) -> Result<(), StoreFault> {
    let Append {
        run, seen, last, ..
    } = append;
    if last <= seen || *last > SEQ_MAX as Seq {
        return Err(plain_fault(format!(
            "a chunk from {seen} to {last} cannot be appended to {run}: it must hold at least one \
             event, and a journal holds at most {SEQ_MAX}"
        )));
    }
    if append.body.len() > CHUNK_BYTES_MAX {
        return Err(plain_fault(format!(
            "a chunk of {} bytes cannot be appended to {run}: at most {CHUNK_BYTES_MAX} fit",
            append.body.len()
        )));
    }
    Ok(())
}

/// Adds a chunk, or says at which event the journal stands if that is not the one seen.
pub(super) fn append(conn: &Connection, append: &Append) -> Result<Result<(), Seq>, Trouble> {
    let known = find(conn, append)?;
    let last = known.as_ref().map_or(0, |known| known.last);
    if last != append.seen as i64 {
        return Ok(Err(last as Seq));
    }
    let key = match known {
        Some(known) => update(conn, &known, append)?,
        None => insert(conn, append)?,
    };
    conn.prepare_cached("INSERT INTO chunks (id, last, sum, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            chunk_id(key, append.seen as i64 + 1),
            append.last as i64,
            crc32fast::hash(&append.body),
            append.body,
        ])?;
    Ok(Ok(()))
}

/// What the list of runs holds of a journal that is appended to.
struct Known {
    key: i64,
    last: i64,
    /// Whether nothing changes that an index covers.
    steady: bool,
}

fn find(conn: &Connection, append: &Append) -> Result<Option<Known>, Trouble> {
    let head = &append.head;
    let known = conn
        .prepare_cached(
            "SELECT key, last, status = ?2 AND workflow = ?3 AND session IS ?4 AND started_ms = ?5 \
             FROM runs WHERE run = ?1",
        )?
        .query_row(
            params![
                append.run.as_str(),
                head.status.as_str(),
                head.workflow.as_str(),
                head.session.as_deref(),
                head.started_ms,
            ],
            |row| {
                Ok(Known {
                    key: row.get(0)?,
                    last: row.get(1)?,
                    steady: row.get(2)?,
                })
            },
        )
        .optional()?;
    Ok(known)
}

fn insert(conn: &Connection, append: &Append) -> Result<i64, Trouble> {
    let head = &append.head;
    let key = conn
        .prepare_cached(
            "INSERT INTO runs (run, last, bytes, status, workflow, session, started_ms, updated_ms) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .insert(params![
            append.run.as_str(),
            append.last as i64,
            append.body.len() as i64,
            head.status.as_str(),
            head.workflow.as_str(),
            head.session.as_deref(),
            head.started_ms,
            head.updated_ms,
        ])?;
    Ok(key)
}

/// Naming a column in an UPDATE rewrites its indexes even if the value stays: the common case
/// names none that is indexed.
fn update(conn: &Connection, known: &Known, append: &Append) -> Result<i64, Trouble> {
    let Append {
        last, body, head, ..
    } = append;
    let (last, bytes) = (*last as i64, body.len() as i64);
    if known.steady {
        conn.prepare_cached(
            "UPDATE runs SET last = ?2, bytes = bytes + ?3, updated_ms = ?4 WHERE key = ?1",
        )?
        .execute(params![known.key, last, bytes, head.updated_ms])?;
    } else {
        conn.prepare_cached(
            "UPDATE runs SET last = ?2, bytes = bytes + ?3, updated_ms = ?4, status = ?5, \
             workflow = ?6, session = ?7, started_ms = ?8 WHERE key = ?1",
        )?
        .execute(params![
            known.key,
            last,
            bytes,
            head.updated_ms,
            head.status.as_str(),
            head.workflow.as_str(),
            head.session.as_deref(),
            head.started_ms,
        ])?;
    }
    Ok(known.key)
}

/// The chunks that hold events after `after`. Every gap is damage, never passed over.
pub(super) fn read(conn: &Connection, run: &RunId, after: Seq) -> Result<Vec<Chunk>, Trouble> {
    let Some((key, last)) = journal(conn, run)? else {
        return Ok(Vec::new());
    };
    if after >= last as Seq {
        return Ok(Vec::new());
    }
    let from = conn
        .prepare_cached("SELECT max(id) FROM chunks WHERE id BETWEEN ?1 AND ?2")?
        .query_row([chunk_id(key, 0), chunk_id(key, after as i64 + 1)], |row| {
            row.get::<_, Option<i64>>(0)
        })?
        .ok_or_else(|| missing(run, after + 1))?;
    let mut query = conn.prepare_cached(
        "SELECT id, last, sum, body FROM chunks WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    )?;
    let mut rows = query.query([from, chunk_id(key, SEQ_MAX)])?;
    let mut chunks: Vec<Chunk> = Vec::new();
    while let Some(row) = rows.next()? {
        let chunk = Chunk {
            first: (row.get::<_, i64>(0)? & SEQ_MAX) as Seq,
            last: row.get::<_, i64>(1)? as Seq,
            body: row.get(3)?,
        };
        let whole = crc32fast::hash(&chunk.body) == row.get::<_, u32>(2)?;
        let joins = match chunks.last() {
            Some(before) => chunk.first == before.last + 1,
            None => chunk.first <= after + 1 && chunk.last > after,
        };
        if !whole || !joins {
            return Err(missing(run, chunk.first));
        }
        chunks.push(chunk);
    }
    match chunks.last() {
        Some(end) if end.last == last as Seq => Ok(chunks),
        Some(end) => Err(missing(run, end.last + 1)),
        None => Err(missing(run, after + 1)),
    }
}

/// Forgets runs; gives how many were there.
pub(super) fn remove(conn: &Connection, runs: &[RunId]) -> Result<usize, Trouble> {
    let mut removed = 0;
    for run in runs {
        let Some((key, _)) = journal(conn, run)? else {
            continue;
        };
        conn.prepare_cached("DELETE FROM chunks WHERE id BETWEEN ?1 AND ?2")?
            .execute([chunk_id(key, 0), chunk_id(key, SEQ_MAX)])?;
        conn.prepare_cached("DELETE FROM runs WHERE key = ?1")?
            .execute([key])?;
        conn.prepare_cached("DELETE FROM claims WHERE run = ?1")?
            .execute([run.as_str()])?;
        removed += 1;
    }
    Ok(removed)
}

/// Counts events and bytes anew from the chunks.
pub(super) fn rebuild(conn: &Connection) -> Result<usize, Trouble> {
    let changed = conn.execute(
        "UPDATE runs SET \
           last = (SELECT coalesce(max(last), 0) FROM chunks \
                   WHERE id BETWEEN (runs.key << ?1) AND (runs.key << ?1) + ?2), \
           bytes = (SELECT coalesce(sum(length(body)), 0) FROM chunks \
                    WHERE id BETWEEN (runs.key << ?1) AND (runs.key << ?1) + ?2)",
        params![FIRST_BITS, SEQ_MAX],
    )?;
    Ok(changed)
}

fn journal(conn: &Connection, run: &RunId) -> Result<Option<(i64, i64)>, Trouble> {
    let found = conn
        .prepare_cached("SELECT key, last FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found)
}

/// Keys stay far below 2^31: SQLite gives them out one by one.
fn chunk_id(key: i64, first: i64) -> i64 {
    (key << FIRST_BITS) | first.min(SEQ_MAX)
}

fn missing(run: &RunId, seq: Seq) -> Trouble {
    Trouble::Damage(format!(
        "event {seq} of {run} is missing or not as it was written"
    ))
}
