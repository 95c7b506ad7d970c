-- The index over the journals, and who drives which run. A row whose `last` is 0 is a claim before the first event.
CREATE TABLE tramline.runs (
    run text COLLATE "C" PRIMARY KEY,
    last int8 NOT NULL,
    bytes int8 NOT NULL,
    status int2 NOT NULL,
    workflow text NOT NULL,
    session text,
    started_ms int8 NOT NULL,
    updated_ms int8 NOT NULL,
    pool text,
    owner int8,
    epoch int8 NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Only open runs are looked for by status; appends do not change these columns, so they stay cheap.
CREATE INDEX runs_open ON tramline.runs (status, run) WHERE status < 3;

-- The journals. `token` identifies an append whose acknowledgement was lost; `sum` is the checksum of `body`.
CREATE TABLE tramline.chunks (
    run text COLLATE "C" NOT NULL,
    last int8 NOT NULL,
    first int8 NOT NULL,
    sum int8 NOT NULL,
    token int8 NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (run, last)
);
ALTER TABLE tramline.chunks ALTER COLUMN body SET STORAGE EXTERNAL;

-- Documents that journals refer to, each once.
CREATE TABLE tramline.referred (
    digest bytea PRIMARY KEY,
    body bytea NOT NULL
);
CREATE TABLE tramline.referring (
    run text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (run, digest)
);
CREATE INDEX referring_digest ON tramline.referring (digest);

-- Small documents under a kind and a key.
CREATE TABLE tramline.documents (
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (kind, key)
);

-- One lease for each replica, in the time of the database.
CREATE TABLE tramline.replicas (
    id bigserial PRIMARY KEY,
    name text NOT NULL,
    version text NOT NULL,
    pools text[] NOT NULL,
    joined timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL
);

-- How much all runs use, in one row for each writer, so that writers do not wait for each other.
CREATE TABLE tramline.usage (
    writer int8 PRIMARY KEY,
    open int8 NOT NULL,
    bytes int8 NOT NULL
);

-- Removes runs and the documents that only they referred to. Each statement sees what was committed before it.
CREATE FUNCTION tramline.remove_runs(gone text[], lock int8) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
    removed int8;
    opened int8;
    freed int8;
    orphaned int8;
BEGIN
    PERFORM pg_advisory_xact_lock(lock);
    PERFORM 1 FROM tramline.runs WHERE run = ANY(gone) ORDER BY run FOR UPDATE;
    SELECT count(*) FILTER (WHERE last > 0), coalesce(sum(bytes), 0),
        count(*) FILTER (WHERE last > 0 AND status < 3)
        INTO removed, freed, opened FROM tramline.runs WHERE run = ANY(gone);
    DELETE FROM tramline.chunks WHERE run = ANY(gone);
    DELETE FROM tramline.runs WHERE run = ANY(gone);
    WITH candidates AS (
        DELETE FROM tramline.referring WHERE run = ANY(gone) RETURNING digest
    ), orphans AS (
        DELETE FROM tramline.referred r USING (SELECT DISTINCT digest FROM candidates) c
        WHERE r.digest = c.digest AND NOT EXISTS (
            SELECT 1 FROM tramline.referring o WHERE o.digest = r.digest AND o.run <> ALL(gone)
        ) RETURNING length(r.body) AS size
    )
    SELECT coalesce(sum(size), 0) INTO orphaned FROM orphans;
    INSERT INTO tramline.usage AS u (writer, open, bytes) VALUES (0, -opened, -freed - orphaned)
        ON CONFLICT (writer) DO UPDATE SET open = u.open + excluded.open, bytes = u.bytes + excluded.bytes;
    RETURN removed;
END $$;
