-- 1: the run has as many unread signals as it may, and is posted none.
ALTER TABLE runs ADD COLUMN is_full INTEGER NOT NULL DEFAULT 0;
