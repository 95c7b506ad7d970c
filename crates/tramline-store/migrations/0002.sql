-- Documents that journals refer to, each once under the SHA-256 of its body: workflows, procedures.
CREATE TABLE contents (
    key    INTEGER PRIMARY KEY,
    digest BLOB    NOT NULL,
    bytes  INTEGER NOT NULL, -- of body
    body   BLOB    NOT NULL
) STRICT;

-- With the size, so that all of them can be added up without reading a body.
CREATE UNIQUE INDEX contents_by_digest ON contents (digest, bytes);

-- Which journal refers to which document: the other direction of `runs.contents`.
CREATE TABLE refers (
    content INTEGER NOT NULL, -- contents.key
    journal INTEGER NOT NULL, -- runs.key
    PRIMARY KEY (content, journal)
) STRICT, WITHOUT ROWID;

-- The documents that a journal refers to: an array of contents.key, as JSON. Nothing for journals
-- that hold theirs whole.
ALTER TABLE runs ADD COLUMN contents TEXT;
