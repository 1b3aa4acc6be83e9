-- Among runs that want a slot, higher goes first. For those who list them: the engine
-- reads it in the start event.
ALTER TABLE perdure.runs ADD COLUMN priority bigint NOT NULL DEFAULT 0;
