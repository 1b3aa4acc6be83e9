package inspect

import (
	"context"
	"math"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// attemptPart reads a part of the attempts of a run, or of the last attempts of its calls:
// from the ledger, which has them in order, and from the history between the turn in which
// the first call of the part begins and the one in which the last call closes.
type attemptPart struct {
	in  *Inspector
	row *store.Run
	store.AttemptRange

	kept     []store.Attempt // from the ledger, in order
	made     closing
	inFlight []view.Attempt
}

// read reads the part. What it reads from the ledger and the history may extend beyond the
// part.
func (p *attemptPart) read(ctx context.Context) error {
	s, err := p.in.unread(ctx, p.row)
	if err != nil {
		return err
	}
	if err := p.readLedger(ctx); err != nil {
		return err
	}
	first := max(p.After.Call, p.Call)
	if p.After.Number == view.EndOfCall {
		first = max(p.After.Call+1, p.Call)
	}
	from, err := p.in.turnBefore(ctx, p.row, &s.Start, first)
	if err != nil {
		return err
	}
	p.made = closing{first: first, call: p.Call, after: p.After}
	complete, err := p.in.each(ctx, p.row, &s.Start, from, mostTurns, func(some stretch) (more bool) {
		s.add(some)
		for i := range some.turns {
			p.made.add(s, &some.turns[i])
		}
		return !p.done()
	})
	if err == nil && p.outrun() {
		p.kept = nil
		err = p.readLedger(ctx)
	}
	if err != nil || !complete || !p.row.Status.Open() {
		return err
	}
	if err := p.in.nameOwners(ctx, p.row, s); err != nil {
		return err
	}
	for _, v := range s.inFlight(p.row.ID) {
		if (p.Call == 0 || v.Call == p.Call) && p.After.Compare(store.AttemptKey{Call: v.Call, Number: v.Number}) < 0 {
			p.inFlight = append(p.inFlight, v)
		}
	}
	return nil
}

// readLedger reads the ledger's records of the part. The tries of blocks are not attempts
// of calls.
func (p *attemptPart) readLedger(ctx context.Context) error {
	for part := p.AttemptRange; ; {
		if p.Limit > 0 {
			part.Limit = p.Limit - len(p.kept)
		}
		some, err := p.in.db.Attempts(ctx, p.row.Partition, p.row.ID, part)
		if err != nil {
			return err
		}
		n := len(some)
		if n > 0 {
			part.After = store.AttemptKey{Call: some[n-1].Call, Number: some[n-1].Number}
		}
		p.kept = append(p.kept, some...)
		if p.Call == 0 {
			p.kept = slices.DeleteFunc(p.kept, isTry)
		}
		if part.Limit == 0 || n < part.Limit || len(p.kept) == p.Limit {
			return nil
		}
	}
}

// outrun reports whether the history has the end of a call whose attempts are all in the
// ledger, written since the ledger was read.
func (p *attemptPart) outrun() bool {
	known := map[store.AttemptKey]bool{}
	for i := range p.kept {
		known[p.key(p.kept[i].Call, p.kept[i].Number)] = true
	}
	return slices.ContainsFunc(p.made.closed, func(a view.Attempt) bool {
		key := p.key(a.Call, a.Number)
		inPart := p.Limit == 0 || len(p.kept) < p.Limit || key.Compare(p.key(p.kept[len(p.kept)-1].Call, p.kept[len(p.kept)-1].Number)) < 0
		return a.Number > 1 && a.RunID == "" && inPart && !known[key]
	})
}

func isTry(a store.Attempt) bool { return a.Name == core.BlockName }

// done reports whether later turns have nothing to add to the part. It drops what is beyond
// the part.
func (p *attemptPart) done() bool {
	horizon := p.made.horizon()
	if p.Call > 0 && p.Call < horizon {
		return true
	}
	if p.Limit == 0 || len(p.kept)+len(p.made.closed) < p.Limit {
		return false
	}
	keys := make([]store.AttemptKey, 0, len(p.kept)+len(p.made.closed))
	for i := range p.kept {
		keys = append(keys, p.key(p.kept[i].Call, p.kept[i].Number))
	}
	for i := range p.made.closed {
		keys = append(keys, p.key(p.made.closed[i].Call, p.made.closed[i].Number))
	}
	slices.SortFunc(keys, store.AttemptKey.Compare)
	if keys = slices.Compact(keys); len(keys) < p.Limit {
		return false
	}
	last := keys[p.Limit-1]
	p.made.closed = slices.DeleteFunc(p.made.closed, func(a view.Attempt) bool { return last.Compare(p.key(a.Call, a.Number)) < 0 })
	return last.Call <= horizon // of an open call only failures are known, which come before its end
}

// key returns the fields that place an attempt in the part: for the last attempts of calls,
// only the call.
func (p *attemptPart) key(call int64, number int) store.AttemptKey {
	if p.Latest {
		number = 0
	}
	return store.AttemptKey{Call: call, Number: number}
}

// turnBefore returns a turn such that no call with this or a higher number begins in it or
// before it. Calls are numbered in the order in which they begin, so a few turns tell where
// to continue the search. Turns in which no call begins tell nothing.
func (in *Inspector) turnBefore(ctx context.Context, row *store.Run, start *history.Start, call int64) (turn int64, err error) {
	if call <= 1 {
		return 0, nil
	}
	for low, high := int64(0), int64(0); ; {
		probe := low + (high-low)/2
		if high == 0 { // the end of the history is not known yet
			probe = 2*low + probeTurns
		}
		stored, err := in.db.History(ctx, row.Partition, row.ID, probe, probeTurns)
		if err != nil {
			return 0, err
		}
		turns, _ := record.Turns(start, probe, stored)
		least, greatest := begun(turns)
		switch {
		case least < call && greatest >= call:
			return probe, nil
		case greatest > 0 && greatest < call:
			low = turns[len(turns)-1].Number
		default:
			high = probe
		}
		if high > 0 && high-low <= probeTurns {
			return low, nil
		}
	}
}

// begun returns the lowest and the highest number of the calls that begin in turns; that is none,
// if none begins.
func begun(turns []core.StoredTurn) (least, greatest int64) {
	least = math.MaxInt64
	for i := range turns {
		for k := range turns[i].Events {
			ev := &turns[i].Events[k]
			if _, begins := callKinds[ev.Kind]; begins {
				least, greatest = min(least, ev.Call), max(greatest, ev.Call)
			}
		}
	}
	return least, greatest
}
