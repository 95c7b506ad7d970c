//! Journals as rows: appending a chunk, reading backwards, deleting.
//!
//! Chunks are stored in arrival order, and each points to the previous one of its journal. So a
//! commit only writes the pages that its bytes fill; keyed by run, every chunk would touch separate
//! pages (`docs/decisions/0009-the-sqlite-store.md` has figures). A reader goes backwards from the
//! tail, which is shortest for a subscriber.

use super::error::{DbError, plain_fault};
use super::stored_documents;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use tramline_engine::ports::{Append, JournalChunk, StoreFault};
use tramline_workflow::ids::{RunId, Seq};

/// The highest event number in a journal. Far beyond any run, and low enough that no arithmetic
/// here can overflow.
const SEQ_MAX: Seq = u32::MAX as Seq;

/// The largest chunk, in bytes: well below SQLite's limit (1 GB), and more than any step should
/// store.
const CHUNK_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Rejects an append that can never succeed before it joins a group.
pub(super) fn check(append: &Append) -> Result<(), StoreFault> {
    let Append {
        run, seen, last, ..
    } = append;
    if last <= seen || *last > SEQ_MAX {
        return Err(plain_fault(format!(
            "a chunk from {seen} to {last} cannot be appended to {run}: it must contain at least one \
             event, and a journal has at most {SEQ_MAX}"
        )));
    }
    if append.body.len() > CHUNK_BYTES_MAX {
        return Err(plain_fault(format!(
            "a chunk of {} bytes cannot be appended to {run}: the limit is {CHUNK_BYTES_MAX}",
            append.body.len()
        )));
    }
    Ok(())
}

/// Appends a chunk with its documents. Returns the journal's last event if that is not the one
/// seen.
pub(super) fn append(conn: &Connection, append: &Append) -> Result<Result<(), Seq>, DbError> {
    let contents = stored_documents::keep(conn, &append.documents)?;
    if append.seen == 0 && create(conn, append, &contents)? {
        return Ok(Ok(()));
    }
    let found = find(conn, append)?;
    let last = found.as_ref().map_or(0, |known| known.last);
    let known = match found {
        Some(known) if last == append.seen as i64 => known,
        Some(_) | None => {
            stored_documents::drop_unused(conn, &contents)?;
            return Ok(Err(last as Seq));
        }
    };
    let tail = insert_chunk(conn, &known, None, append)?;
    update_run(conn, &known, tail, append)?;
    stored_documents::refer_more(conn, known.key, &contents)?;
    Ok(Ok(()))
}

/// Creates a journal with its first chunk; returns false if it exists.
fn create(conn: &Connection, append: &Append, contents: &[i64]) -> Result<bool, DbError> {
    let head = &append.index_row;
    // The id is known beforehand, so the row needs no update. There are no other writers now.
    let tail: i64 = conn
        .prepare_cached("SELECT ifnull(max(id), 0) + 1 FROM chunks")?
        .query_row([], |row| row.get(0))?;
    let made = conn
        .prepare_cached(
            "INSERT INTO runs \
               (run, tail, last, bytes, status, workflow, session, started_ms, updated_ms, contents) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (run) DO NOTHING",
        )?
        .execute(params![
            append.run.as_str(),
            tail,
            append.last as i64,
            append.body.len() as i64,
            head.status.as_str(),
            head.workflow.as_str(),
            head.session.as_deref(),
            head.started_ms,
            head.updated_ms,
            stored_documents::list(contents),
        ])?;
    if made == 0 {
        return Ok(false);
    }
    let known = RunIndex {
        key: conn.last_insert_rowid(),
        tail: 0,
        last: 0,
        keeps_indexed_columns: true,
    };
    insert_chunk(conn, &known, Some(tail), append)?;
    stored_documents::refer(conn, known.key, contents)?;
    Ok(true)
}

/// Inserts a chunk under an id, or under the next one; returns the id.
fn insert_chunk(
    conn: &Connection,
    known: &RunIndex,
    id: Option<i64>,
    append: &Append,
) -> Result<i64, DbError> {
    let id = conn
        .prepare_cached(
            "INSERT INTO chunks (id, journal, prev, first, last, sum, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .insert(params![
            id,
            known.key,
            known.tail,
            known.last + 1,
            append.last as i64,
            crc32fast::hash(&append.body),
            append.body,
        ])?;
    Ok(id)
}

/// The `runs` row of a journal that is appended to.
struct RunIndex {
    key: i64,
    tail: i64,
    last: i64,
    /// Whether the append changes no indexed column.
    keeps_indexed_columns: bool,
}

fn find(conn: &Connection, append: &Append) -> Result<Option<RunIndex>, DbError> {
    let head = &append.index_row;
    let known = conn
        .prepare_cached(
            "SELECT key, tail, last, \
               status = ?2 AND workflow = ?3 AND session IS ?4 AND started_ms = ?5 \
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
                Ok(RunIndex {
                    key: row.get(0)?,
                    tail: row.get(1)?,
                    last: row.get(2)?,
                    keeps_indexed_columns: row.get(3)?,
                })
            },
        )
        .optional()?;
    Ok(known)
}

/// Naming a column in an UPDATE rewrites its indexes even if the value stays the same: the common
/// case names no indexed column.
fn update_run(
    conn: &Connection,
    known: &RunIndex,
    tail: i64,
    append: &Append,
) -> Result<(), DbError> {
    let head = &append.index_row;
    conn.prepare_cached(
        "UPDATE runs SET tail = ?2, last = ?3, bytes = bytes + ?4, updated_ms = ?5 WHERE key = ?1",
    )?
    .execute(params![
        known.key,
        tail,
        append.last as i64,
        append.body.len() as i64,
        head.updated_ms,
    ])?;
    if !known.keeps_indexed_columns {
        conn.prepare_cached(
            "UPDATE runs SET status = ?2, workflow = ?3, session = ?4, started_ms = ?5 \
             WHERE key = ?1",
        )?
        .execute(params![
            known.key,
            head.status.as_str(),
            head.workflow.as_str(),
            head.session.as_deref(),
            head.started_ms,
        ])?;
    }
    Ok(())
}

/// The chunks with events after `after`. A gap is an error, never skipped.
pub(super) fn read(
    conn: &Connection,
    run: &RunId,
    after: Seq,
) -> Result<Vec<JournalChunk>, DbError> {
    let Some(journal) = journal(conn, run)? else {
        return Ok(Vec::new());
    };
    let mut links = conn.prepare_cached(
        "SELECT prev, first, last, sum, body FROM chunks WHERE id = ?1 AND journal = ?2",
    )?;
    let mut chunks = Vec::new();
    let (mut id, mut last) = (journal.tail, journal.last as Seq);
    while last > after {
        let (prev, chunk) =
            read_link(&mut links, id, &journal, last)?.ok_or_else(|| missing(run, last))?;
        (id, last) = (prev, chunk.first - 1);
        chunks.push(chunk);
    }
    chunks.reverse();
    Ok(chunks)
}

/// The intact chunks of a journal, regardless of gaps.
pub(super) fn salvage(conn: &Connection, run: &RunId) -> Result<Vec<JournalChunk>, DbError> {
    let Some(journal) = journal(conn, run)? else {
        return Ok(Vec::new());
    };
    let mut all = conn.prepare_cached(
        "SELECT first, last, sum, body FROM chunks WHERE journal = ?1 ORDER BY id",
    )?;
    let rows = all.query_map([journal.key], |row| {
        let (first, last): (i64, i64) = (row.get(0)?, row.get(1)?);
        let body: Vec<u8> = row.get(3)?;
        let whole = crc32fast::hash(&body) == row.get::<_, u32>(2)?;
        let (first, last) = (first as Seq, last as Seq);
        Ok(whole.then_some(JournalChunk { first, last, body }))
    })?;
    // A row that cannot be read is skipped like a damaged one.
    let mut chunks: Vec<JournalChunk> = rows.filter_map(Result::ok).flatten().collect();
    chunks.sort_by_key(|chunk| chunk.first);
    Ok(chunks)
}

/// The chunk under an id and the id before it, if it ends at `last` and is intact.
fn read_link(
    links: &mut CachedStatement<'_>,
    id: i64,
    journal: &JournalRow,
    last: Seq,
) -> Result<Option<(i64, JournalChunk)>, DbError> {
    let found = links
        .query_row([id, journal.key], |row| {
            let (first, last): (i64, i64) = (row.get(1)?, row.get(2)?);
            let chunk = JournalChunk {
                first: first as Seq,
                last: last as Seq,
                body: row.get(4)?,
            };
            Ok((row.get(0)?, row.get::<_, u32>(3)?, chunk))
        })
        .optional()?;
    Ok(found.and_then(|(prev, sum, chunk)| {
        let fits = (1..=last).contains(&chunk.first) && chunk.last == last;
        (fits && crc32fast::hash(&chunk.body) == sum).then_some((prev, chunk))
    }))
}

/// Deletes runs; returns how many existed.
pub(super) fn remove(conn: &Connection, runs: &[RunId]) -> Result<usize, DbError> {
    let mut removed = 0;
    for run in runs {
        let Some(journal) = journal(conn, run)? else {
            continue;
        };
        let mut cut = conn
            .prepare_cached("DELETE FROM chunks WHERE id = ?1 AND journal = ?2 RETURNING prev")?;
        let mut id = journal.tail;
        while id > 0 {
            let prev = cut.query_row([id, journal.key], |row| row.get(0));
            // Chunks of a damaged journal beyond its gap cannot be found and stay.
            id = prev.optional()?.unwrap_or(0);
        }
        let contents: Option<String> = conn
            .prepare_cached("DELETE FROM runs WHERE key = ?1 RETURNING contents")?
            .query_row([journal.key], |row| row.get(0))?;
        if let Some(contents) = contents {
            stored_documents::release(conn, journal.key, &contents)?;
        }
        conn.prepare_cached("DELETE FROM claims WHERE run = ?1")?
            .execute([run.as_str()])?;
        removed += 1;
    }
    Ok(removed)
}

/// Rebuilds every journal's tail, last event and size by scanning all chunks once, and which
/// documents each refers to.
pub(super) fn rebuild(conn: &Connection) -> Result<usize, DbError> {
    let changed = conn.execute(
        "UPDATE runs SET tail = found.tail, last = found.last, bytes = found.bytes \
         FROM (SELECT journal, max(last) AS last, sum(length(body)) AS bytes, id AS tail \
               FROM chunks GROUP BY journal) AS found \
         WHERE found.journal = runs.key",
        [],
    )?;
    stored_documents::rebuild(conn)?;
    Ok(changed)
}

struct JournalRow {
    key: i64,
    tail: i64,
    last: i64,
}

fn journal(conn: &Connection, run: &RunId) -> Result<Option<JournalRow>, DbError> {
    let found = conn
        .prepare_cached("SELECT key, tail, last FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| {
            Ok(JournalRow {
                key: row.get(0)?,
                tail: row.get(1)?,
                last: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found)
}

fn missing(run: &RunId, seq: Seq) -> DbError {
    DbError::Damage(format!(
        "event {seq} of {run} is missing or damaged (`tramline runs export {run} --out FILE` \
         saves the readable part of that run)"
    ))
}
