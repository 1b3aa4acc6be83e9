package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Delete(ctx context.Context, d store.Deletion) (int, error) {
	if err := h.writeChecked(ctx, d.Validate(h.db.info)); err != nil {
		return 0, err
	}
	defer h.done()
	db, deleted := h.db, 0
	if p := db.partition(d.Partition); p != nil {
		for _, id := range d.Runs {
			if r := p.runs[id]; r != nil && !r.row.Status.Open() {
				db.delete(p, r)
				deleted++
			}
		}
		for key := range p.tallies {
			if key.Bucket < d.TalliesBefore {
				delete(p.tallies, key)
			}
		}
	}
	log := db.switches[d.Group]
	db.switches[d.Group] = slices.DeleteFunc(slices.Clone(log), func(s store.Switch) bool {
		return s.Time < d.SwitchesBefore && slices.ContainsFunc(log, func(later store.Switch) bool {
			return later.Kind == s.Kind && later.Name == s.Name && later.Number > s.Number
		})
	})
	return deleted, nil
}

// delete deletes a run and everything that belongs to it.
func (db *Database) delete(p *partition, r *run) {
	for i := range r.attempts {
		db.ledger.remove(ledgerKey{r.attempts[i].Key(), p.id})
	}
	for _, m := range slices.Clone(p.inbox) {
		if m.Run == r.row.ID {
			p.consume(m.Sequence)
		}
	}
	maps.DeleteFunc(p.tasks, func(k taskKey, _ *store.Task) bool { return k.run == r.row.ID })
	db.removeRow(p, r)
}

// removeRow deletes the row of a run, with its history and its calls.
func (db *Database) removeRow(p *partition, r *run) {
	p.setWake(r.row.ID, r.row.Wake, store.Never)
	if p.latest[r.row.WorkflowID] == r {
		delete(p.latest, r.row.WorkflowID)
	}
	delete(p.runs, r.row.ID)
	db.runs.remove(runKey{r.row.ID, p.id})
}
