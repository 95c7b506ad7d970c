//! The statement that appends to several journals at once: with fences, claims, documents and counts.

use tokio_postgres::types::Type;
use tramline_engine::ports::{Append, ClaimChange, RunStatus};

/// How a claim change is written in the statement.
fn claim_code(change: ClaimChange) -> (i16, i64) {
    match change {
        ClaimChange::Keep => (0, 0),
        ClaimChange::Hold(epoch) => (1, epoch.0 as i64),
        ClaimChange::Take => (2, 0),
        ClaimChange::Release(epoch) => (3, epoch.0 as i64),
    }
}

/// The number of a status in the table. Open runs come first: they are below [`OVER_MIN`].
pub(crate) fn status_code(status: RunStatus) -> i16 {
    match status {
        RunStatus::Running => 0,
        RunStatus::Paused => 1,
        RunStatus::SopSession => 2,
        RunStatus::Completed => 3,
        RunStatus::Failed => 4,
        RunStatus::Rejected => 5,
        RunStatus::Aborted => 6,
        RunStatus::Expired => 7,
    }
}

/// The status with a number.
pub(crate) fn status_of(code: i16) -> Option<RunStatus> {
    let mut all = RunStatus::ALL.into_iter();
    all.find(|status| status_code(*status) == code)
}

/// Each run at most once. Locks are taken in the order of the runs, so that two replicas never wait for each other.
///
/// Returns the runs that were appended to, their epoch, and whether the claim was taken from a process whose lease
/// had run out.
const APPEND: &str = "WITH inp AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::int8[], $3::int8[], $4::bytea[], $5::int8[], $6::int8[], $7::int2[], $8::text[],
    $9::text[], $10::int8[], $11::int8[], $12::int2[], $13::int8[])
  AS t(run, seen, last, body, sum, token, status, workflow, session, started, updated, claim, epoch)
), locked AS MATERIALIZED (
  SELECT r.run, r.last AS was_last, r.status AS was, r.owner AS holder
  FROM tramline.runs r JOIN inp ON inp.run = r.run
  WHERE r.last = inp.seen AND CASE inp.claim
    WHEN 0 THEN true
    WHEN 2 THEN r.owner IS NULL OR r.owner = $14
      OR NOT EXISTS (SELECT 1 FROM tramline.replicas p WHERE p.id = r.owner AND p.expires > now())
    ELSE r.owner = $14 AND r.epoch = inp.epoch END
  ORDER BY r.run FOR UPDATE OF r
), moved AS (
  UPDATE tramline.runs r SET last = inp.last, bytes = r.bytes + length(inp.body), status = inp.status,
    workflow = inp.workflow, session = inp.session, started_ms = inp.started, updated_ms = inp.updated,
    pool = CASE WHEN inp.seen = 0 THEN $15 ELSE r.pool END,
    owner = CASE WHEN inp.status > 2 OR inp.claim = 3 THEN NULL WHEN inp.claim = 2 THEN $14 ELSE r.owner END,
    epoch = CASE WHEN inp.claim = 2 AND r.owner IS DISTINCT FROM $14 THEN r.epoch + 1 ELSE r.epoch END
  FROM inp JOIN locked ON locked.run = inp.run
  WHERE r.run = inp.run AND r.last = inp.seen
  RETURNING r.run, r.epoch
), fresh AS (
  INSERT INTO tramline.runs (run, last, bytes, status, workflow, session, started_ms, updated_ms, pool, owner, epoch)
  SELECT inp.run, inp.last, length(inp.body), inp.status, inp.workflow, inp.session, inp.started, inp.updated, $15,
    CASE WHEN inp.claim = 2 AND inp.status < 3 THEN $14 END, CASE WHEN inp.claim = 2 THEN 1 ELSE 0 END
  FROM inp WHERE inp.seen = 0 AND inp.claim IN (0, 2)
    AND NOT EXISTS (SELECT 1 FROM locked WHERE locked.run = inp.run)
  ORDER BY inp.run ON CONFLICT (run) DO NOTHING
  RETURNING run, epoch
), ok AS (
  SELECT run, epoch FROM moved UNION ALL SELECT run, epoch FROM fresh
), written AS (
  INSERT INTO tramline.chunks (run, last, first, sum, token, body)
  SELECT inp.run, inp.last, inp.seen + 1, inp.sum, inp.token, inp.body FROM inp JOIN ok ON ok.run = inp.run
)";

const DOCUMENTS: &str = ", docs AS MATERIALIZED (
  SELECT d.run, d.digest, d.body FROM unnest($17::text[], $18::bytea[], $19::bytea[]) AS d(run, digest, body)
  JOIN ok ON ok.run = d.run WHERE pg_advisory_xact_lock_shared($20) IS NOT NULL
), kept AS (
  INSERT INTO tramline.referred (digest, body)
  SELECT DISTINCT ON (digest) digest, body FROM docs ORDER BY digest ON CONFLICT DO NOTHING
  RETURNING length(body) AS size
), refs AS (
  INSERT INTO tramline.referring (run, digest) SELECT DISTINCT run, digest FROM docs ON CONFLICT DO NOTHING
)";

const COUNTS: &str = ", counted AS (
  INSERT INTO tramline.usage AS u (writer, open, bytes)
  SELECT $16, coalesce(sum((inp.status < 3)::int - coalesce((locked.was_last > 0 AND locked.was < 3)::int, 0)), 0),
    coalesce(sum(length(inp.body)), 0)";

const COUNTS_END: &str =
    " FROM inp JOIN ok ON ok.run = inp.run LEFT JOIN locked ON locked.run = inp.run
  HAVING count(*) > 0
  ON CONFLICT (writer) DO UPDATE SET open = u.open + excluded.open, bytes = u.bytes + excluded.bytes
)
SELECT ok.run, ok.epoch, coalesce(inp.claim = 2 AND locked.holder <> $14, false)
FROM ok JOIN inp ON inp.run = ok.run LEFT JOIN locked ON locked.run = ok.run";

/// The statement, without the part for documents unless an append has some.
pub(crate) fn statement(with_documents: bool) -> String {
    match with_documents {
        false => format!("{APPEND}{COUNTS}{COUNTS_END}"),
        true => format!(
            "{APPEND}{DOCUMENTS}{COUNTS} + coalesce((SELECT sum(size) FROM kept), 0){COUNTS_END}"
        ),
    }
}

/// The columns of a group of appends.
#[derive(Default)]
pub(crate) struct GroupColumns<'a> {
    run: Vec<&'a str>,
    seen: Vec<i64>,
    last: Vec<i64>,
    body: Vec<&'a [u8]>,
    sum: Vec<i64>,
    token: Vec<i64>,
    status: Vec<i16>,
    workflow: Vec<&'a str>,
    session: Vec<Option<&'a str>>,
    started: Vec<i64>,
    updated: Vec<i64>,
    claim: Vec<i16>,
    epoch: Vec<i64>,
    document_run: Vec<&'a str>,
    document_digest: Vec<&'a [u8]>,
    document_body: Vec<&'a [u8]>,
}

/// Who appends.
pub(crate) struct GroupOwner<'a> {
    /// The lease of this replica.
    pub(crate) owner: i64,
    /// The pool of runs that start here.
    pub(crate) pool: Option<&'a str>,
    /// The row in which usage is counted.
    pub(crate) counter: i64,
    /// The lock between appends with documents and removals.
    pub(crate) document_lock: i64,
}

impl<'a> GroupColumns<'a> {
    /// Adds an append.
    pub(crate) fn push(&mut self, append: &'a Append, token: i64) {
        let row = &append.index_row;
        let (claim, epoch) = claim_code(append.claim);
        self.run.push(append.run.as_str());
        self.seen.push(append.seen as i64);
        self.last.push(append.last as i64);
        self.body.push(&append.body);
        self.sum.push(i64::from(crc32fast::hash(&append.body)));
        self.token.push(token);
        self.status.push(status_code(row.status));
        self.workflow.push(&row.workflow);
        self.session.push(row.session.as_deref());
        self.started.push(row.started_ms);
        self.updated.push(row.updated_ms);
        self.claim.push(claim);
        self.epoch.push(epoch);
        for document in &append.documents {
            self.document_run.push(append.run.as_str());
            self.document_digest.push(document.digest.as_bytes());
            self.document_body.push(&document.body);
        }
    }

    pub(crate) fn has_documents(&self) -> bool {
        !self.document_run.is_empty()
    }

    /// Calls `work` with the parameters of the statement.
    pub(crate) fn params<'b>(
        &'b self,
        writer: &'b GroupOwner<'_>,
    ) -> Vec<(&'b (dyn tokio_postgres::types::ToSql + Sync), Type)> {
        let mut params: Vec<(&(dyn tokio_postgres::types::ToSql + Sync), Type)> = vec![
            (&self.run, Type::TEXT_ARRAY),
            (&self.seen, Type::INT8_ARRAY),
            (&self.last, Type::INT8_ARRAY),
            (&self.body, Type::BYTEA_ARRAY),
            (&self.sum, Type::INT8_ARRAY),
            (&self.token, Type::INT8_ARRAY),
            (&self.status, Type::INT2_ARRAY),
            (&self.workflow, Type::TEXT_ARRAY),
            (&self.session, Type::TEXT_ARRAY),
            (&self.started, Type::INT8_ARRAY),
            (&self.updated, Type::INT8_ARRAY),
            (&self.claim, Type::INT2_ARRAY),
            (&self.epoch, Type::INT8_ARRAY),
            (&writer.owner, Type::INT8),
            (&writer.pool, Type::TEXT),
            (&writer.counter, Type::INT8),
        ];
        if self.has_documents() {
            params.push((&self.document_run, Type::TEXT_ARRAY));
            params.push((&self.document_digest, Type::BYTEA_ARRAY));
            params.push((&self.document_body, Type::BYTEA_ARRAY));
            params.push((&writer.document_lock, Type::INT8));
        }
        params
    }
}
