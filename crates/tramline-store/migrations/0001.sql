-- The chunks of all journals in the order they came, so that a commit writes few pages whichever
-- runs it is for. Each points to the one before it in its journal; `runs.tail` is the last.
CREATE TABLE chunks (
    id      INTEGER PRIMARY KEY,
    journal INTEGER NOT NULL, -- runs.key
    prev    INTEGER NOT NULL, -- the chunk before; 0 before the first
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    sum     INTEGER NOT NULL, -- CRC-32 of body: SQLite itself does not notice a flipped bit
    body    BLOB    NOT NULL
) STRICT;

-- `key` and `run` name the journal. All other columns are an index over it and can be rebuilt.
CREATE TABLE runs (
    key        INTEGER PRIMARY KEY,
    run        TEXT    NOT NULL UNIQUE,
    tail       INTEGER NOT NULL,
    last       INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    status     TEXT    NOT NULL,
    workflow   TEXT    NOT NULL,
    session    TEXT,
    started_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_by_status ON runs (status, run);

CREATE INDEX runs_by_session ON runs (session, run) WHERE session IS NOT NULL;

-- Which owner drives which run. Counts only while the owner's lock file is locked.
CREATE TABLE claims (
    run   TEXT PRIMARY KEY,
    owner TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (kind, key)
) STRICT;
