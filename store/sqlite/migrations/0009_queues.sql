-- Attempts that are offered in queues, and who serves these.
CREATE TABLE tasks (
    partition   INTEGER NOT NULL,
    run         TEXT    NOT NULL,
    number      INTEGER NOT NULL, -- of the call
    attempt     INTEGER NOT NULL,
    workflow_id TEXT    NOT NULL,
    queue       TEXT    NOT NULL,
    name        TEXT    NOT NULL, -- of the activity
    priority    INTEGER NOT NULL,
    suspect     INTEGER NOT NULL, -- 1: its process died while it ran, 0 else
    offered     INTEGER NOT NULL,
    worker      TEXT    NOT NULL DEFAULT '', -- who has claimed it
    claimed     INTEGER NOT NULL DEFAULT 0,
    settled     INTEGER NOT NULL DEFAULT 0,  -- 1: that one has said how it ended
    stopped     INTEGER NOT NULL DEFAULT 0,  -- 1: that one is asked to end it
    data        ANY,
    PRIMARY KEY (partition, run, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_open ON tasks (queue, suspect, priority DESC, offered) WHERE worker = '';
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
