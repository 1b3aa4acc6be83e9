-- Times are nanoseconds since 1970 everywhere. IDs compare byte by byte, as in
-- Go, whatever the collation of the database. The partition leads every key, so
-- that an engine which spreads tables over machines can do so by it.
--
-- There are no foreign keys: checking one locks the row it points to, which
-- would cost more than the insert. Every statement that inserts checks for the
-- run itself.

-- The database's clock.
CREATE FUNCTION perdure.now() RETURNS bigint LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint $$;

-- Ends a transaction because of what a statement found, without asking the
-- client, who has already sent the statements that follow.
CREATE FUNCTION perdure.refuse(code text, reason text) RETURNS bigint LANGUAGE plpgsql VOLATILE
AS $$ BEGIN RAISE EXCEPTION '%', reason USING ERRCODE = code; END $$;

-- The groups of nodes, and where their runs are.
CREATE TABLE perdure.node_groups (
    name  text COLLATE "C" PRIMARY KEY,
    first bigint NOT NULL UNIQUE -- the first of its partitions
);

-- Who owns a partition. Each commit locks the rows of its partitions in share
-- mode; who claims one locks it for update. Nothing else touches them.
CREATE TABLE perdure.partitions (
    id    bigint PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT 0,
    node  text COLLATE "C",         -- NULL: nobody owns it
    clock bigint NOT NULL DEFAULT 0 -- high-water mark of the clock at its claims
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE INDEX partitions_node ON perdure.partitions (node) WHERE node IS NOT NULL;

-- Counts what happens to nodes and owners, so that it can be told what came
-- first even if the clock goes back.
CREATE SEQUENCE perdure.moments;

-- Rises when a node joins or leaves or a partition is released, for those who
-- look instead of listening.
CREATE SEQUENCE perdure.changes;

-- Who has owned a partition under which epoch.
CREATE TABLE perdure.owners (
    partition bigint  NOT NULL,
    epoch     bigint  NOT NULL,
    node      text    COLLATE "C" NOT NULL,
    since     bigint  NOT NULL,
    over      bigint,                         -- the moment it ended, NULL while it lasts
    survived  boolean NOT NULL DEFAULT false, -- the node is known to have been alive after it
    PRIMARY KEY (partition, epoch)
);

CREATE INDEX owners_node ON perdure.owners (node);

-- The engines that have joined. A sign of life updates one row and no index.
CREATE TABLE perdure.nodes (
    id         text    COLLATE "C" PRIMARY KEY,
    ordinal    bigint  GENERATED ALWAYS AS IDENTITY,
    name       text    COLLATE "C" NOT NULL,
    node_group text    COLLATE "C" NOT NULL,
    lease      bigint  NOT NULL,
    supersede  boolean NOT NULL,
    joined     bigint  NOT NULL,
    seen       bigint  NOT NULL,               -- last sign of life
    alive      bigint  NOT NULL,               -- the moment of that
    expires    bigint  GENERATED ALWAYS AS (least(seen, 9223372036854775807 - lease) + lease) STORED,
    departed   bigint,                         -- NULL while it is a member
    draining   boolean NOT NULL DEFAULT false,
    last       bigint  NOT NULL DEFAULT 0,     -- the numbers of its latest renewal
    next       bigint  NOT NULL DEFAULT 0,
    clock      bigint  NOT NULL                -- high-water mark of the clock as its process knew it
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Of those who supersede their namesakes, one at a time is a member.
CREATE UNIQUE INDEX nodes_name ON perdure.nodes (node_group, name) WHERE supersede AND departed IS NULL;

-- Bytes are text: as they are if they are text, else in the notation of bytea,
-- "\x" and hexadecimal digits, which a cast to bytea reads. That way psql shows
-- what is in the tables.
CREATE TABLE perdure.runs (
    partition   bigint  NOT NULL,
    id          text    COLLATE "C" NOT NULL,
    workflow_id text    COLLATE "C" NOT NULL,
    latest      boolean NOT NULL DEFAULT true, -- the last run of its workflow ID
    type        text    COLLATE "C" NOT NULL,
    node_group  text    COLLATE "C" NOT NULL,
    chain       text    COLLATE "C" NOT NULL,
    attempt     bigint  NOT NULL,
    created     bigint  NOT NULL,
    status      text    COLLATE "C" NOT NULL,
    wake        bigint,                        -- NULL: never, 0: hot
    closed      bigint  NOT NULL,
    start       text    COLLATE "C" NOT NULL,
    detail      text    COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, id)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

CREATE UNIQUE INDEX runs_latest ON perdure.runs (partition, workflow_id) WHERE latest;
CREATE INDEX runs_wake ON perdure.runs (partition, wake) WHERE wake IS NOT NULL;
-- Most runs end well; whoever lists those finds them at the end of the table.
CREATE INDEX runs_status ON perdure.runs (partition, status, id) WHERE status <> 'completed';

-- History: one row a turn, never changed.
CREATE TABLE perdure.turns (
    partition bigint NOT NULL,
    run       text   COLLATE "C" NOT NULL,
    number    bigint NOT NULL,
    commit_id bigint NOT NULL,
    epoch     bigint NOT NULL,
    time      bigint NOT NULL,
    events    text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, run, number)
);

-- Calls that wait for something.
CREATE TABLE perdure.calls (
    partition bigint NOT NULL,
    run       text   COLLATE "C" NOT NULL,
    number    bigint NOT NULL,
    state     text   COLLATE "C" NOT NULL,
    name      text   COLLATE "C" NOT NULL,
    queue     text   COLLATE "C" NOT NULL,
    attempt   bigint NOT NULL,
    due       bigint NOT NULL, -- 0: none
    data      text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, run, number)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX calls_state ON perdure.calls (partition, state, due);

-- The ledger: one row for each closed attempt that is worth one.
CREATE TABLE perdure.attempts (
    partition  bigint NOT NULL,
    run        text   COLLATE "C" NOT NULL,
    call       bigint NOT NULL,
    number     bigint NOT NULL,
    name       text   COLLATE "C" NOT NULL,
    outcome    text   COLLATE "C" NOT NULL,
    error_type text   COLLATE "C" NOT NULL,
    reason     text   COLLATE "C" NOT NULL,
    started    bigint NOT NULL,
    ended      bigint NOT NULL,
    data       text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, run, call, number)
);

-- Messages that no turn has consumed yet. Their runs need not exist.
CREATE SEQUENCE perdure.messages;

CREATE TABLE perdure.inbox (
    partition   bigint NOT NULL,
    sequence    bigint NOT NULL DEFAULT nextval('perdure.messages'),
    workflow_id text   COLLATE "C" NOT NULL,
    run         text   COLLATE "C" NOT NULL, -- '': whichever is the latest
    key         text   COLLATE "C" NOT NULL,
    kind        text   COLLATE "C" NOT NULL,
    posted      bigint NOT NULL,
    data        text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, sequence),
    UNIQUE (partition, workflow_id, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
