-- The run has as many unread signals as it may, and is posted none.
ALTER TABLE perdure.runs ADD COLUMN is_full boolean NOT NULL DEFAULT false;
