-- A run at work is found by its wake time, which is 0: a short one that ends well never
-- enters the index by status. Who lists the runs that run asks both indexes. The last
-- column lets runs be counted from the index alone.
DROP INDEX runs_status;
CREATE INDEX runs_status ON runs (partition, status, id, (wake IS NOT 0)) WHERE status <> 'completed' AND (status <> 'running' OR wake IS NOT 0);
