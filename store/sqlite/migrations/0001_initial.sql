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
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    node_group  TEXT    NOT NULL,
    build       TEXT    NOT NULL DEFAULT '', -- names its code
    lease       INTEGER NOT NULL,            -- ns, for people: nobody waits for it
    supersede   INTEGER NOT NULL,
    joined      INTEGER NOT NULL,
    seen        INTEGER NOT NULL,            -- last sign of life
    departed    INTEGER,                     -- NULL: it has not left, and nobody joined after it
    superseded  INTEGER NOT NULL DEFAULT 0,  -- 1: it did not leave, the next one took its place
    survived    INTEGER NOT NULL DEFAULT 0,  -- 1: it lived when its membership was over
    draining    INTEGER NOT NULL DEFAULT 0,
    last        INTEGER NOT NULL DEFAULT 0,  -- the numbers of its latest renewal
    next        INTEGER NOT NULL DEFAULT 0,
    definitions TEXT    NOT NULL DEFAULT ''  -- the workflows and activities that its code has (JSON)
) STRICT;

CREATE INDEX nodes_departed ON nodes (departed) WHERE departed IS NULL;
CREATE INDEX nodes_joined ON nodes (joined);

-- Runs have rowids, as turns and attempts do: appending to a table and to its
-- index writes fewer pages than inserting into the middle of one wide tree.
-- Columns of type ANY hold text where the bytes are text, else a blob.
CREATE TABLE runs (
    seq         INTEGER PRIMARY KEY,
    partition   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    workflow_id TEXT    NOT NULL,
    latest      INTEGER NOT NULL,           -- 1: the last run of its workflow ID, else 0
    type        TEXT    NOT NULL,
    node_group  TEXT    NOT NULL,
    chain       TEXT    NOT NULL,
    attempt     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    priority    INTEGER NOT NULL DEFAULT 0, -- of its calls that want a slot, for those who list them
    run_key     TEXT    NOT NULL DEFAULT '', -- with which others it takes turns where they wait
    weight      INTEGER NOT NULL DEFAULT 0, -- of the key
    status      TEXT    NOT NULL,
    wake        INTEGER,                    -- NULL: never, 0: hot
    closed      INTEGER NOT NULL,
    is_full     INTEGER NOT NULL DEFAULT 0, -- 1: it has as many unread signals as it may, and is posted none
    start       ANY,
    detail      ANY,
    UNIQUE (partition, id)
) STRICT;

CREATE UNIQUE INDEX runs_latest ON runs (partition, workflow_id) WHERE latest = 1;
CREATE INDEX runs_wake ON runs (partition, wake, id) WHERE wake IS NOT NULL;
-- Runs in line that have a key, which have all the same wake time.
CREATE INDEX runs_line ON runs (partition, run_key, priority DESC, created, id) WHERE wake = -211669182486413311;
-- A run that ends well leaves this index: whoever lists those finds them at the end of the
-- table. A run at work is found by its wake time, which is 0: a short one that ends well
-- never enters this index, and who lists the runs that run asks both. The last column lets
-- runs be counted from the index alone.
CREATE INDEX runs_status ON runs (partition, status, id, (wake IS NOT 0)) WHERE status <> 'completed' AND (status <> 'running' OR wake IS NOT 0);

-- What somebody gave runs to find them by. The first key reads those with one value
-- from the newest on; the second finds what belongs to a run.
CREATE TABLE attributes (
    partition INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    value     TEXT    NOT NULL,
    run       TEXT    NOT NULL,
    PRIMARY KEY (partition, name, value, run),
    FOREIGN KEY (partition, run) REFERENCES runs (partition, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX attributes_run ON attributes (partition, run);

-- History: one row a turn, never changed. A turn names its run by a number: in the
-- key of a history, which grows with every turn, the ID of the run would be most of
-- what is written.
CREATE TABLE turns (
    run       INTEGER NOT NULL REFERENCES runs (seq),
    number    INTEGER NOT NULL,
    commit_id INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    time      INTEGER NOT NULL,
    events    ANY,
    PRIMARY KEY (run, number)
) STRICT;

-- Histories as people look for them.
CREATE VIEW histories AS
    SELECT r.partition, r.id AS run, r.workflow_id, t.number, t.commit_id, t.epoch, t.time, t.events
    FROM turns t JOIN runs r ON r.seq = t.run;

-- Calls that wait for something. Those that follow each other and are alike share a row.
CREATE TABLE calls (
    partition INTEGER NOT NULL,
    run       TEXT    NOT NULL,
    number    INTEGER NOT NULL, -- the last, if several share the row
    first     INTEGER NOT NULL, -- the first of several, 0: there is only one
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
CREATE INDEX calls_shared ON calls (partition, state) WHERE first <> 0;

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

-- The ledger across runs, by time.
CREATE INDEX attempts_ended ON attempts (partition, ended, run, call, number);
-- That of an activity or step.
CREATE INDEX attempts_name ON attempts (partition, name, ended, run, call, number);
-- Those that were lost with their processes: there are few, and each status shows them.
CREATE INDEX attempts_lost ON attempts (partition, ended, run, call, number) WHERE outcome = 'lost';

-- Counters of closed calls and of runs, by the hour or whatever span their bucket begins.
CREATE TABLE tallies (
    partition INTEGER NOT NULL,
    bucket    INTEGER NOT NULL,
    type      TEXT    NOT NULL, -- of the workflow
    name      TEXT    NOT NULL, -- of the activity or step; '': runs
    took      INTEGER NOT NULL, -- less than this, ns; 0: unknown
    started   INTEGER NOT NULL,
    first_try INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
    exhausted INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    canceled  INTEGER NOT NULL,
    by_hand   INTEGER NOT NULL,
    attempts  INTEGER NOT NULL,
    retrying  INTEGER NOT NULL, -- ns
    PRIMARY KEY (partition, bucket, type, name, took)
) STRICT, WITHOUT ROWID;

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

-- Attempts that are offered in queues, and who serves these.
CREATE TABLE tasks (
    partition   INTEGER NOT NULL,
    run         TEXT    NOT NULL,
    number      INTEGER NOT NULL, -- of the call
    attempt     INTEGER NOT NULL,
    workflow_id TEXT    NOT NULL,
    queue       TEXT    NOT NULL,
    name        TEXT    NOT NULL, -- of the activity
    run_key     TEXT    NOT NULL, -- with which others it takes turns
    weight      INTEGER NOT NULL, -- of the key
    priority    INTEGER NOT NULL,
    suspect     INTEGER NOT NULL, -- 1: its process died while it ran, 0 else
    offered     INTEGER NOT NULL,
    latest      INTEGER NOT NULL DEFAULT 0,  -- from then on nobody may claim it; 0: never
    worker      TEXT    NOT NULL DEFAULT '', -- who has claimed it
    claimed     INTEGER NOT NULL DEFAULT 0,
    settled     INTEGER NOT NULL DEFAULT 0,  -- 1: that one has said how it ended
    stopped     INTEGER NOT NULL DEFAULT 0,  -- 1: that one is asked to end it
    data        ANY,
    PRIMARY KEY (partition, run, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_open ON tasks (queue, suspect, run_key, priority DESC, offered) WHERE worker = '';
CREATE INDEX tasks_worker ON tasks (worker) WHERE worker <> '';

CREATE TABLE workers (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    node_group TEXT    NOT NULL,
    lease      INTEGER NOT NULL,
    serves     ANY,
    draining   INTEGER NOT NULL,
    departed   INTEGER NOT NULL, -- 1: it is there no more
    joined     INTEGER NOT NULL,
    seen       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What people switched off and on again in a group of nodes: the last entry of a
-- kind and name counts, the others say who did what before. A switch of the kind canary
-- gives a share of the runs that begin to nodes of the build that is its name. In a file
-- there is one node: nothing writes a share.
CREATE TABLE switches (
    node_group TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    kind       TEXT    NOT NULL, -- of what is switched: activity
    name       TEXT    NOT NULL,
    off        INTEGER NOT NULL,
    request    TEXT    NOT NULL, -- by which a repeated one is known
    by         TEXT    NOT NULL,
    why        TEXT    NOT NULL,
    time       INTEGER NOT NULL,
    share      INTEGER NOT NULL DEFAULT 0, -- in ten-thousandths
    lasts      INTEGER NOT NULL DEFAULT 0, -- ns, after which an activity is on again by itself; 0: for ever
    PRIMARY KEY (node_group, number),
    UNIQUE (node_group, request)
) STRICT;

-- Facts about this database, for people and for later versions.
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES
    ('partitions', '1'),
    ('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
