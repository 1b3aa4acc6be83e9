package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/perdure/perdure/store"
)

// ledgerKey is the position of an attempt in the ledger of all partitions.
type ledgerKey struct {
	store.LedgerKey
	partition int
}

func (r *run) findAttempt(call int64, number int) (int, bool) {
	return slices.BinarySearchFunc(r.attempts, store.Attempt{Call: call, Number: number}, func(a, b store.Attempt) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Number, b.Number))
	})
}

// applyAttempts writes the ledger rows of a turn.
func (db *Database) applyAttempts(p *partition, r *run, t *store.Turn) {
	for _, a := range t.Attempts {
		a.Partition, a.Run = p.id, t.Run
		if at, found := r.findAttempt(a.Call, a.Number); !found {
			r.attempts = slices.Insert(r.attempts, at, a)
			db.ledger.insert(ledgerKey{a.Key(), p.id})
		}
		if a.Prune == 0 {
			continue
		}
		if at, found := r.findAttempt(a.Call, a.Prune); found {
			db.ledger.remove(ledgerKey{r.attempts[at].Key(), p.id})
			r.attempts = slices.Delete(r.attempts, at, at+1)
		}
	}
}

func (h *handle) Attempts(ctx context.Context, id int, runID string, part store.AttemptRange) ([]store.Attempt, error) {
	r, err := h.run(ctx, id, runID)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	var attempts []store.Attempt
	from, _ := r.findAttempt(max(part.After.Call, part.Call), 0)
	for _, a := range r.attempts[from:] {
		if part.Limit > 0 && len(attempts) == part.Limit || part.Call > 0 && a.Call > part.Call {
			break
		}
		if part.After.Compare(store.AttemptKey{Call: a.Call, Number: a.Number}) >= 0 || part.Latest && r.latest(a.Call).Number != a.Number {
			continue
		}
		a.Data = bytes(a.Data)
		a.Prune = 0 // an instruction, not part of the row
		attempts = append(attempts, a)
	}
	return attempts, nil
}

// latest returns the last record of a call that has one.
func (r *run) latest(call int64) *store.Attempt {
	at, _ := r.findAttempt(call+1, 0)
	return &r.attempts[at-1]
}

// suffers reports whether the latest attempt of some call ended with this type of error.
func (r *run) suffers(errorType string) bool {
	return slices.ContainsFunc(r.attempts, func(a store.Attempt) bool {
		return a.ErrorType == errorType && r.latest(a.Call).Number == a.Number
	})
}

func (h *handle) Ledger(ctx context.Context, filter store.LedgerFilter) ([]store.LedgerEntry, error) {
	if _, err := h.readPartitions(ctx, filter.Partitions); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	limit := store.Page(filter.Limit)
	var entries []store.LedgerEntry
	for r, a := range h.db.attempts(&filter) {
		if filter.Latest && r.latest(a.Call).Number != a.Number {
			continue
		}
		if entries = append(entries, entry(r, a)); len(entries) == limit {
			break
		}
	}
	return entries, nil
}

func entry(r *run, a *store.Attempt) store.LedgerEntry {
	e := store.LedgerEntry{Attempt: *a, WorkflowID: r.row.WorkflowID, Type: r.row.Type}
	e.Data, e.Prune = bytes(a.Data), 0
	return e
}

// attempts yields the attempts that a filter selects, latest first. It ignores Latest, which
// concerns whole calls.
func (db *Database) attempts(f *store.LedgerFilter) iter.Seq2[*run, *store.Attempt] {
	keys := db.ledger.descend()
	if f.Before != nil {
		keys = db.ledger.below(ledgerKey{LedgerKey: *f.Before})
	} else if f.Until > 0 {
		keys = db.ledger.below(ledgerKey{LedgerKey: store.LedgerKey{Ended: f.Until}})
	}
	return func(yield func(*run, *store.Attempt) bool) {
		for key := range keys {
			if key.Ended < f.From {
				return
			}
			if f.Partitions != nil && !slices.Contains(f.Partitions, key.partition) {
				continue
			}
			r := db.partitions[key.partition].runs[key.Run]
			at, _ := r.findAttempt(key.Call, key.Number)
			a := &r.attempts[at]
			if (f.Type == "" || r.row.Type == f.Type) && r.hasAll(f.Attributes) && f.Selects(a) && !yield(r, a) {
				return
			}
		}
	}
}

func (h *handle) Errors(ctx context.Context, filter store.LedgerFilter) ([]store.ErrorGroup, error) {
	if _, err := h.readPartitions(ctx, filter.Partitions); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	filter.Before, filter.Latest, filter.Above = nil, false, 0
	type kind struct{ name, errorType string }
	type member struct {
		kind
		run  *run
		call int64
	}
	groups, members := map[kind]*store.ErrorGroup{}, map[member]bool{}
	n, last := 0, int64(0)
	for r, a := range h.db.attempts(&filter) {
		if a.ErrorType == "" {
			continue
		}
		if filter.Limit > 0 && n >= filter.Limit && a.Ended < last {
			break
		}
		n, last = n+1, a.Ended
		k := kind{a.Name, a.ErrorType}
		g := groups[k]
		if g == nil { // the first attempt is the latest
			g = &store.ErrorGroup{Name: a.Name, ErrorType: a.ErrorType, Last: a.Ended, Example: entry(r, a)}
			groups[k] = g
		}
		g.Attempts++
		g.First = a.Ended
		if m := (member{k, r, a.Call}); !members[m] {
			members[m] = true
			g.Calls++
			if r.latest(a.Call).Outcome == store.OutcomeCompleted {
				g.Recovered++
			}
		}
	}
	var list []store.ErrorGroup
	for _, g := range groups {
		list = append(list, *g)
	}
	return store.MergeErrors(list), nil
}

// count adds to the counters of a partition.
func (p *partition) count(t *store.Tally) {
	sum := p.tallies[t.TallyKey]
	if sum == nil {
		sum = &store.Tally{TallyKey: t.TallyKey}
		p.tallies[t.TallyKey] = sum
	}
	sum.Add(t)
}

func (h *handle) Tallies(ctx context.Context, filter store.TallyFilter) ([]store.Tally, error) {
	partitions, err := h.readPartitions(ctx, filter.Partitions)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	return store.AddUp(func(yield func(store.TallyKey, *store.Tally) bool) {
		for _, p := range partitions {
			for _, t := range p.tallies {
				if filter.Selects(t) && !yield(filter.Key(t), t) {
					return
				}
			}
		}
	}), nil
}
