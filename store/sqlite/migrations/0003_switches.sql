-- What people switched off and on again in a group of nodes: the last entry of a
-- kind and name counts, the others say who did what before.
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
    PRIMARY KEY (node_group, number),
    UNIQUE (node_group, request)
) STRICT;
