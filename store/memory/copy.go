package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Sealed(ctx context.Context) (store.Seal, error) {
	if err := h.read(ctx); err != nil {
		return store.Seal{}, err
	}
	defer h.db.mu.RUnlock()
	return h.db.seal, nil
}

func (h *handle) Seal(ctx context.Context, before, after store.Seal, rows *store.Rows) error {
	if err := store.CheckSeal(before, after, rows); err != nil {
		return err
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	switch db.seal {
	case after:
		return nil
	case before:
	default:
		return store.ErrStale
	}
	if live := db.liveName(); live != "" && after.Closed() && !before.Closed() {
		return &store.InUseError{Location: db.info.Location, Holder: live}
	}
	if rows != nil {
		if err := db.checkNew(rows); err != nil {
			return err
		}
		db.insertRows(rows)
	}
	db.seal = after
	return nil
}

// liveName returns the name of a live node or worker, "" if there is none.
func (db *Database) liveName() string {
	now := db.clock()
	for _, m := range db.nodes {
		if m.live(now) {
			return cmp.Or(m.Name, m.ID)
		}
	}
	for _, w := range db.workers {
		if w.live(now) {
			return cmp.Or(w.Name, w.ID)
		}
	}
	return ""
}

// checkNew returns an error if one of the rows cannot be inserted.
func (db *Database) checkNew(rows *store.Rows) error {
	for i := range rows.Runs {
		r := &rows.Runs[i].Run
		p := db.partition(r.Partition)
		switch {
		case p == nil:
			return store.NoPartition(r.Partition)
		case p.runs[r.ID] != nil:
			return fmt.Errorf("run %q exists already", r.ID)
		case r.Latest && p.latest[r.WorkflowID] != nil:
			return fmt.Errorf("workflow ID %q is taken by run %s", r.WorkflowID, p.latest[r.WorkflowID].row.ID)
		}
	}
	return nil
}

func (db *Database) insertRows(rows *store.Rows) {
	if f := rows.Facts; f != nil {
		db.secret, db.mark = slices.Clone(f.Secret), f.Codecs
		for _, p := range db.partitions {
			p.tick(f.Clock)
		}
	}
	for i := range rows.Runs {
		w := &rows.Runs[i]
		p := db.partition(w.Run.Partition)
		r := &run{row: w.Run, has: store.SortAttributes(w.Run.Attributes), turns: w.Turns, calls: w.Calls, attempts: w.Attempts}
		r.row.Attributes = nil
		p.runs[r.row.ID] = r
		if r.row.Latest {
			p.latest[r.row.WorkflowID] = r
		}
		p.setWake(r.row.ID, store.Never, r.row.Wake)
		db.runs.insert(runKey{r.row.ID, p.id})
		for i := range r.calls {
			r.calls[i].Partition, r.calls[i].Run = p.id, r.row.ID
		}
		for i := range r.attempts {
			r.attempts[i].Partition, r.attempts[i].Run = p.id, r.row.ID
			db.ledger.insert(ledgerKey{r.attempts[i].Key(), p.id})
		}
		for _, t := range w.Tasks {
			t.Partition, t.Run = p.id, r.row.ID
			p.tasks[taskKey{t.Run, t.Number}] = &t
		}
	}
	for _, m := range rows.Messages {
		p, posted := db.partition(m.Partition), m.Posted
		db.deliver(p, m)
		p.inbox[len(p.inbox)-1].Posted = posted
	}
	for i := range rows.Tallies {
		db.partition(rows.Tallies[i].Partition).count(&rows.Tallies[i])
	}
	for _, s := range rows.Switches {
		db.switches[s.Group] = append(db.switches[s.Group], s)
	}
}

func (h *handle) Export(ctx context.Context, after store.Cursor, limit int) (*store.Rows, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	db, rows := h.db, &store.Rows{Next: after.Part.Follow()}
	switch after.Part {
	case store.CopyFacts:
		f := &store.Facts{Secret: slices.Clone(db.secret), Codecs: db.mark}
		for _, name := range slices.Sorted(maps.Keys(db.groups)) {
			f.Groups = append(f.Groups, db.groups[name])
		}
		for _, p := range db.partitions {
			f.Clock = max(f.Clock, p.clock)
		}
		rows.Facts = f
	case store.CopyRuns:
		db.exportRuns(rows, after, limit)
	case store.CopyMessages: // there are few, as of the others
		for _, p := range db.partitions {
			rows.Messages = append(rows.Messages, ownBytes(slices.Clone(p.inbox), dataOfMessage)...)
		}
	case store.CopyTallies:
		for _, p := range db.partitions {
			for _, t := range p.tallies {
				placed := *t
				placed.Partition = p.id
				rows.Tallies = append(rows.Tallies, placed)
			}
		}
	case store.CopySwitches:
		for _, name := range slices.Sorted(maps.Keys(db.switches)) {
			rows.Switches = append(rows.Switches, db.switches[name]...)
		}
	}
	return rows, nil
}

func (db *Database) exportRuns(rows *store.Rows, after store.Cursor, limit int) {
	for key := range db.runs.ascend(runKey{after.ID, after.Partition}) {
		if key == (runKey{after.ID, after.Partition}) {
			continue
		}
		p := db.partition(key.partition)
		r := p.runs[key.id]
		w := store.WholeRun{
			Run: r.copy(), Turns: copyTurns(r.turns), Calls: copyCalls(r.calls),
			Attempts: ownBytes(slices.Clone(r.attempts), func(a *store.Attempt) *[]byte { return &a.Data }),
		}
		for _, t := range p.tasks {
			if t.Run == key.id {
				w.Tasks = append(w.Tasks, *t)
			}
		}
		slices.SortFunc(w.Tasks, func(a, b store.Task) int { return cmp.Compare(a.Number, b.Number) })
		if rows.Runs = append(rows.Runs, w); len(rows.Runs) >= max(limit, 1) {
			rows.Next = store.Cursor{Part: store.CopyRuns, ID: key.id, Partition: key.partition}
			return
		}
	}
}
