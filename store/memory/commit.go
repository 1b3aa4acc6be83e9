package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	if err := h.write(ctx); err != nil {
		return store.Result{}, err
	}
	defer h.done()
	db := h.db
	now := db.clock()
	result := store.Result{Now: now, Errors: make([]error, len(turns))}
	for i := range turns {
		t := &turns[i]
		if err := t.Validate(db.info); err != nil {
			result.Errors[i] = err
			continue
		}
		p := db.partition(t.Partition)
		if p == nil {
			result.Errors[i] = store.ErrFenced // it does not exist, so it has no owner
			continue
		}
		if p.holds(t) {
			result.Now = max(result.Now, p.tick(now))
		}
		result.Errors[i] = db.commit(p, t)
	}
	return result, nil
}

// commit makes one turn durable, or refuses it and changes nothing.
func (db *Database) commit(p *partition, t *store.Turn) error {
	durable, create, err := p.check(t)
	if durable || err != nil {
		return err
	}
	if create && !db.hasPast(t.Create.Base) {
		return store.ErrNotFound
	}
	for i := range t.Messages {
		if to := t.Messages[i].Partition; db.partition(to) == nil {
			return store.NoPartition(to)
		}
	}
	if !p.undisputed(t) {
		return store.ErrClaimed
	}
	if t.Hook != nil {
		// The hook cannot tell whether it runs before or after the rows are written. It runs
		// before, so there is nothing to undo. Readers continue meanwhile, because only other
		// writers have to wait.
		if err := db.unlocked(func() error { return t.RunHook(nil) }); err != nil {
			return err
		}
	}
	db.apply(p, t, create)
	return nil
}

// unlocked runs f with the data unlocked. Other writers still wait.
func (db *Database) unlocked(f func() error) error {
	db.mu.Unlock()
	defer db.mu.Lock()
	return f()
}

// check reports whether the turn is durable already, and if it may be applied, whether its run
// has to be inserted.
func (p *partition) check(t *store.Turn) (durable, create bool, err error) {
	r := p.runs[t.Run]
	taken := false
	if r != nil && t.Number > 0 {
		at, found := r.findTurn(t.Number)
		if found && r.turns[at].CommitID == t.CommitID {
			return true, false, nil
		}
		taken = found
	}
	if t.Create != nil && t.Number == 0 {
		if known := p.runs[t.Create.ID]; known != nil && known.row.WorkflowID == t.Create.WorkflowID {
			return true, false, nil
		}
	}
	if !p.holds(t) {
		return false, false, store.ErrFenced
	}
	if taken {
		return false, false, store.ErrStale
	}
	own := t.CreatesItsRun()
	if r == nil && !own && t.NeedsRun() {
		return false, false, store.ErrNotFound
	}
	if t.Create != nil {
		exists, err := p.placeable(t.Create, t.Run, t.State)
		if err != nil {
			return false, false, err
		}
		create = !exists
	}
	return false, create, nil
}

// apply writes a turn that check has accepted.
func (db *Database) apply(p *partition, t *store.Turn, create bool) {
	if create {
		row := *t.Create
		if row.Ward = t.Ward; !row.Status.Open() {
			row.Ward = 0
		}
		db.insert(p, row)
	}
	if r := p.runs[t.Run]; r != nil {
		p.applyRun(r, t)
		db.applyAttempts(p, r, t)
		db.applyTasks(p, t, p.clock)
		if t.Remove && r.row.Status == store.Standing {
			db.removeRow(p, r)
		}
	}
	for i := range t.Tallies {
		p.count(&t.Tallies[i])
	}
	for _, sequence := range t.Consumed {
		p.consume(sequence)
	}
	for _, m := range t.Messages {
		to := db.partitions[m.Partition]
		to.tick(p.clock)
		db.deliver(to, m)
	}
	if len(t.Messages) > 0 {
		db.announce(store.NewsMessage)
	}
}

func (p *partition) applyRun(r *run, t *store.Turn) {
	if t.State != nil {
		p.setState(r, *t.State)
	}
	if t.Attributes != nil {
		r.has = store.SortAttributes(*t.Attributes)
	}
	if t.Number > 0 {
		at, _ := r.findTurn(t.Number)
		r.turns = slices.Insert(r.turns, at, store.TurnRow{Number: t.Number, CommitID: t.CommitID, Epoch: t.Epoch, Time: t.Time, Events: t.Events})
	}
	for _, c := range t.Calls {
		c.Partition, c.Run = p.id, t.Run
		if at, found := r.findCall(c.Number); found {
			r.calls[at] = c
		} else {
			r.calls = slices.Insert(r.calls, at, c)
		}
	}
	for _, number := range t.Closed {
		if at, found := r.findCall(number); found {
			r.calls = slices.Delete(r.calls, at, at+1)
		}
	}
}
