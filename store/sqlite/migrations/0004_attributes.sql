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
