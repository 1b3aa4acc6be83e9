-- What somebody gave runs to find them by. The first key reads those with one value
-- from the newest on; the second finds what belongs to a run.
CREATE TABLE perdure.attributes (
    partition bigint NOT NULL,
    name      text   COLLATE "C" NOT NULL,
    value     text   COLLATE "C" NOT NULL,
    run       text   COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, name, value, run)
);

CREATE INDEX attributes_run ON perdure.attributes (partition, run);
