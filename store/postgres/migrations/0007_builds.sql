-- Whose code a node runs, and which definitions that registered (JSON). A process that
-- cannot say, because it is of an earlier version, joins no more: what later versions do
-- with runs it would not respect. One that is a member stays one.
ALTER TABLE perdure.nodes ADD COLUMN build text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE perdure.nodes ALTER COLUMN build DROP DEFAULT;
ALTER TABLE perdure.nodes ADD COLUMN definitions text COLLATE "C" NOT NULL DEFAULT '';
