package postgres

import "github.com/perdure/perdure/store"

// insertBases copies the histories with which new runs begin. They are few, so each has
// statements of its own. A base whose turns are gone raises an error.
func (b *batch) insertBases(runs []*store.Run) {
	for _, r := range runs {
		base := r.Base
		if base == nil {
			continue
		}
		if base.Turns > 0 {
			b.do(`WITH copied AS (INSERT INTO perdure.turns (partition, run, number, commit_id, epoch, time, events)
					SELECT $1, $2, number, commit_id, 0, time, events FROM perdure.turns
					WHERE partition = $3 AND run = $4 AND number <= $5 RETURNING 1)
				SELECT CASE WHEN count(*) <> $5 THEN perdure.refuse('`+unheardOf+`', 'the history to begin with is not there') END FROM copied`,
				r.Partition, runID(r.ID), base.Partition, runID(base.Run), base.Turns)
		}
		last := &base.Last
		b.insertTurns([]*store.Turn{{
			Partition: r.Partition, Run: r.ID, Number: last.Number, CommitID: last.CommitID, Epoch: last.Epoch, Time: last.Time, Events: last.Events,
		}})
	}
}
