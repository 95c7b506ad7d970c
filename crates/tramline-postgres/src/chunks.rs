//! Reading journals.

use crate::connection::Link;
use tokio_postgres::types::Type;
use tokio_postgres::{Row, types::ToSql};
use tramline_engine::ports::{JournalChunk, StoreFault};
use tramline_workflow::ids::{RunId, Seq};

/// The most bytes that one statement reads; a longer journal takes several.
const READ_BYTES_MAX: i64 = 16 << 20;

/// Whether what was read is what was written.
fn is_intact(row: &Row) -> bool {
    let body: &[u8] = row.get(3);
    i64::from(crc32fast::hash(body)) == row.get::<_, i64>(2)
}

fn chunk(row: &Row) -> JournalChunk {
    JournalChunk {
        first: row.get::<_, i64>(0) as u64,
        last: row.get::<_, i64>(1) as u64,
        body: row.get(3),
    }
}

/// The chunks with events after `after`, in pages.
async fn rows(link: &Link, run: &RunId, after: Seq) -> Result<Vec<Row>, StoreFault> {
    let mut all = Vec::new();
    let mut seen = after as i64;
    loop {
        let name = run.as_str();
        let params: [(&(dyn ToSql + Sync), Type); 3] = [
            (&name, Type::TEXT),
            (&seen, Type::INT8),
            (&READ_BYTES_MAX, Type::INT8),
        ];
        let page = link
            .repeat(
                "SELECT first, last, sum, body, total > $3 FROM (SELECT *, sum(length(body)) OVER (ORDER BY last) AS total \
                 FROM tramline.chunks WHERE run = $1 AND last > $2) c \
                 WHERE total - length(body) <= $3 ORDER BY last",
                &params,
            )
            .await?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        let has_more: bool = last.get(4);
        seen = last.get(1);
        all.extend(page);
        if !has_more {
            return Ok(all);
        }
    }
}

/// The chunks with events after `after`. A gap or a wrong checksum is damage.
pub(crate) async fn read(
    link: &Link,
    run: &RunId,
    after: Seq,
) -> Result<Vec<JournalChunk>, StoreFault> {
    let mut chunks: Vec<JournalChunk> = Vec::new();
    for row in rows(link, run, after).await? {
        let next = chunk(&row);
        let follows = match chunks.last() {
            Some(before) => next.first == before.last + 1,
            None => next.first <= after + 1,
        };
        if !follows || !is_intact(&row) {
            return Err(StoreFault {
                message: format!(
                    "the journal of {run} is damaged at event {}: its checksum or an event before it is missing; \
                     `tramline runs export --force {run}` saves the readable part",
                    next.first
                ),
            });
        }
        chunks.push(next);
    }
    Ok(chunks)
}

/// The intact chunks of a journal.
pub(crate) async fn read_intact(link: &Link, run: &RunId) -> Result<Vec<JournalChunk>, StoreFault> {
    let rows = rows(link, run, 0).await?;
    Ok(rows
        .iter()
        .filter(|row| is_intact(row))
        .map(chunk)
        .collect())
}
