-- A turn names its run by a number: in the key of a history, which grows with every
-- turn, the ID of the run was most of what is written. Of the index by status a run
-- that ends well leaves: whoever lists those finds them at the end of the table.
PRAGMA defer_foreign_keys = ON;

CREATE TABLE runs_before AS SELECT rowid AS seq, * FROM runs;
ALTER TABLE turns RENAME TO turns_before;
DROP TABLE runs;

-- Columns of type ANY hold text where the bytes are text, else a blob.
CREATE TABLE runs (
    seq         INTEGER PRIMARY KEY,
    partition   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    workflow_id TEXT    NOT NULL,
    latest      INTEGER NOT NULL, -- 1: the last run of its workflow ID, else 0
    type        TEXT    NOT NULL,
    node_group  TEXT    NOT NULL,
    chain       TEXT    NOT NULL,
    attempt     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    wake        INTEGER,          -- NULL: never, 0: hot
    closed      INTEGER NOT NULL,
    start       ANY,
    detail      ANY,
    priority    INTEGER NOT NULL DEFAULT 0, -- of its calls that want a slot, for those who list them
    is_full     INTEGER NOT NULL DEFAULT 0, -- 1: it has as many unread signals as it may
    UNIQUE (partition, id)
) STRICT;

INSERT INTO runs (seq, partition, id, workflow_id, latest, type, node_group, chain, attempt, created, status, wake, closed, start, detail, priority, is_full)
    SELECT seq, partition, id, workflow_id, latest, type, node_group, chain, attempt, created, status, wake, closed, start, detail, priority, is_full
    FROM runs_before ORDER BY seq;
DROP TABLE runs_before;

CREATE UNIQUE INDEX runs_latest ON runs (partition, workflow_id) WHERE latest = 1;
CREATE INDEX runs_wake ON runs (partition, wake, id) WHERE wake IS NOT NULL;
CREATE INDEX runs_status ON runs (partition, status, id) WHERE status <> 'completed';

-- History: one row a turn, never changed. It has a rowid, as the ledger has:
-- appending to a table and to its index writes fewer pages than inserting into the
-- middle of one wide tree.
CREATE TABLE turns (
    run       INTEGER NOT NULL REFERENCES runs (seq),
    number    INTEGER NOT NULL,
    commit_id INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    time      INTEGER NOT NULL,
    events    ANY,
    PRIMARY KEY (run, number)
) STRICT;

INSERT INTO turns (run, number, commit_id, epoch, time, events)
    SELECT r.seq, t.number, t.commit_id, t.epoch, t.time, t.events
    FROM turns_before t JOIN runs r ON r.partition = t.partition AND r.id = t.run ORDER BY t.rowid;
DROP TABLE turns_before;

-- Histories as people look for them.
CREATE VIEW histories AS
    SELECT r.partition, r.id AS run, r.workflow_id, t.number, t.commit_id, t.epoch, t.time, t.events
    FROM turns t JOIN runs r ON r.seq = t.run;
