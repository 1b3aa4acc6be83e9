-- Whose code a node runs, and which definitions that registered (JSON).
ALTER TABLE nodes ADD COLUMN build TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN definitions TEXT NOT NULL DEFAULT '';
