-- Among runs that want a slot, higher goes first. For those who list them: the engine
-- reads it in the start event.
ALTER TABLE runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
