-- The ledger across runs, by time.
CREATE INDEX attempts_ended ON perdure.attempts (partition, ended, run, call, number);

-- Counters of closed calls, by the hour or whatever span their bucket begins.
-- They are updated often and no index has to know.
CREATE TABLE perdure.tallies (
    partition bigint NOT NULL,
    bucket    bigint NOT NULL,
    type      text   COLLATE "C" NOT NULL, -- of the workflow
    name      text   COLLATE "C" NOT NULL, -- of the activity or step
    first_try bigint NOT NULL,
    recovered bigint NOT NULL,
    exhausted bigint NOT NULL,
    failed    bigint NOT NULL,
    canceled  bigint NOT NULL,
    by_hand   bigint NOT NULL,
    attempts  bigint NOT NULL,
    retrying  bigint NOT NULL, -- ns
    PRIMARY KEY (partition, bucket, type, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 1000);
