-- The share of the runs that begin which a switch of the kind canary gives to nodes of the
-- build that is its name, in ten-thousandths. In a file there is one node: nothing writes it.
ALTER TABLE switches ADD COLUMN share INTEGER NOT NULL DEFAULT 0;
