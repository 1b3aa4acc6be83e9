package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// How a sweep takes care not to disturb: it removes so many runs at a time, fewer if that
// took long, for a run may have a long history, and then waits for several times as long
// as that took. A run goes whole.
const (
	sweepBatch   = 50
	sweepLong    = 100 * time.Millisecond
	sweepPage    = 500
	sweepRest    = 4
	sweepAtLeast = 20 * time.Millisecond
)

// retention is a view.Retention with what the sweeper asks of it.
type retention view.Retention

// check refuses what means nothing.
func (r *retention) check() error {
	for name, d := range map[string]time.Duration{
		"completed": r.Completed, "failed": r.Failed, "canceled": r.Canceled, "terminated": r.Terminated, "timed-out": r.TimedOut,
		"continued": r.Continued, "statistics": r.Statistics, "switches": r.Switches,
	} {
		if d < 0 {
			return &history.InputError{What: "retention of " + name, Problem: fmt.Sprintf("is %s; it is positive, or zero to keep it for ever", d)}
		}
	}
	return nil
}

// of is how long runs that ended so are kept, 0 for ever.
func (r *retention) of(s store.Status) time.Duration {
	switch s {
	case store.Completed:
		return r.Completed
	case store.Failed:
		return r.Failed
	case store.Canceled:
		return r.Canceled
	case store.Terminated:
		return r.Terminated
	case store.TimedOut:
		return r.TimedOut
	}
	return 0
}

// ends are the statuses of runs that may be removed. The runs before others in a chain
// come last: they go after those.
func (r *retention) ends() (all []store.Status) {
	for _, s := range []store.Status{store.Completed, store.Failed, store.Canceled, store.Terminated, store.TimedOut} {
		if r.of(s) > 0 {
			all = append(all, s)
		}
	}
	if len(all) > 0 || r.Continued > 0 {
		all = append(all, store.Continued)
	}
	return all
}

// atLeast is how long any run is kept that ended so.
func (r *retention) atLeast(s store.Status) time.Duration {
	if s != store.Continued {
		return r.of(s)
	}
	least := r.Continued
	for _, end := range r.ends() {
		if keep := r.of(end); keep > 0 && (least == 0 || keep < least) {
			least = keep
		}
	}
	return least
}

// sweeper removes what is over in some partitions.
type sweeper struct {
	e          *Engine
	keep       retention
	partitions []int
	dry        bool
	now        int64
	gone       map[string]bool // runs of the partition that are as good as removed
	held       bool            // a run is kept for another one of its chain
	batch      int             // how many runs are removed at a time
	result     view.SweepResult
}

// Sweep removes what the retention does not keep, of all partitions of the group, or
// says what that would be. It may run beside engines and other sweeps: what is over
// is removed once. If it ends with an error, the result says how far it came.
func (e *Engine) Sweep(ctx context.Context, keep view.Retention, dry bool) (view.SweepResult, error) {
	if err := e.Check(ctx); err != nil {
		return view.SweepResult{DryRun: dry}, err
	}
	return e.sweep(ctx, keep, e.group.All(), dry)
}

func (e *Engine) sweep(ctx context.Context, keep view.Retention, partitions []int, dry bool) (view.SweepResult, error) {
	s := &sweeper{
		e: e, keep: retention(keep), partitions: partitions, dry: dry, now: e.clock.Now(), gone: map[string]bool{}, batch: sweepBatch,
		result: view.SweepResult{DryRun: dry, Status: map[string]int{}},
	}
	if err := s.keep.check(); err != nil || len(partitions) == 0 {
		return s.result, err
	}
	for _, p := range partitions {
		clear(s.gone)
		if err := s.partition(ctx, p); err != nil {
			return s.result, err
		}
	}
	if dry {
		return s.result, nil
	}
	return s.result, s.rest(ctx)
}

// partition removes the runs of a partition. A run that another one of its chain follows
// may come before that, by how it ended: then it is looked at again.
func (s *sweeper) partition(ctx context.Context, partition int) error {
	for {
		s.held = false
		removed := s.result.Runs
		for _, end := range s.keep.ends() {
			if err := s.runs(ctx, partition, end); err != nil {
				return err
			}
		}
		if !s.held || s.result.Runs == removed {
			return nil
		}
	}
}

// runs removes the runs of a partition that ended so and are over for long enough.
// It reads only what began before that, the newest first: a run of a chain comes before
// those that led to it. What was removed before is not read again, so that a sweep
// costs what there is to remove, and what is kept for ever.
func (s *sweeper) runs(ctx context.Context, partition int, end store.Status) error {
	filter := inspect.Bounded(store.Filter{
		Partitions: []int{partition}, Status: []store.Status{end}, Limit: sweepPage,
		Until: time.Unix(0, s.now).Add(-s.keep.atLeast(end)),
	})
	for {
		rows, err := s.e.db.List(ctx, filter)
		if err != nil {
			return err
		}
		var doomed []string
		for i := range rows {
			over, err := s.over(ctx, &rows[i])
			if err != nil {
				return err
			}
			if over {
				doomed = append(doomed, rows[i].ID)
				s.doom(&rows[i])
			}
			if len(doomed) >= s.batch || i == len(rows)-1 && len(doomed) > 0 {
				if err := s.delete(ctx, store.Deletion{Partition: partition, Runs: doomed}); err != nil {
					return err
				}
				s.count(end, len(doomed))
				s.forget(end, doomed)
				doomed = nil
			}
		}
		if len(rows) < sweepPage {
			return nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}

// doom remembers a run whose removal is only pretended, or not done yet.
func (s *sweeper) doom(r *store.Run) { s.gone[r.ID] = true }

// forget drops runs that the database does not have any more. Of those before others in a
// chain it need not be asked.
func (s *sweeper) forget(end store.Status, removed []string) {
	if s.dry || end == store.Continued {
		return
	}
	for _, id := range removed {
		delete(s.gone, id)
	}
}

func (s *sweeper) count(end store.Status, n int) {
	s.result.Runs += n
	s.result.Status[string(end)] += n
}

// over reports whether a run is kept no longer. One whose outcome a caller of this
// process waits for is kept until the caller has it.
func (s *sweeper) over(ctx context.Context, r *store.Run) (bool, error) {
	if s.gone[r.ID] || s.e.Awaits(r) {
		return false, nil
	}
	if r.Status != store.Continued && !s.longAgo(r.Closed, s.keep.of(r.Status)) {
		return false, nil
	}
	if s.longAgo(r.Closed, s.keep.Continued) {
		return true, nil
	}
	if r.Status != store.Continued {
		follows, err := s.followed(ctx, r)
		s.held = s.held || follows
		return !follows && err == nil, err
	}
	d, err := core.DecodeDetail(r.Detail)
	if err != nil || d.Next == "" {
		return false, nil // what came of it is unknown
	}
	if s.gone[d.Next] {
		return true, nil
	}
	// Its chain was removed before, down to this run.
	_, err = s.e.db.Find(ctx, r.Partition, r.WorkflowID, d.Next)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// followed reports whether there is a later run of the chain of one that ended for good: it
// was reset then. That one shows what it has kept of the earlier one, such as its attempts.
func (s *sweeper) followed(ctx context.Context, r *store.Run) (bool, error) {
	latest, err := s.e.db.Find(ctx, r.Partition, r.WorkflowID, "")
	switch {
	case err == nil && latest.Chain == r.Chain:
		return latest.ID != r.ID && !s.gone[latest.ID], nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	// The ID was used again: the rest of the chain is among earlier runs.
	filter := store.Filter{Partitions: []int{r.Partition}, IDPrefix: r.WorkflowID, Above: r.ID, Limit: sweepPage}
	for {
		rows, err := s.e.db.List(ctx, filter)
		if err != nil {
			return false, err
		}
		for i := range rows {
			if rows[i].Chain == r.Chain && !s.gone[rows[i].ID] {
				return true, nil
			}
		}
		if len(rows) < sweepPage {
			return false, nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}

// longAgo reports whether something that ended then was kept for as long as wanted.
func (s *sweeper) longAgo(ended int64, keep time.Duration) bool {
	return keep > 0 && ended > 0 && ended < s.now-int64(keep)
}

// rest removes counters, and overruled switches.
func (s *sweeper) rest(ctx context.Context) error {
	before := func(keep time.Duration) int64 {
		if keep == 0 {
			return 0
		}
		return max(s.now-int64(keep), 0)
	}
	switches := before(s.keep.Switches)
	for _, p := range s.partitions {
		d := store.Deletion{Partition: p, TalliesBefore: before(s.keep.Statistics)}
		if p == s.e.group.First { // one node does it for the group
			d.Group, d.SwitchesBefore = s.e.config.Group, switches
		}
		if d.TalliesBefore == 0 && d.SwitchesBefore == 0 {
			continue
		}
		if err := s.delete(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// delete removes a little and rests.
func (s *sweeper) delete(ctx context.Context, d store.Deletion) error {
	if s.dry {
		return nil
	}
	began := time.Now()
	if _, err := s.e.db.Delete(ctx, d); err != nil {
		return err
	}
	took := time.Since(began)
	if took > sweepLong {
		s.batch = max(s.batch/2, 1)
	} else if took < sweepLong/4 {
		s.batch = min(s.batch*2, sweepBatch)
	}
	return s.e.wait(ctx, max(sweepRest*took, sweepAtLeast))
}

// wait waits for a while, or until the caller or the engine ends.
func (e *Engine) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return ErrStopped
	}
}

// sweepLoop removes what is over from the partitions of this node, from time to time.
func (e *Engine) sweepLoop() {
	for e.pause(e.config.SweepEvery) {
		result, err := e.sweep(e.ctx, e.config.Retention, e.owned(), false)
		switch {
		case e.ctx.Err() != nil:
			return
		case err != nil:
			e.log.SweepFailed(err)
		case result.Runs > 0:
			e.log.Swept(result.Runs)
		}
	}
}

// growthEvery is how often an engine without a retention looks how much it keeps, in
// sweeps that it does not make: about once a day.
const growthEvery = 144

// growthLoop is there in place of sweepLoop where nothing says how long to keep what is
// over: it warns each time there is more of it than ever, from MaxKept on.
func (e *Engine) growthLoop() {
	for most, every := e.config.MaxKept-1, e.config.SweepEvery; e.pause(every); every = growthEvery * e.config.SweepEvery {
		counts, err := e.db.Counts(e.ctx, e.owned())
		if err != nil {
			continue // an outage, which others tell of
		}
		kept := 0
		for status, n := range counts.Runs {
			if !status.Open() {
				kept += n
			}
		}
		if kept > most {
			most = kept
			e.log.KeptForever(kept)
		}
	}
}

// owned are the partitions that this node looks after; never nil, which would mean all.
func (e *Engine) owned() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return homes(e.open(nil))
}
