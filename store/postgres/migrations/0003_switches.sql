-- What people switched off and on again in a group of nodes: the last entry of a
-- kind and name counts, the others say who did what before.
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
    PRIMARY KEY (node_group, number),
    UNIQUE (node_group, request)
);
