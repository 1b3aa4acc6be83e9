-- The ledger across runs, by time.
CREATE INDEX attempts_ended ON attempts (partition, ended, run, call, number);

-- Counters of closed calls, by the hour or whatever span their bucket begins.
CREATE TABLE tallies (
    partition INTEGER NOT NULL,
    bucket    INTEGER NOT NULL,
    type      TEXT    NOT NULL, -- of the workflow
    name      TEXT    NOT NULL, -- of the activity or step
    first_try INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
    exhausted INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    canceled  INTEGER NOT NULL,
    by_hand   INTEGER NOT NULL,
    attempts  INTEGER NOT NULL,
    retrying  INTEGER NOT NULL, -- ns
    PRIMARY KEY (partition, bucket, type, name)
) STRICT, WITHOUT ROWID;
