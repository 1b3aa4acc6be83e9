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

-- Columns of run IDs are bytes. A UUID is its 16 bytes; the name of a gate, of a schedule or
-- of another entity follows a zero byte, with one more behind it where that makes 16. These
-- functions translate, for people and their queries:
--
--     SELECT perdure.run_id(run), number, events FROM perdure.turns
--     WHERE run = perdure.run_bytes('0198c1d2-73f1-7b6e-9a51-2f0d6c3b8e47');
CREATE FUNCTION perdure.run_id(run bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT CASE WHEN length(run) = 16 THEN encode(run, 'hex')::uuid::text ELSE convert_from(btrim(run, '\x00'), 'UTF8') END $$;

CREATE FUNCTION perdure.run_bytes(id text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT CASE
    WHEN id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN decode(replace(id, '-', ''), 'hex')
    WHEN id = '' THEN ''
    WHEN octet_length(id) = 15 THEN '\x00' || convert_to(id, 'UTF8') || '\x00'
    ELSE '\x00' || convert_to(id, 'UTF8')
END $$;

-- The groups of nodes, and where their runs are.
CREATE TABLE perdure.node_groups (
    name  text COLLATE "C" PRIMARY KEY,
    first bigint NOT NULL UNIQUE -- the first of its partitions
);

-- Who owns a partition. Each commit locks the rows of its partitions in share
-- mode; who claims one locks it for update. Nothing else touches them.
--
-- A ward, in which a node works on runs of a partition that another one owns, is one
-- more row: its id is that of its partition, with the ordinal of the node above the
-- lowest 32 bits. The owners of wards are recorded with those of the partition.
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
    id          text    COLLATE "C" PRIMARY KEY,
    ordinal     bigint  GENERATED ALWAYS AS IDENTITY,
    name        text    COLLATE "C" NOT NULL,
    node_group  text    COLLATE "C" NOT NULL,
    build       text    COLLATE "C" NOT NULL,    -- names its code
    lease       bigint  NOT NULL,
    supersede   boolean NOT NULL,
    wards       boolean NOT NULL,                -- it can work in wards: its numbers have 64 bits
    joined      bigint  NOT NULL,
    seen        bigint  NOT NULL,                -- last sign of life
    alive       bigint  NOT NULL,                -- the moment of that
    expires     bigint  GENERATED ALWAYS AS (least(seen, 9223372036854775807 - lease) + lease) STORED,
    departed    bigint,                          -- NULL while it is a member
    superseded  boolean NOT NULL DEFAULT false,  -- it did not leave: another took its name
    draining    boolean NOT NULL DEFAULT false,
    last        bigint  NOT NULL DEFAULT 0,      -- the numbers of its latest renewal
    next        bigint  NOT NULL DEFAULT 0,
    clock       bigint  NOT NULL,                -- high-water mark of the clock as its process knew it
    definitions text    COLLATE "C" NOT NULL DEFAULT '' -- the workflows and activities that its code has (JSON)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Of those who supersede their namesakes, one at a time is a member.
CREATE UNIQUE INDEX nodes_name ON perdure.nodes (node_group, name) WHERE supersede AND departed IS NULL;

-- Bytes are text: as they are if they are text, else in the notation of bytea,
-- "\x" and hexadecimal digits, which a cast to bytea reads. That way psql shows
-- what is in the tables.
CREATE TABLE perdure.runs (
    partition   bigint  NOT NULL,
    id          bytea   NOT NULL,
    workflow_id text    COLLATE "C" NOT NULL,
    latest      boolean NOT NULL DEFAULT true,  -- the last run of its workflow ID
    type        text    COLLATE "C" NOT NULL,
    node_group  text    COLLATE "C" NOT NULL,
    chain       bytea   NOT NULL,               -- the first run of those that follow each other
    attempt     bigint  NOT NULL,
    created     bigint  NOT NULL,
    priority    bigint  NOT NULL DEFAULT 0,     -- of its calls that want a slot, for those who list them
    run_key     text    COLLATE "C" NOT NULL DEFAULT '', -- with which others it takes turns where they wait
    weight      bigint  NOT NULL DEFAULT 0,     -- of the key
    status      text    COLLATE "C" NOT NULL,
    wake        bigint,                         -- NULL: never, 0: hot
    closed      bigint  NOT NULL,
    ward        bigint  NOT NULL DEFAULT 0,     -- where an open run is worked on: 0 at home, by the owner of its partition
    is_full     boolean NOT NULL DEFAULT false, -- it has as many unread signals as it may, and is posted none
    start       text    COLLATE "C" NOT NULL,
    detail      text    COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, id)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

CREATE UNIQUE INDEX runs_latest ON perdure.runs (partition, workflow_id) WHERE latest;
CREATE INDEX runs_wake ON perdure.runs (partition, wake) WHERE wake IS NOT NULL;
-- Runs in line that have a key, which have all the same wake time.
CREATE INDEX runs_line ON perdure.runs (partition, run_key, priority DESC, created, id) WHERE wake = -211669182486413311;
-- Most runs end well; whoever lists those finds them at the end of the table.
CREATE INDEX runs_status ON perdure.runs (partition, status, id) WHERE status <> 'completed';
CREATE INDEX runs_ward ON perdure.runs (partition, workflow_id) WHERE ward <> 0;

-- What somebody gave runs to find them by. The first key reads those with one value
-- from the newest on; the second finds what belongs to a run.
CREATE TABLE perdure.attributes (
    partition bigint NOT NULL,
    name      text   COLLATE "C" NOT NULL,
    value     text   COLLATE "C" NOT NULL,
    run       bytea  NOT NULL,
    PRIMARY KEY (partition, name, value, run)
);

CREATE INDEX attributes_run ON perdure.attributes (partition, run);

-- History: one row a turn, never changed.
CREATE TABLE perdure.turns (
    partition bigint NOT NULL,
    run       bytea  NOT NULL,
    number    bigint NOT NULL,
    commit_id bigint NOT NULL,
    epoch     bigint NOT NULL,
    time      bigint NOT NULL,
    events    text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, run, number)
);

-- Calls that wait for something. Those that follow each other and are alike share a row.
CREATE TABLE perdure.calls (
    partition bigint NOT NULL,
    run       bytea  NOT NULL,
    number    bigint NOT NULL, -- the last, if several share the row
    first     bigint NOT NULL, -- the first of several, 0: there is only one
    state     text   COLLATE "C" NOT NULL,
    name      text   COLLATE "C" NOT NULL,
    queue     text   COLLATE "C" NOT NULL,
    attempt   bigint NOT NULL,
    due       bigint NOT NULL, -- 0: none
    data      text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, run, number)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX calls_state ON perdure.calls (partition, state, due);
CREATE INDEX calls_shared ON perdure.calls (partition, state) WHERE first <> 0;

-- The ledger: one row for each closed attempt that is worth one.
CREATE TABLE perdure.attempts (
    partition  bigint NOT NULL,
    run        bytea  NOT NULL,
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

-- The ledger across runs, by time.
CREATE INDEX attempts_ended ON perdure.attempts (partition, ended, run, call, number);
-- That of an activity or step.
CREATE INDEX attempts_name ON perdure.attempts (partition, name, ended, run, call, number);
-- Those that were lost with their processes: there are few, and each status shows them.
CREATE INDEX attempts_lost ON perdure.attempts (partition, ended, run, call, number) WHERE outcome = 'lost';

-- Counters of closed calls and of runs, by the hour or whatever span their bucket begins.
-- They are updated often and no index has to know.
CREATE TABLE perdure.tallies (
    partition bigint NOT NULL,
    bucket    bigint NOT NULL,
    type      text   COLLATE "C" NOT NULL, -- of the workflow
    name      text   COLLATE "C" NOT NULL, -- of the activity or step; '': runs
    took      bigint NOT NULL, -- less than this, ns; 0: unknown
    started   bigint NOT NULL,
    first_try bigint NOT NULL,
    recovered bigint NOT NULL,
    exhausted bigint NOT NULL,
    failed    bigint NOT NULL,
    canceled  bigint NOT NULL,
    by_hand   bigint NOT NULL,
    attempts  bigint NOT NULL,
    retrying  bigint NOT NULL, -- ns
    PRIMARY KEY (partition, bucket, type, name, took)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 1000);

-- Messages that no turn has consumed yet. Their runs need not exist.
CREATE SEQUENCE perdure.messages;

CREATE TABLE perdure.inbox (
    partition   bigint NOT NULL,
    sequence    bigint NOT NULL DEFAULT nextval('perdure.messages'),
    workflow_id text   COLLATE "C" NOT NULL,
    run         bytea  NOT NULL, -- '': whichever is the latest
    key         text   COLLATE "C" NOT NULL,
    kind        text   COLLATE "C" NOT NULL,
    posted      bigint NOT NULL,
    data        text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, sequence),
    UNIQUE (partition, workflow_id, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Attempts that are offered in queues. A claim and the word of an attempt's end update a
-- row that lives as long as the attempt.
CREATE TABLE perdure.tasks (
    partition   bigint  NOT NULL,
    run         bytea   NOT NULL,
    number      bigint  NOT NULL, -- of the call
    attempt     bigint  NOT NULL,
    workflow_id text    COLLATE "C" NOT NULL,
    queue       text    COLLATE "C" NOT NULL,
    name        text    COLLATE "C" NOT NULL, -- of the activity
    run_key     text    COLLATE "C" NOT NULL, -- with which others it takes turns
    weight      bigint  NOT NULL, -- of the key
    priority    bigint  NOT NULL,
    suspect     boolean NOT NULL, -- its process died while it ran
    offered     bigint  NOT NULL,
    latest      bigint  NOT NULL DEFAULT 0, -- from then on nobody may claim it; 0: never
    worker      text    COLLATE "C" NOT NULL DEFAULT '', -- who has claimed it
    claimed     bigint  NOT NULL DEFAULT 0,
    settled     boolean NOT NULL DEFAULT false, -- that one has said how it ended
    stopped     boolean NOT NULL DEFAULT false, -- that one is asked to end it
    data        text    COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, run, number)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX tasks_open ON perdure.tasks (queue, suspect, run_key, priority DESC, offered) WHERE worker = '';
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

-- What people switched off and on again in a group of nodes: the last entry of a
-- kind and name counts, the others say who did what before. A switch of the kind canary
-- gives a share of the runs that begin to nodes of the build that is its name.
CREATE TABLE perdure.switches (
    node_group text    COLLATE "C" NOT NULL,
    number     bigint  NOT NULL,
    kind       text    COLLATE "C" NOT NULL, -- of what is switched: activity
    name       text    COLLATE "C" NOT NULL,
    off        boolean NOT NULL,
    request    text    COLLATE "C" NOT NULL, -- by which a repeated one is known
    by         text    COLLATE "C" NOT NULL,
    why        text    COLLATE "C" NOT NULL,
    time       bigint  NOT NULL,
    share      integer NOT NULL DEFAULT 0, -- in ten-thousandths
    lasts      bigint  NOT NULL DEFAULT 0, -- ns, after which an activity is on again by itself; 0: for ever
    PRIMARY KEY (node_group, number),
    UNIQUE (node_group, request)
);
