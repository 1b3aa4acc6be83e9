-- Where a run is worked on: 0 at home, by the owner of its partition, else in the ward of
-- the node with this ordinal. A ward is one more row of partitions: its id is that of its
-- partition, with the ordinal above the lowest 32 bits. Its owners are recorded with those
-- of the partition. Only runs that are open are in wards.
ALTER TABLE perdure.runs ADD COLUMN ward bigint NOT NULL DEFAULT 0;
CREATE INDEX runs_ward ON perdure.runs (partition, workflow_id) WHERE ward <> 0;
-- A process of an earlier version would work on runs that are elsewhere: it joins no more.
-- While one is a member that joined before, no run moves.
ALTER TABLE perdure.nodes ADD COLUMN wards boolean NOT NULL DEFAULT false;
ALTER TABLE perdure.nodes ALTER COLUMN wards DROP DEFAULT;
