package sqlite

import (
	"cmp"
	"context"
	"errors"

	"github.com/perdure/perdure/store"
)

// errUnusual says that a batch needs a result for each turn.
var errUnusual = errors.New("something about the batch is unusual")

// batch is a Commit in progress.
type batch struct {
	h       *handle
	c       *conn
	marks   clocks
	turns   []store.Turn
	errs    []error // the results so far
	now     int64   // the clock at the beginning
	fences  []fence // the epochs that may write, by partition
	posted  bool    // a message was delivered
	offered bool    // a task was added or removed

	lost map[int]error // turns that ended the transaction, and how
}

// fence is the owner's epoch of a partition to which a batch writes.
type fence struct {
	partition    int
	epoch, clock int64 // the partition's clock must not go back
}

func (h *handle) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	b := &batch{h: h, marks: h.marks, turns: turns, errs: make([]error, len(turns)), lost: map[int]error{}}
	var live []int
	for i := range turns {
		if b.errs[i] = turns[i].Validate(h.info); b.errs[i] == nil {
			live = append(live, i)
		}
	}
	together := true
	for {
		var err error
		if together {
			if err = h.commit(ctx, b, live, b.writeTogether); store.Refused(err) {
				err = errUnusual
			}
		} else {
			err = h.commit(ctx, b, live, b.oneByOne)
		}
		if lost, ok := errors.AsType[*lostError](err); ok {
			b.lost[lost.turn] = lost.err // without the culprit it will work
			continue
		}
		if errors.Is(err, errUnusual) {
			together = false
			continue
		}
		if err != nil {
			return store.Result{}, err
		}
		break
	}
	if b.posted {
		announce(h.path, store.NewsMessage)
	}
	if b.offered {
		announce(h.path, store.NewsTasks)
	}
	result := store.Result{Now: b.now, Errors: b.errs}
	for _, f := range b.fences {
		result.Now = max(result.Now, f.clock)
	}
	return result, nil
}

// commit writes the live turns of a batch in one transaction.
func (h *handle) commit(ctx context.Context, b *batch, live []int, write func(live []int) error) error {
	return h.write(ctx, "Commit", func(c *conn) error {
		b.c, b.now, b.posted, b.offered = c, h.clock(), false, false
		c.visited = false
		for _, i := range live {
			b.errs[i] = nil
		}
		if err := b.fence(live); err != nil {
			return err
		}
		if err := write(live); err != nil {
			return err
		}
		for _, f := range b.fences {
			b.marks.advance(f.partition, f.clock)
		}
		b.posted = b.posted || c.visited
		return nil
	})
}

// fence reads the owners' epochs for the turns and advances the clocks. The transaction
// already has the write lock, so no owner changes until it ends.
func (b *batch) fence(live []int) error {
	b.fences = b.fences[:0]
	tried := map[fence]bool{}
	for _, i := range live {
		f := fence{partition: b.turns[i].Partition, epoch: b.turns[i].Epoch}
		if tried[f] {
			continue
		}
		tried[f] = true
		var onRecord int64
		found, err := b.c.one(`SELECT clock FROM partitions WHERE id = ? AND epoch = ? AND node IS NOT NULL`,
			[]*int64{&onRecord}, int64(f.partition), f.epoch)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		f.clock = max(onRecord, b.marks.clock(f.partition, b.now))
		if f.clock >= onRecord+markEvery {
			if err := b.c.recordClock(f.partition, f.clock); err != nil {
				return err
			}
		}
		b.fences = append(b.fences, f)
	}
	return nil
}

// admits returns the fence that admits a turn, nil if the turn is refused.
func (b *batch) admits(t *store.Turn) *fence {
	for i := range b.fences {
		if f := &b.fences[i]; f.partition == t.Partition && f.epoch == t.Epoch {
			return f
		}
	}
	return nil
}

// writeTogether writes the turns in order: runs of plain turns with multi-row statements, the
// others one by one. A turn is plain if only its data can be refused: its epoch is right,
// it has no hook, and it creates no run, or only its own, without copied history and with
// IDs that were free.
func (b *batch) writeTogether(live []int) error {
	var plain []int
	runs := map[string]bool{} // runs of plain turns not written yet
	flush := func() error {
		err := b.plain(plain)
		plain = plain[:0]
		clear(runs)
		return err
	}
	for _, i := range live {
		t := &b.turns[i]
		is := b.admits(t) != nil && t.Hook == nil && (t.Create == nil || t.Create.ID == t.Run && t.Create.Base == nil)
		if is && t.Create != nil {
			if runs[t.Run] { // an earlier turn must not find the run
				if err := flush(); err != nil {
					return err
				}
			}
			inserted, err := b.c.insertRun(t.Create)
			if err != nil {
				return err
			}
			is = inserted
		}
		if is {
			plain = append(plain, i)
			runs[t.Run] = true
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if err := b.oneByOne([]int{i}); err != nil {
			return err
		}
	}
	return flush()
}

// plain writes plain turns whose new runs are already inserted.
func (b *batch) plain(plain []int) error {
	if err := b.insertTurns(plain); err != nil {
		return err
	}
	for _, i := range plain {
		t := &b.turns[i]
		found, err := b.applyState(t)
		if err == nil {
			err = b.applyRows(t)
		}
		if isConstraint(err) || store.IsNoPartition(err) || errors.Is(err, store.ErrClaimed) || err == nil && !found {
			return errUnusual // no such run or partition, or a claimed task
		}
		if err != nil {
			return err
		}
	}
	return b.count(plain...)
}

// oneByOne writes each turn in a savepoint of its own.
func (b *batch) oneByOne(live []int) error {
	for _, i := range live {
		if _, err := b.c.exec("SAVEPOINT perdure_turn"); err != nil {
			return err
		}
		err := b.turn(i)
		if err != nil {
			if !refusal(err) {
				return err
			}
			if b.errs[i] = err; misfit(err) {
				b.errs[i] = b.h.fail("Commit", err)
			}
			if _, undo := b.c.exec("ROLLBACK TO perdure_turn"); undo != nil {
				return &brokenError{&lostError{i, err}}
			}
		}
		if _, gone := b.c.exec("RELEASE perdure_turn"); gone != nil {
			return &brokenError{&lostError{i, &store.HookError{Err: errEnded}}}
		}
	}
	return nil
}

// refusal reports whether an error concerns only the turn.
func refusal(err error) bool {
	if _, hook := errors.AsType[*store.HookError](err); hook {
		return true
	}
	return code(err) == 0 || !breaks(err) && !unavailable(err)
}

// turn writes one turn or returns why not. The caller undoes what it wrote.
func (b *batch) turn(i int) error {
	t := &b.turns[i]
	durable, taken, err := b.known(t)
	if durable || err != nil {
		return err
	}
	if err := b.lost[i]; err != nil {
		return err
	}
	if b.admits(t) == nil {
		return store.ErrFenced
	}
	if taken {
		return store.ErrStale
	}
	own := t.CreatesItsRun()
	if own {
		if _, err := b.c.placeRun(t.Create); err != nil {
			return err
		}
	}
	if found, err := b.applyState(t); err != nil || !found {
		return cmp.Or(err, store.ErrNotFound)
	}
	if t.Create != nil && !own {
		if exists, err := b.c.exists(t.Partition, t.Run); err != nil || !exists {
			return cmp.Or(err, store.ErrNotFound)
		}
		if _, err := b.c.placeRun(t.Create); err != nil {
			return err
		}
	}
	if t.Number > 0 {
		inserted, err := b.c.exec(insertTurns(1), int64(t.Partition), t.Run, t.Number, t.CommitID, t.Epoch, t.Time, payload(t.Events))
		if err != nil {
			return err
		}
		if inserted == 0 { // but its number is free
			return store.ErrNotFound
		}
	}
	if err := b.applyRows(t); err != nil {
		if isConstraint(err) {
			return store.ErrNotFound
		}
		return err
	}
	if err := b.count(i); err != nil {
		return err
	}
	return b.h.runHook(b.c, t)
}

// known reports whether the turn is already durable, or its number taken.
func (b *batch) known(t *store.Turn) (durable, taken bool, err error) {
	if t.Number > 0 {
		var commit int64
		taken, err = b.c.one(`SELECT commit_id FROM turns WHERE run = `+seq+` AND number = ?`,
			[]*int64{&commit}, int64(t.Partition), t.Run, t.Number)
		if err != nil || taken && commit == t.CommitID {
			return err == nil, false, err
		}
	}
	if t.Number == 0 && t.Create != nil {
		durable, err = b.c.one(`SELECT 1 FROM runs WHERE partition = ? AND id = ? AND workflow_id = ?`, nil,
			int64(t.Partition), t.Create.ID, t.Create.WorkflowID)
	}
	return durable, taken, err
}
