//! Reads everything in the store and verifies its checksums.

use super::error::DbError;
use rusqlite::{CachedStatement, Connection, OptionalExtension};
use std::ops::RangeInclusive;
use tramline_workflow::journal::ContentDigest;

/// The maximum number of problems listed; further ones are counted.
const PROBLEMS_MAX: usize = 1_000;

/// The maximum number of event ranges listed for one run.
const RANGES_MAX: usize = 8;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The number of journals read.
    pub runs: u64,
    /// The number of events in them.
    pub events: u64,
    /// The number of documents that journals refer to.
    pub documents: u64,
    /// The problems found.
    pub problems: Vec<StoreProblem>,
    /// The number of further problems, which are not listed.
    pub more: u64,
}

/// Stored data that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreProblem {
    /// The affected run, if it is about one.
    pub run: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl Verification {
    fn add(&mut self, run: Option<&str>, what: String) {
        if self.problems.len() >= PROBLEMS_MAX {
            self.more += 1;
            return;
        }
        let run = run.map(str::to_owned);
        self.problems.push(StoreProblem { run, what });
    }

    /// Records a step that could not be finished: unreadable data is a problem too.
    fn step(&mut self, name: &str, done: Result<(), DbError>) {
        match done {
            Ok(()) => {}
            Err(DbError::Damage(what)) => self.add(None, what),
            Err(DbError::Sqlite(error)) => {
                self.add(None, format!("cannot read {name}: {error}"));
            }
        }
    }
}

/// Verifies everything.
pub(super) fn verify(conn: &Connection) -> Verification {
    let mut found = Verification::default();
    let done = pages(conn, &mut found);
    found.step("the database's pages", done);
    let done = journals(conn, &mut found);
    found.step("the list of runs", done);
    let done = unlisted(conn, &mut found);
    found.step("the chunks of journals", done);
    let done = contents(conn, &mut found);
    found.step("the documents of journals", done);
    let done = references(conn, &mut found);
    found.step("the references to documents", done);
    found
}

/// SQLite's own check of the file, its tables and their indexes.
fn pages(conn: &Connection, found: &mut Verification) -> Result<(), DbError> {
    let mut check = conn.prepare("PRAGMA integrity_check(100)")?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let says: String = row.get(0)?;
        if says != "ok" {
            found.add(None, format!("the database file: {says}"));
        }
    }
    Ok(())
}

/// A row of the list of runs.
struct ListedRun {
    key: i64,
    run: String,
    tail: i64,
    last: i64,
    bytes: i64,
}

fn journals(conn: &Connection, found: &mut Verification) -> Result<(), DbError> {
    let mut all = conn.prepare("SELECT key, run, tail, last, bytes FROM runs ORDER BY key")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let listed = ListedRun {
            key: row.get(0)?,
            run: row.get(1)?,
            tail: row.get(2)?,
            last: row.get(3)?,
            bytes: row.get(4)?,
        };
        found.runs += 1;
        found.events += u64::try_from(listed.last).unwrap_or_default();
        let what = match is_intact(conn, &listed) {
            Ok(true) => continue,
            Ok(false) => damaged_events(conn, &listed),
            Err(trouble) => Err(trouble),
        };
        let what = what.unwrap_or_else(|trouble| match trouble {
            DbError::Damage(what) => what,
            DbError::Sqlite(error) => format!("cannot read its journal: {error}"),
        });
        found.add(Some(&listed.run), what);
    }
    Ok(())
}

/// Whether a journal's chunks form a chain from its first event to its last, each intact.
fn is_intact(conn: &Connection, listed: &ListedRun) -> Result<bool, DbError> {
    let mut links = conn.prepare_cached(
        "SELECT prev, first, last, sum, body FROM chunks WHERE id = ?1 AND journal = ?2",
    )?;
    let (mut id, mut last, mut bytes) = (listed.tail, listed.last, 0);
    while last > 0 {
        let Some(link) = read_link(&mut links, id, listed.key)? else {
            return Ok(false);
        };
        if !link.is_intact || link.last != last || !(1..=last).contains(&link.first) {
            return Ok(false);
        }
        (id, last, bytes) = (link.prev, link.first - 1, bytes + link.bytes);
    }
    Ok(id == 0 && bytes == listed.bytes)
}

struct ChunkLink {
    prev: i64,
    first: i64,
    last: i64,
    bytes: i64,
    is_intact: bool,
}

fn read_link(
    statement: &mut CachedStatement<'_>,
    id: i64,
    key: i64,
) -> Result<Option<ChunkLink>, DbError> {
    let link = statement.query_row([id, key], |row| {
        let body = row.get_ref(4)?.as_blob()?;
        Ok(ChunkLink {
            prev: row.get(0)?,
            first: row.get(1)?,
            last: row.get(2)?,
            bytes: body.len() as i64,
            is_intact: i64::from(crc32fast::hash(body)) == row.get::<_, i64>(3)?,
        })
    });
    Ok(link.optional()?)
}

/// Which events of a journal are missing or damaged.
fn damaged_events(conn: &Connection, listed: &ListedRun) -> Result<String, DbError> {
    let mut all = conn.prepare_cached(
        "SELECT first, last, sum, body FROM chunks WHERE journal = ?1 ORDER BY first",
    )?;
    let mut rows = all.query([listed.key])?;
    let (mut next, mut missing) = (1, Vec::new());
    while let Some(row) = rows.next()? {
        let (first, last): (i64, i64) = (row.get(0)?, row.get(1)?);
        let body = row.get_ref(3).and_then(|body| Ok(body.as_blob()?));
        let whole = body.is_ok_and(|body| {
            row.get::<_, i64>(2)
                .is_ok_and(|sum| i64::from(crc32fast::hash(body)) == sum)
        });
        if whole && first >= next {
            if first > next {
                missing.push(next..=first - 1);
            }
            next = last + 1;
        }
    }
    if next <= listed.last {
        missing.push(next..=listed.last);
    }
    if missing.is_empty() {
        return Ok("all of its events exist, but its row in the list of runs is wrong".to_owned());
    }
    Ok(format!(
        "of its {} events these are missing or damaged: {}",
        listed.last,
        describe_ranges(&missing)
    ))
}

fn describe_ranges(ranges: &[RangeInclusive<i64>]) -> String {
    let spoken = |range: &RangeInclusive<i64>| match (range.start(), range.end()) {
        (first, last) if first == last => format!("event {first}"),
        (first, last) => format!("events {first} to {last}"),
    };
    let mut names: Vec<_> = ranges.iter().take(RANGES_MAX).map(spoken).collect();
    if ranges.len() > RANGES_MAX {
        names.push(format!("{} more ranges", ranges.len() - RANGES_MAX));
    }
    names.join(", ")
}

/// Chunks whose run is not listed.
fn unlisted(conn: &Connection, found: &mut Verification) -> Result<(), DbError> {
    let mut all = conn.prepare(
        "SELECT journal, count(*) FROM chunks WHERE journal NOT IN (SELECT key FROM runs) \
         GROUP BY journal",
    )?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (journal, chunks): (i64, i64) = (row.get(0)?, row.get(1)?);
        found.add(
            None,
            format!(
                "journal {journal} has {chunks} chunks, but its run is not listed: its row was \
                 lost, or it was removed after it was damaged"
            ),
        );
    }
    Ok(())
}

/// Verifies every document's digest.
fn contents(conn: &Connection, found: &mut Verification) -> Result<(), DbError> {
    let mut all = conn.prepare("SELECT key, digest, bytes, body FROM contents")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        found.documents += 1;
        let (digest, body) = (row.get_ref(1)?.as_blob(), row.get_ref(3)?.as_blob());
        let whole = match (digest, body) {
            (Ok(digest), Ok(body)) => {
                ContentDigest::of(body).as_bytes().as_slice() == digest
                    && row.get::<_, i64>(2)? == body.len() as i64
            }
            (_, _) => false,
        };
        if whole {
            continue;
        }
        let users = users(conn, row.get(0)?)?;
        if users.is_empty() {
            found.add(None, "a document that no run uses is damaged".to_owned());
        }
        for run in users {
            found.add(Some(&run), "the document it runs is damaged".to_owned());
        }
    }
    Ok(())
}

fn users(conn: &Connection, content: i64) -> Result<Vec<String>, DbError> {
    let mut all = conn.prepare_cached(
        "SELECT runs.run FROM refers JOIN runs ON runs.key = refers.journal WHERE refers.content = ?1",
    )?;
    let runs = all.query_map([content], |row| row.get(0))?;
    Ok(runs.collect::<Result<_, _>>()?)
}

/// References of journals to missing documents.
fn references(conn: &Connection, found: &mut Verification) -> Result<(), DbError> {
    let mut all = conn.prepare(
        "SELECT DISTINCT runs.run FROM runs, json_each(runs.contents) AS each \
         WHERE each.value NOT IN (SELECT key FROM contents)",
    )?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let run: String = row.get(0)?;
        found.add(
            Some(&run),
            "a document that it refers to is missing".to_owned(),
        );
    }
    Ok(())
}
