-- The share of the runs that begin which a switch of the kind canary gives to nodes of the
-- build that is its name, in ten-thousandths.
ALTER TABLE perdure.switches ADD COLUMN share integer NOT NULL DEFAULT 0;
