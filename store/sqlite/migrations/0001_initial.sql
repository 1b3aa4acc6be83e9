-- The groups of nodes and where their runs are.
CREATE TABLE node_groups (
    name      TEXT    NOT NULL PRIMARY KEY,
    partition INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

-- One row a partition: who owns it, and the high-water marks of its clock and
-- of its message numbers, which are unique in all partitions. Times are
-- nanoseconds since 1970 everywhere.
CREATE TABLE partitions (
    id       INTEGER NOT NULL PRIMARY KEY,
    epoch    INTEGER NOT NULL DEFAULT 0,
    node     TEXT,                        -- NULL: nobody owns it
    clock    INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO node_groups (name, partition) VALUES ('', 0);
INSERT INTO partitions (id) VALUES (0);

-- Who has owned a partition under which epoch.
CREATE TABLE owners (
    partition INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    node      TEXT    NOT NULL,
    since     INTEGER NOT NULL,
    survived  INTEGER NOT NULL DEFAULT 0, -- 1: the node lived on when the epoch was over
    PRIMARY KEY (partition, epoch)
) STRICT, WITHOUT ROWID;

-- The engines that have joined. At most one of them has not left.
CREATE TABLE nodes (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    node_group TEXT    NOT NULL,
    lease      INTEGER NOT NULL,           -- ns, for people: nobody waits for it
    supersede  INTEGER NOT NULL,
    joined     INTEGER NOT NULL,
    seen       INTEGER NOT NULL,           -- last sign of life
    departed   INTEGER,                    -- NULL: it has not left, and nobody joined after it
    survived   INTEGER NOT NULL DEFAULT 0, -- 1: it lived when its membership was over
    draining   INTEGER NOT NULL DEFAULT 0,
    last       INTEGER NOT NULL DEFAULT 0, -- the numbers of its latest renewal
    next       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX nodes_departed ON nodes (departed) WHERE departed IS NULL;
CREATE INDEX nodes_joined ON nodes (joined);

-- Runs have rowids, as turns and attempts do: appending to a table and to its
-- index writes fewer pages than inserting into the middle of one wide tree.
-- Columns of type ANY hold text where the bytes are text, else a blob.
CREATE TABLE runs (
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
    PRIMARY KEY (partition, id)
) STRICT;

CREATE UNIQUE INDEX runs_latest ON runs (partition, workflow_id) WHERE latest = 1;
CREATE INDEX runs_wake ON runs (partition, wake, id) WHERE wake IS NOT NULL;
CREATE INDEX runs_status ON runs (partition, status, id);

-- History: one row a turn, never changed.
CREATE TABLE turns (
    partition INTEGER NOT NULL,
    run       TEXT    NOT NULL,
    number    INTEGER NOT NULL,
    commit_id INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    time      INTEGER NOT NULL,
    events    ANY,
    PRIMARY KEY (partition, run, number),
    FOREIGN KEY (partition, run) REFERENCES runs (partition, id)
) STRICT;

-- Calls that wait for something.
CREATE TABLE calls (
    partition INTEGER NOT NULL,
    run       TEXT    NOT NULL,
    number    INTEGER NOT NULL,
    state     TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    queue     TEXT    NOT NULL,
    attempt   INTEGER NOT NULL,
    due       INTEGER NOT NULL, -- 0: none
    data      ANY,
    PRIMARY KEY (partition, run, number),
    FOREIGN KEY (partition, run) REFERENCES runs (partition, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX calls_state ON calls (partition, state, due);

-- The ledger: one row for each closed attempt that is worth one.
CREATE TABLE attempts (
    partition  INTEGER NOT NULL,
    run        TEXT    NOT NULL,
    call       INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    error_type TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    started    INTEGER NOT NULL,
    ended      INTEGER NOT NULL,
    data       ANY,
    PRIMARY KEY (partition, run, call, number),
    FOREIGN KEY (partition, run) REFERENCES runs (partition, id)
) STRICT;

-- Messages that no turn has consumed yet. Their runs need not exist.
CREATE TABLE inbox (
    partition   INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    workflow_id TEXT    NOT NULL,
    run         TEXT    NOT NULL, -- '': whichever is the latest
    key         TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    posted      INTEGER NOT NULL,
    data        ANY,
    PRIMARY KEY (partition, sequence)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX inbox_key ON inbox (partition, workflow_id, key);

-- Facts about this database, for people and for later versions.
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES
    ('partitions', '1'),
    ('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
