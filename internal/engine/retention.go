package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Retention says how long what is over is kept. All of its fields are counted from
// the end of what they are about; 0 keeps it for ever. The zero value keeps all.
type Retention struct {
	// Runs that ended so. Those of a chain are kept as long as the last of them.
	Completed, Failed, Canceled, Terminated, TimedOut time.Duration
	// Continued is for runs of which another one of their chain went on, although
	// that is there: also of chains that are open. Without it they are kept as long
	// as the chain.
	Continued time.Duration

	// Statistics are the counters of closed calls, by the hour.
	Statistics time.Duration
	// Switches are entries of the log of paused activities that later ones have
	// overruled.
	Switches time.Duration
}

// SweepResult says what a sweep removed, or would.
type SweepResult struct {
	DryRun bool           `json:"dry_run,omitempty"`
	Runs   int            `json:"runs"`
	Status map[string]int `json:"status,omitempty"` // of these, by how they ended
}

// How a sweep takes care not to disturb: it removes so many runs at a time, and then
// waits for several times as long as that took.
const (
	sweepBatch   = 50
	sweepPage    = 500
	sweepRest    = 4
	sweepAtLeast = 20 * time.Millisecond
)

// check refuses what means nothing.
func (r *Retention) check() error {
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
func (r *Retention) of(s store.Status) time.Duration {
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

// statuses are those of runs that may be removed.
func (r *Retention) statuses() (all []store.Status) {
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

// sweeper removes what is over in some partitions.
type sweeper struct {
	e          *Engine
	keep       Retention
	partitions []int
	dry        bool
	now        int64
	gone       map[string]bool // what a dry run would have removed
	result     SweepResult
}

// Sweep removes what the retention does not keep, of all partitions of the group, or
// says what that would be. It may run beside engines and other sweeps: what is over
// is removed once. If it ends with an error, the result says how far it came.
func (e *Engine) Sweep(ctx context.Context, keep Retention, dry bool) (SweepResult, error) {
	return e.sweep(ctx, keep, e.group.All(), dry)
}

func (e *Engine) sweep(ctx context.Context, keep Retention, partitions []int, dry bool) (SweepResult, error) {
	s := &sweeper{
		e: e, keep: keep, partitions: partitions, dry: dry, now: e.clock.now(), gone: map[string]bool{},
		result: SweepResult{DryRun: dry, Status: map[string]int{}},
	}
	if err := keep.check(); err != nil || len(partitions) == 0 {
		return s.result, err
	}
	if err := s.runs(ctx); err != nil || dry {
		return s.result, err
	}
	return s.result, s.rest(ctx)
}

// runs goes through the runs that may be over for long enough, the newest first: the
// last run of a chain comes before those that led to it.
func (s *sweeper) runs(ctx context.Context) error {
	statuses := s.keep.statuses()
	if len(statuses) == 0 {
		return nil
	}
	filter := store.Filter{Partitions: s.partitions, Status: statuses, Limit: sweepPage}
	for {
		rows, err := s.e.db.List(ctx, filter)
		if err != nil {
			return err
		}
		doomed := map[int][]string{}
		for i := range rows {
			r := &rows[i]
			over, err := s.over(ctx, r)
			if err != nil {
				return err
			}
			if !over {
				continue
			}
			s.gone[r.ID] = true
			s.result.Status[string(r.Status)]++
			s.result.Runs++
			if doomed[r.Partition] = append(doomed[r.Partition], r.ID); len(doomed[r.Partition]) == sweepBatch {
				if err := s.delete(ctx, store.Deletion{Partition: r.Partition, Runs: doomed[r.Partition]}); err != nil {
					return err
				}
				doomed[r.Partition] = nil
			}
		}
		for _, p := range s.partitions {
			if len(doomed[p]) > 0 {
				if err := s.delete(ctx, store.Deletion{Partition: p, Runs: doomed[p]}); err != nil {
					return err
				}
			}
		}
		if len(rows) < sweepPage {
			return nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}

// over reports whether a run is kept no longer.
func (s *sweeper) over(ctx context.Context, r *store.Run) (bool, error) {
	if r.Status != store.Continued {
		return s.longAgo(r.Closed, s.keep.of(r.Status)), nil
	}
	if s.longAgo(r.Closed, s.keep.Continued) {
		return true, nil
	}
	d, err := core.DecodeDetail(r.Detail)
	if err != nil || d.Next == "" {
		return false, nil // nobody knows what came of it
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
	return s.e.sleep(ctx, max(sweepRest*time.Since(began), sweepAtLeast))
}

// sweepLoop removes what is over from the partitions of this node, from time to time.
func (e *Engine) sweepLoop() {
	for e.sleep(e.ctx, e.config.SweepEvery) == nil {
		e.mu.Lock()
		var owned []int
		for number, p := range e.partitions {
			if !p.leaving {
				owned = append(owned, number)
			}
		}
		e.mu.Unlock()
		slices.Sort(owned)
		result, err := e.sweep(e.ctx, e.config.Retention, owned, false)
		switch {
		case e.ctx.Err() != nil:
			return
		case err != nil:
			e.log.Warn("perdure: what is over was not removed; that is tried again", "error", err)
		case result.Runs > 0:
			e.log.Info("perdure: runs that were over for long enough were removed", "runs", result.Runs)
		}
	}
}
