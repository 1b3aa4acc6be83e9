-- Attempts that are offered in queues. A claim and the word of an attempt's end update a
-- row that lives as long as the attempt.
CREATE TABLE perdure.tasks (
    partition   bigint  NOT NULL,
    run         text    COLLATE "C" NOT NULL,
    number      bigint  NOT NULL, -- of the call
    attempt     bigint  NOT NULL,
    workflow_id text    COLLATE "C" NOT NULL,
    queue       text    COLLATE "C" NOT NULL,
    name        text    COLLATE "C" NOT NULL, -- of the activity
    priority    bigint  NOT NULL,
    suspect     boolean NOT NULL, -- its process died while it ran
    offered     bigint  NOT NULL,
    worker      text    COLLATE "C" NOT NULL DEFAULT '', -- who has claimed it
    claimed     bigint  NOT NULL DEFAULT 0,
    settled     boolean NOT NULL DEFAULT false, -- that one has said how it ended
    stopped     boolean NOT NULL DEFAULT false, -- that one is asked to end it
    data        text    COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, run, number)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX tasks_open ON perdure.tasks (queue, suspect, priority DESC, offered) WHERE worker = '';
CREATE INDEX tasks_worker ON perdure.tasks (worker) WHERE worker <> '';

-- Who serves queues. A sign of life updates one row and no index.
CREATE TABLE perdure.workers (
    id         text    COLLATE "C" PRIMARY KEY,
    name       text    COLLATE "C" NOT NULL,
    node_group text    COLLATE "C" NOT NULL,
    lease      bigint  NOT NULL,
    serves     text    COLLATE "C" NOT NULL,
    draining   boolean NOT NULL,
    departed   boolean NOT NULL,
    joined     bigint  NOT NULL,
    seen       bigint  NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
