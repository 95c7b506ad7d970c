//! Journals as rows: adding a chunk after what was seen, reading back to it, forgetting all.
//!
//! Chunks lie in the order they came, and each points to the one before it in its journal. A
//! commit so writes the pages its bytes fill and no more; keyed by run, every chunk would touch
//! pages of its own (`docs/decisions/0009-the-sqlite-store.md` has figures). A reader walks back from the
//! tail, which for one who follows a run is the shortest way.

use super::contents;
use super::faults::{Trouble, plain_fault};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use tramline_core::ids::{RunId, Seq};
use tramline_engine::seams::{Append, Chunk, StoreFault};

/// The last event a journal can hold. Far beyond any run, and no number here can overflow.
const SEQ_MAX: Seq = u32::MAX as Seq;

/// The largest chunk, well below what SQLite takes (1 GB), and more than any step should keep.
const CHUNK_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Refuses what can never be appended before it gets to share a group with others.
pub(super) fn check(append: &Append) -> Result<(), StoreFault> {
    let Append {
        run, seen, last, ..
    } = append;
    if last <= seen || *last > SEQ_MAX {
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

/// Adds a chunk with its documents, or says at which event the journal stands if that is not the
/// one seen.
pub(super) fn append(conn: &Connection, append: &Append) -> Result<Result<(), Seq>, Trouble> {
    let contents = contents::keep(conn, &append.documents)?;
    if append.seen == 0 && open(conn, append, &contents)? {
        return Ok(Ok(()));
    }
    let found = find(conn, append)?;
    let last = found.as_ref().map_or(0, |known| known.last);
    let known = match found {
        Some(known) if last == append.seen as i64 => known,
        Some(_) | None => {
            contents::drop_unused(conn, &contents)?;
            return Ok(Err(last as Seq));
        }
    };
    let tail = insert_chunk(conn, &known, None, append)?;
    update_run(conn, &known, tail, append)?;
    contents::refer_more(conn, known.key, &contents)?;
    Ok(Ok(()))
}

/// Makes a journal with its first chunk; not if it is there.
fn open(conn: &Connection, append: &Append, contents: &[i64]) -> Result<bool, Trouble> {
    let head = &append.head;
    // Known beforehand, so that the row needs no second visit. Nobody else writes now.
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
            contents::list(contents),
        ])?;
    if made == 0 {
        return Ok(false);
    }
    let known = Known {
        key: conn.last_insert_rowid(),
        tail: 0,
        last: 0,
        steady: true,
    };
    insert_chunk(conn, &known, Some(tail), append)?;
    contents::refer(conn, known.key, contents)?;
    Ok(true)
}

/// Adds a chunk under an id, or under the next one if none is given; gives the id.
fn insert_chunk(
    conn: &Connection,
    known: &Known,
    id: Option<i64>,
    append: &Append,
) -> Result<i64, Trouble> {
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

/// What the list of runs holds of a journal that is appended to.
struct Known {
    key: i64,
    tail: i64,
    last: i64,
    /// Whether the append changes nothing that an index covers.
    steady: bool,
}

fn find(conn: &Connection, append: &Append) -> Result<Option<Known>, Trouble> {
    let head = &append.head;
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
                Ok(Known {
                    key: row.get(0)?,
                    tail: row.get(1)?,
                    last: row.get(2)?,
                    steady: row.get(3)?,
                })
            },
        )
        .optional()?;
    Ok(known)
}

/// Naming a column in an UPDATE rewrites its indexes even if the value stays: the common case
/// names none that is indexed.
fn update_run(conn: &Connection, known: &Known, tail: i64, append: &Append) -> Result<(), Trouble> {
    let head = &append.head;
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
    if !known.steady {
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

/// The chunks that hold events after `after`. A gap is damage and never passed over.
pub(super) fn read(conn: &Connection, run: &RunId, after: Seq) -> Result<Vec<Chunk>, Trouble> {
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
            link(&mut links, id, &journal, last)?.ok_or_else(|| missing(run, last))?;
        (id, last) = (prev, chunk.first - 1);
        chunks.push(chunk);
    }
    chunks.reverse();
    Ok(chunks)
}

/// The chunks of a journal that are as they were written, whatever lies between them.
pub(super) fn salvage(conn: &Connection, run: &RunId) -> Result<Vec<Chunk>, Trouble> {
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
        Ok(whole.then_some(Chunk { first, last, body }))
    })?;
    // A row that cannot even be read is passed over like one that is not as it was written.
    let mut chunks: Vec<Chunk> = rows.filter_map(Result::ok).flatten().collect();
    chunks.sort_by_key(|chunk| chunk.first);
    Ok(chunks)
}

/// The chunk under an id and the id before it, if it is the one that ends at `last`, and whole.
fn link(
    links: &mut CachedStatement<'_>,
    id: i64,
    journal: &Journal,
    last: Seq,
) -> Result<Option<(i64, Chunk)>, Trouble> {
    let found = links
        .query_row([id, journal.key], |row| {
            let (first, last): (i64, i64) = (row.get(1)?, row.get(2)?);
            let chunk = Chunk {
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

/// Forgets runs; gives how many were there.
pub(super) fn remove(conn: &Connection, runs: &[RunId]) -> Result<usize, Trouble> {
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
            // What a damaged journal still has beyond its gap cannot be found and stays.
            id = prev.optional()?.unwrap_or(0);
        }
        let contents: Option<String> = conn
            .prepare_cached("DELETE FROM runs WHERE key = ?1 RETURNING contents")?
            .query_row([journal.key], |row| row.get(0))?;
        if let Some(contents) = contents {
            contents::release(conn, journal.key, &contents)?;
        }
        conn.prepare_cached("DELETE FROM claims WHERE run = ?1")?
            .execute([run.as_str()])?;
        removed += 1;
    }
    Ok(removed)
}

/// Finds every journal's tail, last event and size anew by going through all chunks once, and which
/// documents each refers to.
pub(super) fn rebuild(conn: &Connection) -> Result<usize, Trouble> {
    let changed = conn.execute(
        "UPDATE runs SET tail = found.tail, last = found.last, bytes = found.bytes \
         FROM (SELECT journal, max(last) AS last, sum(length(body)) AS bytes, id AS tail \
               FROM chunks GROUP BY journal) AS found \
         WHERE found.journal = runs.key",
        [],
    )?;
    contents::rebuild(conn)?;
    Ok(changed)
}

struct Journal {
    key: i64,
    tail: i64,
    last: i64,
}

fn journal(conn: &Connection, run: &RunId) -> Result<Option<Journal>, Trouble> {
    let found = conn
        .prepare_cached("SELECT key, tail, last FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| {
            Ok(Journal {
                key: row.get(0)?,
                tail: row.get(1)?,
                last: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found)
}

fn missing(run: &RunId, seq: Seq) -> Trouble {
    Trouble::Damage(format!(
        "event {seq} of {run} is missing or not as it was written (`tramline runs export {run} --out \
         FILE` writes down what can be read of that run)"
    ))
}
